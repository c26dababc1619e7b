"""What the tests of the nginx module share: an nginx of their own, and clients for it.

Every nginx has a folder and a port of its own, and is stopped by its test. Nothing here waits for
a fixed time.
"""

import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from redis_world import Redis  # noqa: E402
from weir_server import (  # noqa: E402
    DEADLINE_S, ROOT, Connection, ConnectionClosed, free_port, wait_until,
)

BUILD = pathlib.Path(os.environ.get("WEIR_BUILD_DIR", ROOT / "build" / "dev"))
MODULE = BUILD / "nginx" / "ngx_http_weir_module.so"
# Debian's nginx has no AddressSanitizer; a module with it needs its runtime loaded first. Memory
# that nginx keeps until its end is no leak.
PRELOAD = os.environ.get("WEIR_NGINX_PRELOAD")
ENVIRONMENT = os.environ | ({"LD_PRELOAD": PRELOAD, "ASAN_OPTIONS":
                             "abort_on_error=1:detect_leaks=0"} if PRELOAD else {})
NO_LINGER = struct.pack("ii", 1, 0)  # close() resets the connection

FRAME = """
load_module {module};
daemon off;
pid {folder}/pid;
error_log stderr info;
worker_processes {workers};
events {{ worker_connections 256; }}
http {{
  log_format weir '$uri $status $weir_decision $weir_rule $weir_key_hash $weir_limit '
                  '$weir_remaining $weir_retry_after $weir_mode $weir_time';
  access_log {folder}/access.log weir;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; scgi_temp_path {folder}/scgi;
  uwsgi_temp_path {folder}/uwsgi;
  default_type text/plain;
  weir_zone weir {zone};
  weir_config {folder}/rules.yaml;
  upstream origin {{ server unix:{folder}/origin; }}
  server {{ listen unix:{folder}/origin; access_log off; return 200 "$request_uri"; }}
  {http}
  server {{
    listen 127.0.0.1:{port} reuseport;
    root {folder}/html;
    {server}
  }}
}}
"""


class Nginx:
    """A running nginx with the module. A context manager; leaving it kills what still runs."""

    def __init__(self, rules, server, http="", workers=2, zone="4m", start=True):
        self._folder = tempfile.TemporaryDirectory(prefix="weir-nginx-")
        self.folder = pathlib.Path(self._folder.name)
        self.folder.chmod(0o755)  # workers may be another user
        (self.folder / "html").mkdir()
        self.port = free_port()
        self.zone = zone
        self._said = {"server": server, "http": http, "workers": workers}
        self.write_rules(rules)
        self.write_config()
        self.process = None
        self._log = []
        if start:
            self._start()

    def write_rules(self, rules):
        (self.folder / "rules.yaml").write_text(rules, encoding="utf-8")

    def write_config(self, **changes):
        self._said |= changes
        text = FRAME.format(module=MODULE, folder=self.folder, port=self.port, zone=self.zone,
                            **self._said)
        (self.folder / "nginx.conf").write_text(text.replace("FOLDER", str(self.folder)),
                                                encoding="utf-8")

    def command(self, *more):
        return ["/usr/sbin/nginx", "-p", str(self.folder), "-c", str(self.folder / "nginx.conf"),
                "-e", "stderr", *more]

    def test(self):
        """`nginx -t`: (exit code, what it says)."""
        done = subprocess.run(self.command("-t"), capture_output=True, text=True,
                              timeout=DEADLINE_S, check=False, env=ENVIRONMENT)
        return done.returncode, done.stderr

    def _start(self):
        self.process = subprocess.Popen(self.command(), stderr=subprocess.PIPE, text=True,
                                        env=ENVIRONMENT)
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()
        # It listens before there are workers, and would miss a signal until then.
        wait_until(lambda: self.process.poll() is not None
                   or len(self.serving()) == self._said["workers"], "workers serve")
        assert self.process.poll() is None, self.log()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process is not None:
            workers = self.workers()
            self.process.kill()
            self.process.wait(timeout=DEADLINE_S)
            for worker in workers:
                try:
                    os.kill(worker, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self._reader.join(timeout=DEADLINE_S)
            self.process.stderr.close()
        self._folder.cleanup()
        assert not self.alerts(), self.alerts()

    def log(self):
        return "".join(self._log)

    def alerts(self):
        """What nginx says of workers that crash or leak; tests may kill some themselves."""
        return [line for line in self.log().splitlines() if "[alert]" in line
                and not line.endswith("exited on signal 9")]

    def access_log(self):
        """The fields of each line."""
        text = (self.folder / "access.log").read_text(encoding="utf-8")
        return [line.split(" ") for line in text.splitlines()]

    def workers(self):
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        try:
            return [int(pid) for pid in pathlib.Path(path).read_text(encoding="ascii").split()]
        except FileNotFoundError:
            return []

    def serving(self):
        """Workers that take new connections."""
        serving = []
        for worker in self.workers():
            try:
                title = pathlib.Path(f"/proc/{worker}/cmdline").read_text(encoding="ascii")
            except (FileNotFoundError, ProcessLookupError):
                continue
            if "worker process" in title and "shutting down" not in title:
                serving.append(worker)
        return serving

    def wait_until_shared(self, times=1):
        """Until each worker has said so often that it decides in Redis."""
        said = times * self._said["workers"]
        wait_until(lambda: self.log().count("limits are shared") >= said,
                   "all workers decide in Redis")

    def reload(self):
        """Returns when new workers serve, and none of those before."""
        before = set(self.workers())
        refusals = self.log().count("[emerg]")
        self.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.log().count("[emerg]") > refusals or (
            len(self.serving()) == self._said["workers"] and not before & set(self.serving())),
                   "new workers serve")
        assert self.log().count("[emerg]") == refusals, self.log()

    def reload_in_vain(self):
        """Returns when it has refused the configuration."""
        refusals = self.log().count("[emerg]")
        self.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.log().count("[emerg]") > refusals, "it refuses the configuration")

    def stop(self):
        """Gracefully: the exit code."""
        self.process.send_signal(signal.SIGQUIT)
        return self.process.wait(timeout=DEADLINE_S)

    def connect(self):
        return Connection(self.port)

    def ask(self, path, method="GET", fields="", body=b"", client="127.0.0.1"):
        """One request on a connection of its own, whose port is free again at once. Without that,
        a test that looks again and again until something is so would use up all ports."""
        with Client(self.port, client) as connection:
            reply = connection.ask(request(path, method, fields, body))
            connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
            return reply

    def _read_log(self):
        for line in self.process.stderr:
            self._log.append(line)


def sharing(test, count, rules, server, **more):
    """So many nginx, until the test ends, whose workers decide in a Redis of their own."""
    redis = test.enterContext(Redis())
    rules += f"store: {{redis: '{redis.url}', deadline: 10s}}\n"
    many = [test.enterContext(Nginx(rules, server, **more)) for _ in range(count)]
    for nginx in many:
        nginx.wait_until_shared()
    return many


class Client(Connection):
    """A connection from one of the addresses of this machine."""

    def __init__(self, port, address="127.0.0.1"):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S,
                                               source_address=(address, 0))
        self._pending = b""


def request(path, method="GET", fields="", body=b""):
    length = f"Content-Length: {len(body)}\r\n" if body or method == "POST" else ""
    return (f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{length}{fields}\r\n").encode() + body


def field(reply, name):
    """The value of a header field; None if there is none."""
    found = re.search(rf"^{re.escape(name)}: *(.*?)\r?$", reply.head, re.MULTILINE | re.IGNORECASE)
    return found[1] if found else None


def remaining(reply):
    return int(field(reply, "X-RateLimit-Remaining"))


class Load:
    """Clients that ask on and on, each on its own thread, until the block ends.

    Each connection is used for a few requests. nginx may close a connection between two
    requests, as it does when its worker is replaced: then it is made again. A request without a
    reply is lost, and so is one that was refused.
    """

    def __init__(self, nginx, paths, clients=4, requests_each=7):
        self.statuses = {}
        self.lost = []
        self._nginx = nginx
        self._paths = paths
        self._requests_each = requests_each
        self._grew = threading.Condition()
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(clients)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        self.wait_for_replies(50)
        return self

    def __exit__(self, *_):
        self._stopped.set()
        for thread in self._threads:
            thread.join(timeout=DEADLINE_S)

    def count(self, path, status):
        with self._grew:
            return self.statuses.get((path, status), 0)

    def replies(self):
        return sum(self.statuses.values())

    def wait_for_replies(self, more):
        with self._grew:
            goal = self.replies() + more
            assert self._grew.wait_for(lambda: self.replies() >= goal, timeout=DEADLINE_S), (
                "the clients stand still", self.lost)

    def _run(self):
        turn = 0
        while not self._stopped.is_set():
            try:
                with self._nginx.connect() as connection:
                    turn = self._use(connection, turn)
            except OSError as error:
                self._note(lost=repr(error))

    def _use(self, connection, turn):
        for number in range(self._requests_each):
            if self._stopped.is_set():
                break
            path = self._paths[turn % len(self._paths)]
            last = number == self._requests_each - 1
            turn += 1
            try:
                fields = "Connection: close\r\n" if last else ""
                reply = connection.ask(request(path, fields=fields))
            except (ConnectionClosed, OSError) as error:
                # Keep-alive: nginx may close while the next request is on its way (RFC 9112, 9.6).
                if number == 0:
                    self._note(lost=repr(error))
                return turn
            self._note(path, reply.status)
            if reply.says_close:
                break
        return turn

    def _note(self, path=None, status=None, lost=None):
        with self._grew:
            if lost is not None:
                self.lost.append(lost)
            else:
                self.statuses[path, status] = self.statuses.get((path, status), 0) + 1
            self._grew.notify_all()
