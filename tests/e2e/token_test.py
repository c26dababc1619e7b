"""Rules by the claims of tokens, through a running server."""

import base64
import hashlib
import hmac
import json
import os
import pathlib
import tempfile
import time
import unittest

from weir_server import Weir, get, main, post

SECRET = b"a secret of an end-to-end test, 40 bytes"
CONFIG = """
jwt: {secret_file: SECRET_FILE}
rules:
  - {id: gold, limit: 3, window: 1h, match: {jwt: [{claim: plan, value: gold}]}, key: "jwt:sub"}
  - {id: others, limit: 1, window: 1h, match: {}, key: client}
  - id: users
    group: users
    limit: 8
    window: 1h
    match: {path: /users}
    key: "jwt:sub"
  - id: first
    group: first
    limit: 8
    window: 1h
    match: {path: /users}
    key: ["jwt:sub", "header:X-Api-Key", client]
"""


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(secret=SECRET, **claims):
    text = ".".join(base64url(json.dumps(part).encode()) for part in ({"alg": "HS256"}, claims))
    return text + "." + base64url(hmac.new(secret, text.encode(), hashlib.sha256).digest())


class Tokens(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weir-e2e-token-")
        self.addCleanup(folder.cleanup)
        secret = os.path.join(folder.name, "secret")
        pathlib.Path(secret).write_bytes(SECRET + b"\n")
        self.weir = self.enterContext(Weir(config=CONFIG.replace("SECRET_FILE", secret)))

    def statuses(self, times, bearer, client):
        question = get("/auth", "X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /\r\n"
                                f"X-Forwarded-Host: a\r\nX-Forwarded-For: {client}\r\n"
                                f"Authorization: Bearer {bearer}\r\n")
        with self.weir.connect() as connection:
            return [connection.ask(question).status for _ in range(times)]

    def test_a_token_that_is_believed_has_its_rule_and_counter(self):
        one = token(plan="gold", sub="1", exp=int(time.time()) + 3600)
        self.assertEqual(self.statuses(4, one, "192.0.2.1"), [200] * 3 + [429])
        self.assertEqual(self.statuses(1, token(plan="gold", sub="2"), "192.0.2.1"), [200])

    def test_any_other_has_none(self):
        for number, bearer in enumerate((token(plan="free", sub="1"),
                                         token(b"another secret" * 3, plan="gold", sub="1"),
                                         token(plan="gold", sub="1", exp=int(time.time()) - 1),
                                         "nonsense", "")):
            with self.subTest(bearer):
                self.assertEqual(self.statuses(2, bearer, f"192.0.2.{10 + number}"), [200, 429])

    def explained(self, **request):
        question = json.dumps({"path": "/users", "client": "192.0.2.1", **request}).encode()
        with self.weir.connect() as connection:
            reply = connection.ask(post("/v1/explain", question)).json()
        return {rule["rule"]: rule for rule in reply["applies"]}, reply["token"]

    def test_forged_tokens_do_not_spend_what_strangers_have(self):
        def ask(bearer, client):
            headers = (f"X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /users\r\n"
                       f"X-Forwarded-Host: a\r\nX-Forwarded-For: {client}\r\n")
            with self.weir.connect() as connection:
                return connection.ask(get("/auth", headers + (
                    f"Authorization: Bearer {bearer}\r\n" if bearer else ""))).status
        forged = token(b"another secret" * 3, sub="1")
        for _ in range(8):
            ask(forged, "192.0.2.50")
        self.assertEqual(ask(forged, "192.0.2.50"), 429)
        self.assertEqual(ask("", "192.0.2.51"), 200)

    def test_an_explanation_says_why_a_token_does_not_count(self):
        def why(bearer):
            rules, believed = self.explained(headers={"Authorization": f"Bearer {bearer}"})
            self.assertEqual(rules["users"]["key"], "client 192.0.2.1")
            self.assertFalse(believed["counts"])
            self.assertEqual(rules["users"]["missing"], [{
                "part": "jwt:sub",
                "because": "the token does not count: " + believed["because"]}])
            return believed["because"]
        self.assertEqual(why(token(sub="1", exp=int(time.time()) - 1)), "it has expired")
        self.assertEqual(why(token(sub="1", nbf=int(time.time()) + 60)), "it does not hold yet")
        self.assertEqual(why(token(b"another secret" * 3, sub="1")),
                         "its signature does not fit the key")
        self.assertEqual(why(""), "the request has none")
        self.assertEqual(why("nonsense"), "it is no JSON Web Token")
        rules, believed = self.explained(headers={"Authorization": "Bearer " + token(plan="a")})
        self.assertEqual(believed, {"counts": True})
        self.assertEqual(rules["users"]["missing"][0]["because"], "the token does not say it")

if __name__ == "__main__":
    main()
