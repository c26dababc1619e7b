"""The page Keys in a real Chromium: what Look says of a key, blocks, lifts and resets."""

import re
import time

from browser import PageTest, main
from fleet import admin
from truth_test import seen_at
from weir_server import Weir

CONFIG = """
show_keys: true
rules:
  - {id: login, limit: 5, window: 1m, match: {path: /login}, key: client}
  - {id: trial, limit: 1, window: 1h, shadow: true}
  - {id: part, limit: 5, window: 1h, enforce: proportional}
"""


class Keys(PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.enterClassContext(Weir("--threads", "1", config=CONFIG))

    def look(self, rule, level, said):
        self.page.open(self.server.url, "keys", f"?rule={rule}&key=alice")
        self.page.find("#keys .data", "alice")
        self.page.click("#look")
        self.page.find(f"#keys .message.{level}", said)

    def test_a_key_is_looked_at_blocked_lifted_and_reset(self):
        page = self.page
        for _ in range(6):
            self.server.check(key="alice", rule="login")
        self.look("login", "bad", "It would be denied, by 'login'. The counter of key 'alice' has "
                  "0 of 5 per 1 min left.")
        page.click("#reset")
        page.click("dialog button.danger")
        page.find("#keys .message.good", "starts at 0")
        page.click("#block")
        page.type("dialog .field:nth-child(2) input", "too fast")
        page.type("dialog .field:nth-child(3) input", "carol")
        page.click("dialog button.danger")
        page.find("#keys .message.good", "blocked for 5m")
        page.find("#keys td", "by hand too fast")
        page.click("#look")
        page.find("#keys .message.bad", "The key is blocked for another ")
        page.find("#keys [data-column=By]", "carol")
        page.wait(lambda _: re.fullmatch(r"\d\d:\d\d:\d\d",
                                         page.text("#keys [data-column=Since]")), "since when")
        page.click("#explain-key")
        page.find(".applied.bad", "is blocked")
        page.driver.back()
        page.click("#keys button", "Lift")
        page.find("#keys .message.good", "lifted")
        page.find("#keys .data", "Nobody is blocked")
        page.click("#keys button", "Choose")
        page.find("#keys .message.good", "has 5 of 5 per 1 min left, so a cost of 1 fits.")
        for key, shown in (("192.0.2.0/24", "192.0.2.0/24"), ("ab\u202ecd", "ab\\u{202e}cd")):
            page.run("document.querySelector('#keys input').value = arguments[0]", key)
            page.click("#block")
            page.find("dialog h2", shown)
            page.find("dialog p", "this network" if "/" in key else "this key")
            page.click("dialog button", "Cancel")
            page.gone("dialog")

    def test_times_are_by_the_clock_of_the_node(self):
        page = self.page
        self.addCleanup(page.before_pages("""const real = Date.now;
          Date.now = () => real() + 3_600_000;"""))
        with Weir("--threads", "1", config=CONFIG) as server:
            admin(server, "/admin/blocks", key="mallory", **{"for": "5m"})
            page.open(server.url, "keys")
            for tab, place in (("keys", "[data-column=Since]"), ("denials", ".message")):
                page.go(tab)
                told = page.find(f"#{tab} {place}", ":").text
                self.assertLess(abs(seen_at(told) - time.time() % 86_400), 9, told)
            page.driver.get("about:blank")

    def test_a_look_knows_rules_that_let_pass_what_is_over_their_limits(self):
        for rule, level, said in (("trial", "good", "it would deny this, and lets it pass."),
                                  ("part", "bad", "20 in a window, so 75 % of that is denied.")):
            for _ in range(20):
                self.server.check(key="alice", rule=rule)
            self.look(rule, level, said)


if __name__ == "__main__":
    main()
