"""The tab Denials in a real Chromium: filters that a link carries, groups, downloads, what to do
about one, and that nothing a client says is ever markup. Leaves screenshots in build/console."""

import csv
import io
import json

from browser import PageTest, main
from weir_server import Weir, get

CONFIG = """
show_keys: true
country_header: CF-IPCountry
rules:
  - {id: login, algorithm: fixed_window, limit: 2, window: 1h, key: client, match: {path: /login/*}}
  - {id: land, algorithm: fixed_window, limit: 0, window: 1h, key: country, match: {path: /api}}
  - {id: quiet, limit: 0, window: 1h, shadow: true, match: {path: /api}, key: client}
  - {id: keys, algorithm: fixed_window, limit: 1, window: 1h}
  - {id: one, limit: 0, window: 1h, match: {path: /one}}
"""
RIGHT_TO_LEFT = "\u202e"
HOSTILE = [RIGHT_TO_LEFT + "gnp.exe" + "x" * 1013, "<img src=x onerror=document.title='owned'>",
           "a\x00b", "=HYPERLINK(1)", "שלום", "a" * 1024, "two\nlines", "  lead "]
# Keeps what a page would download, and lets copying work without a gesture.
CATCH = """
  window.saved = [];
  const make = URL.createObjectURL;
  URL.createObjectURL = (blob) => (window.saved.push(blob), make.call(URL, blob));
  HTMLAnchorElement.prototype.click = function () { if (!this.download) this.dispatchEvent(
    new MouseEvent("click", {bubbles: true, cancelable: true})); };
  Object.defineProperty(navigator, "clipboard", {value: {
    writeText: async (text) => { window.copied = text; }}});
"""


class Denials(PageTest):
    allowed = ("404",)

    def setUp(self):
        self.server = self.enterContext(Weir("--threads", "1", config=CONFIG))
        self.addCleanup(self.page.before_pages(CATCH))

    def deny(self):
        """Requests of proxies, and one that a rule in shadow lets pass."""
        self.server.check(key="203.0.113.9", rule="quiet")
        for client, path, country, times in (("203.0.113.7", "/login/a?token=secret", "NL", 5),
                                             ("203.0.113.8", "/login/b", "NL", 3),
                                             ("2001:db8::1", "/api", "de", 1)):
            fields = (f"X-Forwarded-Method: PUT\r\nX-Forwarded-Uri: {path}\r\n"
                      f"X-Forwarded-For: {client}\r\nCF-IPCountry: {country}\r\n")
            with self.server.connect() as connection:
                connection.send(times * get("/auth", fields))  # in one second, so in one row
                for _ in range(times):
                    connection.read_reply()

    def rows(self, text=""):
        return [each.text for each in self.page.all("#denials tbody tr")
                if each.is_displayed() and text in each.text]

    def wait_for_rows(self, amount, text=""):
        self.page.wait(lambda _: len(self.rows(text)) == amount, f"{amount} rows with '{text}'")

    def choose(self, label, value):
        """A filter by its label."""
        self.page.run("""
          const control = [...document.querySelectorAll("#denials .field label")]
            .find((each) => each.textContent === arguments[0]).control;
          control.value = arguments[1];
          control.dispatchEvent(new Event("change"));""", label, value)

    def resized(self):
        self.page.driver.refresh()  # a phone has its filters folded
        self.page.find("#denials .message", "as of")

    def test_says_what_to_do_where_nothing_is(self):
        page = self.page
        page.open(self.server.url, "denials")
        page.find("#denials .empty", "Choose a longer time")
        page.find("#denials .lead", "Other nodes have records of their own")
        self.pictures("denials-empty")

    def test_filters_live_in_the_address_and_in_links(self):
        page = self.page
        self.deny()
        page.open(self.server.url, "denials")
        self.wait_for_rows(4)
        self.assertNotIn("secret", page.text("#denials"))
        self.assertNotIn("show_keys", page.text("#denials"), "it is on")
        self.pictures("denials")
        self.choose("Rule", "login")
        self.wait_for_rows(2)
        self.choose("Path", "/login/a")
        self.wait_for_rows(1, "203.0.113.7")
        link = page.run("return location.hash")
        self.assertIn("rule=login", link)
        page.open(self.server.url, "denials", link.removeprefix("#/denials"))
        self.wait_for_rows(1, "/login/a")
        self.assertIn("NL", self.rows()[0])
        page.click("#denials .actions button", "Clear filters")
        self.wait_for_rows(4)
        for label, value, amount in (("Country", "de", 1), ("Country", "", 4),
                                     ("Came as", "resp", 0), ("Came as", "auth", 3),
                                     ("Path", "/login/*", 2)):
            self.choose(label, value)
            self.wait_for_rows(amount)
        self.choose("Rule", "nosuch")
        page.find("#denials .message.bad", "There is no rule")
        self.wait_for_rows(0)
        page.open(self.server.url, "denials", "?since=1000000000&until=1000000060")
        page.find("#denials .empty", "denied nothing that fits")

    def test_groups_lead_to_their_denials(self):
        page = self.page
        self.deny()
        page.open(self.server.url, "denials", "?by=path")
        self.wait_for_rows(4)
        self.wait_for_rows(1, "let pass")
        self.assertIn("/login/a", self.rows()[0])
        self.pictures("denials-groups")
        for by, first in (("rule", "login"), ("key", "203.0.113.7"), ("country", "NL"),
                          ("network", "203.0.113.0/24")):
            self.choose("Show", by)
            page.wait(lambda _, first=first: self.rows() and first in self.rows()[0], first)
        self.choose("Show", "key")
        page.wait(lambda _: "203.0.113.7" in self.rows()[0], "the key")
        page.click("#denials tbody a", "Show")
        self.wait_for_rows(1, "/login/a")
        self.assertIn("key=203.0.113.7", page.run("return location.hash"))
        page.run("HTMLAnchorElement.prototype.click = function() { window.saved = this.download }")
        page.click("#denials button", "CSV")
        page.wait(lambda _: page.run("return window.saved") == "weir-denials.csv", "it is saved")
        asked = page.run("return performance.getEntriesByType('resource').map((each) => each.name)")
        self.assertIn(f"{self.server.url}/admin/denials?limit=10000", asked)
        self.assertEqual([each for each in asked if "203.0.113.7" in each], [], "logs keep them")
        page.open(self.server.url, "denials", "?key=203.0.113.7")
        page.find("#denials .message.bad", "the id of the rule that the key is of")
        self.assertIn("400", page.complaints()[-1])

    def test_new_ones_come_by_themselves_unless_somebody_is_among_the_rows(self):
        page = self.page
        page.open(self.server.url, "denials")
        page.find("#denials .empty")
        self.deny()
        self.wait_for_rows(4)
        page.run("document.querySelector('#denials tbody button').focus()")
        first = self.rows()[0]
        self.server.check(key="alice", rule="keys")
        self.server.check(key="alice", rule="keys")
        page.find("#denials .pages", "1 more when you leave the rows")
        self.assertEqual(self.rows()[0], first)
        page.run("document.activeElement.blur()")
        self.wait_for_rows(1, "alice")
        self.assertIn("alice", self.rows()[0])
        page.click("#denials .check")
        page.find("#denials .message", "Not live")
        self.server.check(key="alice", rule="keys")

    def test_a_row_leads_to_its_cause_and_its_cure(self):
        page = self.page
        self.deny()
        page.open(self.server.url, "denials", "?rule=login&path=/login/a")
        self.wait_for_rows(1)
        page.click("#denials td button", "curl")
        page.find("#denials .message.good", "no query and no header")
        self.assertEqual(page.run("return window.copied"), "curl -X PUT "
                         "'https://host.invalid/login/a' -H 'X-Forwarded-For: 203.0.113.7'")
        page.click("#denials td button", "Block")
        page.find("dialog p", "The rule login denies every request of this key for 5m")
        page.find("dialog option", "The rule login")
        page.choose("dialog select", "")
        page.find("dialog p", "All rules deny every request of this key for 5m")
        for field, text in ((2, "scraping"), (3, "carol")):
            page.type(f"dialog .field:nth-child({field}) input", text)
        page.screenshot("denials-block")
        self.assertEqual(page.audit(), [])
        page.click("dialog button.danger")
        page.find("#denials .message.good", "203.0.113.7 is blocked for 5m")
        shown = page.text("#denials .card .message")
        page.wait(lambda _: page.text("#denials .card .message") != shown, "rows come again")
        page.find("#denials .message.good", "is blocked")
        with self.server.connect() as connection:
            (block,) = connection.ask(get("/admin/blocks")).json()["blocks"]
        self.assertEqual((block["rule"], block["why"], block["by"]), (None, "scraping", "carol"))
        page.click("#denials td a", "Explain")
        page.find(".applied.bad", "is blocked")
        page.driver.back()
        page.click("#denials td a", "login")
        page.find("#rules:not([hidden])")

    def test_what_is_downloaded_is_what_is_shown(self):
        page = self.page
        self.deny()
        page.open(self.server.url, "denials", "?rule=login")
        self.wait_for_rows(2)
        for button in ("Download as CSV", "Download as JSON"):
            page.click(f"#denials [aria-label='{button}']")
        page.wait(lambda _: page.run("return window.saved.length") == 2, "two files")
        table, text = page.driver.execute_async_script(
            "Promise.all(window.saved.map((blob) => blob.text())).then(arguments[0])")
        rows = list(csv.DictReader(io.StringIO(table)))
        self.assertEqual([(row["path"], row["times"]) for row in rows],
                         [("/login/b", "1"), ("/login/a", "3")])
        self.assertEqual(json.loads(text)["total"], 2)

    def test_no_key_is_markup_or_turns_a_line(self):
        page = self.page
        for key in HOSTILE:
            for _ in range(2):
                self.server.check(key=key, rule="keys")
        page.open(self.server.url, "denials")
        self.wait_for_rows(len(HOSTILE))
        text = page.text("#denials")
        self.assertNotIn(RIGHT_TO_LEFT, text)
        for shown in ("\\u{202e}gnp.exe", "<img src=x onerror", "a\\u{0}b", "two\\u{a}lines"):
            self.assertIn(shown, text)
        self.assertEqual(page.all("#denials td img"), [])
        self.assertIn("Denials", page.driver.title)
        isolated = page.run("""return [...document.querySelectorAll("#denials td code")]
          .every((each) => getComputedStyle(each).unicodeBidi === "isolate")""")
        self.assertTrue(isolated)
        cut = [row for row in page.all("#denials tbody tr") if "aaaaaaaa" in row.text]
        self.assertNotIn("Block", cut[0].text, "the record knows a part of this key alone")
        self.assertIn("Only the beginning of this key is known.", cut[0].text)
        self.assertIn("aaaa…", cut[0].text)
        page.find("#denials td code", '"  lead "')
        with self.server.connect() as connection:
            connection.ask(get("/auth", "X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /one\r\n"))
        page.find("#denials td", "shared by all")
        self.assertNotIn("show_keys", page.text("#denials"))
        self.pictures("denials-hostile")
        page.width(390, 844)
        edges = page.run("""
          const edge = (column) => {
            const range = document.createRange();
            range.selectNodeContents(document.querySelector(`#denials [data-column="${column}"]`));
            return Math.round(range.getBoundingClientRect().right);
          };
          return ["Key", "Door", "Cause"].map(edge);""")
        self.assertEqual(len(set(edges)), 1, edges)
        page.open(self.server.url, "keys", "?rule=one")
        page.find("#keys td", "shared by all")
        self.assertNotIn("show_keys", page.text("#keys"))


if __name__ == "__main__":
    main()
