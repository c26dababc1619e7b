"""weir gateway: nginx with Weir in it, in front of an origin of our own."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import unittest

import weir_server
from certificates import Authority
from origin_server import Handler, listen, serving
from weir_server import DEADLINE_S, ROOT, WEIR, Connection, free_port, get, post, run_weir, \
    wait_until

MODULE = pathlib.Path(WEIR).parent / "nginx" / "ngx_http_weir_module.so"
# weir starts nginx here, and brings no runtime of a sanitizer: nginx_server.py.
NGINX_LOADS_IT = MODULE.exists() and not os.environ.get("WEIR_NGINX_PRELOAD")
EDGE_RULES = (ROOT / "examples" / "edge" / "rules.yaml").read_text(encoding="utf-8")
RULES = "rules: [{id: all, limit: %d, window: 366d, match: {}, key: client}]\n"
GUESSES = ("rules: [{id: guesses, limit: 5, window: 366d, match: {path: /login}, key: client,"
           " count_if: {status: [401, 403]}}]\n")


class Origin(Handler):
    def do_GET(self):
        self.server.asked.append(self.path)
        if self.headers.get("Upgrade") == "websocket":
            return self.echo()
        return self.answer(200, json.dumps(dict(self.headers)).encode())

    def do_POST(self):
        self.read()
        self.do_GET()

    def echo(self):
        """A WebSocket as far as a proxy can tell: both sides send as they like."""
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "upgrade")
        self.end_headers()
        while line := self.rfile.readline():
            self.wfile.write(line)
        self.close_connection = True


class SlowOrigin(Origin):
    """Answers with `status` once `thinks` is over."""

    thinks = threading.Event()
    status = 200

    def do_GET(self):
        self.server.asked.append(self.path)
        self.thinks.wait(DEADLINE_S)
        self.answer(self.status)


def listens(port):
    try:
        Connection(port).socket.close()
        return True
    except OSError:
        return False


class Gateway:
    """A running gateway with its origin. A context manager; leaving it ends both."""

    def __init__(self, rules, *arguments, access_log="access.log"):
        self._undo = contextlib.ExitStack()
        self.folder = pathlib.Path(
            self._undo.enter_context(tempfile.TemporaryDirectory(prefix="weir-gateway-test-")))
        self.origin = self._undo.enter_context(serving(listen(Origin, asked=[])))
        self.rules = self.folder / "rules.yaml"
        self.rules.write_text(rules, encoding="utf-8")
        self.port = free_port()
        log = self._undo.enter_context(open(self.folder / "log", "wb"))
        temporary = self.folder / "tmp"
        temporary.mkdir()
        self.folder.chmod(0o755)
        self.process = subprocess.Popen(
            [WEIR, "gateway", "--origin", f"http://127.0.0.1:{self.origin.server_port}",
             "--config", str(self.rules), "--http", f"127.0.0.1:{self.port}", "--workers", "2",
             "--memory", "4MiB", "--access-log", str(self.folder / access_log),
             *map(str, arguments)],
            stdout=log, stderr=log, env={**os.environ, "TMPDIR": str(temporary)})

    def __enter__(self):
        wait_until(self.is_up, "the gateway listens")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(DEADLINE_S)
        wait_until(lambda: not self.listens(), "nginx has gone")
        self._undo.close()

    def is_up(self):
        assert self.process.poll() is None, self.log()
        return self.listens()

    def listens(self):
        return listens(self.port)

    def log(self):
        return (self.folder / "log").read_text(encoding="utf-8")

    def ask(self, request):
        with Connection(self.port) as connection:
            return connection.ask(request)

    def get(self, path="/", fields=""):
        return self.ask(get(path, fields))

    def admits(self, times, fields=""):
        return [self.get("/", fields).status for _ in range(times)].count(200)

    def send_and_leave(self, path):
        with Connection(self.port) as connection:
            connection.send(get(path))

    def statuses(self):
        """All that the log has, of requests that are over."""
        return re.findall(r'HTTP/1.1" (\d+) ', (self.folder / "access.log").read_text("utf-8"))

    def stop(self):
        self.process.terminate()
        return self.process.wait(DEADLINE_S)


@unittest.skipUnless(NGINX_LOADS_IT, f"nginx cannot load {MODULE}")
class TheGateway(unittest.TestCase):
    def test_of_ten_logins_five_reach_the_origin(self):
        with Gateway(EDGE_RULES) as gateway:
            replies = [gateway.ask(post("/api/login", b"{}")) for _ in range(10)]
            self.assertEqual([reply.status for reply in replies], [200] * 5 + [429] * 5)
            self.assertEqual(gateway.origin.asked, ["/api/login"] * 5)
            denial = replies[-1]
            self.assertEqual(json.loads(denial.text),
                             {"error": "Too Many Requests", "errorCode": 429})
            for field in ("Retry-After: ", "RateLimit: ", "RateLimit-Policy: ", "Count: 5",
                          "IP: 127.0.0.1", "Cache-Control: max-age=3",
                          "Access-Control-Allow-Origin: *"):
                self.assertIn(f"\r\n{field}", denial.head)
            self.assertGreater(int(re.search(r"Retry-After: (\d+)", denial.head)[1]), 200)
            self.assertEqual(gateway.get("/api/data").status, 200)

    def test_the_access_log_says_what_was_decided(self):
        with Gateway(RULES % 1) as gateway:
            self.assertEqual(gateway.admits(2), 1)
            self.assertEqual(gateway.stop(), 0)
            lines = (gateway.folder / "access.log").read_text(encoding="utf-8").splitlines()
            self.assertEqual(len(lines), 2)
            lines.sort(key=lambda line: line.rpartition("time ")[2])  # two workers write them
            self.assertIn('"GET / HTTP/1.1" 200', lines[0])
            self.assertRegex(lines[1],
                             r" 429 .* rule all .* limit 1 remaining 0 retry \d+ delay - ")

    def test_one_file_for_both_logs_keeps_all_lines(self):
        with Gateway(RULES % 3, access_log="/dev/stdout") as gateway:
            gateway.admits(3)
            asked = '"GET / HTTP/1.1" 200'
            wait_until(lambda: gateway.log().count(asked) == 3, "nginx has written")
            gateway.process.send_signal(signal.SIGHUP)
            wait_until(lambda: "again" in gateway.log(), "the gateway has written")
            self.assertEqual(gateway.log().count(asked), 3, gateway.log())

    def test_it_counts_whom_trusted_proxies_name(self):
        with Gateway(RULES % 1) as gateway:  # loopback is trusted unless the file says otherwise
            for client in ("192.0.2.1", "192.0.2.2"):
                self.assertEqual(gateway.admits(2, f"X-Forwarded-For: {client}\r\n"), 1)

    def test_it_does_not_believe_strangers(self):
        with Gateway("trusted_proxies: []\n" + RULES % 1) as gateway:
            said = gateway.get("/", "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n")
            self.assertEqual(said.json()["X-Forwarded-Proto"], "http")
            self.assertEqual(gateway.admits(2, "X-Forwarded-For: 192.0.2.2\r\n"), 0)

    def test_a_changed_file_is_in_force_and_a_broken_one_is_not(self):
        with Gateway(RULES % 2) as gateway:
            self.assertEqual(gateway.admits(3), 2)
            gateway.rules.write_text(RULES % 0 + "oops", encoding="utf-8")
            wait_until(lambda: "the rules in force stay" in gateway.log(), "it is refused")
            self.assertRegex(gateway.log(), r"rules\.yaml:2:\d+: ")
            gateway.rules.write_text(RULES % 4, encoding="utf-8")
            for _ in range(2):  # former workers may still answer some
                wait_until(lambda: gateway.get().status == 200, "the new limit holds")
            self.assertEqual(gateway.admits(3), 0, "what was spent stays spent")

    def test_sighup_reads_the_file_again(self):
        with Gateway(RULES % 1) as gateway:
            self.assertEqual(gateway.admits(2), 1)
            for number in (1, 2):
                gateway.process.send_signal(signal.SIGHUP)
                wait_until(lambda: gateway.log().count("again") == number, "it hears of it")
            self.assertEqual(gateway.admits(5), 0, "a reload gives nothing back")

    def test_a_reload_believes_whom_the_file_trusts_now(self):
        with Gateway("trusted_proxies: []\n" + RULES % 1) as gateway:
            self.assertEqual(gateway.admits(2), 1)
            gateway.rules.write_text(RULES % 1, encoding="utf-8")
            wait_until(lambda: gateway.admits(1, "X-Forwarded-For: 192.0.2.1\r\n") == 1,
                       "this machine is trusted")

    def test_who_leaves_has_a_unit_until_the_origin_has_answered(self):
        for status, answered in ((200, 200), (401, 429)):
            with self.subTest(status), Gateway(GUESSES) as gateway:
                gateway.origin.RequestHandlerClass = type("", (SlowOrigin,), {
                    "thinks": threading.Event(), "status": status})
                thinks = gateway.origin.RequestHandlerClass.thinks
                for _ in range(20):
                    gateway.send_and_leave("/login")
                wait_until(lambda gateway=gateway: len(gateway.statuses()) >= 15, "15 are over")
                self.assertEqual(gateway.statuses(), 15 * ["429"])
                self.assertLessEqual(len(gateway.origin.asked), 5)
                thinks.set()
                wait_until(lambda gateway=gateway: len(gateway.statuses()) == 20, "all are over")
                self.assertEqual(gateway.get("/login").status, answered)

    def test_the_origin_is_left_with_the_client_where_no_rule_awaits_its_answer(self):
        with Gateway(GUESSES) as gateway:
            gateway.origin.RequestHandlerClass = type("", (SlowOrigin,), {})
            with Connection(gateway.port) as connection:
                connection.send(get("/data//a%2fb;c?d=%20"))
                wait_until(lambda: gateway.origin.asked, "the origin works on it")
            wait_until(lambda: gateway.statuses() == ["499"], "it is over")
            SlowOrigin.thinks.set()
            self.assertEqual(gateway.origin.asked, ["/data//a%2fb;c?d=%20"])

    def test_websockets_pass_and_other_changes_of_protocol_do_not(self):
        with Gateway(RULES % 9) as gateway:
            with Connection(gateway.port) as connection:
                connection.send(get("/", "Upgrade: websocket\r\nConnection: Upgrade\r\n"))
                stream = connection.socket.makefile("rb")
                self.assertIn(b" 101 ", stream.readline())
                while stream.readline() != b"\r\n":
                    pass
                for line in (b"hello\n", b"there\n"):
                    connection.send(line)
                    self.assertEqual(stream.readline(), line)
            said = gateway.get("/", "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n")
            self.assertNotIn("Upgrade", said.json())

    def test_tls_and_http2(self):
        with Authority() as authority:
            certificate, key = authority.issue("localhost")
            port = free_port()
            with Gateway(RULES % 1, "--http-tls", f"127.0.0.1:{port}", "--tls-certificate",
                         certificate, "--tls-key", key):
                said = [subprocess.run(
                    ["curl", "-sS", "--http2", "--cacert", authority.certificate, "-o", "/dev/null",
                     "-w", "%{http_version} %{http_code}", f"https://127.0.0.1:{port}/"],
                    capture_output=True, text=True, check=True).stdout for _ in range(2)]
                self.assertEqual(said, ["2 200", "2 429"])

    def test_a_stop_lets_requests_finish_and_leaves_nothing(self):
        with Gateway(RULES % 9) as gateway, Connection(gateway.port) as connection:
            connection.send(get("/", "Upgrade: websocket\r\nConnection: Upgrade\r\n"))
            stream = connection.socket.makefile("rb")
            self.assertIn(b" 101 ", stream.readline())
            gateway.process.terminate()
            wait_until(lambda: not gateway.listens(), "it stops listening")
            self.assertIsNone(gateway.process.poll(), "a connection is open")
            connection.send(b"still here\n")
            while b"still here" not in stream.readline():
                pass
            gateway.process.terminate()  # again: at once
            self.assertEqual(gateway.process.wait(DEADLINE_S), 0)
            self.assertEqual(list((gateway.folder / "tmp").iterdir()), [])

    def test_nginx_ends_with_a_gateway_that_is_killed(self):
        with Gateway(RULES % 9) as gateway:
            gateway.process.kill()
            wait_until(lambda: not gateway.listens(), "nginx has gone")

    def test_workers_end_with_an_nginx_that_is_killed(self):
        with Gateway(RULES % 9) as gateway:
            self.assertEqual(gateway.admits(1), 1, "a worker serves")
            (file,) = (gateway.folder / "tmp").glob("weir-gateway-*/nginx.pid")
            os.kill(int(file.read_text(encoding="utf-8")), signal.SIGKILL)
            self.assertEqual(gateway.process.wait(DEADLINE_S), 128 + signal.SIGKILL)
            wait_until(lambda: not gateway.listens(), "its workers have gone")

    def test_nginx_runs_what_it_prints(self):
        with Gateway(RULES % 1) as gateway:
            port, file = self.printed(gateway, "--folder", gateway.folder / "tmp")
            with subprocess.Popen(["/usr/sbin/nginx", "-e", "stderr", "-c", file]) as nginx:
                try:
                    wait_until(lambda: listens(port), "it listens")
                    with Connection(port) as connection:
                        statuses = [connection.ask(post("/", 20_000 * b"x")).status
                                    for _ in range(2)]
                finally:
                    nginx.terminate()
            self.assertEqual(statuses, [200, 429])

    def test_what_it_prints_names_no_folder_that_is_not_there(self):
        with Gateway(RULES % 1) as gateway:
            _, file = self.printed(gateway)
            done = subprocess.run(
                ["/usr/sbin/nginx", "-t", "-e", "stderr", "-c", file, "-g",
                 f"pid {gateway.folder}/pid;"], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)

    def printed(self, gateway, *arguments):
        """The port and the file of what another gateway of these rules would run."""
        port = free_port()
        code, said, why = run_weir(
            "gateway", "--print", "--origin", f"http://127.0.0.1:{gateway.origin.server_port}",
            "--config", gateway.rules, "--http", f"127.0.0.1:{port}", "--memory", "4194304",
            *arguments)
        self.assertEqual(code, 0, why)
        file = gateway.folder / "printed.conf"
        file.write_text(said, encoding="utf-8")
        return port, file

    def test_a_port_in_use_is_the_end(self):
        with Gateway(RULES % 9) as gateway:
            line = f" listening on http://127.0.0.1:{gateway.port}\n"
            wait_until(lambda: line in gateway.log(), "it says so")
            code, _, said = run_weir(
                "gateway", "--origin", "http://127.0.0.1:1", "--config", str(gateway.rules),
                "--http", f"127.0.0.1:{gateway.port}")
            self.assertEqual(code, 1)
            self.assertIn("Address already in use", said)
            self.assertNotIn("listening on", said)
            # Before it said " 127.0.0.1:PORT -> ORIGIN", as if it were so.
            self.assertIn(f" starting nginx for 127.0.0.1:{gateway.port} -> http://127.0.0.1:1\n",
                          said)


class ItsCommandLine(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.rules = self.folder / "rules.yaml"
        self.rules.write_text(RULES % 1, encoding="utf-8")

    def printed(self, *arguments, origin="http://127.0.0.1:9000", rules=None):
        return run_weir("gateway", "--print", "--origin", origin, "--config",
                        str(rules or self.rules), "--module", "/dev/null", *arguments)

    def test_files_are_named_from_where_it_is_typed(self):
        code, said, _ = self.printed("--origin-ca", "ca.pem", "--access-log", "a.log",
                                     origin="https://localhost:1")
        self.assertEqual(code, 0)
        for directive in ("proxy_ssl_trusted_certificate", "access_log"):
            self.assertRegex(said, directive + ' "/.*(ca.pem|a.log)"')

    def test_mistakes_are_named(self):
        for arguments, words in (
                ({"origin": "127.0.0.1:9000"}, "write http://HOST[:PORT]"),
                ({"origin": "http://a;b"}, "write http://HOST[:PORT]"),
                ({"rules": "/no/such.yaml"}, "/no/such.yaml")):
            code, _, why = self.printed(**arguments)
            self.assertEqual(code, 1)
            self.assertIn(words, why)
        for words in (["--origin-timeout", "soon"], ["--http", "127.0.0.1:0"], ["--access-log", ""],
                      ["--http-tls", "127.0.0.1:1"]):
            code, _, why = self.printed(*words)
            self.assertEqual(code, 1)
            self.assertIn(words[0], why)


@unittest.skipUnless(NGINX_LOADS_IT, f"nginx cannot load {MODULE}")
class DevGateway(unittest.TestCase):
    def test_the_example_denies_half_of_ten_logins(self):
        port = free_port()
        with subprocess.Popen(["/usr/bin/python3", ROOT / "scripts" / "gateway.py", "--port",
                               str(port), "--access-log", "off"], stdout=subprocess.PIPE,
                              text=True) as example:
            try:
                self.assertIn("/api/login", example.stdout.readline())
                said = subprocess.run(
                    ["curl", "-s", "--retry", "9", "--retry-connrefused", "--retry-max-time",
                     str(DEADLINE_S), f"localhost:{port}/api/data"],
                    capture_output=True, text=True, check=True).stdout
                self.assertEqual(json.loads(said)["path"], "/api/data")
                with Connection(port) as connection:
                    statuses = [connection.ask(post("/api/login", b"")).status for _ in range(10)]
                self.assertEqual(statuses, [200] * 5 + [429] * 5)
            finally:
                example.terminate()
            self.assertEqual(example.wait(DEADLINE_S), 0)


if __name__ == "__main__":
    weir_server.main()
