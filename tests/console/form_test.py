"""What all pages of the console have in common, in a real Chromium: the palette, and their weight.
Leaves screenshots in build/console."""

import gzip
import re
import urllib.request

import browser
from browser import PageTest
from weir_server import DEADLINE_S, Weir

# What a browser loads before it shows anything: page, style, script, icon.
LOADED_MAX = 150_000
CONFIG = """
rules:
  - {id: login, limit: 5, window: 1m}
  - {id: logout, limit: 5, window: 1m}
"""


class Form(PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.enterClassContext(Weir("--threads", "1", config=CONFIG))

    def key(self, name, **how):
        self.page.run("""document.activeElement.dispatchEvent(
          new KeyboardEvent("keydown", { bubbles: true, cancelable: true, ...arguments[0] }))""",
                      {"key": name, **how})

    def options(self):
        return self.page.all("dialog.palette [role=option]")

    def test_the_palette_leads_to_tabs_rules_and_keys(self):
        page = self.page
        page.open(self.server.url, "rules")
        self.key("/")
        page.find("dialog.palette input")
        tabs = len(page.all("[role=tab]"))
        page.wait(lambda _: len(self.options()) >= tabs, "every tab")
        page.focused().send_keys("fle")
        page.wait(lambda _: "Fleet" in self.options()[0].text, "the tab")
        page.press("ENTER")
        page.find("#fleet:not([hidden]) h1")
        self.key("k", ctrlKey=True)
        page.focused().send_keys("rule log")
        page.wait(lambda _: [each.text.split("\n")[0] for each in self.options()][:2] ==
                  ["login", "logout"], "the rules")
        for scheme in ("light", "dark"):
            for size, width in (("desk", 1440), ("phone", 390)):
                page.width(width, 900)
                page.prefer(color_scheme=scheme)
                self.assertEqual(page.audit(), [], f"{scheme}, {size}")
                page.screenshot(f"palette-{size}-{scheme}")
        page.press("ARROW_DOWN")
        chosen = page.focused().get_attribute("aria-activedescendant")
        self.assertIn("logout", page.find(f"#{chosen}[aria-selected=true]").text)
        page.press("ENTER")
        page.wait(lambda _: page.driver.current_url.endswith("#/rules?rule=logout"), "the rule")
        page.find("#rules:not([hidden]) h1")
        self.key("k", ctrlKey=True)
        page.focused().send_keys("<b>\u202ealice")
        page.find("dialog.palette [role=option]", "<b>\\u{202e}alice")
        page.press("ESCAPE")
        page.gone("dialog.palette")

    def test_the_palette_leaves_alone_who_writes(self):
        page = self.page
        page.open(self.server.url, "keys")
        page.find("#keys input").send_keys("/a")
        self.assertEqual(page.value("#keys input"), "/a")
        self.assertEqual(page.all("dialog[open]"), [])
        page.click("#find")
        page.find("dialog.palette input")

    def test_the_page_is_light(self):
        def ask(path):
            request = urllib.request.Request(self.server.url + path,
                                             headers={"Accept": "text/html"})
            with urllib.request.urlopen(request, timeout=DEADLINE_S) as reply:
                return reply.read()
        page = ask("/")
        parts = [page, *map(ask, re.findall(r"(?:src|href)=\"(/console/[^\"]+)\"",
                                            page.decode()))]
        self.assertGreater(len(parts), 3)
        self.assertLess(sum(len(gzip.compress(each)) for each in parts), LOADED_MAX)


if __name__ == "__main__":
    browser.main()
