"""Runs what the tutorials and recipes show: each block in its order, on the real programs.

A block whose first line is a comment with a file's name (`# weir.yaml`, `// app.mjs`) is that
file. Lines of `sh` are run. Lines of `console` behind `$ ` are run, and what they print is what the
page shows. A page has a folder of its own, which stands for /etc and the like, and each port that
it names is a free one. `weir serve ... &` is waited for until it listens. At port 9000 there is an
origin. A block with MY_ADDRESS, or behind `# on each host`, is for hosts 10.0.0.1 to 10.0.0.3,
which are 127.0.0.1 to 127.0.0.3 here, each with a folder of its own.

WEIR_UPDATE_DOCS=1 writes what the commands print into the pages: read the diff.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from origin_server import Handler, listen, serving  # noqa: E402
from weir_server import DEADLINE_S, WEIR, free_port, wait_until  # noqa: E402

BUILD = pathlib.Path(os.environ.get("WEIR_BUILD_DIR", ROOT / "build" / "dev"))
MODULE = BUILD / "nginx" / "ngx_http_weir_module.so"
# As tests/nginx/nginx_server.py has it.
PRELOAD = os.environ.get("WEIR_NGINX_PRELOAD")
PRELOADED = f"env LD_PRELOAD={PRELOAD} ASAN_OPTIONS=detect_leaks=0" if PRELOAD else "env"
PACKAGE = BUILD / "npm" / "package"
PEERS = pathlib.Path(os.environ.get("WEIR_NPM_CACHE", ROOT / "build" / "npm-cache"))
PAGES = sorted([*ROOT.glob("docs/tutorial/*.md"), *ROOT.glob("docs/how-to/*.md")])
UPDATES = "WEIR_UPDATE_DOCS" in os.environ

NOT_RUN = {
    "cpp.md": "examples/library/installed_test.py builds it",
    "kubernetes.md": "kubernetes_test.py holds it to schemas; there is no Kubernetes here",
    "upgrade.md": "`./dev package --test` upgrades packages in a system of its own",
    "workers.md": "worker/test runs the Worker on workerd, which npm brings",
}
# Commands of machines and services that a test has no right to. Their lines are left out.
NOT_HERE = re.compile(r"(apt |docker |kubectl |\./dev |npm |npx |journalctl |"
                      r"systemd-|cd )")
NEEDS = {
    "express.md": [PACKAGE, PEERS / "node_modules" / "express"],
    "nginx.md": [MODULE], "nginx-responses.md": [MODULE], "from-limit-req.md": [MODULE],
    "llm-gateway.md": [MODULE],
}

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"(?:#|//) (\S*[\w-]\.\w+|\S*(?:Caddyfile|environment))\n")
COMMAND_MAX_S = 2 * DEADLINE_S  # a failover is slow on a busy machine
PORTS = re.compile(r"(?<=[ :=(])(3000|6379|6380|6381|6382|80|8000|808\d|9000|9001|2637\d)"
                   r"(?=[\s/;,\"'{}?)]|$)")
FOLDERS = re.compile(r"(?<![\w./])/(etc|var|run|srv)/(?=[\w])")
# Times go on, and so do figures that have a fraction.
MOMENTS = [(re.compile(pattern), word) for pattern, word in (
    (r"((?i:retry[-_ ]after|reset|reset_after)\W{1,3}|;t=|within |in |retry )\d+(\.\d+)?", r"\1 0"),
    (r"\d+\.\d+", "0"), (r"\d{4}-\d\d-\d\d", "today"), (r"\d\d:\d\d:\d\d", "now"),
    (r"\b[0-9a-f]{16}\b", "hash"), (r", \d+ times", ""), (r" {2,}", "  "))]


class Origin(Handler):
    """A site: 401 to a wrong password, and a language model whose calls use 400 tokens."""

    def do_GET(self):
        self.answer(401 if b"wrong" in self.read() else 200,
                    json.dumps({"usage": {"total_tokens": 400}}).encode(),
                    Content_Type="application/json")

    do_POST = do_GET


class Page:
    """One page, its folder and its ports. A context manager, which ends what the page has begun."""

    def __init__(self, path):
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self._folder = tempfile.TemporaryDirectory(
            prefix="weir-docs-", ignore_cleanup_errors=True)
        self.folder = pathlib.Path(self._folder.name)
        self.folder.chmod(0o755)  # nginx's workers are another user
        self.ports = {}
        self.groups, self.updates = [], []
        self.root = self.folder  # of the host that the page is on
        self.make_tools()
        self.make_nginx()
        self.origin = serving(listen(Origin))
        self.ports["9000"] = str(self.origin.__enter__().server_port)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for group in reversed(self.groups):
            for number in (signal.SIGTERM, signal.SIGKILL):
                try:
                    os.killpg(group, number)
                    wait_until(lambda g=group: not alive(g), "it ends") if number == 15 else None
                except (ProcessLookupError, AssertionError):
                    pass
        self.origin.__exit__(None, None, None)
        for pid in self.folder.rglob("*.pid"):
            if (text := pid.read_text(encoding="ascii").strip()).isdigit():
                try:
                    os.kill(int(text), signal.SIGKILL)
                except ProcessLookupError:
                    pass
        self._folder.cleanup()

    def port(self, written):
        return self.ports.setdefault(str(written), str(free_port()))

    def here(self, text):
        text = PORTS.sub(lambda match: self.port(match[1]), text)
        text = text.replace("10.0.0.", "127.0.0.") if "10.0.0.1" in self.text else text
        return FOLDERS.sub(lambda match: f"{self.root}/{match[1]}/", text)

    def there(self, text):
        for written, used in self.ports.items():
            text = re.sub(rf"\b{used}\b", written, text)
        return text.replace(f"{self.folder}/", "/")

    def make_tools(self):
        """weir at the ports of this page, and Debian's nginx and its service in this folder."""
        tools = self.folder / "tools"
        tools.mkdir()
        nginx = f"{PRELOADED} /usr/sbin/nginx -e stderr -p {self.folder} " \
                f"-c {self.folder}/etc/nginx/nginx.conf"
        redis = "redis-server $ROOT/etc/redis/{}.conf --daemonize yes --supervised no " \
                "--dir $ROOT --pidfile $ROOT/{}.pid --logfile $ROOT/{}.log"
        ready = "until grep -qs 'Ready to accept' $ROOT/redis.log; do :; done"
        service = "set -a; . $ROOT/etc/weir/environment; set +a; weir serve --config " \
                  "$ROOT/etc/weir/weir.yaml >$ROOT/log 2>&1 &\n" \
                  "until grep -qs ' listening on ' $ROOT/log; do\n" \
                  "  kill -0 $! || { cat $ROOT/log; exit 1; }\ndone"
        # weir takes these for granted where neither a command nor a file says them. A busy machine
        # needs more than 20 ms for a trip to Redis.
        for name, script in {
            "weir": f'case "$1 $WEIR_REDIS_URL $*" in serve*redis*)\n'
                    f'  set -- "$@" --redis-deadline 2s ;;\nesac\n'
                    f'case "$1 $*" in serve*--http*|gateway*--http*|*--server*) ;;\n'
                    f'serve*|gateway*) grep -qs ^listen: $ROOT/etc/weir/weir.yaml ||\n'
                    f'  set -- "$@" --http 127.0.0.1:{self.port(8080)} ;;\n'
                    f'check*|explain*|busiest*|denials*|block*|unblock*|tenants*)\n'
                    f'  set -- "$@" --server http://127.0.0.1:{self.port(8080)} ;;\nesac\n'
                    f'exec {WEIR} "$@"',
            "nginx": f'exec {nginx} "$@"',
            "systemctl": f'case "$*" in\n'
                         f'"reload nginx") {nginx} -s reload 2>/dev/null || {nginx} ;;\n'
                         f'"restart redis-server") {redis.format(*["redis"] * 3)}\n{ready} ;;\n'
                         f'"restart redis-sentinel") '
                         f'{redis.format(*["sentinel"] * 3)} --sentinel ;;\n'
                         f'"stop redis-server") kill $(cat $ROOT/redis.pid) ;;\n'
                         f'"restart weir") {service} ;;\n*) exit 1 ;;\nesac',
        }.items():
            (tools / name).write_text(f"#!/bin/bash\n{script}\n", encoding="utf-8")
            (tools / name).chmod(0o755)

    def make_nginx(self):
        """As Debian installs it, with the package of the module."""
        etc = self.folder / "etc" / "nginx"
        for name in ("modules-enabled", "conf.d", "sites-enabled"):
            (etc / name).mkdir(parents=True)
        for name in ("var/log/nginx", "run", "etc/weir"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        text = pathlib.Path("/etc/nginx/nginx.conf").read_text(encoding="utf-8")
        text = text.replace("/etc/nginx/mime.types", "\0")
        (etc / "nginx.conf").write_text(self.here(text).replace("\0", "/etc/nginx/mime.types"),
                                        encoding="utf-8")
        (etc / "modules-enabled" / "50-mod-http-weir.conf").write_text(
            f"load_module {MODULE};\n", encoding="utf-8")

    def write(self, name, text):
        file = self.root / name.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.here(text), encoding="utf-8")

    def run(self, command):
        """What the command prints, when its servers listen."""
        output = self.folder / f"output{len(self.groups)}"
        path = f"{self.folder}/tools:/usr/sbin:/usr/bin:{os.environ['PATH']}"
        with output.open("wb") as file:
            process = subprocess.Popen(
                ["bash", "-c", self.here(command)], cwd=self.root, stdout=file,
                stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
                env={**os.environ, "PATH": path, "HOME": str(self.folder), "ROOT": str(self.root)})
        self.groups.append(process.pid)
        try:
            process.wait(timeout=COMMAND_MAX_S)
        except subprocess.TimeoutExpired:
            return 1, text_of(output) + f"after {COMMAND_MAX_S} s"
        servers = [line for line in command.splitlines() if line.rstrip().endswith("&")]
        count = sum("weir serve" in line or "weir gateway" in line for line in servers)
        wait_until(lambda: text_of(output).count(" listening on ") >= count
                   or not alive(process.pid), f"{command} listens")
        for line in servers:
            files = [self.root / word for word in line.split() if (self.root / word).is_file()]
            for used in self.ports.values():
                if any(used in text_of(file) for file in files if "weir " not in line):
                    wait_until(lambda p=used: listens(p), f"{line} listens")
        return process.returncode, text_of(output)

    def run_all(self):
        """The first difference between the page and what happens; None if there is none."""
        for fence in FENCE.finditer(self.text):
            block = fence[2]
            hosts = re.findall(r"10\.0\.0\.\d", (re.match("# on .*", block) or [""])[0])
            if not hosts and self.is_for_all(block):
                hosts = [f"10.0.0.{number}" for number in (1, 2, 3)]
            for host in hosts or [""]:
                self.root = self.folder / host
                for name in ("var/lib/redis", "var/lib/weir"):
                    (self.root / name).mkdir(parents=True, exist_ok=True)
                if found := self.runs(fence[1], block.replace("MY_ADDRESS", host),
                                      fence.start(2)):
                    return found
            self.root = self.folder
        if self.updates:
            self.write_updates()
        return None

    def is_for_all(self, block):
        marks = re.search(r"MY_ADDRESS|\A# (on each host|/etc/)", block)
        return "MY_ADDRESS" in self.text and marks

    def runs(self, language, block, begin):
        if name := FILE.match(block):
            self.write(name[1], block)
        elif language == "sh":
            commands = "\n".join(line for line in block.splitlines() if not NOT_HERE.match(line))
            code, said = self.run("set -e\n" + commands)
            if code:
                return f"{block}ended with {code} and said\n{self.there(said)}"
        elif language == "console":
            return self.differs(block, begin)
        return None

    def differs(self, block, begin):
        """Of the block at this place of the page."""
        for each in re.finditer(r"^\$ (.*?)(?=^\$ |\Z)", block, re.MULTILINE | re.DOTALL):
            command, _, expected = each[1].partition("\n")
            while command.count("'") % 2:
                more, _, expected = expected.partition("\n")
                command += "\n" + more
            if NOT_HERE.match(command):
                continue
            said = re.sub(r"[ \r]+$", "", self.there(self.run(command)[1]), flags=re.MULTILINE)
            if said and not said.endswith("\n"):
                said += "\n"
            if steady(said) == steady(expected):
                continue
            if not UPDATES:
                return f"$ {command}\nprinted\n{said}and the page shows\n{expected}"
            end = begin + each.end(1)
            self.updates.append((end - len(expected), end, said))
        return None

    def write_updates(self):
        text = self.text
        for begin, end, said in reversed(self.updates):
            text = text[:begin] + said + text[end:]
        self.path.write_text(text, encoding="utf-8")


def steady(text):
    """Lines, without what differs from one run to the next. Denials may be of one second or two."""
    for pattern, word in MOMENTS:
        text = pattern.sub(word, text)
    lines = [line.rstrip() for line in text.splitlines()]
    return [line for last, line in zip([None, *lines], lines)
            if line != last or not line.startswith("today")]


def text_of(file):
    return file.read_text(encoding="utf-8", errors="replace")


def alive(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", int(port))) == 0


def outcome(path):
    missing = [str(need) for need in NEEDS.get(path.name, ()) if not need.exists()]
    if missing:
        return f"not run: {', '.join(missing)} is missing", None
    begun = time.monotonic()
    with Page(path) as page:
        (page.folder / "node_modules/@weir").mkdir(parents=True)
        (page.folder / "node_modules/@weir/limiter").symlink_to(PACKAGE)
        (page.folder / "node_modules/express").symlink_to(PEERS / "node_modules/express")
        found = page.run_all()
    return f"{time.monotonic() - begun:.1f} s", found


class Recipes(unittest.TestCase):
    def test_pages_show_what_happens(self):
        wanted = [path for path in PAGES if path.name not in NOT_RUN
                  and (not sys.argv[1:] or path.stem in sys.argv[1:])]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for path, (note, found) in zip(wanted, pool.map(outcome, wanted)):
                print(f"{path.name}: {note}", flush=True)
                with self.subTest(page=path.name):
                    self.assertIsNone(found, found)

    def test_what_is_not_run_exists(self):
        names = {path.name for path in PAGES}
        self.assertLessEqual({*NOT_RUN, *NEEDS}, names)

    def test_recipes_have_one_skeleton(self):
        for path in PAGES:
            if path.parent.name == "how-to":
                text = path.read_text(encoding="utf-8")
                places = [text.find(part) for part in
                          ("**Result.**", "**Needs.**", "## Copy", "## Check", "## Undo",
                           "## If it fails")]
                with self.subTest(page=path.name):
                    self.assertEqual(places, sorted(places))
                    self.assertGreater(places[0], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
