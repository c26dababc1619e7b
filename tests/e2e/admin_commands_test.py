"""Commands that use the admin routes of a running server."""

import json
import typing
import unittest

import weir_server
from weir_server import Weir, run_weir

FILE = "rules:\n  - {id: api, limit: 100, window: 1h}\n  - {id: other, limit: 100, window: 1h}\n"


class Done(typing.NamedTuple):
    code: int
    out: str
    err: str


class Blocks(unittest.TestCase):
    def command(self, weir, *arguments):
        return Done(*run_weir(*arguments, "--server", weir.url,
                              environment={"USER": "carol", "SUDO_USER": ""}))

    def allowed(self, weir, key, rule="api"):
        return weir.check(key=key, rule=rule, cost=0)["allowed"]

    def test_a_network_is_blocked_shown_and_let_go(self):
        with Weir("--threads", "2", config=FILE) as weir:
            done = self.command(weir, "block", "203.0.113.0/24", "--for", "1h",
                                "--reason", "many bots")
            self.assertEqual((done.code, done.out),
                             (0, "203.0.113.0/24 is blocked for 1h, by all rules\n"), done.err)
            weir.wait_for_log('blocks: 203.0.113.0/24 is blocked for 1h for all rules, by "carol" '
                              'at 127.0.0.1, because "many bots"')
            for rule in ("api", "other"):
                self.assertFalse(self.allowed(weir, "203.0.113.9", rule))
                self.assertTrue(self.allowed(weir, "203.0.114.9", rule))
            shown = self.command(weir, "blocks").out
            self.assertIn("all rules         203.0.113.0/24  (by carol: many bots)\n", shown)
            lifted = self.command(weir, "unblock", "203.0.113.0/24")
            self.assertEqual((lifted.code, lifted.out),
                             (0, "203.0.113.0/24 is no longer blocked by any rule\n"))
            self.assertTrue(self.allowed(weir, "203.0.113.9"))

    def test_a_key_is_blocked_by_one_rule(self):
        with Weir("--threads", "2", config=FILE) as weir:
            self.command(weir, "block", "alice", "--for", "5m", "--rule", "api")
            self.assertFalse(self.allowed(weir, "alice"))
            self.assertTrue(self.allowed(weir, "alice", "other"))
            shown = json.loads(self.command(weir, "blocks", "--rule", "api", "--json").out)
            self.assertEqual(shown["blocks"][0]["by"], "carol")
            missed = self.command(weir, "unblock", "alice", "--rule", "other")
            self.assertEqual(missed.code, 2)
            self.assertIn("This key of this rule is not blocked.", missed.err)
            self.assertEqual(self.command(weir, "unblock", "alice").code, 0)

    def test_mistakes_say_what_was_meant(self):
        with Weir(config=FILE) as weir:
            slip = self.command(weir, "block", "203.0.113.7/24", "--for", "1h")
            self.assertEqual(slip.code, 2)
            self.assertIn("203.0.113.0/24", slip.err)
            self.assertEqual(self.command(weir, "block", "alice", "--for", "soon").code, 2)
            self.assertEqual(self.command(weir, "block", "alice").code, 2)


if __name__ == "__main__":
    weir_server.main()
