"""Rules whose requests say in their bodies what they may cost, which is held while they are under
way."""

import gzip
import json
import socket
import subprocess
import sys
import unittest

from nginx_server import NO_LINGER, ROOT, Client, Nginx, remaining, request, sharing, wait_until

sys.path.insert(0, str(ROOT / "examples" / "llm"))

import origin  # noqa: E402
from origin_server import Handler, listen, serving  # noqa: E402

LIMIT, OTHERWISE = 10_000, 400
RULES = f"""
rules:
  - id: asked
    match: {{path: ["/v1*", "/asked*"]}}
    key: query:user
    limit: {LIMIT}
    window: 366d
    cost: usage
    reserve: {OTHERWISE}
    reserve_from: max_tokens
  - id: free
    match: {{path: /free}}
    limit: {LIMIT}
    window: 366d
    cost: usage
    reserve: {OTHERWISE}
"""
SERVER = """
    weir on;
    proxy_http_version 1.1;
    location / { proxy_pass http://127.0.0.1:%d; }
    location /v1 { proxy_pass http://127.0.0.1:%d; }
    location /asked/file { client_body_buffer_size 1k; proxy_pass http://127.0.0.1:%d; }
    location /asked/slow { client_body_timeout 1s; proxy_pass http://127.0.0.1:%d; }
    location /asked/small { client_max_body_size 1k; proxy_pass http://127.0.0.1:%d; }
    location /asked/moved { try_files /none @other; }
    location @other { proxy_pass http://127.0.0.1:%d; }
    location /asked/dry { weir dry_run; proxy_pass http://127.0.0.1:%d; }
    location /asked/straight { proxy_request_buffering off; proxy_pass http://127.0.0.1:%d; }
    location = /free { return 200 free; }
"""
H2 = ("server { listen unix:FOLDER/h2 http2; "
      "location / { weir on; proxy_pass http://127.0.0.1:%d; } }")
PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/messages",
         "/v1beta/models/m:streamGenerateContent")
NAMES = ("max_completion_tokens", "max_output_tokens", "max_tokens")


class Silent(Handler):
    """Keeps what it gets, and reports nothing. Of nothing it says that there is none."""

    def do_POST(self):
        self.server.bodies.append(self.read())
        self.answer(404 if "nothing" in self.path else 200, Content_Type="text/plain")

    do_GET = do_POST


def silent_origin(test):
    return test.enterContext(serving(listen(Silent, bodies=[])))


def asking(tokens, size=0):
    """A body of at least this size that ends with its tokens."""
    return json.dumps({"prompt": size * "x", "max_tokens": tokens}).encode()


def chunked(path, body, pieces):
    size = -(-len(body) // pieces)
    parts = [body[at:at + size] for at in range(0, len(body), size)]
    return b"POST %s HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n%s0\r\n\r\n" % (
        path.encode(), b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts))


class AskedTest(unittest.TestCase):
    def setUp(self):
        self.model = self.enterContext(serving(origin.listen(0, pace=0)))
        self.origin = silent_origin(self)
        ports = (self.origin.server_port, self.model.server_port) + 6 * (self.origin.server_port,)
        self.nginx = self.enterContext(Nginx(RULES, SERVER % ports,
                                             http=H2 % self.origin.server_port))

    def post(self, path, body, fields="", user="ada"):
        return self.nginx.ask(f"{path}?user={user}", "POST", fields, body)

    def left(self, user="ada"):
        reply = self.nginx.ask(f"/asked/nothing?user={user}")
        self.assertEqual(reply.status, 404)
        return remaining(reply)

    def passes(self, tokens, user="ada"):
        """Of a request that costs nothing, whether it would pass."""
        status = self.post("/asked/nothing", asking(tokens), user=user).status
        self.assertIn(status, (404, 429))
        return status == 404

    def charge(self, path, body, fields=""):
        """What a request has cost that was passed on unharmed."""
        before = self.left()
        del self.origin.bodies[:]
        self.assertEqual(self.post(path, body, fields).status, 200)
        self.assertEqual(self.origin.bodies, [body])
        wait_until(lambda: self.left() < before, "it is charged")
        return before - self.left()

    def test_what_a_body_says_is_the_estimate(self):
        far = 64 << 10
        cases = (
            ("/asked", asking(50), "", 50),
            ("/asked", b'{"max_tokens":3,"generationConfig":{"maxOutputTokens":70}}', "", 70),
            ("/asked", asking(50), "Content-Type: application/json\r\n", 50),
            ("/asked", asking(50), "Content-Encoding: identity\r\n", 50),
            ("/asked", b"{}", "", OTHERWISE),
            ("/asked", b"", "", OTHERWISE),
            ("/asked", asking(-5), "", OTHERWISE),
            ("/asked", b"max_tokens=50", "", OTHERWISE),
            ("/asked", gzip.compress(asking(50)), "Content-Encoding: gzip\r\n", OTHERWISE),
            ("/asked", asking(50), "Content-Encoding: br\r\n", OTHERWISE),
            ("/asked", asking(60, size=30_000), "", 60),
            ("/asked", asking(50, size=far), "", OTHERWISE),
            ("/asked", b'{"max_tokens":500,' + asking(50, size=far)[1:], "", 500),
            ("/asked/file", asking(60, size=30_000), "", 60),
            ("/asked/file", asking(50, size=2 * far), "", OTHERWISE),
            ("/asked/moved", asking(70, size=30_000), "", 70),
            ("/asked/straight", asking(80, size=30_000), "", 80),
        )
        for path, body, fields, due in cases:
            with self.subTest(path, body=body[:50], size=len(body), fields=fields):
                self.assertEqual(self.charge(path, body, fields), due)

    def test_bodies_in_chunks_and_over_http2(self):
        for path, size in (("/asked", 0), ("/asked/file", 30_000)):
            before, body = self.left(), asking(60, size)
            del self.origin.bodies[:]
            with Client(self.nginx.port) as client:
                reply = client.ask(chunked(f"{path}?user=ada", body, pieces=7))
                self.assertEqual(reply.status, 200)
            self.assertEqual(self.origin.bodies, [body])
            wait_until(lambda before=before: self.left() == before - 60, "it is charged")
        before, body = self.left(), asking(60, 100)
        subprocess.run(["curl", "-s", "-o", "/dev/null", "--http2-prior-knowledge",
                        "--unix-socket", self.nginx.folder / "h2", "--data-binary", "@-",
                        "http://localhost/asked?user=ada"], input=body, check=True)
        self.assertEqual(self.origin.bodies[-1], body)
        wait_until(lambda: self.left() == before - 60, "it is charged")

    def test_a_stream_of_each_vendor_holds_what_it_asked_for(self):
        for number, path in enumerate(PATHS):
            user, asked = f"v{number}", 6000
            body = {"messages": [{"content": "stall"}], "stream": True}
            if number < len(NAMES):
                body[NAMES[number]] = asked
            else:
                body = {"contents": [{"parts": [{"text": "stall"}]}],
                        "generationConfig": {"maxOutputTokens": asked}}
            if path.endswith("responses"):
                body["input"] = body.pop("messages")
            with self.subTest(path), Client(self.nginx.port) as client:
                client.send(request(f"{path}?user={user}", "POST",
                                    body=json.dumps(body).encode()))
                reports = number >= 2  # before its end
                said = client.socket.recv(4096)
                while reports and b"sage" not in said.partition(b"\r\n\r\n")[2]:  # usageMetadata
                    said += client.socket.recv(4096) or self.fail("it has ended")
                self.assertIn(b"200 OK", said)
                self.assertTrue(self.passes(LIMIT - asked, user))
                self.assertFalse(self.passes(LIMIT - asked + 1, user))
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
                client.socket.close()
                wait_until(lambda user=user, least=LIMIT - (20 if reports else asked):
                           self.passes(least, user), "what was not spent is free again")
                if not reports:
                    self.assertEqual(self.left(user), LIMIT - asked)

    def test_more_than_the_limit_takes_all_of_it(self):
        self.assertTrue(self.passes(10**15))
        self.assertEqual(self.charge("/asked", asking(1)), 1)
        self.assertFalse(self.passes(10**15))
        self.assertTrue(self.passes(LIMIT - 1))

    def test_whose_body_never_ends_holds_nothing(self):
        endings = {"/asked/slow": lambda client: self.assertTrue(client.is_closed_by_server()),
                   "/asked/left": lambda client: client.socket.setsockopt(
                       socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)}
        for path, end in endings.items():
            with Client(self.nginx.port) as client:
                client.send(request(f"{path}?user=ada", "POST", body=asking(LIMIT))[:-1])
                end(client)
            self.assertTrue(self.passes(LIMIT))
        self.assertEqual(self.left(), LIMIT)
        self.assertNotIn(asking(LIMIT)[:-1], self.origin.bodies)

    def test_what_nginx_finds_too_large_is_not_judged(self):
        with Client(self.nginx.port) as client:
            reply = client.ask(chunked("/asked/small?user=ada", asking(50, size=5000), pieces=2))
            self.assertEqual(reply.status, 413)
        self.assertEqual(self.left(), LIMIT)

    def test_no_other_request_waits_for_its_body(self):
        with Client(self.nginx.port) as client:
            client.send(request("/free", "POST", body=asking(50))[:-1])
            self.assertEqual(client.read_reply().text, "free")

    def test_a_connection_goes_on_behind_a_denial_and_a_dry_run_denies_nobody(self):
        self.assertEqual(self.post("/asked", asking(LIMIT)).status, 200)
        wait_until(lambda: not self.passes(1), "all is spent")
        with Client(self.nginx.port) as client:
            for path, status in (("/asked", 429), ("/asked/dry", 200), ("/asked", 429)):
                body = asking(50, size=30_000)
                reply = client.ask(request(f"{path}?user=ada", "POST", body=body))
                self.assertEqual(reply.status, status)


class FleetTest(unittest.TestCase):
    """A request waits for its body, and then for a Redis."""

    def test_what_was_held_is_charged_in_redis(self):
        server = silent_origin(self)
        one, other = sharing(self, 2, RULES, SERVER % (8 * (server.server_port,)))
        body = asking(50, size=30_000)
        for path in ("/asked", "/asked/file"):
            self.assertEqual(one.ask(f"{path}?user=ada", "POST", body=body).status, 200)
        self.assertEqual(server.bodies, [body, body])
        wait_until(lambda: remaining(other.ask("/asked/nothing?user=ada")) == LIMIT - 100,
                   "the other knows")


if __name__ == "__main__":
    unittest.main()
