"""What the end-to-end tests share: a weir of their own, and clients for it.

Every server listens on a port of the system's choice, in a temporary folder, and is
stopped by its test. Nothing here waits for a fixed time: it waits for something to be
so, and DEADLINE_S says when to give up.
"""

import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))  # behind ours, which has a fleet, too

from free_ports import free_port, free_ports  # noqa: E402, F401: tests take them from here

DEADLINE_S = 30  # the machine may be busy; nothing normal takes a tenth of it
WEIR = os.environ.get("WEIR_BINARY", str(ROOT / "build" / "dev" / "weir"))
WEIR_BENCH = str(pathlib.Path(WEIR).with_name("weir-bench"))
IS_ASAN = "ASAN_OPTIONS" in os.environ  # ./dev asan sets them: it keeps what is freed for a while


class Weir:
    """A running `weir serve`. A context manager; leaving it kills what still runs.

    `prefix`: a command that starts it, as in ("taskset", "-c", 0), and becomes it.
    """

    def __init__(self, *arguments, config=None, http="127.0.0.1:0", environment=None, prefix=()):
        self._folder = tempfile.TemporaryDirectory(prefix="weir-e2e-")
        self.config_path = os.path.join(self._folder.name, "weir.yaml")
        command = [*prefix, WEIR, "serve", "--http", http, *arguments]
        if config is not None:
            self.write_config(config)
            command += ["--config", self.config_path]
        self._log = []
        self._log_grew = threading.Condition()
        self.process = subprocess.Popen(
            [*map(str, command)], stderr=subprocess.PIPE, text=True, cwd=self._folder.name,
            env={**os.environ, **(environment or {})})
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()
        self.url = self.url_of("http")
        self.port = None if "unix:" in self.url else self.port_of("http")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.wait()
        self.process.stderr.close()
        self._folder.cleanup()

    def write_config(self, text):
        pathlib.Path(self.config_path).write_text(text, encoding="utf-8")

    def url_of(self, scheme):
        """Where the door of this scheme listens: http, https, redis, rediss and so on."""
        line = self.wait_for_log(f"listening on {scheme}://")
        return re.search(r"listening on (\S+)", line)[1]

    def port_of(self, scheme):
        return int(self.url_of(scheme).rsplit(":", 1)[1])

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self):
        """The exit code, when it has ended and log() has its last words."""
        code = self.process.wait(timeout=DEADLINE_S)
        self._reader.join(timeout=DEADLINE_S)
        return code

    def stop(self):
        self.signal(signal.SIGTERM)
        return self.wait()

    def log(self):
        with self._log_grew:
            return "".join(self._log)

    def wait_for_log(self, text, after=0):
        """The first line, from number `after` on, that has the text."""
        with self._log_grew:
            def find():
                return next((line for line in self._log[after:] if text in line), None)
            self._log_grew.wait_for(
                lambda: find() or not self._reader.is_alive(), timeout=DEADLINE_S)
            if find() is None:
                raise AssertionError(f"no line with {text!r} in the log:\n{''.join(self._log)}")
            return find()

    def log_length(self):
        with self._log_grew:
            return len(self._log)

    def rss_kib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1])

    def connect(self):
        return Connection(self.port)

    def begin_drain(self):
        """Returns when it has begun on the core. For servers with one thread."""
        self.signal(signal.SIGTERM)
        wait_until(self._refuses_connections, "it stops accepting")

    def _refuses_connections(self):
        try:
            self.connect().socket.close()
            return False
        except (ConnectionRefusedError, ConnectionResetError):
            return True

    def check(self, **fields):
        """One check on a connection of its own: the answer as a dictionary."""
        with self.connect() as connection:
            return connection.check(**fields)

    def metric(self, name):
        with self.connect() as connection:
            reply = connection.ask(get("/metrics", "Accept: text/plain\r\n"))
        return float(re.search(rf"^{name}(?:{{[^}}]*}})? (\S+)$", reply.text, re.MULTILINE)[1])

    def _read_log(self):
        for line in self.process.stderr:
            with self._log_grew:
                self._log.append(line)
                self._log_grew.notify_all()
        with self._log_grew:
            self._log_grew.notify_all()


class Reply:
    def __init__(self, head, body):
        self.head = head
        self.text = body.decode("utf-8")
        self.status = int(head.split(" ", 2)[1])
        self.says_close = "\r\nconnection: close" in head.lower()

    def json(self):
        return json.loads(self.text)


class ConnectionClosed(Exception):
    """The server closed the connection before a whole reply had come.

    `began` tells whether some of it had.
    """

    def __init__(self, began):
        super().__init__("closed in the middle of a reply" if began else "closed")
        self.began = began


class Connection:
    """A socket that reads whole HTTP replies; under TLS with an SSLContext."""

    def __init__(self, port, context=None):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._pending = b""
        if context is not None:
            plain = self.socket
            try:
                self.socket = context.wrap_socket(plain, server_hostname="localhost")
            except OSError:
                plain.close()
                raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def read_reply(self):
        while b"\r\n\r\n" not in self._pending:
            self._fill()
        head, _, rest = self._pending.partition(b"\r\n\r\n")
        head = head.decode("latin-1")
        length = re.search(r"content-length: *(\d+)", head, re.IGNORECASE)
        size = int(length[1]) if length else 0  # as of 204
        while len(rest) < size:
            self._pending = head.encode("latin-1") + b"\r\n\r\n" + rest
            self._fill()
            rest = self._pending.partition(b"\r\n\r\n")[2]
        self._pending = rest[size:]
        return Reply(head, rest[:size])

    def ask(self, data):
        self.send(data)
        return self.read_reply()

    def check(self, **fields):
        reply = self.ask(check_request(**fields))
        assert reply.status == 200, reply.text
        return reply.json()

    def is_closed_by_server(self):
        """Waits for the end, reading what comes before it."""
        try:
            while self.socket.recv(65536):
                pass
            return True
        except ConnectionResetError:
            return True

    def _fill(self):
        try:
            chunk = self.socket.recv(65536)
        except ConnectionResetError:
            chunk = b""
        if not chunk:
            raise ConnectionClosed(began=bool(self._pending))
        self._pending += chunk


def get(path, fields=""):
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n".encode()


def post(path, body, fields=""):
    return (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
            f"{fields}\r\n").encode() + body


def check_request(**fields):
    return post("/check", json.dumps(fields).encode())


@contextlib.contextmanager
def sending(node, pause_s, send):
    """Calls send() with a connection, on a thread of its own, after each pause until the block
    ends."""
    ended = threading.Event()

    def go_on():
        with node.connect() as connection:
            while not ended.wait(pause_s):
                send(connection)

    sender = threading.Thread(target=go_on)
    sender.start()
    try:
        yield
    finally:
        ended.set()
        sender.join()


def run_weir(*arguments, environment=None, program=WEIR):
    """A command that ends by itself: (exit code, stdout, stderr)."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=DEADLINE_S,
                          env={**os.environ, **(environment or {})}, check=False)
    return done.returncode, done.stdout, done.stderr


class Crowd:
    """Clients that check on and on, each on its own thread, until the block ends.

    After a reply that says it is the last a client connects again; a connection that is
    refused means that the server has gone, and ends the client. Anything else, above all
    a request without a reply, is a failure.
    """

    def __init__(self, port, clients=4, context=None, requests_each=None, **fields):
        """`requests_each`: how many on one connection, before the client makes another."""
        self.replies = 0
        self.failures = []
        self._port = port
        self._context = context
        self._requests_each = requests_each
        self._request = check_request(**fields)
        self._lock = threading.Lock()
        self._progress = threading.Condition(self._lock)
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(clients)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        self.wait_for_replies(100)
        return self

    def __exit__(self, *_):
        self._stopped.set()
        for thread in self._threads:
            thread.join(timeout=DEADLINE_S)

    def wait_for_replies(self, more):
        """Returns when so many more replies have come, so that the load is really there."""
        with self._progress:
            goal = self.replies + more
            assert self._progress.wait_for(lambda: self.replies >= goal or self.failures,
                                           timeout=DEADLINE_S), "the clients stand still"

    def wait_until_all_have_ended(self):
        for thread in self._threads:
            thread.join(timeout=DEADLINE_S)
        assert not any(thread.is_alive() for thread in self._threads)

    def _run(self):
        while not self._stopped.is_set():
            try:
                connection = Connection(self._port, self._context)
            except (ConnectionRefusedError, ConnectionResetError):
                return  # the server has stopped listening
            with connection:
                if not self._use(connection):
                    return

    def _use(self, connection):
        """Asks until the server says it closes. False after a failure."""
        asked = 0
        while not self._stopped.is_set() and asked != self._requests_each:
            asked += 1
            try:
                reply = connection.ask(self._request)
            except (ConnectionClosed, OSError) as error:
                self._count(failure=repr(error))
                return False
            self._count(failure=None if reply.status == 200 else reply.text)
            if reply.says_close:
                return True
        return True

    def _count(self, failure):
        with self._progress:
            if failure is None:
                self.replies += 1
            else:
                self.failures.append(failure)
            self._progress.notify_all()


def wait_until(condition, what):
    """For what nobody announces: asks again and again until it is so.

    With a breath between, each longer than the last: most conditions take a connection, whose port
    is taken for a minute, and the others' time.
    """
    deadline = time.monotonic() + DEADLINE_S
    breath, seconds = threading.Event(), 0.005
    while not condition():
        assert time.monotonic() < deadline, f"it never became so: {what}"
        breath.wait(seconds)
        seconds = min(1.5 * seconds, 0.1)


def main():
    unittest.main(verbosity=2)


def main_side_by_side():
    """As main(), but each test in a process of its own, all at once: they wait for seconds to
    pass."""
    if len(sys.argv) > 1:
        return main()
    suites = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    names = [test.id().removeprefix("__main__.") for suite in suites for test in suite]
    tests = [subprocess.Popen([sys.executable, sys.argv[0], name], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) for name in names]
    for test in tests:
        sys.stdout.buffer.write(test.communicate()[0])
    sys.exit(any(test.returncode != 0 for test in tests))
