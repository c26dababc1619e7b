#!/usr/bin/python3
"""Tries what `./dev package` has made, where nothing else of Weir is: in a fresh Debian.

    ./dev package --test [word]     those trials whose names have the word

Needs root, and a mirror of Debian; what it downloads stays in build/package/cache.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import image
import services
from tree import Failed, Skipped, Tree, run

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT = ROOT / "build" / "package"
CACHE = BUILT / "cache"

# It runs as nobody, since systemd is not there to make up a user. Three checks against a limit of
# two, the same by `weir check`, then the signals that the unit sends.
SERVE = """
command=$(sed -n 's/^ExecStart=//p' /lib/systemd/system/weir.service)
sed -i '/^state_file:/d' /etc/weir/weir.yaml
setpriv --reuid=nobody --regid=nogroup --clear-groups --no-new-privs $command &
ask() {
  curl -fsS --retry 20 --retry-delay 1 --retry-connrefused -d '{"key":"k","limit":2,"window":60}' \
    http://127.0.0.1:8080/check
}
ask; ask; ask
weir check k --limit 2 --window 1m && exit 1
for signal in HUP TERM; do kill -$signal $!; done
wait $!
"""

# One version; a page for each command, with its options; the documents.
PAPERS = """
version=$(dpkg-query --show --showformat '${Version}' weir)
[ "$(weir version)" = "weir $version" ]
pages=/usr/share/man/man1
for command in $(weir --help | sed -n '1,/^Subcommands:/d; s/^  \\([a-z]\\+\\) .*/\\1/p'); do
  zcat $pages/weir-$command.1.gz | grep -q "^weir-$command .- "
done
zcat $pages/weir-serve.1.gz | grep -q admin.*token.*file
zcat $pages/weir-bench-http.1.gz | grep -q connections
zcat $pages/weir.1.gz | grep -q denials
[ -f "$({ weir validate /none || true; } | sed -n 's/^see \\(.*\\)#.*/\\1/p')" ]
cd /usr/share/doc/weir
ls docs/reference/running.md examples/prometheus notices/libcli11-dev
"""

# nginx itself and a gateway before it: of three requests each, a limit of two leaves two.
NGINX = """
cat >/tmp/rules.yaml <<'END'
rules: [{id: all, limit: 2, window: 366d, match: {path: /*}, key: client}]
END
cat >/etc/nginx/conf.d/weir.conf <<'END'
weir_zone weir 4m;
weir_config /tmp/rules.yaml;
server { listen 127.0.0.1:9000; root /var/www/html; weir on; }
server { listen 127.0.0.1:9001; root /var/www/html; }
END
rm -f /etc/nginx/sites-enabled/default
nginx
weir gateway --origin http://127.0.0.1:9001 --config /tmp/rules.yaml --access-log off &
for port in 9000 8080; do
  until_up="--retry 20 --retry-delay 1 --retry-connrefused"  # it would wait at a 429 as well
  for request in 1 2 3; do
    curl -sS $until_up -o /dev/null -w "$port: %{http_code}\\n" \
      http://127.0.0.1:$port/index.nginx-debian.html
    until_up=
  done
done
kill -TERM $!
wait $!
"""


def package(name):
    (found,) = BUILT.glob(f"{name}_*.deb")
    return found


def try_server():
    """The server is installed, answers as its unit starts it, and goes without a trace."""
    with Tree(CACHE) as tree:
        tree.install(package("weir"))
        said = tree.run_alone(SERVE)
        expect(said.count('"allowed":true') == 2, said)
        expect(said.count('"allowed":false') == 1, said)
        check_unit(tree)
        tree.run(PAPERS)
        tree.run("apt-get purge -y -q weir")
        expect(not (tree.path / "etc" / "weir").exists(), "/etc/weir outlives its package")


def check_unit(tree):
    unit = "/lib/systemd/system/weir.service"
    if shutil.which("systemd-analyze") is None:
        print("    skipped: the unit, without systemd-analyze")
        return
    said = run("systemd-analyze", "security", "--offline=yes", f"--root={tree.path}",
               "--threshold=25", unit)
    print(f"    {said.strip().splitlines()[-1].strip()}")


def try_nginx():
    """Debian's nginx takes the module, and a gateway runs."""
    if not list(BUILT.glob("libnginx-mod-http-weir_*.deb")):
        raise Skipped("the module was not built")
    needs = run("dpkg-deb", "--field", package("libnginx-mod-http-weir"), "Depends")
    expect("nginx-abi-" in needs, f"any nginx may load the module: {needs}")
    with Tree(CACHE) as tree:
        tree.install(package("weir"), package("libnginx-mod-http-weir"))
        said = tree.run_alone(NGINX).splitlines()
        for port in (9000, 8080):
            answers = [line for line in said if line.startswith(f"{port}: ")]
            expect(answers == [f"{port}: {status}" for status in (200, 200, 429)], said)


def try_server_unit():
    """systemd starts, reloads and upgrades the server; a purge leaves nothing."""
    with Tree(CACHE) as tree:
        services.live(tree, package("weir"), services.WEIR)


def try_nginx_unit():
    """A running nginx takes the module, a newer one, and goes on without."""
    if not list(BUILT.glob("libnginx-mod-http-weir_*.deb")):
        raise Skipped("the module was not built")
    with Tree(CACHE) as tree:
        services.live(tree, package("libnginx-mod-http-weir"), services.NGINX)


def try_library():
    """A program is built against the library of the package, and runs."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        run("dpkg", "-x", package("libweir-dev"), folder / "tree")
        program = ROOT / "examples" / "library"
        run("cmake", "-S", program, "-B", folder / "cmake",
            f"-DCMAKE_PREFIX_PATH={folder}/tree/usr", "-DCMAKE_LIBRARY_ARCHITECTURE=" + multiarch())
        run("cmake", "--build", folder / "cmake")
        expect("login 6: denied" in run(folder / "cmake" / "library_example"), "no denial")
        packages = folder / "tree" / "usr" / "lib" / multiarch() / "pkgconfig"
        flags = run("pkg-config", "--cflags", "--libs", "weir",
                    env={**os.environ, "PKG_CONFIG_PATH": str(packages)}).split()
        run("c++", "-std=c++20", program / "main.cc", "-o", folder / "example", *flags)
        expect("login 6: denied" in run(folder / "example"), "no denial")


def multiarch():
    return run("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()


def try_image():
    """The Dockerfile's image is built, and its node answers a check."""
    image.try_image(CACHE)


def try_compose():
    """The compose file is right, and names the image."""
    image.try_compose()


def expect(holds, otherwise):
    if not holds:
        raise Failed(otherwise)


TRIALS = (try_server, try_server_unit, try_nginx, try_nginx_unit, try_library, try_compose,
          try_image)


def main():
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    CACHE.mkdir(parents=True, exist_ok=True)
    failed = False
    for trial in TRIALS:
        if word not in trial.__name__:
            continue
        print(f"==> {trial.__doc__}", flush=True)
        begun = time.monotonic()
        try:
            trial()
            print(f"    passed, in {time.monotonic() - begun:.0f} s")
        except Skipped as why:
            print(f"    skipped: {why}")
        except (Failed, subprocess.TimeoutExpired) as why:
            print(f"    failed: {why}")
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
