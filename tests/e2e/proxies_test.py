"""The configurations in deploy/, as they are but for the ports, in front of a real origin.

nginx, HAProxy and Caddy are run; Traefik and Envoy are not packages of Debian 12, so of
theirs only the syntax is looked at.
"""

import http.client
import pathlib
import shutil
import socket
import subprocess
import tempfile
import unittest

import yaml
from origin_server import Handler, listen, serving
from token_test import SECRET, token
from weir_server import DEADLINE_S, ROOT, Weir, free_port, wait_until

DEPLOY = ROOT / "deploy"
RULES = (DEPLOY / "weir.yaml").read_text().split("rules:", 1)[1]


class Origin(Handler):
    """Answers everything with 200 and its own path, but /forbidden with 403."""

    def do_GET(self):
        self.read()
        self.answer(403 if self.path == "/forbidden" else 200, self.path.encode())

    do_POST = do_GET


class Statuses(Handler):
    """Stands in Weir's place, and answers every question with one status."""

    def do_GET(self):
        self.answer(200 if self.path == "/health" else self.server.status)


def patient(text):
    """With the time that a busy machine needs."""
    for wait in ("proxy_connect_timeout 100ms", "proxy_read_timeout 200ms"):
        text = text.replace(wait, wait.split()[0] + " 20s")
    return text.replace("TIMEOUT_MS = 200", "TIMEOUT_MS = 20000")


class Proxy:
    """A proxy with a configuration of deploy/, in a folder of its own."""

    def __init__(self, files, ports, command, edit=lambda text: text):
        self.folder = tempfile.mkdtemp(prefix="weir-proxy-")
        self.port = ports["8000"]
        for source in files:
            text = edit(patient((DEPLOY / source).read_text()))
            for written, used in ports.items():
                text = text.replace(f":{written}", f":{used}")
            (pathlib.Path(self.folder) / pathlib.Path(source).name).write_text(text)
        self.log = open(pathlib.Path(self.folder) / "log", "w+")
        self.process = subprocess.Popen(
            [part.replace("FOLDER", self.folder) for part in command],
            cwd=self.folder, stdout=self.log, stderr=self.log,
            env={"HOME": self.folder, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})

    def __enter__(self):
        try:
            wait_until(self.is_listening, "the proxy listens")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder)

    def log_text(self):
        self.log.seek(0)
        return self.log.read()

    def is_listening(self):
        if self.process.poll() is not None:
            raise AssertionError("the proxy ended: " + self.log_text())
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def ask(self, method, path, headers=None):
        """The status, the headers in small letters, the body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        try:
            connection.request(method, path, b"x" if method == "POST" else None, headers or {})
            response = connection.getresponse()
            body = response.read().decode()
            return response.status, {k.lower(): v for k, v in response.getheaders()}, body
        finally:
            connection.close()


def nginx(ports, edit=lambda text: text):
    # In the foreground, one process, and nothing outside its folder.
    options = "daemon off; master_process off; pid FOLDER/pid; error_log stderr;"
    temporary = " ".join(
        f"{kind}_temp_path FOLDER/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    folder_free = "http {\n    access_log off;\n"
    return Proxy(
        ["nginx/nginx.conf"], ports,
        ["nginx", "-p", "FOLDER", "-c", "FOLDER/nginx.conf", "-e", "stderr", "-g", options],
        lambda text: edit(text).replace(
            "http {\n", folder_free + temporary.replace("FOLDER/", "") + "\n", 1))


def haproxy(ports, edit=lambda text: text):
    return Proxy(["haproxy/haproxy.cfg", "haproxy/weir.lua"], ports,
                 ["haproxy", "-db", "-f", "FOLDER/haproxy.cfg"], edit)


def caddy(ports):
    return Proxy(["caddy/Caddyfile"], ports,
                 ["caddy", "run", "--config", "FOLDER/Caddyfile", "--adapter", "caddyfile"])


PROXIES = (("nginx", nginx), ("haproxy", haproxy), ("caddy", caddy))


def recipe(title):
    """The rules of a chapter of docs/reference/proxies.md, with an hour for a minute: a busy
    machine must not see a window end."""
    chapter = (ROOT / "docs" / "reference" / "proxies.md").read_text().split(f"## {title}\n", 1)[1]
    return chapter.split("```yaml\n", 1)[1].split("```", 1)[0].replace("window: 1m", "window: 1h")


class ProxiesTest(unittest.TestCase):
    def setUp(self):
        self.weir = self.enterContext(Weir(config="rules:" + RULES))
        # A proxy that is killed resets its connections.
        self.origin = self.enterContext(serving(listen(Origin, handle_error=lambda *_: None)))
        self.ports = {"8000": free_port(), "8080": self.weir.port,
                      "9000": self.origin.server_address[1]}

    def check_limits(self, proxy):
        """Five logins pass, the sixth does not; everything else goes on."""
        for i in range(5):
            status, headers, body = proxy.ask("POST", "/login?next=/")
            self.assertEqual((status, body), (200, "/login?next=/"))
            self.assertEqual(headers["ratelimit"].split(";")[:2], ['"login"', f"r={4 - i}"])
            self.assertTrue(headers["ratelimit-policy"].startswith('"login";q=5'), headers)
        for path in ("/login", "//login", "/%6Cogin", "/x/../login", "/login?deny=200"):
            status, headers, _ = proxy.ask("POST", path)
            self.assertEqual(status, 429, path)
            self.assertTrue(1 <= int(headers["retry-after"]) <= 120, headers)
            self.assertTrue(headers["ratelimit"].startswith('"login";r=0;t='), headers)
        forged = {"X-Forwarded-For": "203.0.113.7", "X-Real-IP": "203.0.113.7",
                  "X-Forwarded-Uri": "/", "X-Original-URI": "/", "X-Forwarded-Method": "GET",
                  "X-Original-Method": "GET", "X-Forwarded-Host": "h", "X-Original-Host": "h"}
        self.assertEqual(proxy.ask("POST", "/login", forged)[0], 429)
        self.assertEqual(proxy.ask("GET", "/login")[0], 200)
        self.assertEqual(proxy.ask("POST", "/elsewhere")[::2], (200, "/elsewhere"))
        self.assertEqual(proxy.ask("GET", "/forbidden")[::2], (403, "/forbidden"))

    def test_nginx(self):
        with nginx(self.ports) as proxy:
            self.check_limits(proxy)
            self.weir.process.kill()
            self.weir.process.wait()
            self.assertEqual(proxy.ask("GET", "/")[0], 500)

    def test_nginx_that_fails_open(self):
        def uncomment(text):
            opened = text
            for line in ("proxy_intercept_errors on;", "error_page 502 504 = @weir_is_down;",
                         "error_log /dev/null crit;"):
                self.assertIn("# " + line, text)
                opened = opened.replace("# " + line, line)
            return opened

        with nginx(self.ports, uncomment) as proxy:
            self.check_limits(proxy)
            self.weir.process.kill()
            self.weir.process.wait()
            for _ in range(10):
                self.assertEqual(proxy.ask("POST", "/login")[::2], (200, "/login"))

    def test_haproxy(self):
        with haproxy(self.ports) as proxy:
            # Until its first health check it takes Weir for healthy, and later for what it is.
            self.check_limits(proxy)
            self.weir.process.kill()
            self.weir.process.wait()
            wait_until(lambda: proxy.ask("POST", "/login")[::2] == (200, "/login"),
                       "requests pass without Weir")

            def says_so():
                self.assertEqual(proxy.ask("POST", "/login")[0], 200)
                return "weir is down: " in proxy.log_text()
            wait_until(says_so, "the log says that they pass unasked")

    def start_weir(self, rules):
        weir = self.enterContext(Weir(config=rules))
        return {**self.ports, "8080": weir.port}

    # HAProxy's script told Weir of no header, so that everybody was anonymous there.
    def test_haproxy_passes_on_the_headers_that_rules_look_at(self):
        secret = self.enterContext(tempfile.NamedTemporaryFile(prefix="weir-e2e-secret-"))
        secret.write(SECRET)
        secret.flush()
        ports = self.start_weir(f"""
jwt: {{secret_file: {secret.name}}}
rules:
  - id: api
    limit: 5
    window: 1h
    match: {{}}
    key: ["jwt:sub", "header:X-Api-Key", "cookie:session", client]
    tier: jwt:plan
    tiers: [{{name: premium, limit: 50, window: 1h}}]
""")

        def with_more(text):
            return text.replace("lua.ask_weir Authorization",
                                "lua.ask_weir X-Api-Key,COOKIE,Authorization")

        def left(headers):
            return proxy.ask("GET", "/", headers)[1]["ratelimit"].split(";")[1]
        premium = {"Authorization": "Bearer " + token(sub="alice", plan="premium")}
        with haproxy(ports) as proxy:
            self.assertEqual(left(premium), "r=49")
            self.assertEqual(left({"X-Api-Key": "k1"}), "r=4")
            self.assertEqual(left({"X-Api-Key": "k2"}), "r=3")
        ports["8000"] = free_port()
        with haproxy(ports, with_more) as proxy:
            self.assertEqual(left(premium), "r=48")
            self.assertEqual(left({"X-Api-Key": "k1"}), "r=4")
            self.assertEqual(left({"Cookie": "a=b; session=1"}), "r=4")
            self.assertEqual(proxy.ask("GET", "/", {"Cookie": "x" * 5000})[0], 431)
        ports["8000"] = free_port()
        forging = "lua.ask_weir X-Forwarded-For"
        with haproxy(ports, lambda text: text.replace("lua.ask_weir Authorization", forging)) \
                as proxy:
            self.assertEqual(proxy.ask("GET", "/")[0], 403, "nobody passes by a mistake")

    def test_denials_reach_the_client_as_the_documents_say(self):
        ports = self.start_weir("""
rules:
  - id: none
    limit: 0
    window: 1h
    match: {path: /closed}
    on_deny:
      status: 418
      content_type: application/json
      body: '{"path":"{{path}}"}'
      header: [{name: X-Why, value: "{{rule}}"}]
""")
        for name, start in PROXIES:
            ports["8000"] = free_port()
            with self.subTest(name), start(ports) as proxy:
                wait_until(lambda: proxy.ask("GET", "/closed")[0] >= 400, "it asks")
                status, headers, body = proxy.ask("GET", "/closed")
                if name == "nginx":
                    self.assertEqual((status, headers.get("x-why")), (429, None))
                    continue
                self.assertEqual((status, body), (418, '{"path":"/closed"}'))
                self.assertEqual(headers["content-type"], "application/json")
                self.assertEqual(headers["x-why"], "none")
                self.assertIn("ratelimit", headers)

    def test_the_recipe_of_logins_and_the_rest_counts_what_it_says(self):
        rules = recipe("Ten logins a minute, and a hundred of everything else")
        for name, start in PROXIES:
            ports = {**self.start_weir(rules), "8000": free_port()}
            with self.subTest(name), start(ports) as proxy:
                wait_until(lambda: "ratelimit" in proxy.ask("POST", "/LOGIN/")[1], "it asks")
                spelt = ("/login", "/Login", "/login/") * 4
                logins = [proxy.ask("POST", path)[0] for path in spelt]
                self.assertIn(429, logins)
                self.assertEqual(sum(status == 200 for status in logins) + 1, 10)
                others = [proxy.ask(*asked)[0] for asked in
                          (("GET", "/login"), ("POST", "/other"), ("GET", "/")) * 34]
                self.assertEqual([others.count(200), others.count(429)], [100, 2])
                self.assertEqual(proxy.ask("POST", "/login")[0], 429)

    def test_caddy(self):
        with caddy(self.ports) as proxy:
            self.check_limits(proxy)

    def test_only_silence_lets_pass(self):
        """What each proxy makes of every status that Weir, or a stranger in its place, sends."""
        denials = (301, 400, 401, 403, 404, 413, 414, 421, 429, 431, 500, 501)
        for name, start in PROXIES:
            with serving(listen(Statuses, status=200)) as weir:
                ports = {**self.ports, "8000": free_port(), "8080": weir.server_address[1]}
                with self.subTest(name), start(ports) as proxy:
                    weir.status = 204 if name == "nginx" else 200
                    wait_until(lambda: proxy.ask("GET", "/")[0] == 200, "it asks and passes")
                    for weir.status in denials:
                        status, _, body = proxy.ask("GET", "/")
                        self.assertGreaterEqual(status, 300, (name, weir.status))
                        self.assertNotEqual(body, "/", (name, weir.status))

    def test_what_is_too_large_is_not_a_way_around(self):
        rule = "\n  - {id: none, limit: 0, window: 1m, match: {path: /closed}}\n"
        weir = self.enterContext(Weir(config="rules:" + rule))
        for name, start in PROXIES:
            ports = {**self.ports, "8000": free_port(), "8080": weir.port}
            with self.subTest(name), start(ports) as proxy:
                wait_until(lambda: proxy.ask("GET", "/closed")[0] == 429, "it denies")
                for size in (4000, 6000, 8100, 8300, 12000, 14000, 15000, 16000, 33000):
                    for path, headers in ((f"/closed?{'x' * size}", {}),
                                          ("/closed", {"X-Long": "x" * size}),
                                          (f"/closed?{'x' * (size // 2)}",
                                           {f"X-{i}": "x" * (size // 8) for i in range(4)})):
                        try:
                            status, _, body = proxy.ask("GET", path, headers)
                        except (http.client.HTTPException, OSError):
                            continue  # it has closed the connection
                        self.assertGreaterEqual(status, 400, (name, size))
                        self.assertFalse(body.startswith("/closed"), (name, size))

    def test_configurations_that_cannot_be_run_here_are_at_least_yaml(self):
        for path in ("traefik/dynamic.yaml", "envoy/ratelimit.yaml", "envoy/ext_authz.yaml",
                     "envoy/ratelimit-rules.yaml"):
            with self.subTest(path):
                self.assertIsInstance(yaml.safe_load((DEPLOY / path).read_text()), dict)


if __name__ == "__main__":
    unittest.main()
