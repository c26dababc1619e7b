"""The hosts of Weir that strangers reach, each with the rules of an attack, before an origin.

    with hosts.serving("nginx over HTTP/2", rules) as ask:
        status = ask(b"/login", [(b"X-Api-Key", b" k1\t")])

Targets, names and values go onto the wire byte by byte. In HTTP/1.1 nothing stands between the
colon and the value. The origin answers 200.
"""

import contextlib
import functools
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

import frames

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / "nginx"), str(ROOT / "tests" / "e2e")]

from gateway_test import Gateway  # noqa: E402 (after the line above)
from nginx_server import MODULE, PRELOAD, Nginx  # noqa: E402
from weir_server import DEADLINE_S, WEIR, Connection, Weir, free_port  # noqa: E402

BUILD = pathlib.Path(os.environ.get("WEIR_BUILD_DIR", pathlib.Path(WEIR).parent))
NPM_CACHE = ROOT / "build" / "npm-cache"
CLIENT = b"192.0.2.1"  # of all requests, where a host takes a proxy's word
END_OF_HEAD = b"\r\n\r\n"
HTTP_2_SERVER = "server { listen 127.0.0.1:%d http2; location / { %s } }"
LIMITED = "weir on; proxy_pass http://origin;"
# The status of an HPACK block: the first field, from the static table or by three digits.
INDEXED_STATUSES = dict(zip(range(0x88, 0x8f), (200, 204, 206, 304, 400, 404, 500)))
TABLE_SIZE_UPDATES = range(0x20, 0x40)


def ask_http1(port, target, fields=()):
    lines = [b"GET %s HTTP/1.1" % target]
    if not any(name.lower() == b"host" for name, _ in fields):
        lines.append(b"Host: localhost")
    lines += [b"%s:%s" % field for field in fields] + [b"Connection: close"]
    with Connection(port) as connection:
        connection.send(b"\r\n".join(lines) + END_OF_HEAD)
        return int(read(connection.socket, len(b"HTTP/1.1 200"))[-3:])


def ask_http2(port, target, fields=()):
    """The status; None if the host has reset the stream instead."""
    rest = b"".join(frames.literal(name.lower(), value) for name, value in fields)
    with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S) as connection:
        connection.sendall(frames.hello() + frames.request(1, path=target, rest=rest))
        while True:
            head = read(connection, 9)
            payload = read(connection, int.from_bytes(head[:3], "big"))
            if head[3] in (frames.RST_STREAM, frames.GOAWAY):
                return None
            if head[3] == frames.HEADERS:
                return status_in(payload)


def status_in(block):
    while block[0] in TABLE_SIZE_UPDATES:
        block = block[1:]
    return INDEXED_STATUSES.get(block[0]) or int(block[2:5])


def read(connection, size):
    data = b""
    while len(data) < size:
        chunk = connection.recv(size - len(data))
        if not chunk:
            raise ConnectionError(f"closed after {data!r}")
        data += chunk
    return data


@contextlib.contextmanager
def server(ask, rules):
    """`weir serve`, as a proxy asks it that passes the fields of its client on."""
    def ask_as_proxy(target, fields=()):
        told = [(b"X-Forwarded-Method", b"GET"), (b"X-Forwarded-Uri", target),
                (b"X-Forwarded-Host", b"localhost"), (b"X-Forwarded-For", CLIENT)]
        return ask(weir.port, b"/auth", [*told, *fields])
    with Weir("--threads", 1, config=rules) as weir:
        yield ask_as_proxy


@contextlib.contextmanager
def nginx(ask, rules):
    port = free_port()
    with Nginx(rules, f"location / {{ {LIMITED} }}", HTTP_2_SERVER % (port, LIMITED)) as running:
        yield functools.partial(ask, running.port if ask is ask_http1 else port)


@contextlib.contextmanager
def gateway(ask, rules):
    with Gateway(rules) as running:
        yield functools.partial(ask, running.port)


@contextlib.contextmanager
def worker(ask, rules):
    """On workerd, with counters in Durable Objects, which count exactly."""
    with tempfile.TemporaryDirectory(prefix="weir-attack-worker-") as folder:
        path = pathlib.Path(folder)
        (path / "rules.yaml").write_text(rules, encoding="utf-8")
        (path / "rules.weir").write_bytes(
            run(WEIR, "export", path / "rules.yaml", "--store", "durable"))
        run("node", ROOT / "worker/tools/build.mjs", path, BUILD, path / "rules.weir")
        started = ["node", ROOT / "worker/tools/start.mjs", path, NPM_CACHE, "--ports", "0,0"]
        with subprocess.Popen(started, stdout=subprocess.PIPE, text=True) as process:
            try:
                urls = (re.search(r"http://127\.0\.0\.1:(\d+)", line) for line in process.stdout)
                port = int(next(filter(None, urls))[1])
                yield lambda target, fields=(): ask(
                    port, target, [(b"CF-Connecting-IP", CLIENT), *fields])
            finally:
                process.terminate()


def run(*command):
    return subprocess.run([*map(str, command)], check=True, capture_output=True,
                          timeout=DEADLINE_S).stdout


HOSTS = {"server": (server, ask_http1), "server over HTTP/2": (server, ask_http2),
         "nginx": (nginx, ask_http1), "nginx over HTTP/2": (nginx, ask_http2),
         "gateway": (gateway, ask_http1), "Worker": (worker, ask_http1)}


def lacks(name):
    """What this machine has not, without which the host does not run; empty if it has all."""
    runs, _ = HOSTS[name]
    if runs in (nginx, gateway):
        # `weir gateway` starts its nginx without the runtime of a sanitizer.
        return "" if MODULE.exists() and not PRELOAD else "the nginx module"
    if runs is worker:
        workerd = NPM_CACHE / "node_modules" / "workerd"
        return "" if workerd.exists() and (BUILD / "npm/package").exists() else "workerd"
    return ""


def serving(name, rules):
    """Runs this one of HOSTS: a context with `ask(target, fields)`, which returns a status."""
    runs, ask = HOSTS[name]
    return runs(ask, rules)
