"""The page of a rule: switched on one node of two and held by both, undone, gone, refused. Leaves
screenshots in build/console."""

import pathlib
import re
import signal
import time

from browser import PageTest, main
from fleet import Fleet
from redis_world import Redis
from rules_test import ask, request
from weir_server import Weir, get, post, sending, wait_until

CONFIG = """
show_keys: true
rules:
  - {id: login, name: The login, limit: 5, window: 1m, key: client, shadow: true,
     match: {method: POST, path: [/login, /sign-in]}, on_deny: {block: [5m, 1h], block_after: 100}}
  - {id: plain, limit: 10, window: 1m}
  - {id: some, limit: 2, window: 1m, enforce: 10%}
  - {id: office, limit: 2, window: 1m, on_full: deny, active: {days: mon}, match: {}}
"""
LIMITED = "rules: [{id: demo, algorithm: fixed_window, limit: 100, window: 1s}]"
PAGE = "?rule=login"


def patch(node, fields, query="", rule="login"):
    return ask(node, request("PATCH", f"/admin/rules/{rule}{query}", fields))


def rule_of(node, rule="login"):
    return ask(node, get(f"/admin/rules/{rule}")).json().get("rule")


class RulePage(PageTest):
    allowed = ("",)  # of requests that are refused on purpose

    def traffic(self, node, rule="login"):
        """Keys that come often and seldom, meanwhile."""
        def send(connection):
            for key in range(6):
                for _ in range(1 + key):
                    connection.check(rule=rule, key=f"192.0.2.{key}")

        return sending(node, 0.25, send)

    def press(self, stance, why=""):
        """Presses a switch; returns what the page says of it before it acts."""
        page = self.page
        page.click("#rule-page .stances button", stance)
        said = page.find("dialog p").text
        if why:
            page.type("dialog .field:nth-child(1) input", why)
            page.type("dialog .field:nth-child(2) input", "carol")
        return said

    def is_pressed(self, stance):
        self.page.find("#rule-page .stances [aria-pressed=true]", stance)

    def test_a_switch_says_what_it_does_and_holds_on_all_nodes(self):
        page = self.page
        with Redis() as redis, \
                Fleet([redis.url] * 2, "--redis-deadline", "2s", config=CONFIG) as fleet, \
                self.traffic(fleet.nodes[0]):
            fleet.wait_until_shared()
            first, second = fleet.nodes
            page.open(first.url, "rules", PAGE)
            page.find("#rule-page h1", "login")
            page.find("#rule-page .facts", "POST /login, /sign-in")
            page.find("#rule-page .facts", "after 100 denials in 1m: blocked for 5m, then for 1h")
            page.find("#rule-page .facts", "on 2 nodes")
            self.is_pressed("Shadow")
            page.find("#rule-page .data code", "192.0.2.5")
            page.wait(lambda _: re.search(
                r"would be denied \S+ now, at most [^0].*; denied 0/s now, at most 0/s",
                page.find("#rule-page canvas").get_attribute("aria-label")), "what it would deny")
            self.pictures("rule-page")

            said = self.press("Enforce", "too many <b>bots</b>")
            self.assertRegex(said, r"^\d[\d,]* of \d[\d,]* requests of the last .* would have been "
                             "denied. Such requests are denied from now on, on 2 nodes .*, until a "
                             "reload of other rules.$")
            self.pictures("rule-page-asks")
            page.click("dialog button", "Enforce")
            page.find("#rule-page .message", "It holds on ")  # a busy node may need a second more
            page.find("#rule-page .facts", "on 2 nodes (")
            self.is_pressed("Enforce")
            self.assertNotIn("shadow", rule_of(first))
            wait_until(lambda: "shadow" not in rule_of(second), "the other node has it")
            self.assertFalse(second.check(rule="login", key="192.0.2.5")["allowed"])
            newest = page.find("#rule-page .history li", "changed login: shadow off")
            self.assertIn("carol at 127.0.0.1", newest.text)
            self.assertIn("too many <b>bots</b>", newest.text)
            page.find("#rule-page .history .removed", "shadow: true")
            self.pictures("rule-page-done")

            def told():
                events = ask(first, get("/console/live.json")).json()["events"]
                return [each["t"] for each in events if "shadow off" in each["text"]]
            wait_until(told, "the event")
            asked = time.time()
            ago = ask(first, get("/admin/history")).json()["history"][0]["seconds_ago"]
            self.assertGreater(told()[-1], asked - ago - 0.3)
            self.assertLess(told()[-1], time.time() - ago + 0.3)
            page.click("#rule-page .message button", "Undo")
            page.click("dialog button.danger", "Go back")
            self.is_pressed("Shadow")
            page.find("#rule-page .history li", "by the start")
            wait_until(lambda: rule_of(second).get("shadow"), "the other node has it, too")
            self.press("Off")
            page.click("dialog button", "Cancel")
            page.gone("dialog")
            self.is_pressed("Shadow")

    def test_a_rule_is_switched_removed_and_written_to_the_file(self):
        page = self.page
        with Weir("--threads", "1", "--remember", "1MiB", config=CONFIG) as server:
            page.open(server.url, "rules", "?rule=plain")
            for button, badge in (("Off", "off"), ("Shadow", "shadow"), ("Enforce", "enforced")):
                page.click("#rule-page .stances button", button)
                page.click("dialog button.danger", button)
                page.find("#rule-page .badge", badge)
            for answer in ("Cancel", "Remove"):
                page.click("#rule-page .buttons button", "Remove")
                page.click("dialog button", answer)
                page.gone("dialog")
            page.find("#rule-page .badge", "gone")
            page.click("#rule-page a", "All rules")
            page.gone("[data-row=plain]")
            page.click("#new-rule")
            page.type(".editor textarea", "id: fresh\nlimit: 7\nwindow: 1h\n")
            page.click("#to-file")
            page.find(".editor .message", "The rule is valid.")
            page.find(".editor .dry-run", "The rule is not in force")
            page.click("#save-rule")
            page.find(".editor .message.good", "also in the file. It holds on this node.")
            page.find("[data-row=fresh]", "7 per 1h")
            page.wait(lambda _: "not in force" not in page.text(".dry-run"), "it is by now")
            page.click(".editor button", "Close")
            page.gone(".editor")
            written = pathlib.Path(server.config_path).read_text(encoding="utf-8")
            self.assertIn("fresh", written)

    def test_a_rule_for_some_of_the_keys_is_switched_and_put_back(self):
        page = self.page
        with Weir("--threads", "1", config=CONFIG) as server:
            page.open(server.url, "rules")
            page.find("[data-row=some] .badge", "denies 10 % of keys")
            page.click("[data-row=some] a")
            page.find("#rule-page .facts", "only 10 % of the keys")
            with server.connect() as connection:
                passed = sum(connection.check(rule="some", key=f"k{key}", cost=9)["allowed"]
                             for key in range(200))
            self.assertTrue(100 < passed < 200, passed)
            page.find("#rule-page .data th", "Denied")
            page.wait(lambda _: "of 200 " in self.press("Shadow") or
                      not page.click("dialog button"), "it knows them")
            self.assertIn(f"{200 - passed} of 200 requests", page.find("dialog p").text)
            page.click("dialog button.danger")
            page.find("#rule-page .badge", "shadow")
            self.assertNotIn("enforce", rule_of(server, "some"))
            page.click("#rule-page .message button", "Undo")
            page.click("dialog button.danger", "Go back")
            page.find("#rule-page .badge", "denies 10 % of keys")
            self.press("Enforce")
            page.click("dialog button.danger")
            self.is_pressed("Enforce")
            self.assertNotIn("enforce", rule_of(server, "some"))
            page.find("#rule-page .message.good", "until the next reload")
            server.signal(signal.SIGHUP)
            page.find("#rule-page .badge", "denies 10 % of keys")
            self.assertEqual(page.text("#rule-page .message"), "", "it holds no more")

    def test_a_rule_outside_its_hours_says_so(self):
        page = self.page
        other = ("fri", "sat", "sun", "mon", "tue", "wed", "thu")[time.gmtime().tm_wday]
        with Weir("--threads", "1", config=CONFIG.replace("days: mon", f"days: {other}")) as server:
            page.open(server.url, "rules")
            page.find("[data-row=office] .badge", "not now")
            self.assertNotIn("enforced", page.find("[data-row=office]").text)
            page.find("[data-row=office] .badge", "at hours")
            page.click("[data-row=office] a")
            page.find("#rule-page .badge", "not now")
            page.find("#rule-page .facts", f"Not in force\nuntil {time.strftime('%Y')}-")
            page.find("#rule-page .facts", "new keys are denied")
            self.assertEqual(patch(server, {"active": None}, rule="office").status, 200)
            page.find("#rule-page .badge", "enforced")

    def test_a_rule_that_goes_while_one_looks_and_one_that_another_has_changed(self):
        page = self.page
        with Weir("--threads", "1", config=CONFIG) as server:
            page.open(server.url, "rules", PAGE)
            page.find("#rule-page .facts", "on this node")
            self.press("Off")  # and before it is confirmed, another one is faster
            self.assertEqual(patch(server, {"limit": 6}).status, 200)
            page.click("dialog button", "Off")
            page.find("#rule-page .message.bad", "The rules are at another version: 2.")
            page.find("#rule-page .facts", "6 per 1m")
            self.is_pressed("Shadow")

            ask(server, request("DELETE", "/admin/rules/login?by=eve&why=unused"))
            page.find("#rule-page .message.bad", "There is no such rule any more.")
            page.gone("#rule-page .stances button")
            page.find("#rule-page .history li", "eve at 127.0.0.1")
            self.pictures("rule-page-gone")
            page.click("#rule-page [data-version='2'] button", "Go back")
            page.find("dialog p", "The rule is as it was then, on this node, until")
            page.click("dialog button.danger", "Go back")
            page.find("#rule-page .history q", "back to version 2")
            page.find("#rule-page .message.good", "It holds on this node, until")
            self.assertEqual(rule_of(server)["limit"], 6)
            page.click("#rule-page .buttons button", "Remove")
            page.click("dialog button.danger")
            page.find("#rule-page .badge", "gone")
            page.find("#rule-page .message.good", "Done")
            self.assertIsNone(rule_of(server))
            page.click("#rule-page .message button", "Undo")
            page.click("dialog button.danger", "Go back")
            page.find("#rule-page .facts", "6 per 1m")
            page.driver.get(f"{server.url}/#/rules?rule=nobody")
            page.find("#rule-page .message.bad", "There is no rule with this id. See all rules")
            page.gone("#rule-page .history")
            self.assertNotIn("History", page.find("#rule-page").text)
            page.click("#rule-page .message a", "See all rules")
            page.find("[data-row=plain]")

    def test_an_open_editor_hears_of_changes_and_keeps_its_text(self):
        page = self.page
        with Weir("--threads", "1", config=CONFIG) as server:
            page.open(server.url, "rules", "?rule=plain")
            page.click("#rule-page .buttons button", "Edit")
            page.find(".editor .changes", "Nothing: this is the rule as it is now.")
            self.assertEqual(patch(server, {"limit": 6}).status, 200)  # of another rule
            page.find("#rule-page .facts", "10 per 1m")
            self.assertEqual(patch(server, {"enabled": False}, rule="plain").status, 200)
            page.find("#rule-page .badge", "off")
            page.find(".editor .message.warn", "The rules are at version 3 by now. Your text is")
            page.find(".editor .changes", "enabled")
            page.type(".editor textarea", "id: plain\nlimit: 11\nwindow: 1m\n")
            page.find(".editor .changes", "11 per 1m")
            page.click("#save-rule")
            page.find(".editor .message.bad", "The rules are at another version: 3.")
            page.go("overview")
            page.driver.back()
            page.find(".editor .message.warn", "version 3")
            page.click("#rule-page .buttons button", "Edit")
            self.assertIn("limit: 11", page.value(".editor textarea"))
            page.click(".editor .message.warn button", "Go on from version 3")
            page.gone(".editor .message.warn")
            page.click("#save-rule")
            page.find(".editor .message.good", "Saved as version 4")
            self.assertEqual(rule_of(server, "plain")["limit"], 11)
            page.find("#rule-page .facts", "11 per 1m")
            self.assertEqual(page.find(".editor .changes").text,
                             "Nothing: this is the rule as it is now.")
            page.type(".editor textarea", "id: plain\nlimit: 12\nwindow: 1m\n")
            page.find(".editor .changes", "12 per 1m")
            self.assertEqual(patch(server, {"limit": 7}).status, 200)  # of another rule

            def saved(_):
                page.click("#save-rule")
                return "Saved" in page.find(".editor .message").text

            page.wait(saved, "no button is in the way")

    def test_80_instead_of_100_on_the_last_minutes(self):
        page = self.page
        with Weir("--threads", "1", "--remember", "1MiB", config=LIMITED) as server:
            with server.connect() as connection:
                for i, cost in enumerate([70] * 230 + [95] * 35 + [103] * 3):
                    connection.check(rule="demo", key=f"k{i}", cost=cost)
            rule = b"{id: demo, algorithm: fixed_window, limit: 9, window: 1s}"
            trial = post("/admin/rules/validate?id=demo&dry_run=5m", rule)
            wait_until(lambda: "reach back" not in ask(server, trial).text, "a window has passed")
            page.open(server.url, "rules", "?rule=demo")
            page.click("#rule-page .buttons button", "Edit")
            page.find(".dry-run p", "Limit 100 would have denied 3 of 268 requests, 3 keys, in")
            page.find(".dry-run p", "Of them an exact log would have allowed 0.")
            page.run("arguments[0].focus()", page.find(".dry-run input[type=range]"))
            page.press("ARROW_LEFT", "ARROW_LEFT")
            said = page.find(".dry-run p", "Limit 80 would have denied 38 of 268 requests, 38 keys")
            self.assertIn("(every key is remembered). The rule as it is now: 3.", said.text)
            page.find(".editor .changes", "now fixed_window 80 per 1s")
            self.assertIn("limit: 80\n", page.value(".editor textarea"))
            self.pictures("dry-run")
            page.type(".editor textarea", "id: demo\nlimit: 80\nwindow: 1s\ncost: 2\nmatch: {}\n")
            page.find(".dry-run p", "It differs in match, cost.")
            page.gone(".dry-run canvas")
            page.type(".editor textarea", "id: demo\nlimit: x\n")
            page.find(".dry-run p", "Nothing, as long as it has mistakes.")

    def test_a_node_without_a_memory_says_so(self):
        with Weir("--threads", "1", config=LIMITED) as server:
            self.page.open(server.url, "rules", "?rule=demo")
            self.page.click("#rule-page .buttons button", "Edit")
            self.page.find(".dry-run p", "This node remembers no requests; see --remember.")

    def test_ten_thousand_rules_stay_usable(self):
        page = self.page
        rules = "".join(f"  - {{id: rule-{i}, limit: {i + 1}, window: 1m, match: {{path: /{i}}}, "
                        "key: client}\n" for i in range(10_000))
        with Weir("--threads", "1", config="rules:\n" + rules) as server, \
                self.traffic(server, "rule-9000"):
            self.assertEqual(len(ask(server, get("/admin/rules")).json()["rules"]), 10_000)
            self.assertEqual(patch(server, {"limit": 7}, rule="rule-9000").status, 200)
            page.open(server.url, "rules")
            page.find("#rules [data-row]:first-child", "rule-9000")
            self.assertEqual(len(page.all("#rules [data-row]")), 50, "a page of rules")
            page.type("#rules input[type=search]", "rule-9999")
            page.wait(lambda _: len(page.all("#rules [data-row]")) == 1, "that rule")
            page.type("#rules input[type=search]", "rule-77")
            page.find("#rules [data-row='rule-77']")
            self.pictures("rules-10000")
            page.click("#rules [data-row='rule-77'] a")
            page.find("#rule-page .facts", "/77")
            page.click("#find")
            page.focused().send_keys("rule-9998")
            page.find("dialog.palette [role=option] small", "rule")
            page.press("ENTER")
            page.find("#rule-page h1", "rule-9998")
            page.open(server.url, "explain", "?rule=rule-9998&key=a")
            page.find("#explain .answer", "9,999 of 9,999")
            page.open(server.url, "keys", "?rule=rule-9998&key=a")
            page.wait(lambda _: page.value("#keys select") == "rule-9998",
                      "the rule is chosen, though the list is longer than what it offers")


if __name__ == "__main__":
    main()
