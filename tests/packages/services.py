"""What systemd does with the packages: in a tree whose systemd has booted, each is installed,
upgraded, removed and purged while its service runs."""

import shutil

from boot import run_booted
from tree import run

# The shell of all trials here. A question whose answer may take a moment is asked again, for ten
# seconds at most.
WORDS = """
trap 'if [ $? != 0 ]; then journalctl --no-pager --lines 50; fi' EXIT
fail() { echo "failed: $*"; exit 1; }
soon() {
  for turn in $(seq 100); do
    if "$@"; then return; fi
    sleep 0.1
  done
  fail "$*"
}
never() { if "$@"; then fail "should not: $*"; fi; }
"""

# In the order of a service's life. A made-up user has an id from 61184 on.
WEIR = WORDS + """
dpkg --install /srv/first.deb
[ "$(systemctl is-enabled weir) $(systemctl is-active weir)" = "enabled active" ] || fail start
process=$(systemctl show -P MainPID weir)
[ "$(stat -c %u /proc/$process)" -ge 61184 ] || fail "not the user that systemd makes up"
weir check alice --limit 1 --window 1h
weir block 192.0.2.7 --for 1h

echo 'rules: [{id: login, limit: 1, window: 1h}]' >>/etc/weir/weir.yaml
systemctl reload weir
soon weir check alice --rule login
echo 'lisen: {}' >>/etc/weir/weir.yaml
never systemctl reload weir
journalctl --unit weir | grep "did you mean 'listen'"
never weir check alice --rule login
sed -i '$d' /etc/weir/weir.yaml

dpkg --force-confdef --force-confold --install /srv/newer.deb
[ "$(systemctl show -P MainPID weir)" != $process ] || fail "an upgrade does not start it again"
weir check alice --rule login
weir blocks | grep 192.0.2.7
[ -e /etc/weir/weir.yaml.dpkg-dist ] || fail "no sight of the newer configuration"

(umask 077; echo WEIR_ADMIN_TOKEN=0123456789abcdef0123456789abcdef >/etc/weir/environment)
systemctl restart weir
never weir blocks
(. /etc/weir/environment; export WEIR_ADMIN_TOKEN; weir blocks)

mkdir /etc/systemd/system/weir.service.d
printf '[Service]\\nGroup=www-data\\n' >/etc/systemd/system/weir.service.d/group.conf
sed -i 's|^  http: .*|  http: unix:/run/weir/http.sock|' /etc/weir/weir.yaml
systemctl daemon-reload
systemctl restart weir
ask() {
  setpriv --reuid=$1 --regid=$1 --clear-groups \\
    curl -fsS --unix-socket /run/weir/http.sock http://localhost/health
}
ask www-data
never ask games
rm -r /etc/systemd/system/weir.service.d

dpkg --remove weir
never systemctl is-active weir
[ -e /etc/weir/weir.yaml ] || fail "the configuration goes before it is purged"
dpkg --purge weir
left=$(find /etc /run /usr /var/lib -name '*weir*')
[ -z "$left" ] || fail "left: $left"
"""

# The page is Debian's; of two requests a limit of one leaves one.
NGINX = WORDS + """
loaded() { grep "$1" /proc/$(cat /run/nginx.pid)/maps; }
ask() { curl -sS -o /dev/null -w '%{http_code}' http://127.0.0.1/index.nginx-debian.html; }
answers() { [ "$(ask)" = $1 ]; }
link=/etc/nginx/modules-enabled/50-mod-http-weir.conf

systemctl start nginx
dpkg --install /srv/first.deb
[ -e $link ] || fail "not enabled"
soon loaded ngx_http_weir_module.so
cat >/etc/nginx/conf.d/weir.conf <<'END'
weir_zone weir 4m;
weir_config /tmp/rules.yaml;
weir on;
END
echo 'rules: [{id: all, limit: 1, window: 1h, match: {path: /*}, key: client}]' >/tmp/rules.yaml
nginx -t
systemctl reload nginx
soon answers 429

dpkg --install /srv/newer.deb
never loaded 'ngx_http_weir_module.so (deleted)'
loaded ngx_http_weir_module.so
soon answers 429
systemctl is-active nginx

rm /etc/nginx/conf.d/weir.conf
dpkg --remove libnginx-mod-http-weir
[ ! -e $link ] || fail "still enabled"
nginx -t
soon answers 200
dpkg --install /srv/newer.deb
[ -e $link ] || fail "not enabled again"
dpkg --purge libnginx-mod-http-weir
left=$(find /etc /usr/lib /usr/share -name '*weir*')
[ -z "$left" ] || fail "left: $left"
systemctl is-active nginx
"""


def live(tree, package, script):
    """The package's life from its installation on; what it depends on is there."""
    tree.install(package, also=("systemd-sysv",))
    tree.run(f"dpkg --purge {package.name.split('_')[0]}")
    shutil.copy(package, tree.path / "srv" / "first.deb")
    make_newer(package, tree.path / "srv")
    run_booted(tree, script)


def make_newer(package, folder):
    """newer.deb: the same as a later version, whose maintainers have changed its configuration."""
    content = folder / "content"
    run("dpkg-deb", "--raw-extract", package, content)
    control = content / "DEBIAN" / "control"
    control.write_text(control.read_text(encoding="utf-8").replace("\nVersion: ", "\nVersion: 9"),
                       encoding="utf-8")
    for file in content.glob("etc/*/*.yaml"):
        file.write_text(file.read_text(encoding="utf-8") + "# later\n", encoding="utf-8")
    run("dpkg-deb", "--build", "--root-owner-group", content, folder / "newer.deb")
