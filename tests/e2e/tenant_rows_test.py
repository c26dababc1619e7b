"""Rows of the table of tenants, as they are asked for, answered and put again."""

import json
import unittest
import urllib.parse

import weir_server
from rules_test import ask, request
from tenants_test import CONFIG, limit, rows, version
from weir_server import Weir, get, post


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


if __name__ == "__main__":
    weir_server.main()
