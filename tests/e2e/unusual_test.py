"""Unusual traffic of a running node: the log, /admin/events, on_surge and the webhook."""

import os
import pathlib
import queue
import ssl
import tempfile
import unittest

from certificates import Authority
from fleet import http_load, metrics
from origin_server import serving
from webhook_receiver import WebhookReceiver
from weir_server import DEADLINE_S, Weir, get, main, wait_until

TOKEN = "0123456789abcdef"
CONFIG = """
unusual_traffic: {learn: 1s, webhook: "https://127.0.0.1:PORT/hook?secret=x",
                  webhook_token_file: TOKEN_FILE}
rules:
  - {id: login, limit: 1000000, window: 1m, on_surge: {limit: 50%}}
"""


class Receiver(WebhookReceiver):
    """A webhook under TLS that says 500 to its first request."""

    def __init__(self, certificate, key):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        super().__init__(context)
        self.requests = queue.Queue()
        self._asked = 0

    def take(self, path, headers, event):
        self._asked += 1
        status = 500 if self._asked == 1 else 204
        self.requests.put((path, headers["Authorization"], event))
        return status


class UnusualTraffic(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weir-e2e-unusual-")
        self.addCleanup(folder.cleanup)
        self.authority = self.enterContext(Authority())
        self.receiver = self.enterContext(
            serving(Receiver(*self.authority.issue("receiver"))))
        token = os.path.join(folder.name, "token")
        pathlib.Path(token).write_text(TOKEN + "\n", encoding="ascii")
        config = CONFIG.replace("PORT", str(self.receiver.server_port)).replace("TOKEN_FILE", token)
        self.weir = self.enterContext(
            Weir(config=config, environment={"SSL_CERT_FILE": self.authority.certificate}))

    def ask(self, path):
        with self.weir.connect() as connection:
            return connection.ask(get(path)).json()

    def load(self, rate):
        """Goes on until its block ends."""
        return http_load(self.weir, "--rule", "login", "--connections", 1, "--rate", rate,
                         "--duration", f"{4 * DEADLINE_S}s", keys=100)

    def limit_of_login(self):
        return self.ask("/v1/explain?rule=login&key=b")["applies"][0]["limit"]

    def test_a_step_is_reported_and_lowers_the_limit_that_wants_it(self):
        with self.load(rate=20):
            wait_until(lambda: metrics(self.weir)["req_per_sec"] > 18, "it has seen ten seconds")
        self.assertEqual(self.ask("/admin/events"), {"last": 0, "events": []})
        self.assertEqual(self.limit_of_login(), 1_000_000)

        with self.load(rate=400):
            line = self.weir.wait_for_log("unusual traffic of rule login since")
        self.assertIn("requests/s; usual are", line)
        (event,) = self.ask("/admin/events?since=0")["events"]
        self.assertEqual((event["number"], event["event"], event["rule"]), (1, "began", "login"))
        self.assertGreater(event["requests_per_second"], event["band"]["high"])
        self.assertEqual(len(event["keys"]), 5)
        for key in event["keys"]:
            self.assertEqual(set(key), {"hash", "count"})
            self.assertIn(f"{key['hash']} ({key['count']})", line)
        self.assertEqual(self.ask("/admin/events?since=1")["events"], [])
        self.assertEqual(self.limit_of_login(), 500_000)
        self.assertEqual(self.weir.metric("weir_rule_unusual"), 1)

        for _ in ("the one that failed", "the next attempt"):
            path, authorization, body = self.receiver.requests.get(timeout=DEADLINE_S)
            self.assertEqual(path, "/hook?secret=x")
            self.assertEqual(authorization, f"Bearer {TOKEN}")
            self.assertEqual(body["event"], "began")
            self.assertEqual({**body, **event}, body)
        self.assertNotIn("secret", self.weir.log())
        self.assertNotIn(TOKEN, self.weir.log())
        self.assertEqual(self.weir.stop(), 0)


if __name__ == "__main__":
    main()
