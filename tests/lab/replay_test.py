"""weir-lab replay: what rules would have done to a log. Rules and logs that a seed has made are
recounted in Python, and a gateway's own log leads to the decisions that it made."""

import collections
import gzip
import json
import os
import pathlib
import random
import subprocess
import sys
import threading
import unittest

from lab import FORMAT, LAB, START_S, LabTest, combined, exact, run_weir

import weir_server
from weir_server import DEADLINE_S

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "nginx"))

FIVE_A_MINUTE = """
rules:
  - {id: five, algorithm: sliding_log, limit: 5, window: 1m, match: {path: "*"}, key: client}
"""
HOUR_US = 3600 * 10**6


class Report(LabTest):
    def test_names_who_was_denied_when_and_after_what(self):
        attack = "".join(combined(100 + i, "203.0.113.9") for i in range(20))
        log = self.write("log", combined(0) + attack + combined(300) + "nonsense\n")
        said = self.said("replay", "--config", self.write("rules.yaml", FIVE_A_MINUTE), log)
        self.assertIn("15 of 22 requests denied (68.18 %), 1 of 2 keys", said)
        self.assertIn("203.0.113.9: 15 of 20 requests denied, the first at 2023-11-14 22:15:05, "
                      "after 6 in 5 s", said)
        self.assertIn("23 lines (combined), 2023-11-14 22:13:20 to 2023-11-14 22:18:20 UTC, "
                      "times of whole seconds", said)
        self.assertIn("23: it is of another format: nonsense", said)

    def test_tells_who_is_denied_from_who_would_be(self):
        log = self.write("log", "".join(combined(i, f"192.0.2.{client}")
                                        for client in range(1, 101) for i in range(8)))
        config = self.write("rules.yaml", FIVE_A_MINUTE.replace("key:", "enforce: 10%, key:") + """
  - {id: none, group: b, shadow: true, limit: 5, window: 1m, match: {}, key: client}
""")
        report = json.loads(self.said("replay", "--config", config, "--json", log))["rules"]
        some, none = report["rules"]
        self.assertEqual(some["denied_keys"] + some["would_be_denied_keys"], 100)
        self.assertTrue(1 < some["denied_keys"] < 30, some["denied_keys"])
        self.assertEqual(some["denied"], 3 * some["denied_keys"])
        self.assertEqual(some["would_be_denied"], 3 * some["would_be_denied_keys"])
        self.assertEqual((none["denied"], none["would_be_denied_keys"]), (0, 100))
        self.assertEqual((report["denied"], report["denied_keys"]),
                         (some["denied"], some["denied_keys"]))
        self.assertEqual(self.lab("replay", "--config", config, log,
                                  "--fail-on", f"denied_keys>{some['denied_keys']}")[0], 0)
        said = self.said("replay", "--config", config, log)
        self.assertIn(f" {some['denied_keys']} of 200 keys, each counted once a rule", said)
        self.assertIn(f"would be denied: {some['would_be_denied']} requests of "
                      f"{some['would_be_denied_keys']} keys", said)
        self.assertRegex(said, "five .*(enforce: 10%)")
        self.assertRegex(said, "none .*(in shadow)")
        self.assertRegex(said, "192.0.2.[0-9]+: 3 of 8 requests would be denied, the first at")

    def test_leaves_out_rules_that_need_more_than_the_log_has(self):
        report = self.report("""
rules:
  - {id: agent, group: a, limit: 1, window: 1m, match: {path: "*"}, key: "header:User-Agent"}
  - {id: token, group: b, limit: 1, window: 1m, match: {path: "*"}, key: "header:X-Token"}
  - {id: host, group: c, limit: 1, window: 1m, match: {host: a.example}, key: client}
  - {id: cookie, group: d, limit: 1, window: 1m, match: {path: /x, cookie: [{name: c}]}}
  - {id: called, limit: 1, window: 1m}
  - {id: off, group: f, enabled: false, limit: 1, window: 1m, match: {path: "*"}}
""", self.write("log", combined(0) + combined(1)))
        self.assertEqual([rule["id"] for rule in report["rules"]["rules"]], ["agent"])
        self.assertEqual(report["rules"]["rules"][0]["denied"], 1)
        self.assertEqual({out["id"]: out["reason"] for out in report["rules"]["left_out"]},
                         {"token": "the log does not have the header X-Token",
                          "host": "the log does not have the host",
                          "cookie": "the log does not have the header Cookie",
                          "called": "requests do not lead to it: it has no 'match'",
                          "off": "it is disabled"})

    def test_counts_by_the_status_where_the_rule_does(self):
        report = self.report("""
rules:
  - {id: failed, algorithm: fixed_window, limit: 3, window: 366d, match: {path: /login},
     key: client, count_if: {status: 401}}
""", self.write("log", "".join(
            combined(i, request="POST /login HTTP/1.1", status=401 if i % 2 else 200)
            for i in range(20))))
        (rule,) = report["rules"]["rules"]
        self.assertEqual((rule["denied"], rule["exact"]["denied"]), (14, 14))

    def test_a_client_with_a_name_is_one_client(self):
        log = "".join(combined(i, f"{name}.example")
                      for i in range(8) for name in ("a", "b"))
        report = self.report(FIVE_A_MINUTE, self.write("log", log))
        self.assertEqual([(key["key"], key["denied"])
                          for key in report["rules"]["rules"][0]["worst"]],
                         [("a.example", 3), ("b.example", 3)])
        self.assertEqual(report["log"]["named_clients"], 16)
        log = self.write("log", log + combined(9))
        self.assertIn("\n  16 requests of clients with names: each counts by its name",
                      self.said("replay", "--config", self.folder / "rules.yaml", log))

    def test_says_how_much_an_exact_log_would_have_denied(self):
        rules = FIVE_A_MINUTE.replace("sliding_log", "fixed_window")
        # START_S is 20 seconds into a minute: five at its end, five at the begin of the next.
        log = "".join(combined(second) for second in [39] * 5 + [40] * 5)
        (rule,) = self.report(rules, self.write("log", log))["rules"]["rules"]
        self.assertEqual((rule["denied"], rule["exact"]),
                         (0, {"denied": 5, "too_early": 0, "too_late": 5}))


class Compared(LabTest):
    def test_the_same_rules_change_nothing(self):
        for seed in range(5):
            rules, log, _ = make_world(random.Random(seed))
            config = self.write("rules.yaml", rules)
            report = self.report(rules, "--against", config, "--log-format", FORMAT,
                                 self.write("log", log))
            self.assertEqual(report["rules"], report["against"])
            for change in report["change"].values():
                self.assertEqual((change["requests"], change["keys"]["count"]), (0, 0))

    def test_says_who_would_newly_be_denied_and_allowed(self):
        log = self.write("log", "".join(
            combined(second, client) for second in range(8)
            for client in ["192.0.2.1"] + ["192.0.2.2"] * (second < 4)))
        lower = self.write("lower.yaml", FIVE_A_MINUTE.replace("limit: 5", "limit: 3"))
        report = self.report(FIVE_A_MINUTE, "--against", lower, log)
        denied = report["change"]["newly_denied"]
        self.assertEqual((denied["requests"], denied["keys"]["count"]), (3, 1))
        self.assertEqual([key["key"] for key in denied["keys"]["worst"]], ["192.0.2.2"])
        self.assertEqual(denied["examples"][0], {
            "time": "2023-11-14 22:13:23", "client": "192.0.2.1", "request": "GET /",
            "rule": "five"})
        self.assertEqual(report["change"]["newly_allowed"]["requests"], 0)

        back = json.loads(self.said("replay", "--config", lower, "--against",
                                    self.folder / "rules.yaml", "--json", log))["change"]
        self.assertEqual(back["newly_allowed"]["requests"], 3)
        self.assertEqual(back["newly_allowed"]["keys"]["count"], 1)

    def test_fails_on_a_condition(self):
        log = self.write("log", "".join(combined(second) for second in range(10)))
        config = self.write("rules.yaml", FIVE_A_MINUTE)
        none = self.write("none.yaml", "rules: []\n")

        def code(*conditions):
            more = [word for each in conditions for word in ("--fail-on", each)]
            return self.lab("replay", "--config", none, "--against", config, log, *more)[0]

        self.assertEqual(code("newly_denied_keys>1"), 0)
        self.assertEqual(code("newly_denied_keys>0"), 3)
        self.assertEqual(code("newly_allowed_keys>0", "denied_requests>49.9%"), 3)
        self.assertEqual(code("denied_requests>50%"), 0)
        self.assertEqual(code(" newly_denied_keys > 0 "), 3)
        self.assertEqual(code("denied_requests > 50 %"), 0)
        for wrong in ("denied", "denied_keys>", "denied_keys>x", "denied_keys>nan", "keys>1",
                      "denied_keys > 5 0", "denied_keys>inf", "denied_keys>%"):
            self.assertEqual(code(wrong), 2, wrong)
        self.assertEqual(self.lab("replay", "--config", config, log,
                                  "--fail-on", "newly_denied_keys>0")[0], 2)


class Inputs(LabTest):
    def requests(self, *arguments, **more):
        config = self.write("rules.yaml", FIVE_A_MINUTE)
        done = subprocess.run([LAB, "replay", "--config", config, "--json", *map(str, arguments)],
                              capture_output=True, timeout=DEADLINE_S, check=True, **more)
        report = json.loads(done.stdout)
        return report["rules"]["requests"], report["log"]

    def test_come_compressed_by_pipe_and_from_several_files(self):
        text = "".join(combined(second) for second in range(10)).encode()
        plain = self.write("log", text)
        packed = self.write("log.gz", gzip.compress(text))
        self.assertEqual(self.requests(plain, packed)[0], 20)
        self.assertEqual(self.requests("-", input=gzip.compress(text))[0], 10)
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        writer = threading.Thread(target=fifo.write_bytes, args=(text,))
        writer.start()
        self.assertEqual(self.requests(fifo)[0], 10)
        writer.join()

    def test_may_be_empty(self):
        some = self.write("log", combined(0))
        empty = [self.write(f"empty{i}", content)
                 for i, content in enumerate((b"", b"\n\n", gzip.compress(b"")))]
        requests, log = self.requests(*empty, some)
        self.assertEqual((requests, log["lines"], log["format"]), (1, 1, "combined"))

    def test_may_be_bad(self):
        lines = [combined(0).encode(), b"\0\0\0", b"\xff\xfe" * 50, b"x" * 10_000_000,
                 combined(400 * 10**6).encode(), combined(1).encode()]
        requests, log = self.requests(self.write("log", b"\n".join(lines)))
        self.assertEqual((requests, log["unread"]), (2, 4))
        self.assertEqual([line["reason"] for line in log["unread_lines"]],
                         ["it is of another format"] * 2 + ["it is longer than 64 KiB",
                                                            "its time is in the future"])
        text = "".join(combined(i, f"192.0.2.{i % 250}") for i in range(5000)).encode()
        requests, log = self.requests(self.write("cut.gz", gzip.compress(text)[:-2000]))
        self.assertIn("the gzip is truncated or damaged", log["faults"][0])
        self.assertGreater(requests, 0)

    def test_of_no_known_format_are_refused(self):
        config = self.write("rules.yaml", FIVE_A_MINUTE)
        for path in (self.write("log", "nonsense\n"), self.write("empty", ""), "/nowhere"):
            code, said, complaint = self.lab("replay", "--config", config, path)
            self.assertEqual((code, said), (2, ""))
            self.assertIn("weir-lab replay: ", complaint)
        code, _, complaint = self.lab("replay", "--config", "/nowhere", path)
        self.assertEqual(code, 2)
        self.assertIn("/nowhere", complaint)

    def test_weir_starts_it(self):
        config = self.write("rules.yaml", FIVE_A_MINUTE)
        log = self.write("log", combined(0))
        self.assertEqual(run_weir("replay", "--config", config, log),
                         self.lab("replay", "--config", config, log))


def make_world(dice):
    """Random rules, a log in some disorder, and its requests in order: (us, client, path)."""
    paths = ["/a", "/b", "/c/d"]
    rules = []
    for number in range(dice.randint(1, 4)):
        rules.append({"id": f"r{number}", "group": f"g{number}",
                      "algorithm": dice.choice(["fixed_window", "sliding_log"]),
                      "limit": dice.randint(1, 6), "window": dice.choice([1, 10, 60, 3600]),
                      "path": dice.choice(paths + ["*"]),
                      "key": dice.choice(["client", "path", "client, path"]),
                      "shadow": dice.random() < 0.2})
    requests = sorted((dice.randrange(HOUR_US // 4), f"192.0.2.{dice.randint(1, 5)}",
                       dice.choice(paths)) for _ in range(1500))
    lines = [(us + dice.randrange(30) * 10**6, exact(us, client, f"GET {path}?q HTTP/1.1"))
             for us, client, path in requests]
    yaml = "rules:\n" + "".join(
        f"""  - {{id: {rule["id"]}, group: {rule["group"]}, algorithm: {rule["algorithm"]},
     limit: {rule["limit"]}, window: {rule["window"]}s, match: {{path: "{rule["path"]}"}},
     key: [{rule["key"]}], shadow: {str(rule["shadow"]).lower()}}}\n""" for rule in rules)
    return yaml, "".join(line for _, line in sorted(lines)), (rules, requests)


def recount(rules, requests):
    """{rule: {key: [times of denials]}}: a request that one rule denies is charged by none."""
    denied = collections.defaultdict(lambda: collections.defaultdict(list))
    spent = collections.defaultdict(list)
    for us, client, path in requests:
        now = START_S * 10**6 + us
        fitting, is_denied = [], False
        for rule in rules:
            if rule["path"] not in (path, "*"):
                continue
            parts = {"client": client, "path": path}
            key = "/".join(parts[part.strip()] for part in rule["key"].split(","))
            window = rule["window"] * 10**6
            since = now - now % window - 1 if rule["algorithm"] == "fixed_window" else now - window
            times = spent[rule["id"], key]
            times[:] = [time for time in times if time > since]
            if len(times) >= rule["limit"]:
                denied[rule["id"]][key].append(us)
                is_denied = is_denied or not rule["shadow"]
            else:
                fitting.append(times)
        if not is_denied:
            for times in fitting:
                times.append(now)
    return denied


class Recounted(LabTest):
    def test_random_rules_and_logs(self):
        for seed in range(30):
            with self.subTest(seed=seed):
                yaml, log, (rules, requests) = make_world(random.Random(seed))
                report = self.report(yaml, "--log-format", FORMAT, self.write("log", log))
                self.assertEqual(report["rules"]["requests"], len(requests))
                expected = recount(rules, requests)
                for rule in report["rules"]["rules"]:
                    keys = expected[rule["id"]]
                    really, spared = (("would_be_denied", "denied") if rule["shadow"]
                                      else ("denied", "would_be_denied"))
                    self.assertEqual((rule[really], rule[really + "_keys"]),
                                     (sum(map(len, keys.values())), len(keys)), rule)
                    self.assertEqual((rule[spared], rule[spared + "_keys"]), (0, 0), rule)
                    worst = sorted(map(len, keys.values()), reverse=True)[:10]
                    self.assertEqual([key[really] for key in rule["worst"]], worst)
                exact = recount([{**rule, "algorithm": "sliding_log"} for rule in rules], requests)
                self.assertEqual(
                    {rule["id"]: rule["exact"]["denied"] for rule in report["rules"]["rules"]},
                    {rule["id"]: sum(map(len, exact[rule["id"]].values())) for rule in rules})


class Exact(LabTest):
    RULES = """
rules:
  - {id: blocks, group: a, algorithm: sliding_log, limit: 3, window: 10s, match: {path: "*"},
     key: client, on_deny: {block: [20s, 1m], block_after: 2, block_window: 30s}}
  - {id: several, group: b, algorithm: sliding_log, limit: 4, window: 5s, match: {path: "*"},
     key: path, more_limits: [{limit: 30, window: 1m, algorithm: sliding_log}]}
  - {id: owes, group: d, algorithm: sliding_log, limit: 5, window: 20s, cost: 2,
     match: {path: /b}, key: client, overdraft: true}
  - {id: shadow, group: e, algorithm: sliding_log, limit: 2, window: 30s, match: {path: "*"},
     key: [client, path], shadow: true}
"""

    # Where a rule's own algorithm is the exact log, that misjudges nothing, whatever the rule says.
    def test_a_sliding_log_is_exact(self):
        for seed in range(10):
            dice = random.Random(seed)
            times = sorted(dice.randrange(HOUR_US // 10) for _ in range(1500))
            log = "".join(exact(us, f"192.0.2.{dice.randint(1, 9)}",
                                f"GET {dice.choice(['/a', '/b', '/c'])} HTTP/1.1") for us in times)
            report = self.report(self.RULES, "--log-format", FORMAT, self.write("log", log))
            for rule in report["rules"]["rules"]:
                over = rule["denied"] + rule["would_be_denied"]
                self.assertGreater(over, 10, rule["id"])
                self.assertEqual(rule["exact"], {"denied": over, "too_early": 0, "too_late": 0},
                                 (seed, rule["id"]))


class Proportional(LabTest):
    def test_random_logs(self):
        dropped = 0
        for seed in range(10):
            dice = random.Random(seed)
            algorithm = dice.choice(["fixed_window", "sliding_window"])
            limit, window_s = dice.randint(2, 30), dice.choice([1, 10, 60])
            times = sorted(dice.randrange(10 * window_s * 10**6)
                           for _ in range(limit * dice.choice([5, 50, 200])))
            with self.subTest(seed=seed):
                (rule,) = self.report(
                    f'''rules: [{{id: r, algorithm: {algorithm}, limit: {limit},
window: {window_s}s, match: {{path: "*"}}, key: client, enforce: proportional}}]''',
                    "--log-format", FORMAT,
                    self.write("log", "".join(map(exact, times))))["rules"]["rules"]
                passed = pass_in_proportion(algorithm, limit, window_s * 10**6, times)
                self.assertEqual(rule["denied"], len(times) - passed)
                dropped += len(times) - passed
        self.assertGreater(dropped, 1000, "else this says nothing")


def pass_in_proportion(algorithm, limit, window, times):
    """How many requests at these microseconds pass."""
    offered, admitted = collections.Counter(), collections.Counter()
    credit, passed = 0.0, 0

    def held(units, now, is_fixed):
        number, part = divmod(now, window)
        before = 0 if is_fixed else -(-units[number - 1] * (window - part) // window)
        return units[number] + before

    for us in times:
        now = START_S * 10**6 + us
        offered[now // window] += 1
        actual = held(offered, now, False)
        is_above = actual > limit
        if is_above:
            credit += limit / actual
            if credit < 0.5:
                continue
            credit -= 1
        if held(admitted, now, algorithm == "fixed_window") < limit:
            admitted[now // window] += 1
            passed += 1
        elif is_above:
            credit = min(credit + 1, 1)
    return passed


class GatewaysLog(LabTest):
    RULES = """
rules:
  - {id: a, group: a, algorithm: sliding_window, limit: 3, window: 500ms, match: {path: "/a*"},
     key: path}
  - {id: all, group: b, algorithm: token_bucket, limit: 10, burst: 5, window: 1s,
     match: {path: "*"}, key: client}
"""

    def test_leads_to_the_decisions_that_were_made(self):
        import gateway_test
        if not gateway_test.NGINX_LOADS_IT:
            self.skipTest("there is no module for nginx")
        dice = random.Random(1)
        with gateway_test.Gateway(self.RULES) as gateway:
            for _ in range(150):
                gateway.get(dice.choice(["/a", "/a/b", "/c"]))
            log = (gateway.folder / "access.log")
            weir_server.wait_until(lambda: len(gateway.statuses()) == 150, "the log is written")
            statuses = gateway.statuses()
            report = self.report(self.RULES, log)
        self.assertIn("429", statuses)
        self.assertEqual(report["log"]["format"], "weir gateway")
        self.assertEqual(report["rules"]["denied"], statuses.count("429"))


if __name__ == "__main__":
    weir_server.main()
