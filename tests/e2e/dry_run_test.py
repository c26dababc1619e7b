"""What other limits would have decided of the requests that a node remembers."""

import json
import pathlib
import tempfile
import threading
import unittest

from rules_test import ask
from weir_server import ROOT, Weir, post, run_weir

FILE = """
rules:
  - {id: api, algorithm: sliding_log, limit: 100, window: 1h}
  - {id: burst, algorithm: token_bucket, limit: 20, window: 1s, burst: 5}
  - {id: login, limit: 5, window: 1m, key: client, match: {path: /login}, on_deny: {block: 1h}}
"""


def judge(weir, rule, over="5m"):
    reply = ask(weir, post(f"/admin/rules/validate?id={rule['id']}&dry_run={over}",
                           json.dumps(rule).encode()))
    assert reply.status == 200, reply.text
    return reply.json()["dry_runs"][0]


class DryRun(unittest.TestCase):
    def test_80_instead_of_100(self):
        with Weir("--threads", "2", "--remember", "4MiB", config=FILE) as weir:
            for key, times in (("a", 70), ("b", 95), ("c", 103)):
                for _ in range(times):
                    weir.check(key=key, rule="api")
            run = judge(weir, {"id": "api", "algorithm": "sliding_log", "limit": 80,
                               "window": "1h"})
            self.assertEqual(run["asked"], {"requests": 268, "keys": 3})
            self.assertEqual(run["in_force"]["denied"], {"requests": 3, "keys": 1})
            self.assertEqual(run["wanted"], {"limit": 80, "too_early": 0,
                                             "denied": {"requests": 15 + 23, "keys": 2}})
            self.assertEqual(run["newly_denied"], {"requests": 35, "keys": 2})
            self.assertEqual(run["newly_allowed"], {"requests": 0, "keys": 0})
            curve = {point["limit"]: point["denied"] for point in run["curve"]}
            self.assertEqual(curve[90], {"requests": 5 + 13, "keys": 2})
            self.assertEqual(curve[125], {"requests": 0, "keys": 0})

    def test_the_rule_in_force_decides_again_what_it_has_decided(self):
        with Weir("--threads", "1", "--remember", "4MiB", config=FILE) as weir, \
                weir.connect() as connection:
            checks = [connection.check(key=f"k{i % 3}", rule="burst", cost=1 + i % 2)
                      for i in range(300)]
            denied = sum(not check["allowed"] for check in checks)
            self.assertGreater(denied, 50)
            rule = {"id": "burst", "algorithm": "token_bucket", "limit": 20, "window": "1s",
                    "burst": 5}
            run = judge(weir, rule)
            self.assertEqual(run["in_force"]["denied"]["requests"], denied)
            self.assertEqual(run["newly_denied"]["requests"], 0)
            self.assertGreater(judge(weir, rule | {"burst": 1})["newly_denied"]["requests"], 0)

    def test_a_rule_that_would_be_proportional(self):
        config = "rules: [{id: r, algorithm: fixed_window, limit: 2, window: 1h}]"
        with Weir("--threads", "1", "--remember", "4MiB", config=config) as weir, \
                weir.connect() as connection, tempfile.TemporaryDirectory() as folder:
            for _ in range(8):
                connection.check(key="a", rule="r")
            path = pathlib.Path(folder, "next.yaml")
            path.write_text(config.replace("1h", "1h, enforce: proportional"), encoding="utf-8")
            code, out, err = run_weir("validate", path, "--against", weir.url)
            self.assertEqual((code, err), (0, ""))
            # The limit is used up when the share begins, so the same requests are denied.
            self.assertRegex(out, "would have denied 6 requests of 1 key out of 8 requests")
            run = judge(weir, {"id": "r", "algorithm": "fixed_window", "limit": 4, "window": "1h",
                               "enforce": "proportional"})
            # 4 pass, and of the shares of four fifths, sixths ... the fifth is denied anyhow.
            self.assertEqual(run["wanted"]["denied"], {"requests": 4, "keys": 1})
            self.assertEqual({point["limit"]: point["denied"]["requests"]
                              for point in run["curve"]}[4], 4)

    def test_says_what_it_does_not_know(self):
        for memory, change, why in (
                ((), {"limit": 4}, "This node remembers no requests"),
                (("--remember", "1MiB"), {"key": "header:X-User"}, "It differs in more than its"),
                (("--remember", "1MiB"), {"cost": 2}, "It differs in more than its limits"),
                (("--remember", "1MiB"), {"match": {"path": "/x"}}, "It differs in more than its"),
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
            seen = []
            body = b"id: api\nalgorithm: sliding_log\nlimit: 30\nwindow: 1h\n"

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
            for _ in range(30):
                weir.check(key="a", rule="api")
            path = pathlib.Path(folder, "next.yaml")
            path.write_text(FILE.replace("limit: 100", "limit: 10").replace("key: client, ", ""),
                            encoding="utf-8")
            code, out, err = run_weir("validate", path, "--against", weir.url)
            self.assertEqual((code, err), (0, ""))
            self.assertRegex(out, "rule 'api': would have denied 20 requests of 1 key out of 30 "
                                  "requests of 1 key, in the last .*s \\(1 of 1 keys "
                                  "remembered\\)\n"
                                  "  newly denied: 20 requests of 1 key; newly allowed: 0 .*\n"
                                  "  an exact log would have allowed 0 of those denied\n"
                                  "rule 'login': not known. It differs in more")
            self.assertNotIn("burst", out)
            code, out, _ = run_weir("validate", weir.config_path, "--against", weir.url)
            self.assertEqual(code, 0)
            self.assertIn("no rule is another than those in force", out)
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
