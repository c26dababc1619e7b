"""Rows of the table of tenants, as requests and commands ask for them and change them."""

import json
import pathlib
import re
import tempfile
import unittest
import urllib.parse

import weir_server
from rules_test import ask, request
from tenants_test import CONFIG, csv, limit, put, rows, version
from weir_server import Weir, get, post, run_weir


def find(node, key):
    return ask(node, post("/admin/tenant", json.dumps({"key": key}).encode()))


class Rows(unittest.TestCase):
    def test_what_was_answered_may_be_put_again_as_it_is(self):
        keys = ("a/b", "100%", "%2F", "two words", "é🙂", "<b>\u202e", "'\"\\", "a\nb", "k" * 512)
        with Weir(config=CONFIG) as weir:
            for key in keys:
                for row in {"plan": "gold", "anchor": 7}, {"limit": 5, "window": .25}, {"limit": 0}:
                    ask(weir, request("PUT", "/admin/tenant", {"key": key, **row}))
                    path = f"/admin/tenants/{urllib.parse.quote(key, safe='')}"
                    shown = {"key": key, **row, "version": version(weir)}
                    self.assertEqual(ask(weir, get(path)).json(), shown)
                    for at in (path, "/admin/tenant"):
                        self.assertEqual(find(weir, key).json(), shown)
                        self.assertEqual(ask(weir, request("PUT", at, shown)).status, 200, shown)
                        late = ask(weir, request("PUT", at, {**shown, "limit": 7, "plan": None}))
                        self.assertEqual(late.status, 412, (shown, at))
                        shown["version"] += 1
                self.assertEqual(limit(weir, key), 0)
            self.assertEqual(rows(weir), len(keys))
            for at, status in ((version(weir) - 1, 412), (version(weir), 200)):
                said = ask(weir, request("DELETE", "/admin/tenant", {"key": "100%", "version": at}))
                self.assertEqual(said.status, status)
            self.assertEqual((find(weir, "100%").status, rows(weir)), (404, len(keys) - 1))

    def test_the_command_line_shows_and_changes_it(self):
        with Weir(config=CONFIG) as weir, tempfile.TemporaryDirectory() as folder:
            def command(*words):
                code, out, err = run_weir("tenants", *words, "--server", weir.url_of("http"))
                return code, out + err
            self.assertEqual(command("set", "ann", "--plan", "gold"), (0, "1 row, version 1\n"))
            self.assertEqual(command("get", "ann"), (0, "ann has the plan gold\n"))
            said = run_weir("explain", "ann", "--rule", "api", "--server", weir.url_of("http"))
            self.assertIn("1000 of 1000 left by sliding_window of 365d, plan gold, mode local",
                          said[1])
            command("set", "ann", "--limit", "5", "--window", "1m")
            self.assertEqual(command("get", "ann"), (0, "ann has the limit 5 per 60 s\n"))
            self.assertEqual(command("remove", "ann"), (0, "0 rows, version 3\n"))
            self.assertEqual(command("get", "ann")[0], 2)
            self.assertEqual(command("set", "ann"),
                             (2, "weir tenants: give the key a --plan or a --limit\n"))
            for words in (("set", "", "--limit", "3"), ("get", ""), ("remove", "")):
                self.assertEqual(command(*words), (2, "weir tenants: the key is empty\n"))
            for wrong in ("x", "-5", "1000000000001"):
                code, said = command("set", "ann", f"--limit={wrong}")
                self.assertEqual(code, 2)
                self.assertIn(f"{wrong} not in range 0 to 1000000000000", said)
            path = pathlib.Path(folder, "rows.csv")
            path.write_text(csv(100_000, 5), "ascii")
            self.assertEqual(command("import", str(path)), (0, "100000 rows, version 4\n"))
            path.write_text("key,limit\nann,6\n", "ascii")
            self.assertEqual(command("import", "--keep", str(path)),
                             (0, "100001 rows, version 5\n"))
            path.write_text("key,limit\nann,x\n", "ascii")
            self.assertEqual(command("import", str(path)),
                             (2, "weir tenants: line 2: limit: expected a whole number from 0 to "
                                 "10^12\n"))
            path.write_text(csv(5, 5) + "k" * (1 << 20) + ",6\n", "ascii")
            code, said = command("import", str(path))
            self.assertEqual((code, said.split(": ", 2)[2]),
                             (2, "line 7 is longer than 512 KiB, and no row; nothing is changed\n"))
            bad = [line if i % 50_000 else line.replace("5", "x")
                   for i, line in enumerate(csv(150_000, 5).splitlines(), start=1)]
            path.write_text("\n".join(bad), "ascii")
            code, said = command("import", str(path))
            self.assertEqual([line.split(": ")[-3] for line in said.splitlines()],
                             ["line 50000", "line 100000", "line 150000"])
            for text, what in ("\n", "is empty"), ("key,limit\n", "has no rows"):
                path.write_text(text, "ascii")
                self.assertEqual(command("import", str(path)),
                                 (2, f"weir tenants: it {what}, and nothing is changed; to remove "
                                     "every row, use weir tenants clear, or DELETE "
                                     "/admin/tenants\n"))
            self.assertEqual(command(), (0, "100001 rows, version 5\n"))
            self.assertEqual(command("clear"), (0, "0 rows, version 6\n"))

    def test_explain_names_what_of_a_row_counts_at_a_rule(self):
        tiers = "tenants: true, tiers: [{name: gold, limit: 50, window: "
        config = "rules:\n" + "".join(f"  - {{id: {id}, limit: 10, {fields}}}\n" for id, fields in (
            ("both", f"window: month, {tiers}month}}]"),
            ("second", f"window: day, {tiers}1h, more_limits: [{{limit: 90, window: month}}]}}]"),
            ("plan", f"window: month, {tiers}day}}]"),
            ("day", "window: month, tenants: true"),
            ("neither", "window: 1h, tenants: true")))
        with Weir(config=config) as weir:
            put(weir, "ann", {"plan": "gold", "anchor": 7})
            said = run_weir("explain", "ann", "--server", weir.url_of("http"))[1]
            named = re.findall(r"^(\w+): .* (?:month|day|hour|\))(?:, (?!mode)(.*))?, mode local$",
                               said, re.M)
            self.assertEqual(named, [("both", "plan gold, months from day 7"),
                                     ("second", "plan gold, months from day 7"),
                                     ("plan", "plan gold"), ("day", "months from day 7")], said)
            told = run_weir("explain", "ann", "--json", "--server", weir.url_of("http"))[1]
            tiers = {one["explain"]["rule"]: one["explain"].get("tier") for one in json.loads(told)}
            self.assertEqual(tiers, {"both": "gold", "second": "gold", "plan": "gold", "day": None})
            put(weir, "ann", {"limit": 5, "anchor": 7})
            for rule, text in (("day", "the month, a limit of its own, months from day 7, mode"),
                               ("neither", "of 1h, a limit of its own, mode local")):
                self.assertIn(text, run_weir("explain", "ann", "--rule", rule, "--server",
                                             weir.url_of("http"))[1])


if __name__ == "__main__":
    weir_server.main()
