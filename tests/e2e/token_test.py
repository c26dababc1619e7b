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

from weir_server import Weir, get, main

SECRET = b"a secret of an end-to-end test, 40 bytes"
CONFIG = """
jwt: {secret_file: SECRET_FILE}
rules:
  - {id: gold, limit: 3, window: 1h, match: {jwt: [{claim: plan, value: gold}]}, key: "jwt:sub"}
  - {id: others, limit: 1, window: 1h, match: {}, key: client}
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


if __name__ == "__main__":
    main()
