"""For tests: a Chromium without a window, driven over WebDriver, and what people do with it."""

import os
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from weir_server import DEADLINE_S, ROOT  # noqa: E402 (after the line above)

CHROMIUM = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")
try:
    from selenium import webdriver
    from selenium.webdriver import ActionChains
    from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select, WebDriverWait
except ImportError:
    ActionChains = webdriver = None

SKIPPED = 77  # what ctest takes for a test that was skipped
SCREENSHOTS = ROOT / "build" / "console"
# From npm, as npm/tools/peers.mjs fetches it; where there is none, nothing is audited.
AXE = pathlib.Path(os.environ.get("WEIR_NPM_CACHE", ROOT / "build" / "npm-cache"),
                   "node_modules/axe-core/axe.min.js")
# Again, if an element was replaced while axe looked at it. It leaves ids to us.
AUDIT = """
  const done = arguments[0];
  const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
  const wrong = ids.filter((id, at) => ids.indexOf(id) !== at).map((id) => `two of #${id}`);
  for (const name of ["aria-controls", "aria-labelledby", "aria-describedby", "for"]) {
    for (const element of document.querySelectorAll(`[${name}]`)) {
      const named = element.getAttribute(name).split(" ");
      wrong.push(...named.filter((id) => !ids.includes(id)).map((id) => `nothing is #${id}`));
    }
  }
  const look = (more) => axe.run({ rules: { "target-size": { enabled: true } } }).then(
    ({ violations }) => done(wrong.concat(violations.flatMap(({ id, nodes }) => nodes.map(
      ({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary}`)))),
    (error) => more > 0 ? look(more - 1) : done([String(error)]));
  look(3);
"""
# The first element with this selector that takes room on the page, and has the text if one is
# asked for. An option is there as long as its select is.
SEEN = """
  const [selector, text] = arguments;
  const takesRoom = (each) => each.getClientRects().length > 0
    && each.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  return [...document.querySelectorAll(selector)].find((each) =>
    takesRoom(each.closest("select") ?? each)
    && (text === null || each.innerText.includes(text))) ?? null;
"""
SIZES = {"desk": (1440, 900), "phone": (390, 844)}
# As often a wait looks.
POLL_S = 0.1
OPTIONS = """--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars
    --disable-background-timer-throttling --disable-renderer-backgrounding
    --disable-backgrounding-occluded-windows --disable-background-networking --no-first-run
    --disable-component-update --disable-default-apps --disable-extensions --disable-sync
    --force-color-profile=srgb --force-prefers-reduced-motion --window-size=1280,1040
    --renderer-process-limit=1 --disable-site-isolation-trials""".split()


def why_not():
    """Why there can be no browser here; None if there can."""
    if webdriver is None:
        return "python3-selenium is not installed"
    if not CHROMIUM or not DRIVER:
        return "chromium and chromium-driver are not installed"
    return None


class Browser:
    """A Chromium with a profile of its own. A context manager."""

    def __init__(self):
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for option in OPTIONS:
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service(DRIVER), options=options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def open(self, url, tab="overview", parameters=""):
        """Loads the page again, at a tab."""
        self.driver.get("about:blank")
        self.driver.get(f"{url}/#/{tab}{parameters}")
        self.find(f"#{tab}:not([hidden]) *")

    def go(self, tab):
        self.click(f"#tab-{tab}")
        self.find(f"#{tab}:not([hidden]) *")

    # ---- looking -----------------------------------------------------------------------

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def seen(self, selector, text=None):
        """The first such element that people see (with the text), or None: one question."""
        return self.run(SEEN, selector, text)

    def find(self, selector, text=None):
        """The first such element that people see, as soon as there is one (with the text)."""
        return self.wait(lambda _: self.seen(selector, text), f"{selector} {text or ''}")

    def gone(self, selector):
        self.wait(lambda _: self.seen(selector) is None, f"{selector} goes away")

    def wait(self, condition, what):
        waiting = WebDriverWait(self.driver, DEADLINE_S, POLL_S,
                                ignored_exceptions=[StaleElementReferenceException])
        try:
            return waiting.until(condition)
        except WebDriverException as error:
            page = self.run("return document.body.innerText")
            raise AssertionError(f"it never came: {what}; the page says:\n{page}") from error

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def value(self, selector):
        return self.run("return document.querySelector(arguments[0]).value", selector)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def focused(self):
        return self.driver.switch_to.active_element

    # ---- doing -------------------------------------------------------------------------

    def click(self, selector, text=None):
        def find_and_click(_):  # once more if the page was drawn again between the two
            element = self.find(selector, text)
            self.run("arguments[0].scrollIntoView({block: 'center'})", element)
            element.click()
            return element
        return self.wait(find_and_click, f"a click on {selector} {text or ''}")

    def type(self, selector, text):
        element = self.find(selector)
        self.run("arguments[0].value = ''", element)
        element.send_keys(text)

    def choose(self, selector, value):
        self.wait(lambda _: value in [each.get_attribute("value") for each in
                                      self.all(f"{selector} option")], f"{selector} has {value}")
        Select(self.find(selector)).select_by_value(value)

    def press(self, *keys):
        for key in keys:
            self.focused().send_keys(getattr(Keys, key))

    # ---- the window --------------------------------------------------------------------

    def new_window(self):
        self.driver.switch_to.new_window("window")
        return self.driver.current_window_handle

    def window(self):
        return self.driver.current_window_handle

    def switch(self, handle):
        self.driver.switch_to.window(handle)

    def width(self, pixels, height=800):
        """What the page takes for the screen; 0: the window as it is."""
        if pixels == 0:
            self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
            return
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": pixels, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def prefer(self, **features):
        """What the page takes for the wish of its reader: color_scheme="dark"."""
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": f"prefers-{name.replace('_', '-')}", "value": value}
            for name, value in features.items()]})

    def before_pages(self, script):
        """Runs the script before those of each page to come; returns what ends that."""
        made = self.driver.execute_cdp_cmd(
            "Page.addScriptToEvaluateOnNewDocument", {"source": script})
        return lambda: self.driver.execute_cdp_cmd(
            "Page.removeScriptToEvaluateOnNewDocument", made)

    def screenshot(self, name):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        self.driver.save_screenshot(str(path))
        return path

    def complaints(self):
        """What the console of the browser has had to say since the last time."""
        return [each["message"] for each in self.driver.get_log("browser")
                if each["level"] in ("SEVERE", "WARNING")]

    def audit(self):
        """The page's faults for those who cannot see it well, or have no mouse."""
        if not AXE.exists():
            print("not audited: axe-core is not there, ./dev test fetches it from npm")
            return []
        if not self.run("return 'axe' in window"):
            self.run(AXE.read_text(encoding="utf-8"))
        return self.driver.execute_async_script(AUDIT)


class PageTest(unittest.TestCase):
    """One browser for all tests of a class: `page`. It complains of nothing but of what has one of
    the words of `allowed`; with an empty one, of anything."""

    allowed = ()

    @classmethod
    def setUpClass(cls):
        cls.page = cls.enterClassContext(Browser())

    def tearDown(self):
        self.page.width(0)
        self.page.prefer()
        self.page.driver.get("about:blank")
        self.assertEqual([each for each in self.page.complaints()
                          if not any(word in each for word in self.allowed)], [])

    def resized(self):
        """What a page needs once its width is another."""

    def fits(self, width, name):
        """Nothing is wider than the screen, or its card."""
        self.assertLessEqual(self.page.run("return document.documentElement.scrollWidth"), width,
                             name)
        self.assertEqual(self.page.run("""return [...document.querySelectorAll("main .card")]
          .filter((card) => card.scrollWidth > card.clientWidth)
          .map((card) => card.textContent.slice(0, 80))"""), [], name)

    def pictures(self, name):
        """Of each size and scheme: all fits, and axe finds nothing."""
        for size, (width, height) in SIZES.items():
            self.page.width(width, height)
            self.resized()
            for scheme in ("light", "dark"):
                self.page.prefer(color_scheme=scheme, reduced_motion="reduce")
                self.page.screenshot(f"{name}-{size}-{scheme}")
                self.fits(width, name)
                self.assertEqual(self.page.audit(), [], f"{name}, {size}, {scheme}")
        self.page.width(0)
        self.page.prefer()


def main():
    """Runs the tests of the program; skips them, saying so, where there can be no browser."""
    reason = why_not()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
