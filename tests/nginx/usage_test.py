"""Rules that count by what bodies of responses say: tokens of language models."""

import contextlib
import http.client
import json
import socket
import sys
import unittest

from nginx_server import (
    DEADLINE_S, NO_LINGER, ROOT, Client, Nginx, remaining, request, sharing, wait_until,
)

sys.path.insert(0, str(ROOT / "examples" / "llm"))

import origin  # noqa: E402
from origin_server import serving  # noqa: E402

LIMIT, ESTIMATE = 100_000, 500
RULES = f"""
rules:
  - id: tokens
    match: {{path: "/v1*"}}
    key: query:user
    limit: {LIMIT}
    window: 366d
    cost: usage
    reserve: {ESTIMATE}
  - id: own
    match: {{path: "/own*"}}
    key: query:user
    limit: {LIMIT}
    window: 366d
    cost: response:json:meta.units
    reserve: {ESTIMATE}
"""
SERVER = """
    weir on;
    proxy_http_version 1.1;
    location / { proxy_pass http://127.0.0.1:%d; }
    location /weir/ { weir off; weir_admin; }
    location /own { proxy_pass http://unix:FOLDER/own; }
    location = /own/disk { proxy_buffers 2 4k; proxy_buffer_size 4k; proxy_busy_buffers_size 4k;
                           proxy_pass http://unix:FOLDER/own; }
    location = /own/file { default_type application/json; alias FOLDER/html/units; }
"""
PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/messages",
         "/v1beta/models/m:streamGenerateContent")
PROMPT = "Say it once more"
WORDS = 7


def body_for(path, words=WORDS, prompt=PROMPT, streams=True):
    if "models" in path:
        return {"contents": [{"parts": [{"text": prompt}]}],
                "generationConfig": {"maxOutputTokens": words}}
    name = "input" if path.endswith("responses") else "messages"
    limit = "max_output_tokens" if name == "input" else "max_tokens"
    content = prompt if name == "input" else [{"content": prompt}]
    return {name: content, limit: words, "stream": streams,
            "stream_options": {"include_usage": True}}


class UsageTest(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(serving(origin.listen(0, pace=0)))
        self.nginx = self.enterContext(Nginx(RULES, SERVER % self.server.server_port))

    def test_explain_says_that_it_does_not_see_what_is_reserved(self):
        said = self.nginx.ask("/weir/v1/explain?path=/v1/messages%3Fuser%3Dada").json()
        self.assertEqual((said["would"], said["applies"][0]["because"]),
                         ("allow", "explain sees nothing of what requests under way reserve"))

    def post(self, path, user, body, port=None):
        """The status, and the body without its chunks."""
        connection = http.client.HTTPConnection("127.0.0.1", port or self.nginx.port,
                                                timeout=DEADLINE_S)
        with contextlib.closing(connection):
            connection.request("POST", f"{path}?user={user}", json.dumps(body))
            reply = connection.getresponse()
            return reply.status, reply.read()

    def left(self, user):
        """An error costs nothing."""
        reply = self.nginx.ask(f"/v1/nothing?user={user}", "POST", body=b"{}")
        self.assertEqual(reply.status, 404)
        return remaining(reply)

    def test_what_vendors_report_is_charged_and_passes_byte_for_byte(self):
        for path in PATHS:
            for streams in (True, False):
                asked = path if streams else path.replace("streamGenerate", "generate")
                with self.subTest(asked, streams=streams):
                    user = f"{PATHS.index(path)}{streams}"
                    body = body_for(path, streams=streams)
                    through = self.post(asked, user, body)
                    self.assertEqual(through[0], 200)
                    self.assertEqual(through, self.post(asked, user, body,
                                                        port=self.server.server_port))
                    self.assertEqual(self.left(user), LIMIT - len(PROMPT.split()) - WORDS)

    def test_a_stream_that_reports_nothing_costs_the_estimate(self):
        body = body_for(PATHS[0]) | {"stream_options": {}}
        self.assertEqual(self.post(PATHS[0], "ada", body)[0], 200)
        self.assertEqual(self.left("ada"), LIMIT - ESTIMATE)

    def test_events_pass_as_they_come_and_who_leaves_pays_what_was_reported(self):
        prompt = len(PROMPT.split()) + 1
        reported = {"/v1/messages": prompt + 1, PATHS[3]: prompt + origin.WORDS_BEFORE_STALL}
        for number, path in enumerate(PATHS):
            with self.subTest(path), Client(self.nginx.port) as client:
                body = json.dumps(body_for(path, prompt=PROMPT + " stall")).encode()
                client.send(request(f"{path}?user=s{number}", "POST", body=body))
                seen = b""
                while seen.count(b'word ') < origin.WORDS_BEFORE_STALL:
                    more = client.socket.recv(4096)  # it would wait for ever if nginx gathered them
                    self.assertTrue(more)
                    seen += more
                self.assertEqual(self.left(f"s{number}"), LIMIT - ESTIMATE, "it holds so much")
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
                client.socket.close()
                due = reported.get(path, ESTIMATE)
                wait_until(lambda due=due, user=f"s{number}": self.left(user) == LIMIT - due,
                           f"{due} are charged")


class OwnPathTest(unittest.TestCase):
    """An origin whose bodies the test writes."""

    def setUp(self):
        self.nginx = self.enterContext(Nginx(RULES, SERVER % 1))
        self.listener = self.enterContext(socket.socket(socket.AF_UNIX))
        path = self.nginx.folder / "own"
        self.listener.bind(str(path))
        path.chmod(0o777)
        self.listener.listen(16)
        self.listener.settimeout(DEADLINE_S)

    def exchange(self, path, fields, body, asked=""):
        """What the client gets, and the head that the origin got."""
        with Client(self.nginx.port) as client:
            client.send(request(f"{path}?user=ada", "GET", asked))
            with self.listener.accept()[0] as connection:
                head = b""
                while b"\r\n\r\n" not in head:
                    head += connection.recv(4096)
                connection.sendall(f"HTTP/1.1 200 OK\r\n{fields}Content-Length: {len(body)}\r\n"
                                   "Connection: close\r\n\r\n".encode() + body)
                return client.read_reply(), head.decode()

    def left(self):
        return remaining(self.exchange("/own", self.JSON, b'{"meta":{"units":0}}')[0])

    def charged(self, *arguments, **names):
        before = self.left()
        reply, head = self.exchange(*arguments, **names)
        return before - self.left(), reply, head

    JSON = "Content-Type: application/json\r\n"
    BODY = b'{"meta":{"units":42}}'

    def test_a_path_of_ones_own(self):
        self.assertEqual(self.charged("/own", self.JSON, self.BODY)[0], 42)
        self.assertEqual(self.charged("/own", self.JSON, b'{"meta":{}}')[0], ESTIMATE)

    def test_a_body_that_nginx_puts_on_disk_is_read(self):
        body = b'{"x":"' + (8 << 20) * b"y" + b'","meta":{"units":42}}'
        units, reply, _ = self.charged("/own/disk", self.JSON, body)
        self.assertEqual((units, reply.text.encode() == body), (42, True))
        (self.nginx.folder / "html" / "units").write_bytes(body)
        before = self.left()
        self.assertEqual(self.nginx.ask("/own/file?user=ada").text.encode(), body)
        self.assertEqual(self.left(), before - 42)

    def test_an_origin_is_asked_not_to_compress_and_if_it_does_the_estimate_counts(self):
        asked = "Accept-Encoding: gzip, br\r\n"
        units, _, head = self.charged("/own", self.JSON, self.BODY, asked=asked)
        self.assertIn("Accept-Encoding: identity\r\n", head)
        self.assertEqual(units, 42)
        coded = self.JSON + "Content-Encoding: gzip\r\n"
        self.assertEqual(self.charged("/own", coded, self.BODY)[0], ESTIMATE)

    def test_what_is_no_json_costs_the_estimate(self):
        html = "Content-Type: text/html\r\n"
        self.assertEqual(self.charged("/own", html, self.BODY)[0], ESTIMATE)
        self.assertEqual(self.charged("/own", self.JSON, b"}" + self.BODY)[0], ESTIMATE)

    def test_an_origin_that_fails_in_the_middle_is_paid_what_it_reported(self):
        for said, due in ((b'data: {"meta":{"units":30}}\n\ndata: {"meta":{"units":4', 30),
                          (b": nothing yet\n\n", ESTIMATE)):
            with self.subTest(said):
                before = self.left()
                with Client(self.nginx.port) as client:
                    client.send(request("/own?user=ada"))
                    with self.listener.accept()[0] as connection:
                        connection.recv(4096)
                        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                                           b"Content-Length: 1000\r\n\r\n" + said)
                    while client.socket.recv(4096):
                        pass
                wait_until(lambda before=before, due=due: self.left() == before - due, "charged")

    def test_head_and_no_content(self):
        before = self.left()
        with Client(self.nginx.port) as client:
            client.send(request("/own?user=ada", "HEAD"))
            with self.listener.accept()[0] as connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                                   b"Connection: close\r\n\r\n")
            client.socket.recv(4096)
        wait_until(lambda: self.left() == before - ESTIMATE, "it is charged")


class FleetTest(unittest.TestCase):
    def test_nginx_that_share_a_redis_share_what_was_reported(self):
        server = self.enterContext(serving(origin.listen(0, pace=0)))
        one, other = sharing(self, 2, RULES, SERVER % server.server_port)
        body = json.dumps(body_for(PATHS[2], streams=False)).encode()
        self.assertEqual(one.ask(f"{PATHS[2]}?user=ada", "POST", body=body).status, 200)
        spent = len(PROMPT.split()) + WORDS
        wait_until(lambda: remaining(other.ask("/v1/nothing?user=ada", "POST", body=b"{}"))
                   == LIMIT - spent, "the other knows")


if __name__ == "__main__":
    unittest.main()
