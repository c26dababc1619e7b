"""What other limits would have decided of the requests that a node remembers."""

import json
import pathlib
import re
import tempfile
import threading
import unittest

from rules_test import ask
from weir_server import ROOT, Weir, post, run_weir, wait_until

FILE = """
rules:
  - {id: api, algorithm: sliding_log, limit: 100, window: 1s}
  - {id: burst, algorithm: token_bucket, limit: 20, window: 1s, burst: 5}
  - {id: login, limit: 5, window: 1m, key: client, match: {path: /login}, on_deny: {block: 1h}}
"""


def judge(weir, rule, over="5m"):
    reply = ask(weir, post(f"/admin/rules/validate?id={rule['id']}&dry_run={over}",
                           json.dumps(rule).encode()))
    assert reply.status == 200, reply.text
    return reply.json()["dry_runs"][0]


def judged(weir, rule):
    """What is said as soon as the node has run for longer than a window."""
    wait_until(lambda: "unknown" not in judge(weir, rule), "it is known")
    return judge(weir, rule)


def spend(weir, rule, *costs):
    """A request of each of these costs, each by a key of its own: nothing depends on its time."""
    with weir.connect() as connection:
        for i, cost in enumerate(costs):
            connection.check(key=f"k{i}", rule=rule, cost=cost)


class DryRun(unittest.TestCase):
    def test_80_instead_of_100(self):
        with Weir("--threads", "2", "--remember", "4MiB", config=FILE) as weir:
            spend(weir, "api", *[70] * 20, *[95] * 40, *[103] * 3)
            api = {"id": "api", "algorithm": "sliding_log", "limit": 80, "window": "1s"}
            run = judged(weir, api)
            self.assertEqual(run["asked"], {"requests": 63, "keys": 63})
            self.assertEqual(run["in_force"]["denied"], {"requests": 3, "keys": 3})
            nobody = {"requests": 0, "keys": 0}
            self.assertEqual(run["wanted"], {"limit": 80, "too_early": 0, "spared": nobody,
                                             "denied": {"requests": 43, "keys": 43}})
            self.assertEqual(run["newly_denied"], {"requests": 40, "keys": 40})
            self.assertEqual(run["newly_allowed"], nobody)
            curve = {point["limit"]: point["denied"] for point in run["curve"]}
            self.assertEqual(curve[60], {"requests": 63, "keys": 63})
            self.assertEqual(curve[125], nobody)
            self.assertEqual(judge(weir, api | {"window": "1h"})["unknown"].partition(", and")[0],
                             "Its windows reach back 1h")

    def test_a_rule_in_shadow_would_newly_deny(self):
        config = """
rules:
  - {id: quiet, algorithm: sliding_log, limit: 5, window: 1s, shadow: true}
  - {id: some, algorithm: sliding_log, limit: 5, window: 1s, enforce: 30%}
"""
        with Weir("--threads", "1", "--remember", "4MiB", config=config) as weir, \
                tempfile.TemporaryDirectory() as folder:
            spend(weir, "quiet", *[9] * 40)
            with weir.connect() as connection:
                denied = sum(not connection.check(key=f"k{i}", rule="some", cost=9)["allowed"]
                             for i in range(40))
            self.assertTrue(0 < denied < 40, denied)
            rule = {"algorithm": "sliding_log", "limit": 5, "window": "1s"}
            run = judged(weir, rule | {"id": "quiet"})
            self.assertEqual(run["in_force"]["denied"]["requests"], 0)
            self.assertEqual(run["in_force"]["spared"], {"requests": 40, "keys": 40})
            self.assertEqual(run["newly_denied"], {"requests": 40, "keys": 40})
            run = judge(weir, rule | {"id": "some"})
            self.assertEqual(run["in_force"]["denied"]["requests"], denied, "as it was")
            self.assertEqual(run["newly_denied"]["requests"], 40 - denied)
            run = judge(weir, rule | {"id": "quiet", "enforce": "0%"})
            self.assertEqual(run["newly_denied"]["requests"], 0)
            path = pathlib.Path(folder, "next.yaml")
            path.write_text(config.replace(", shadow: true", ", enforce: 50%"), encoding="utf-8")
            code, out, err = run_weir("validate", path, "--against", weir.url)
            self.assertEqual((code, err), (0, ""))
            self.assertRegex(out, r"newly denied: [1-9]\d* requests of .*; newly allowed: 0 .*\n"
                                  r"  would be denied, but pass in shadow or outside enforce: "
                                  r"[1-9]\d* requests of [1-9]\d* keys\n")

    def test_limits_of_single_keys(self):
        config = """
rules:
  - {id: api, algorithm: sliding_log, limit: 5, window: 1s,
     overrides: [{key: k0, limit: 50, window: 1s, algorithm: sliding_log}]}
"""
        with Weir("--threads", "1", "--remember", "4MiB", config=config) as weir:
            spend(weir, "api", 20, 20, 20)
            rule = {"id": "api", "algorithm": "sliding_log", "limit": 5, "window": "1s"}
            own = lambda key: {"key": key, "limit": 50, "window": "1s", "algorithm": "sliding_log"}
            run = judged(weir, rule | {"overrides": [own("k0"), own("k1")]})
            self.assertEqual(run["in_force"]["denied"], {"requests": 2, "keys": 2})
            self.assertEqual(run["newly_allowed"], {"requests": 1, "keys": 1})
            self.assertEqual(judge(weir, rule)["newly_denied"], {"requests": 1, "keys": 1})

    def test_the_rule_in_force_decides_again_what_it_has_decided(self):
        with Weir("--threads", "1", "--remember", "4MiB", config=FILE) as weir, \
                weir.connect() as connection:
            checks = [connection.check(key=f"k{i % 3}", rule="burst", cost=1 + i % 2)
                      for i in range(300)]
            denied = sum(not check["allowed"] for check in checks)
            self.assertGreater(denied, 50)
            rule = {"id": "burst", "algorithm": "token_bucket", "limit": 20, "window": "1s",
                    "burst": 5}
            run = judged(weir, rule)
            self.assertEqual(run["in_force"]["denied"]["requests"], denied)
            self.assertEqual(run["newly_denied"]["requests"], 0)
            self.assertGreater(judge(weir, rule | {"burst": 1})["newly_denied"]["requests"], 0)

    def test_a_rule_that_would_be_proportional(self):
        config = "rules: [{id: r, algorithm: fixed_window, limit: 2, window: 1s}]"
        with Weir("--threads", "1", "--remember", "4MiB", config=config) as weir, \
                tempfile.TemporaryDirectory() as folder:
            spend(weir, "r", *[3] * 6, 1, 1)
            rule = {"id": "r", "algorithm": "fixed_window", "limit": 4, "window": "1s",
                    "enforce": "proportional"}
            run = judged(weir, rule)
            self.assertEqual(run["newly_allowed"], {"requests": 6, "keys": 6})
            self.assertEqual({point["limit"]: point["denied"]["requests"]
                              for point in run["curve"]}[4], 0)
            path = pathlib.Path(folder, "next.yaml")
            path.write_text(config.replace("1s", "1s, enforce: proportional"), encoding="utf-8")
            code, out, err = run_weir("validate", path, "--against", weir.url)
            self.assertEqual((code, err), (0, ""))
            self.assertRegex(out, "would have denied 6 requests of 6 keys out of 8 requests")

    def test_a_file_of_many_rules_is_judged_by_some_of_the_keys(self):
        rules = "".join(f"  - {{id: r{i}, algorithm: fixed_window, limit: 30, window: 1s}}\n"
                        for i in range(16))
        with Weir("--threads", "1", "--remember", "4MiB", config="rules:\n" + rules) as weir, \
                tempfile.TemporaryDirectory() as folder, weir.connect() as connection:
            for i in range(8_000):  # more than a sixteenth of what is judged at once
                connection.check(key=f"k{i % 256}", rule="r0")
            path = pathlib.Path(folder, "next.yaml")
            path.write_text("rules:\n" + rules.replace("30", "1000"), encoding="utf-8")
            said = lambda: run_weir("validate", path, "--against", weir.url)[1]
            wait_until(lambda: "not known" not in said(), "it is known")
            found = re.search(
                "'r0': .* out of about ([0-9]+) requests of about ([0-9]+) keys, in the last .* "
                r"\(estimated by 1 of 2 keys\)", said())
            self.assertTrue(found, said())
            self.assertTrue(4_000 < int(found[1]) < 16_000, found[1])
            self.assertTrue(128 < int(found[2]) < 512, found[2])

    def test_says_what_it_does_not_know(self):
        for memory, change, why in (
                ((), {"limit": 4}, "This node remembers no requests"),
                (("--remember", "1MiB"), {"key": "header:X-User"}, "It differs in key."),
                (("--remember", "1MiB"), {"cost": 2}, "It differs in cost."),
                (("--remember", "1MiB"), {"match": {"path": "/x"}}, "It differs in match."),
                (("--remember", "1MiB"), {"window": "1d"}, "Its windows reach back 1d, and the"),
                (("--remember", "1MiB"), {"id": "none"}, "The rule is not in force")):
            with self.subTest(why), Weir("--threads", "1", *memory, config=FILE) as weir:
                rule = {"id": "login", "limit": 5, "window": "1m", "key": "client",
                        "match": {"path": "/login"}, "on_deny": {"block": "1h"}} | change
                self.assertIn(why, judge(weir, rule)["unknown"])

    def test_many_at_once_are_answered_or_refused(self):
        with Weir("--threads", "2", "--remember", "4MiB", config=FILE) as weir:
            with weir.connect() as connection:
                for i in range(2_000):
                    connection.check(key=f"k{i % 50}", rule="api")
            judged(weir, {"id": "api", "algorithm": "sliding_log", "limit": 9, "window": "1s"})
            seen = []
            body = b"id: api\nalgorithm: sliding_log\nlimit: 30\nwindow: 1s\n"

            def judge_often():
                for _ in range(5):
                    reply = ask(weir, post("/admin/rules/validate?id=api&dry_run=5m", body))
                    seen.append((reply.status, reply.text))

            threads = [threading.Thread(target=judge_often) for _ in range(8)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
            self.assertLessEqual({status for status, _ in seen}, {200, 503})
            self.assertIn(200, [status for status, _ in seen])
            for status, text in seen:
                self.assertIn("newly_denied" if status == 200 else "Another dry run", text)

    def test_a_file_is_judged_by_a_running_server(self):
        with Weir("--threads", "1", "--remember", "4MiB", config=FILE) as weir, \
                tempfile.TemporaryDirectory() as folder:
            spend(weir, "api", *[20] * 20, *[1] * 10)
            judged(weir, {"id": "api", "algorithm": "sliding_log", "limit": 9, "window": "1s"})
            path = pathlib.Path(folder, "next.yaml")
            path.write_text(FILE.replace("limit: 100", "limit: 10").replace("key: client, ", ""),
                            encoding="utf-8")
            code, out, err = run_weir("validate", path, "--against", weir.url)
            self.assertEqual((code, err), (0, ""))
            self.assertRegex(out, "rule 'api': would have denied 20 requests of 20 keys out of 30 "
                                  "requests of 30 keys, in the last .*s \\(every key is "
                                  "remembered\\)\n"
                                  "  newly denied: 20 requests of 20 keys; newly allowed: 0 .*\n"
                                  "  of those over the limit an exact log would have allowed 0 "
                                  "requests\n"
                                  "rule 'login': not known. It differs in key. ")
            self.assertNotIn("burst", out)
            code, out, _ = run_weir("validate", weir.config_path, "--against", weir.url)
            self.assertEqual(code, 0)
            self.assertIn("no rule is another than those in force", out)
            path.write_text("".join(line + "\n" for line in FILE.splitlines()
                                    if "id: login" not in line), encoding="utf-8")
            _, out, _ = run_weir("validate", path, "--against", weir.url)
            self.assertRegex(out, "(?m)^removed login")
            code, _, err = run_weir("validate", path, "--against", weir.url, "--over", "2d")
            self.assertEqual(code, 2)
            self.assertIn("a duration from 1s to 1d", err)
            url = weir.url
        code, _, err = run_weir("validate", ROOT / "examples/quickstart.yaml", "--against", url)
        self.assertEqual(code, 2)
        self.assertIn("no answer from", err)

    def test_a_size_that_makes_no_sense_is_refused(self):
        for size in ("0", "1", "1TiB", "64MB", "-1MiB", "100GiB", "64 MiB", "0MiB"):
            with self.subTest(size):
                code, _, err = run_weir("serve", "--http", "127.0.0.1:0", "--remember", size)
                self.assertEqual(code, 2)
                self.assertIn("a size from 1MiB to 99GiB, such as 64MiB", err)


if __name__ == "__main__":
    unittest.main()
