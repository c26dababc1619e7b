"""The page of weir-lab replay in a real Chromium; leaves pictures in build/console. Skipped, saying
so, where there is none."""

import pathlib
import sys

from lab import LabTest, combined

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "console"))
import browser  # noqa: E402 (after the line above)

RULES = """
rules:
  - {id: search, algorithm: sliding_window, limit: 20, window: 1m, match: {path: /search},
     key: client}
  - {id: login, algorithm: fixed_window, limit: LOGINS, window: 1m,
     match: {method: POST, path: /login}, key: client}
  - {id: token, match: {path: /api}, key: "header:X-Token", limit: 5, window: 1m}
"""
SCRIPT = "</script><script>document.body.remove()</script>"


class Page(LabTest):
    def test_shows_the_report(self):
        lines = []
        for second in range(1800):
            lines.append(combined(second, f"192.0.2.{second % 40}", "GET /search HTTP/1.1"))
            if second % 7 == 0:
                lines.append(combined(second, f"198.51.100.{second % 3}", "POST /login HTTP/1.1"))
            if 600 <= second < 900:
                lines += [combined(second, "203.0.113.9", f"GET /search?{SCRIPT} HTTP/1.1")] * 3
        log = self.write("access.log", "".join(lines) + f"nonsense {SCRIPT}\n")
        page = self.folder / "page.html"
        self.said("replay", "--config", self.write("rules.yaml", RULES.replace("LOGINS", "5")),
                  "--against", self.write("lower.yaml", RULES.replace("LOGINS", "2")),
                  "--html", page, log)
        with browser.Browser() as chromium:
            for scheme in ("light", "dark"):
                chromium.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
                    "features": [{"name": "prefers-color-scheme", "value": scheme}]})
                chromium.driver.get(page.as_uri())
                text = chromium.run("return document.body.innerText")
                chromium.screenshot(f"replay-change-{scheme}")
                chromium.run("document.querySelectorAll('h2')[1].scrollIntoView()")
                chromium.screenshot(f"replay-{scheme}")
                self.assertEqual(self.overflow(chromium), 0)
            complaints = chromium.driver.get_log("browser")
        self.assertEqual(complaints, [])
        for said in ("Newly denied", "203.0.113.9", f"nonsense {SCRIPT}",
                     "the log does not have the header X-Token", "denies nobody"):
            self.assertIn(said, text)

    def overflow(self, chromium):
        """How many pixels of the page stand out at the right."""
        return chromium.run(
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth")


if __name__ == "__main__":
    browser.main()
