"""Rows of the table of tenants, as they are asked for, answered and put again."""

import json
import re
import unittest
import urllib.parse

import weir_server
from rules_test import ask, request
from tenants_test import CONFIG, limit, put, rows, version
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
            put(weir, "ann", {"limit": 5, "anchor": 7})
            for rule, text in (("day", "the month, a limit of its own, months from day 7, mode"),
                               ("neither", "of 1h, a limit of its own, mode local")):
                self.assertIn(text, run_weir("explain", "ann", "--rule", rule, "--server",
                                             weir.url_of("http"))[1])


if __name__ == "__main__":
    weir_server.main()
