"""The console in a real Chromium: every tab, every button, and what must appear."""

import contextlib
import re
import shutil
import sys
import unittest

import browser
from browser import SKIPPED, Browser, why_not
from weir_server import ROOT, Weir, get, wait_until

TABS = ("overview", "denials", "rules", "keys", "explain", "simulator", "fleet")
TOKEN = "a-token-of-the-console"
# From then on a node may switch algorithms.
SWITCHES_AFTER_S = 11
README_BYTES_MAX = 200_000
CONFIG = """
show_keys: true
rules:
  - {id: demo, algorithm: adaptive, limit: 100, window: 1h}
  - {id: spam, limit: 100, window: 1h}
  - {id: normal, limit: 1000, window: 1h}
  - {id: busy, limit: 1000, window: 1h}
  - id: login
    limit: 5
    window: 1m
    match: {method: POST, path: /login}
    key: client
  - id: search
    algorithm: token_bucket
    limit: 10
    window: 1s
    match: {path: /search}
"""
RULES = """
rules:
  - id: api
    limit: 10
    window: 1m
  - id: old
    limit: 3
    window: 1h
"""


# How much of what people see moved by itself, as browsers measure it; they call 0.1 good.
SHIFT_MAX = 0.02
COUNT_SHIFTS = """
window.shifted = 0;
new PerformanceObserver((list) => {
  for (const shift of list.getEntries()) if (!shift.hadRecentInput) window.shifted += shift.value;
}).observe({ type: "layout-shift", buffered: true });
"""


def uptime(node):
    with node.connect() as connection:
        return connection.ask(get("/health")).json()["uptime_seconds"]


class Console(unittest.TestCase):
    """One browser for all tests, and one server whose traffic nobody else disturbs. It has to
    be old enough to switch algorithms when the tests of switches begin: so they come last."""

    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Weir("--threads", "1", config=CONFIG))
        cls.browser = cls.enterClassContext(Browser())
        cls.first = cls.browser.window()
        # They take 15 and 5 seconds, each in a window of its own, while other tests go on.
        cls.spam = cls.start_run("spam", "spam")
        cls.normal = cls.start_run("normal", "normal")
        cls.browser.switch(cls.first)

    @classmethod
    def start_run(cls, run, rule):
        window = cls.browser.new_window()
        cls.browser.open(cls.server.url, "simulator")
        cls.browser.choose("#simulator weir-runs select", rule)
        cls.browser.click(f"#simulator [data-run={run}]")
        return window

    def setUp(self):
        self.browser.switch(self.first)
        self.allowed_complaints = ()

    def tearDown(self):
        self.browser.width(0)
        self.browser.prefer()
        bad = [each for each in self.browser.complaints()
               if not any(word in each for word in self.allowed_complaints)]
        self.assertEqual(bad, [])

    @contextlib.contextmanager
    def own_server(self, *arguments, **options):
        """For a test that changes one. The page has left it before it ends, and complains not."""
        with Weir("--threads", "1", *arguments, config=RULES, **options) as server:
            yield server
            self.browser.driver.get("about:blank")

    def sums(self, text):
        return self.browser.find("#simulator .sums", text)

    # ---- tabs and figures --------------------------------------------------------------

    def test_every_tab_has_an_address_and_keys_move_between_them(self):
        page = self.browser
        page.open(self.server.url)
        for tab in TABS:
            page.go(tab)
            self.assertTrue(page.driver.current_url.endswith(f"#/{tab}"))
            self.assertIn("Weir", page.driver.title)
            self.assertEqual(page.find("[aria-selected=true]").get_attribute("id"), f"tab-{tab}")
            self.assertEqual(len(page.all("main > :not([hidden])")), 1)
        for key, tab in (("ARROW_RIGHT", "overview"), ("ARROW_LEFT", "fleet"), ("HOME", "overview"),
                         ("ARROW_RIGHT", "denials"), ("END", "fleet")):
            page.press(key)
            page.find(f"#{tab}:not([hidden]) *")
            self.assertEqual(page.focused().get_attribute("id"), f"tab-{tab}")
        page.driver.back()
        page.find("#denials:not([hidden]) *")

    def test_figures_come_by_themselves(self):
        page = self.browser
        self.server.check(key="x", rule="busy")
        end = page.before_pages(COUNT_SHIFTS)
        page.open(self.server.url)
        page.find("#status", "Live")
        page.find("#overview .tile", "Keys")
        page.find("#overview .tile.calm", "none")  # Redis
        page.find("#overview td", "busy")
        self.assertIn("Requests per second: allowed",
                      page.find("#overview canvas").get_attribute("aria-label"))
        first = page.text("#node")
        page.wait(lambda _: page.text("#node") != first, "the uptime moves on")
        self.assertLess(page.run("return window.shifted"), SHIFT_MAX)
        end()

    def test_a_way_without_websockets(self):
        page = self.browser
        end = page.before_pages("""window.WebSocket = class {
          constructor() { setTimeout(() => this.onclose?.(), 0); }
          close() {}
        };""")
        page.open(self.server.url)
        text = page.find("#status-text", "Polling")
        page.width(390, 844)
        cut = page.run("return arguments[0].scrollWidth - arguments[0].clientWidth", text)
        self.assertLessEqual(cut, 0)
        page.screenshot("phone-polling")
        page.width(0)
        self.server.check(key="x", rule="busy")
        page.find("#overview td", "busy")
        end()
        page.open(self.server.url)
        page.find("#status", "Live")

    def test_light_and_dark(self):
        page = self.browser
        page.prefer(color_scheme="dark")
        page.open(self.server.url)
        paper = "return getComputedStyle(document.body).backgroundColor"
        dark = page.run(paper)
        page.click("#theme")
        light = page.run(paper)
        self.assertNotEqual(dark, light)
        page.open(self.server.url)
        self.assertEqual(page.run(paper), light)  # it remembers
        page.run("localStorage.clear()")

    def test_a_phone(self):
        page = self.browser
        page.width(360, 740)
        page.open(self.server.url)
        page.find("#status", "Live")
        for tab in TABS:
            page.go(tab)
            if tab == "rules":
                self.edit("demo")
            width = page.run("return document.documentElement.scrollWidth")
            self.assertLessEqual(width, 360, tab)
            page.screenshot(f"phone-{tab}")

    def test_names_and_contrasts(self):
        page = self.browser
        for scheme in ("light", "dark"):
            page.prefer(color_scheme=scheme, reduced_motion="reduce")
            page.open(self.server.url)
            for tab in TABS:
                page.go(tab)
                if tab == "rules":
                    self.edit("demo")
                self.assertEqual(page.audit(), [], f"{tab}, {scheme}")
                page.screenshot(f"{tab}-{scheme}")

    def test_the_audit_finds_what_it_looks_for(self):
        page = self.browser
        page.open(self.server.url, "fleet")
        page.run("""const bad = document.createElement("div");
          bad.innerHTML = "<button></button><p id=tabs>twice</p><label for=gone>pale</label>";
          bad.lastChild.style.color = "#bbb";
          document.querySelector("#fleet").append(bad);""")
        found = "\n".join(page.audit())
        for fault in (("button-name: ", "two of #tabs", "nothing is #gone", "color-contrast: ")
                      if found else ()):
            self.assertIn(fault, found)
        self.assertEqual(bool(found), browser.AXE.exists())

    # ---- rules -------------------------------------------------------------------------

    def edit(self, rule):
        self.browser.click(f"#rules [data-row={rule}] a")
        self.browser.click("#rule-page .buttons button", "Edit")
        self.browser.find(".editor .message", "The rule is valid.")

    def write(self, text):
        self.browser.type(".editor textarea", text)

    def test_a_rule_is_edited_saved_and_rolled_back(self):
        page = self.browser
        with self.own_server() as server:
            page.open(server.url, "rules")
            self.edit("api")
            self.assertEqual(page.value(".editor textarea"), "id: api\nlimit: 10\nwindow: 1m\n")
            self.write("id: api\nlimit: lots\nwindow: 1m\n")
            page.find(".problems .bad", "Line 2")
            self.assertEqual(page.find(".gutter .bad").text, "2")
            page.screenshot("rules-mistake")
            self.assertFalse(page.find("#save-rule").is_enabled())
            page.click(".problems button")
            self.assertEqual(page.focused().tag_name, "textarea")

            self.write("id: api\nlimit: 20\nwindow: 1m\n")
            page.find(".changes li", "20")
            page.click("#save-rule")
            page.find(".editor .message.good", "Saved")
            page.find("#rule-page .facts", "20 per 1m")
            page.find("#rule-page .badge", "by hand")
            self.assertEqual(self.limit_of(server), 20)

            page.click("#rule-page a", "All rules")
            page.find("[data-row=api]", "20 per 1m")
            page.click("[data-version='1'] button", "Compare")
            page.find(".diff .removed", "limit: 10")
            page.find(".diff .added", "limit: 20")
            page.click("[data-version='1'] button", "Go back")
            page.type("dialog .field:nth-child(2) input", "carol")
            page.click("dialog button.danger", "Go back")
            page.find(".history li", "by carol at")
            page.find(".history li", ", in force here from ")
            page.find("[data-row=api]", "10 per 1m")
            self.assertEqual(self.limit_of(server), 10)

    def limit_of(self, server):
        with server.connect() as connection:
            reply = connection.ask(get("/admin/rules/api"))
        return reply.json()["rule"]["limit"]

    # ---- who may -----------------------------------------------------------------------

    def test_a_token_signs_in(self):
        page = self.browser
        self.allowed_complaints = ("401",)
        with self.own_server(environment={"WEIR_ADMIN_TOKEN": TOKEN}) as server:
            page.open(server.url, "rules")
            page.type("dialog input", "a-wrong-token-of-sorts")
            page.click("dialog button.primary")
            page.find("dialog .problem", "This is not the token.")
            self.assertEqual(page.audit(), [])
            page.type("dialog input", TOKEN)
            page.click("dialog button.primary")
            page.gone("dialog")
            page.find("[data-row=api]")
            page.find("#status", "Live")
            page.open(server.url, "rules")  # the session outlives the page
            page.find("[data-row=api]")
            cookie = page.driver.get_cookies()[0]
            self.assertTrue(cookie["httpOnly"])
            self.assertEqual(cookie["sameSite"], "Strict")
            page.go("fleet")
            page.find("#fleet .node.good")
            page.click("#sign", "Sign out")
            page.find("dialog")
            self.assertEqual(page.all("#fleet .node"), [], "what only a session may know")
            page.click("dialog button", "Not now")
            page.gone("dialog")

    def test_figures_for_everybody_and_the_rest_for_those_who_sign_in(self):
        page = self.browser
        self.allowed_complaints = ("401",)
        token = {"WEIR_ADMIN_TOKEN": TOKEN}
        with self.own_server("--console", "public", environment=token) as server:
            server.check(key="x", rule="api")
            page.open(server.url)
            page.find("#status", "Live")
            page.find("#overview td", "api")
            self.assertEqual(page.all("dialog"), [])
            page.go("keys")
            page.click("dialog button", "Not now")
            page.gone("dialog")
            asked = self.asked_of_blocks()
            page.wait(lambda _: self.asked_of_blocks() > asked, "the lists are asked for again")
            self.assertEqual(page.all("dialog"), [])  # nobody has asked for that

    def test_nobody_can_sign_in_to_a_server_that_is_open_and_has_no_token(self):
        page = self.browser
        self.allowed_complaints = ("403",)
        with self.own_server(http="0.0.0.0:0") as server:
            page.open(f"http://127.0.0.1:{server.port}")
            page.find("#status", "to nobody until it is started with an admin token")
            self.assertEqual(page.all("dialog"), [])
            self.assertFalse(page.all("#sign")[0].is_displayed())
            page.go("rules")
            page.find("#rules .message", "no admin token")

    def asked_of_blocks(self):
        return self.browser.run("""return performance.getEntriesByType("resource")
          .filter((each) => each.name.includes("/admin/blocks")).length""")

    # ---- the simulator -----------------------------------------------------------------

    def test_the_own_run_and_the_stop_button(self):
        page = self.browser
        page.open(self.server.url, "simulator")
        page.choose("#simulator weir-runs select", "busy")
        rate, keys, seconds = page.all("#simulator .own input")
        for element, value in ((rate, "50"), (keys, "3"), (seconds, "900")):
            element.clear()
            element.send_keys(value)
        page.click("#own-start")
        page.find("#simulator .problem", "from 1 to 60")
        seconds.clear()
        seconds.send_keys("1")
        page.click("#own-start")
        self.sums("50 of 50 sent, 50 allowed, 0 denied")
        seconds.clear()
        seconds.send_keys("60")
        page.click("#own-start")
        page.find("#simulator .tick")
        page.click("#simulator .stop")
        self.assertFalse(page.find("#simulator .stop").is_enabled())
        self.assertRegex(self.sums("of 3000 sent").text, r"^\d{1,3} of 3000")

    def test_zz_the_run_of_normal_traffic(self):
        page = self.browser
        page.switch(self.normal)
        self.sums("25 of 25 sent, 25 allowed, 0 denied")
        self.assertEqual(len(page.all("#simulator .tick.good")), 25)
        page.find("#simulator .tick", "975")

    def test_zz_the_burst_is_seen_and_the_next_one_explained(self):
        page = self.browser
        wait_until(lambda: uptime(self.server) > SWITCHES_AFTER_S, "it may switch")
        self.server.check(key="x", rule="demo")
        page.open(self.server.url)
        page.find("#overview .badge.adaptive", "sliding_window")
        page.choose("#overview weir-runs select", "demo")
        page.click("#overview [data-run=burst]")
        page.find("#overview .sums", "100 of 100 sent, 100 allowed, 0 denied")
        page.wait(lambda _: self.highest() >= 50, "the burst is in the chart")
        page.find("#overview .badge.adaptive.pulse", "token_bucket")
        page.find("#overview .events", "demo")
        page.wait(lambda _: page.text("#overview .tile:nth-child(2) strong") == "0", "it is over")
        self.picture("overview")
        page.go("simulator")
        self.assertEqual(len(page.all("#simulator .tick.good")), 100)
        page.click("#simulator [data-run=one]")
        self.sums("1 of 1 sent, 0 allowed, 1 denied")
        page.find("#simulator .tick.bad")
        page.screenshot("simulator-burst")
        page.click("#simulator .head .button")
        page.find(".verdict.bad", "denied, by 'demo'")
        page.find(".applied.bad", "This would be number 101")
        page.find(".applied.bad", "The rule is adaptive; it switched to ")  # and perhaps back
        page.screenshot("explain-burst")
        page.go("keys")
        page.choose("#keys select", "demo")
        page.find("#keys td", "visitor-")

    def highest(self):
        label = self.browser.find("#overview canvas").get_attribute("aria-label")
        return max(float(each) for each in re.findall(r"at most ([\d.]+)", label))

    def picture(self, name):
        """The one of README, in either light; `./dev test` leaves both in build/console."""
        self.browser.run("scrollTo(0, 0)")
        for scheme in ("dark", "light"):
            self.browser.prefer(color_scheme=scheme, reduced_motion="reduce")
            path = self.browser.screenshot(f"{name}-burst-{scheme}")
        self.assertLess(path.stat().st_size, README_BYTES_MAX)
        if "--picture" in sys.argv:
            shutil.copy(path, ROOT / "docs" / "reference" / "console.png")

    def test_zz_the_run_of_spam(self):
        page = self.browser
        page.switch(self.spam)
        self.sums("450 of 450 sent, 100 allowed, 350 denied")
        self.assertEqual(len(page.all("#simulator .tick")), 300)
        page.find("#simulator .tick.bad")
        page.screenshot("simulator-spam")


def main():
    reason = why_not()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    assert browser.SCREENSHOTS.is_absolute()
    unittest.main(argv=[each for each in sys.argv if each != "--picture"], verbosity=2)


if __name__ == "__main__":
    main()
