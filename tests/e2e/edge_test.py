"""The rules of examples/edge, asked as a proxy asks: limits, the denial, the block."""

import math
import re
import time
import unittest

from weir_server import ROOT, Weir, get, main

RULES = ROOT / "examples" / "edge" / "rules.yaml"


def question(method, path, client="192.0.2.1", country="DE"):
    return get("/auth", f"X-Forwarded-Method: {method}\r\nX-Forwarded-Uri: {path}\r\n"
                        f"X-Forwarded-Host: example.com\r\nX-Forwarded-For: {client}\r\n"
                        f"CF-IPCountry: {country}\r\n")


def field(reply, name):
    found = re.search(rf"^{name}: *(.*?)\r?$", reply.head, re.IGNORECASE | re.MULTILINE)
    return found[1] if found else None


class Edge(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.weir = Weir("--config", str(RULES)).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.weir.__exit__()

    def ask(self, times, *arguments, **names):
        with self.weir.connect() as connection:
            return [connection.ask(question(*arguments, **names)) for _ in range(times)]

    def statuses(self, times, *arguments, **names):
        return [reply.status for reply in self.ask(times, *arguments, **names)]

    def assert_limit(self, limit, *arguments, **names):
        """The limit passes, and what the window lets go while we ask: nothing, unless a minute
        ends in the meantime, and then its share of the minute."""
        begun = time.monotonic()
        with self.weir.connect() as connection:
            statuses = [connection.ask(question(*arguments, **names)).status]
            while statuses[-1] == 200 and len(statuses) <= 2 * limit:
                statuses.append(connection.ask(question(*arguments, **names)).status)
        let_go = math.ceil(limit * (time.monotonic() - begun) / 60)
        self.assertEqual(statuses[-1], 429)
        self.assertGreaterEqual(len(statuses) - 1, limit)
        self.assertLessEqual(len(statuses) - 1, limit + let_go)

    def test_of_ten_logins_five_pass(self):
        self.assertEqual(self.statuses(10, "POST", "/api/login", client="192.0.2.10"),
                         [200] * 5 + [429] * 5)

    def test_the_block_is_longer_than_the_window(self):
        replies = self.ask(7, "POST", "/api/login", client="192.0.2.11")
        for denial in replies[5:]:  # the first one, too, which starts the block
            wait = int(field(denial, "Retry-After"))
            self.assertGreater(wait, 240)
            self.assertLessEqual(wait, 300)

    def test_each_path_has_its_limit(self):
        for path, limit in (("/api/expensive", 10), ("/api/data", 100), ("/", 1000)):
            with self.subTest(path):
                self.assert_limit(limit, "GET", path, client="192.0.2.14")
        self.assertEqual(self.statuses(20, "GET", "/other", client="192.0.2.14"), [200] * 20)
        self.assertEqual(self.statuses(20, "GET", "/api/login", client="192.0.2.14"), [200] * 20)

    def test_a_denial_says_who_and_how_much(self):
        reply = self.ask(11, "GET", "/api/expensive", client="2001:db8::7", country="FR")[-1]
        self.assertEqual(reply.status, 429)
        self.assertEqual(reply.json(), {"error": "Too Many Requests", "errorCode": 429})
        expected = {"Content-Type": "application/json", "Access-Control-Allow-Origin": "*",
                    "Cache-Control": "max-age=3", "Country": "FR", "Count": "10"}
        self.assertEqual({name: field(reply, name) for name in expected}, expected)
        self.assertIn("2001:db8:", field(reply, "IP"))


if __name__ == "__main__":
    main()
