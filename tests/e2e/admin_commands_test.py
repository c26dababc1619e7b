"""Commands that use the admin routes of a running server."""

import contextlib
import http.client
import json
import re
import subprocess
import typing
import unittest

import weir_server
from origin_server import Handler, listen, serving
from weir_server import Weir, post, run_weir

FILE = "rules:\n  - {id: api, limit: 100, window: 1h}\n  - {id: other, limit: 100, window: 1h}\n"


class Done(typing.NamedTuple):
    code: int
    out: str
    err: str


def command(weir, *arguments):
    return Done(*run_weir(*arguments, "--server", weir.url,
                          environment={"USER": "carol", "SUDO_USER": ""}))


class Blocks(unittest.TestCase):
    def allowed(self, weir, key, rule="api"):
        return weir.check(key=key, rule=rule, cost=0)["allowed"]

    def test_a_network_is_blocked_shown_and_let_go(self):
        with Weir("--threads", "2", config=FILE) as weir:
            done = command(weir, "block", "203.0.113.0/24", "--for", "1h",
                                "--why", "many bots")
            self.assertEqual((done.code, done.out),
                             (0, "203.0.113.0/24 is blocked for 1h, by all rules\n"), done.err)
            weir.wait_for_log('blocks: 203.0.113.0/24 is blocked for 1h for all rules, by "carol" '
                              'at 127.0.0.1, because "many bots"')
            for rule in ("api", "other"):
                self.assertFalse(self.allowed(weir, "203.0.113.9", rule))
                self.assertTrue(self.allowed(weir, "203.0.114.9", rule))
            shown = command(weir, "blocks").out
            self.assertIn("all rules         203.0.113.0/24  (by carol: many bots)\n", shown)
            lifted = command(weir, "unblock", "203.0.113.0/24")
            self.assertEqual((lifted.code, lifted.out),
                             (0, "203.0.113.0/24 is no longer blocked by any rule\n"))
            self.assertTrue(self.allowed(weir, "203.0.113.9"))

    def test_who_is_blocked_may_lift_the_block(self):
        with Weir(config=FILE + "  - {id: all, match: {}, limit: 9, window: 1h}\n") as weir:
            for key in ("127.0.0.1", "127.0.0.0/8"):
                self.assertEqual(command(weir, "block", key, "--for", "1h").code, 0)
                self.assertFalse(self.allowed(weir, "127.0.0.1"))
                self.assertEqual(command(weir, "unblock", key).code, 0)

    def test_a_key_is_blocked_by_one_rule(self):
        ghost = "  - {id: ghost, limit: 0, window: 1h, shadow: true}\n"
        with Weir("--threads", "2", config=FILE + ghost) as weir:
            command(weir, "block", "alice", "--for", "5m", "--rule", "api")
            self.assertFalse(self.allowed(weir, "alice"))
            self.assertTrue(self.allowed(weir, "alice", "other"))
            shown = json.loads(command(weir, "blocks", "--rule", "api", "--json").out)
            self.assertEqual(shown["blocks"][0]["by"], "carol")
            said = command(weir, "block", "alice", "--for", "5m", "--rule", "ghost").out
            self.assertEqual(said, "alice is blocked for 5m, by ghost, and passes all the same: "
                                   "the rule is in shadow\n")
            self.assertTrue(self.allowed(weir, "alice", "ghost"))
            missed = command(weir, "unblock", "alice", "--rule", "other")
            self.assertEqual(missed.code, 2)
            self.assertIn("This key of this rule is not blocked.", missed.err)
            self.assertEqual(command(weir, "unblock", "alice").code, 0)

    def test_says_what_holds_here_alone(self):
        alone = "on this node alone: Redis is away, and the others hear of it when it is back\n"
        with Weir("--redis", "redis://127.0.0.1:1", config=FILE) as weir:
            blocked = command(weir, "block", "alice", "--for", "5m").out
            self.assertEqual(blocked, "alice is blocked for 5m, by all rules\n" + alone)
            lifted = command(weir, "unblock", "alice").out
            self.assertEqual(lifted, "alice is no longer blocked by any rule\n" + alone)

    def test_mistakes_say_what_was_meant(self):
        with Weir(config=FILE) as weir:
            slip = command(weir, "block", "203.0.113.7/24", "--for", "1h")
            self.assertEqual(slip.code, 2)
            self.assertIn("203.0.113.0/24", slip.err)
            self.assertEqual(command(weir, "block", "alice", "--for", "soon").code, 2)
            self.assertEqual(command(weir, "block", "alice").code, 2)
            unknown = command(weir, "blocks", "--rule", "apy")
            self.assertEqual((unknown.code, unknown.out), (2, ""), "it was an empty table")
            self.assertIn("did you mean 'api'?", unknown.err)


class Denials(unittest.TestCase):
    def deny(self, weir, key, rule="api"):
        for _ in range(2):
            weir.check(key=key, rule=rule, cost=60)

    def test_are_shown_with_their_reasons(self):
        with Weir("--threads", "2", "--show-keys", config=FILE) as weir:
            self.deny(weir, "alice")
            self.deny(weir, "b\x1b[31mob", "other")
            shown = command(weir, "denials")
            self.assertEqual(shown.code, 0, shown.err)
            self.assertRegex(shown.out, r"(?m)^\d{4}-.*Z  api {15}alice {15}limit, 40 of 100 left, "
                                        r"cost 60, again in [0-9]+ s$")
            self.assertIn("b?[31mob", shown.out)
            only = command(weir, "denials", "--rule", "api", "--key", "alice")
            self.assertEqual(only.out.count("\n"), 1)
            self.assertEqual(command(weir, "denials", "--key", "alice").code, 2)
            self.assertEqual(command(weir, "denials", "--by", "key", "--door", "http").out,
                             "1 times         api               alice\n"
                             "1 times         other             b?[31mob\n")
            by_cause = command(weir, "denials", "--by", "cause").out
            self.assertRegex(by_cause, r"(?m)^1 times {9}\d{4}-.*Z to \d.*Z  api {15}limit$")
            self.deny(weir, "9:192.0.2.77:/search", "other")
            self.assertIn("  192.0.2.7, /search  limit", command(weir, "denials").out)
            self.assertEqual(command(weir, "denials", "--door", "grpc").out, "")
            self.assertEqual(command(weir, "denials", "--until", "soon").code, 2)

    def test_are_followed(self):
        with Weir("--threads", "2", "--show-keys", config=FILE) as weir:
            self.deny(weir, "alice")
            with subprocess.Popen([weir_server.WEIR, "denials", "--follow", "--server", weir.url],
                                  stdout=subprocess.PIPE, text=True) as following:
                self.assertIn("  alice  ", following.stdout.readline())
                self.deny(weir, "bob")
                self.assertIn("  bob  ", following.stdout.readline())
                following.terminate()

    def test_are_lines_of_the_log_where_that_is_wanted(self):
        with Weir("--threads", "2", "--log-denials", "1", config=FILE) as weir:
            for key in ("alice", "bob", "carol"):
                self.deny(weir, key)
            weir.wait_for_log("denied: rule api, key hash ")
            self.assertNotIn("alice", weir.log())


class Explain(unittest.TestCase):
    def test_does_not_count_as_denied_what_passed_in_shadow(self):
        rules = FILE + "  - {id: trial, limit: 1, window: 1h, shadow: true}\n"
        with Weir("--threads", "2", config=rules) as weir:
            for _ in range(3):
                self.assertTrue(weir.check(key="alice", rule="trial")["allowed"])
            said = command(weir, "explain", "alice", "--rule", "trial").out
            self.assertRegex(said, r"  let pass in shadow 2 times in the last 10m on this node, "
                                   r"the last at 20.*: limit\n$")
            self.assertNotIn("  denied ", said)
            self.assertIn("trial: allowed now, since the rule is in shadow, 0 of 1 left", said)
            self.assertNotIn("at worst", said)

    def test_says_that_a_rule_spares_a_key(self):
        some = "  - {id: r, limit: 1, window: 1h, enforce: 10%}\n"
        with Weir("--threads", "2", config=FILE + some) as weir:
            said = command(weir, "explain", "k0", "--rule", "r").out
            self.assertIn("r: allowed now and always: the rule spares this key, 1 of 1", said)
            self.assertNotIn("at worst", said)
            said = command(weir, "explain", "frank", "--rule", "r").out
            self.assertIn("r: allowed now, 1 of 1 left", said)

    def test_says_which_share_of_a_key_a_proportional_rule_denies(self):
        part = "  - {id: part, algorithm: fixed_window, limit: 2, window: 1h, " \
               "enforce: proportional}\n"
        with Weir("--threads", "2", config=FILE + part) as weir:
            for _ in range(8):
                weir.check(key="alice", rule="part")
            self.assertIn("part: denied now, as are 75 % of its requests, 0 of 2 left by ",
                          command(weir, "explain", "alice", "--rule", "part").out)

    def test_says_what_counts_a_key_until_when_and_what_would_help(self):
        rules = FILE + "  - {id: evil, limit: 5, window: 1h, deny: [mallory]}\n" \
            "  - {id: two, limit: 10, window: 1m, more_limits: [{limit: 99, window: 1h}], " \
            "max_holds: 2}\n" \
            "  - {id: paid, limit: 5, window: month, overrides: [{key: alice, limit: 7, " \
            "window: month, more_limits: [{limit: 2, window: day}]}]}\n"
        with Weir("--threads", "2", config=rules) as weir:
            self.assertEqual(
                command(weir, "explain", "carol").out,
                "none of 5 rules has counted carol, and none denied it in the last 10m on this "
                "node; --rule shows its limits by one\n")
            # Nobody has counted it, but the rule knows it.
            for rule in ((), ("--rule", "paid")):
                self.assertTrue(command(weir, "explain", "alice", *rule).out.startswith(
                    "paid: allowed now, 7 of 7 left of the month and 2 of 2 left of the day, by an "
                    "override, mode local\n"))
            weir.check(key="alice", rule="api", cost=60)
            weir.check(key="alice", rule="other", cost=100)
            for _ in range(3):
                weir.check(key="alice", rule="other")
            said = command(weir, "explain", "alice").out
            self.assertRegex(
                said, r"^api: allowed now, 40 of 100 left by sliding_window of 1h, mode local\n"
                      r"  full again in \d+ s\n"
                      r"  at worst 99 above the limit, or denied 100 below it\n"
                      r"other: denied now, 0 of 100")
            self.assertRegex(
                said, r"  passes again in \d+ s; to let it pass before: forget what it has spent "
                      r"\(POST /v1/reset\), or raise the limit\n")
            self.assertRegex(said, r"  denied 3 times in the last 10m on this node, "
                                   r"the last at 20.*: limit\n")
            self.assertNotIn("evil", said)
            self.assertEqual(weir.check(key="alice", rule="api", cost=0)["remaining"], 40)
            listed = command(weir, "explain", "mallory", "--rule", "evil").out
            self.assertIn("evil: denied now (deny_list), ", listed)
            self.assertIn("take the key off the rule's deny list", listed)
            weir.check(key="bob", rule="api", cost=101)
            command(weir, "block", "bob", "--for", "5m", "--rule", "api")
            for _ in range(2):
                weir.check(key="bob", rule="api")
            said = command(weir, "explain", "bob").out
            self.assertRegex(said, r"  denied 3 times in the last 10m on this node, the last at 20")
            self.assertRegex(said, r"now \(blocked\), mode .*\n  the block ends in \d+ s; to let")
            self.assertIn("lift the block (weir unblock); what it has spent counts until", said)
            weir.check(key="alice", rule="two")
            said = command(weir, "explain", "alice", "--rule", "two").out
            resets = sorted(int(each) for each in re.findall(r"\(full again in (\d+) s\)", said))
            self.assertEqual(len(resets), 2, said)
            self.assertGreater(resets[1], 3500)
            hold = {"key": "alice", "rule": "two", "cost": 5, "hold": "50s"}
            with weir.connect() as connection:
                connection.ask(post("/v1/reserve", json.dumps(hold).encode()))
            self.assertRegex(command(weir, "explain", "alice", "--rule", "two").out,
                             r"\n  5 held for work under way, by 1, the first for \d+ s more\n")
            said = json.loads(command(weir, "explain", "alice", "--rule", "api", "--json").out)
            self.assertEqual(said[0]["explain"]["remaining"], 40)
            self.assertEqual(said[0]["denials"]["groups"], [])
            self.assertEqual(command(weir, "explain", "alice", "--rule", "nosuch").code, 2)


@contextlib.contextmanager
def relay(weir):
    """(its URL, the addresses that it has seen): as a proxy's log would have them."""
    seen = []

    class Relay(Handler):
        def relay(self):
            seen.append(self.path)
            there = http.client.HTTPConnection("127.0.0.1", weir.port,
                                               timeout=weir_server.DEADLINE_S)
            with contextlib.closing(there):
                there.request(self.command, self.path, self.read())
                answer = there.getresponse()
                self.answer(answer.status, answer.read())

        do_GET = do_POST = do_PUT = do_DELETE = relay

    with serving(listen(Relay)) as server:
        yield f"http://127.0.0.1:{server.server_port}", seen


class Addresses(unittest.TestCase):
    def test_no_key_is_in_an_address(self):
        tenants = "  - {id: plans, limit: 10, window: 1h, tenants: true}\n"
        with Weir(config=FILE + tenants) as weir, relay(weir) as (url, seen):
            for words, said in (
                    ("tenants set secret --limit 5", "1 row, version 1\n"),
                    ("tenants get secret", "secret has the limit 5\n"),
                    ("explain secret", "plans: allowed now, 5 of 5 left by sliding_window of 1h, "
                                       "a limit of its own, mode local\n"),
                    ("tenants remove secret", "0 rows, version 2\n"),
                    ("block secret --for 1m", "secret is blocked for 1m"),
                    ("unblock secret", "secret is no longer blocked")):
                done = Done(*run_weir(*words.split(), "--server", url))
                self.assertEqual(done.code, 0, done.err)
                self.assertIn(said, done.out)
            self.assertGreaterEqual(len(seen), 6)
            self.assertEqual([path for path in seen if "secret" in path], [])


if __name__ == "__main__":
    weir_server.main()
