"""The Overview in a real Chromium: who is denied now, by which rule and since when, of up to a day.
Leaves screenshots in build/console."""

import contextlib
import re
import signal
import time

from browser import SIZES, ActionChains, PageTest, main
from fleet import admin
from weir_server import Weir, sending

CONFIG = """
show_keys: true
rules:
  - {id: api, algorithm: token_bucket, limit: 100, window: 1s, burst: 300}
  - {id: login, limit: 5, window: 1m, match: {path: /login}, key: client}
  - {id: trial, limit: 2, window: 1m, shadow: true}
"""
SLOTS = CONFIG + "  - {id: slots, of: concurrency, limit: 3}\n"
RULES = 1_000
MANY = CONFIG + "".join(f"  - {{id: rule-{i}, limit: 1, window: 1h, match: {{path: /r{i}}}}}\n"
                        for i in range(RULES))
ALICE = "203.0.113.9"
ROWS = "#overview .rules > section [data-row]"

# The second message has an event that was before the last one of the first.
POLLED = """
  window.WebSocket = class {
    constructor() { setTimeout(() => this.onclose?.(), 0); }
    close() {}
  };
  const real = window.fetch;
  let polls = 0;
  let base;
  window.fetch = async (path, how) => {
    if (path !== "/console/live.json") return real(path, how);
    const said = await (await real(path, how)).json();
    base ??= said.t - 60;
    const event = (id, t, text) => ({ id, t: base + t, kind: "node", rule: "", text });
    said.events = [event(1, 0, "first"), event(2, 0.7, "third")];
    if (++polls > 1) said.events.push(event(3, 0.3, "told late"));
    return new Response(JSON.stringify(said));
  };"""
LONG_WORDS = """
  const card = document.querySelector("#overview .rules > section");
  const cell = (column) => card.querySelector(`[data-row=login] [data-column="${column}"]`);
  cell("Rule").querySelector("b").textContent = "payments_by_customer_of_the_shop_".repeat(2);
  const denied = cell("Denied").firstChild.appendChild(document.createElement("small"));
  denied.textContent = "and 1.23 k of this node alone";
  return ["since 2026-11-28 06:50:27 or before", "last at 2026-11-28 06:50:27"].filter((words) => {
    cell("Denying").textContent = words;
    return card.scrollWidth > card.clientWidth;
  });"""


def traffic(server):
    """Of three rules: one denies, one denies in shadow, one admits."""
    def send(connection):
        connection.check(key=ALICE, rule="login")
        connection.check(key="bob", rule="trial")
        connection.check(key="bob", rule="api")

    return sending(server, 0.05, send)


class Overview(PageTest):
    @contextlib.contextmanager
    def server(self, config=CONFIG):
        with Weir("--threads", "1", config=config) as server:
            yield server
            self.page.driver.get("about:blank")

    def cell(self, rule, column):
        return self.page.find(f'#overview .rules > section [data-row="{rule}"] '
                              f'[data-column="{column}"]').text

    def agrees(self, times):
        """That card and table say the same of the last minute, while it changes."""
        agreed = []

        def look(_):
            card, cell = self.page.run("""
              const rows = document.querySelector("#overview .rules > section");
              const cell = rows.querySelector("[data-row=login] [data-column=Denied] span");
              return [document.querySelector("#overview .now").textContent,
                cell.firstChild.textContent]""")
            now = re.search(r"login denied (\S+) of", card)[1]
            if now != cell:
                agreed.clear()
            elif now not in agreed:
                agreed.append(now)
            return len(agreed) == times
        return look

    def first_screen(self, selector):
        """Whether all of it is above the fold, of a desk and of a phone."""
        for width, height in SIZES.values():
            self.page.width(width, height)
            bottom = self.page.run("return document.querySelector(arguments[0])"
                                   ".getBoundingClientRect().bottom", selector)
            self.assertLess(bottom, height)
        self.page.width(0)

    def agreed_denials(self):
        """What the tile and the card below it say of one moment: whether anybody was denied."""
        tile, now = self.page.run("""return [".tile", ".now"].map((each) =>
          document.querySelector(`#overview ${each}`).textContent)""")
        denied = int((re.search(r"%(\d+) of", tile) or [0, 0])[1]) > 0
        self.assertEqual("nobody since" in now, not denied, (tile, now))
        return denied

    def test_a_run_of_a_rule_in_shadow_says_what_would_be_denied(self):
        page = self.page
        with self.server(SLOTS) as server:
            page.open(server.url, "simulator")
            page.choose("#simulator .runs select", "trial")
            tried = page.run("""return [...document.querySelectorAll("#simulator .runs option")]
              .map(({ value }) => value)""")
            self.assertEqual(tried, ["api", "login", "trial"], "checks take no slots")
            page.click("#simulator [data-run=burst]")
            page.find("#simulator .sums", "100 allowed, of which 98 would be denied, 0 denied")
            page.find("#simulator .tiles .warn", "98 would be denied")
            page.find("#simulator .tick.warn", "pass")

    def test_the_first_screen_says_who_is_denied_by_which_rule_and_since_when(self):
        page = self.page
        with self.server() as server:
            page.open(server.url)
            page.find("#overview .now", "Nobody, and nobody since ")
            page.find("#overview .now", ", when the node began to count.")
            self.pictures("overview-idle")
            began = time.strftime("%H:%M")
            with traffic(server):
                page.wait(lambda _: self.agreed_denials(), "denials")
                said = page.find("#overview .now.bad", "login").text
                now = time.strftime("%H:%M")
                self.assertRegex(said, r"login denied \d+ of \d+ counted requests in the last "
                                       rf"(minute|\d+ s), \d+ %, since ({began}|{now}):\d\d")
                self.assertNotIn("trial", said, "a rule in shadow denies nobody")
                self.assertNotIn("api", said)
                page.find("#overview .now", f"most of all {ALICE}")
                self.first_screen("#overview .now")
                page.find('#overview [data-column="Key"] a', ALICE)
                titles = [each.text for each in page.all("#overview .stack h2")]
                self.assertEqual([title for title in titles if "Countries" in title], [],
                                 "of which nothing is known")
                page.find("#overview .tile.bad", "since ")
                page.find("#overview .tile", "counted by rules")
                tile = page.find("#overview .tile.bad").text
                self.assertRegex(tile, r"\d+ of \d+")
                self.assertLessEqual(int(re.search(r"(\d+) %", tile)[1]), 34, "trial lets pass")
                page.wait(lambda _: "since" in self.cell("login", "Denying"), "the table has it")
                self.assertIn("5 per 1m, /login, by client", self.cell("login", "Rule"))
                page.wait(lambda _: "would be" in self.cell("trial", "Denied"), "and of shadow")
                self.assertEqual(self.cell("api", "Denied"), "0")
                page.wait(self.agrees(3), "card and table agree three times")
                rows = [row.get_attribute("data-row") for row in page.all(ROWS)]
                self.assertEqual(rows[-1], "api", "sorted by what is denied")
                self.pictures("overview-denied")
            page.find("#overview .now:not(.bad)", "The last denial was at")
            self.assertEqual(page.run("return location.hash"), "#/overview")
            page.open(server.url, "overview", "?span=1h")
            page.find("#overview [data-span='1h'][aria-pressed=true]")
            page.find("#overview .tile.bad", "since ")
            page.driver.get(f"{server.url}/#/live")  # the address that people have kept
            page.find("#tab-overview[aria-selected=true]")

    def test_the_first_screen_says_who_is_blocked_and_what_denies_but_the_limit(self):
        page = self.page
        with self.server() as server:
            admin(server, "/admin/blocks", key="203.0.113.0/24", **{"for": "1h"})
            page.open(server.url)
            page.find("#overview .now", "Blocked: 203.0.113.0/24 by all rules.")
            page.find("#overview .now", "Nobody else, and nobody since")
            with traffic(server):
                for _ in range(7):
                    server.check(key="bob", rule="login")
                said = page.find("#overview .now.bad", "limit ").text
                self.assertRegex(said, r"login denied .*, since .*: .*blocked (since|at) \d\d:")
                page.click("#overview .now li:nth-child(2) a", "Show them")
                page.find("#keys .data", "203.0.113.0/24")

    def test_one_line_goes_through_all_charts_and_a_drag_zooms(self):
        page = self.page
        with self.server() as server, traffic(server):
            page.open(server.url)
            page.find("#overview .now.bad", "login")
            server.process.send_signal(signal.SIGHUP)
            page.find("#overview .events .badge", "reload")
            marks = "#overview .mark[title*=' reload: ']"
            page.wait(lambda _: len(page.all(marks)) == 3, "each chart has its mark")
            mark = page.all(marks)[0].get_attribute("title")
            self.assertRegex(mark, r"\d\d:\d\d:\d\d reload")
            chart = page.find("#overview .over")
            edge = chart.size["width"] // 2
            ActionChains(page.driver).move_to_element_with_offset(chart, edge - 30, 0).perform()
            lines = page.all("#overview .moment")
            self.assertEqual([line.is_displayed() for line in lines], [True] * 3)
            at = page.run("return arguments[0].map(({ style }) => style.left)", lines)
            self.assertEqual(len(set(at)), 1)
            times = {each.text[:8] for each in page.all("#overview figcaption small")}
            self.assertEqual(len(times), 1)
            self.assertRegex(times.pop(), r"\d\d:\d\d:\d\d")
            ActionChains(page.driver).move_to_element_with_offset(chart, edge - 80, 0) \
                .click_and_hold().move_by_offset(70, 0).release().perform()
            page.find("#overview .spans button", "Zoom out")
            page.screenshot("overview-zoomed")
            page.click("#overview .spans button", "Zoom out")
            page.wait(lambda _: not page.all("#overview .spans button")[0].is_displayed(), "all")

    def test_events_stand_in_the_order_of_their_times(self):
        page = self.page
        with self.server() as server:
            end = page.before_pages(POLLED)
            page.open(server.url)
            page.find("#overview .events li", "told late")
            said = [each.text.split()[-1] for each in page.all("#overview .events .what")]
            self.assertEqual(said, ["third", "late", "first"])
            end()

    def test_no_words_make_the_table_wider_than_its_card(self):
        page = self.page
        with self.server() as server:
            server.check(key="x", rule="login")
            page.open(server.url)
            self.cell("login", "Rule")
            page.width(1440, 900)
            self.assertEqual(page.run(LONG_WORDS), [])

    def test_all_rules_that_deny_are_on_the_first_screen(self):
        page = self.page
        with self.server(MANY) as server:
            page.open(server.url)
            with server.connect() as connection:
                for rule in range(16):
                    for _ in range(2 + 16 - rule):
                        connection.check(key="x", rule=f"rule-{rule}")
            said = page.find("#overview .now", "and 3 more rules, in the table below").text
            self.assertRegex(said, r"Also rule-3 14 of 15, since \d\d:\d\d:\d\d or before \(")
            self.assertIn("rule-12 5 of 6, since", said)
            self.first_screen("#overview .now")

    def test_a_thousand_rules_stay_usable(self):
        page = self.page
        with self.server(MANY) as server:
            for _ in range(3):
                server.check(key="x", rule="rule-777")
            page.open(server.url)
            page.find("#overview .pages", f"1 to 50 of {RULES + 3:,}")
            page.wait(lambda _: page.text(f"{ROWS} a") == "rule-777", "it is first")
            page.type("#overview .data input", "rule-99")
            page.wait(lambda _: len(page.all(ROWS)) == 11, "it finds them")
            page.type("#overview .data input", "/r500")
            page.wait(lambda _: len(page.all(ROWS)) == 1, "by path")
            self.assertEqual(page.find(f"{ROWS} a").text, "rule-500")


if __name__ == "__main__":
    main()
