"""The row of one key in the table of tenants, on the page Keys in a real Chromium."""

import json

from browser import PageTest, main
from redis_world import Redis
from rules_test import ask, request
from weir_server import Weir, get, post

EVIL_PLAN = "<img src=x onerror=alert(1)>\u202e"
EVIL_KEY = "a/b%2F%? #<img src=x onerror=alert(1)>'\"\u202e é🙂  end"
CONFIG = json.dumps({"rules": [
    {"id": "api", "limit": 100, "window": "1m", "tenants": True,
     "overrides": [{"key": "vip", "limit": 9, "window": "1m"}],
     "tiers": [{"name": "gold", "limit": 1000, "window": "1m"},
               {"name": EVIL_PLAN, "limit": 7, "window": "month"}]},
    {"id": "calls", "limit": 10, "window": "1s", "burst": 30, "algorithm": "token_bucket",
     "tenants": True},
    {"id": "free", "limit": 3, "window": "1h"}]})


def row(weir, key):
    return ask(weir, post("/admin/tenant", json.dumps({"key": key}).encode()))


def put(weir, key, **fields):
    reply = ask(weir, request("PUT", "/admin/tenant", {"key": key, **fields}))
    assert reply.status in (200, 201), reply.text


class Tenant(PageTest):
    allowed = ("Failed to load",)  # what is refused on purpose

    def start(self, *arguments, config=CONFIG):
        weir = self.enterContext(Weir("--threads", "1", *arguments, config=config))
        self.page.open(weir.url, "keys")
        return weir

    def open(self, key, said):
        self.page.run("document.querySelector('#keys input').value = arguments[0]", key)
        self.page.click("#show-tenant")
        self.page.find("#tenant .lead", said)
        self.page.find("#tenant form")

    def fill(self, **fields):
        for name, value in fields.items():
            if name == "plan":
                self.page.choose("#tenant select", value)
            else:
                place = ("limit", "window", "anchor").index(name) + 2
                self.page.type(f"#tenant .field:nth-child({place}) input", value)

    def save(self, question, level, said):
        self.page.click("#save-tenant")
        self.page.find("dialog h2", question)
        self.page.click("dialog button.danger")
        self.page.find(f"#tenant .message.{level}", said)

    def remove(self, level, said):
        self.page.click("#remove-tenant")
        self.page.click("dialog button.danger")
        self.page.find(f"#tenant .message.{level}", said)

    def complaints(self):
        """That there is no row is an answer."""
        return [each for each in self.page.complaints()
                if "/admin/tenant - Failed to load resource" not in each]

    def counts(self):
        return self.page.find("#tenant dl").text.split("\n")

    def wait_for_counts(self, *lines):
        self.page.wait(lambda _: self.counts() == list(lines), f"{lines}, not {self.counts()}")

    def test_a_row_is_found_added_changed_and_removed(self):
        page, weir = self.page, self.start()
        page.click("#show-tenant")
        page.find("#keys .message.bad", "Type a key first.")
        self.open("ann", "It has no row: its rules' own limits (version 0 of the table).")
        self.wait_for_counts("api", "100 per 1 min.", "calls", "10 per 1 s.")
        self.assertFalse(page.find("#tenant").text.count("Remove"))
        self.fill(plan="gold", anchor="31")
        self.assertFalse(page.find("#tenant .field:nth-child(2) input").is_enabled())
        self.save("Give ann the plan 'gold', months from day 31?", "good",
                  "ann has the plan 'gold', months from day 31.")
        self.assertEqual(row(weir, "ann").json(),
                         {"key": "ann", "plan": "gold", "anchor": 31, "version": 1})
        page.find("#tenant .lead", "months from day 31 (version 1 of the table)")
        self.wait_for_counts("api", "1,000 per 1 min.",
                             "calls", "10 per 1 s, its own: it has no tier of that name.")
        page.click("#look")
        page.find("#keys .message", "By the table of tenants the key has the plan 'gold'")
        self.fill(plan="", limit="5000", window="90m", anchor=" ")
        self.save("Give ann a limit of 5,000 per 90m?", "good", "ann has a limit of 5,000 per 90m.")
        self.assertEqual(row(weir, "ann").json(),
                         {"key": "ann", "limit": 5000, "window": 5400, "version": 2})
        self.assertEqual(page.value("#tenant .field:nth-child(3) input"), "90m")
        self.wait_for_counts("api", "5,000 per 1 h 30 min.", "calls", "5,000 per 1 h 30 min.")
        page.click("#remove-tenant")
        page.find("dialog p", "It has a limit of 5,000 per 90m.")
        page.click("dialog button", "Cancel")
        page.gone("dialog")
        self.assertEqual(row(weir, "ann").status, 200)
        self.remove("good", "ann has no row: its rules' own limits.")
        self.assertEqual(row(weir, "ann").status, 404)
        self.assertEqual(self.complaints(), [])
        self.pictures("tenant")

    def test_who_waits_for_the_server_is_told_and_can_ask_for_nothing_else(self):
        page, weir = self.page, self.start()
        self.open("ann", "It has no row")
        page.run("""const ask = window.fetch;
          window.fetch = async (path, how) => {
            if (how.method !== "POST" && how.method !== "GET") {
              await new Promise((go) => { window.go = go; });
            }
            return ask(path, how);
          };""")
        self.fill(limit="5")
        for pressed, said in (("save", "Saving ..."), ("remove", "Removing ...")):
            page.click(f"#{pressed}-tenant")
            page.click("dialog button.danger")
            page.find("#tenant .message", said)
            for name in ("save", "remove"):
                self.assertFalse(page.all(f"#{name}-tenant")[0].is_enabled(), (pressed, name))
            page.run("window.go()")
            page.find("#tenant .message.good", "ann has")
            page.wait(lambda _: self.focused() == "save-tenant", "the focus is on Save")
            self.assertTrue(page.find("#save-tenant").is_enabled())
        self.assertEqual(row(weir, "ann").status, 404)
        # Another key's row does not wait for it.
        page.click("#save-tenant")
        page.click("dialog button.danger")
        page.find("#tenant .message", "Saving ...")
        self.open("bob", "It has no row")
        self.assertTrue(page.find("#save-tenant").is_enabled())

    def focused(self):
        return self.page.run("return document.activeElement.id || document.activeElement.tagName")

    def test_the_page_says_what_the_server_refuses(self):
        weir = self.start()
        self.open("ann", "It has no row")
        self.save("neither a plan nor a limit", "bad", "expected a plan, or a limit")
        self.fill(limit="5,000")
        self.save("the limit '5,000'", "bad", "limit: expected a whole number from 0 to 10^12")
        self.fill(limit="5", window="1y")
        self.save("5 per 1y", "bad", "window: expected a duration from 1ms to 366d")
        self.fill(plan="gold", anchor="32")
        self.save("day 32", "bad", "anchor: expected the day on which months begin, from 1 to 31")
        # A reload has taken the tier away since the page read the rules.
        rule = json.loads(CONFIG)["rules"][0] | {"tiers": [{"name": "iron", "limit": 1,
                                                           "window": "1m"}]}
        self.assertEqual(ask(weir, request("PUT", "/admin/rules/api", rule)).status, 200)
        self.fill(anchor="1")
        self.save("the plan 'gold'", "bad", "no rule with 'tenants: true' has a tier 'gold'")
        self.assertEqual(ask(weir, get("/admin/tenants")).json()["version"], 0)

    def test_who_is_slower_is_told_and_shown_the_new_row(self):
        page, weir = self.page, self.start()
        put(weir, "ann", limit=5)
        self.open("ann", "a limit of 5 per window of the rule (version 1")
        # Rows of others are no matter.
        put(weir, "bob", limit=5)
        self.fill(limit="6")
        self.save("6", "good", "ann has a limit of 6")
        self.assertEqual(row(weir, "ann").json()["version"], 3)
        self.fill(limit="70")
        page.click("#save-tenant")
        page.find("dialog p", "It has a limit of 6 per window of the rule.")
        put(weir, "ann", plan="gold")
        page.click("dialog button.danger")
        page.find("#tenant .message.warn", "Somebody else has changed it meanwhile: it has the "
                  "plan 'gold'. Nothing of yours is in force; what you typed is kept.")
        page.find("#tenant .lead", "It has the plan 'gold' (version 4 of the table).")
        self.assertEqual(row(weir, "ann").json()["plan"], "gold")
        self.save("Give ann a limit of 70", "good", "ann has a limit of 70")
        self.assertEqual(row(weir, "ann").json()["limit"], 70)
        ask(weir, request("DELETE", "/admin/tenant", {"key": "ann"}))
        self.remove("warn", "meanwhile: it has no row")
        put(weir, "ann", limit=1)
        self.save("70", "warn", "meanwhile: it has a limit of 1 per")
        self.assertEqual(row(weir, "ann").json()["limit"], 1)

    def test_hostile_keys_and_plans_are_texts_and_in_no_address(self):
        page, weir = self.page, self.start("--show-keys")
        for key in (EVIL_KEY, "k" * 512, ".."):
            self.open(key, "It has no row")
            self.assertEqual(page.run("return document.querySelector('#tenant h2').textContent"),
                             "Tenant " + (f'"{key}"' if key == EVIL_KEY else key)
                             .replace("\u202e", "\\u{202e}"))
            self.fill(plan=EVIL_PLAN)
            self.save("Give ", "good", "has the plan '<img src=x onerror=alert(1)>\\u{202e}'")
            self.assertEqual(row(weir, key).json()["plan"], EVIL_PLAN)
            self.wait_for_counts("api", "7 per month.",
                                 "calls", "10 per 1 s, its own: it has no tier of that name.")
        self.assertEqual(page.all("main img"), [])
        self.assertNotIn("\u202e", page.find("#tenant .lead").text)
        asked = page.run("return performance.getEntriesByType('resource').map((each) => each.name)")
        self.assertIn(f"{weir.url}/admin/tenant", asked)
        self.assertEqual([each for each in asked if "img" in each or "kkk" in each], [])
        self.assertEqual(page.driver.current_url, f"{weir.url}/#/keys")
        self.assertEqual(self.complaints(), [])

    def test_an_override_comes_first_and_without_rules_nothing_looks(self):
        weir = self.start()
        put(weir, "vip", limit=5)
        self.open("vip", "a limit of 5")
        self.wait_for_counts("api", "9 per 1 min, by an override of the rule, which comes first.",
                             "calls", "5 per 1 s.")
        self.start(config="rules: [{id: free, limit: 3, window: 1h}]")
        self.open("vip", "It has no row")
        self.wait_for_counts("No rule", "looks at the table; tenants: true does.")

    def test_a_fleet_says_where_it_holds(self):
        page = self.page
        with Redis() as redis:
            weir = self.start("--redis", redis.url)
            page.find("#status", "Live")
            self.open("ann", "It has no row")
            self.fill(limit="5")
            # A Redis that says nothing for a second hears of it later.
            page.wait(lambda _: "on all nodes that share its Redis." in self.saved(), "it is told")
            redis.kill()
            page.wait(lambda _: "on this node alone until Redis is back" in self.asked(),
                      "the dialog knows")
            self.fill(limit="6")
            self.assertIn("ann has a limit of 6 per window of the rule, on this node alone until "
                          "Redis is back", self.saved())
            self.assertEqual(row(weir, "ann").json()["limit"], 6)

    def saved(self):
        self.page.click("#save-tenant")
        self.page.click("dialog button.danger")
        return self.page.find("#tenant .message.good", "ann has").text

    def asked(self):
        self.page.click("#save-tenant")
        text = self.page.find("dialog p").text
        self.page.click("dialog button", "Cancel")
        self.page.gone("dialog")
        return text

    def test_who_has_not_signed_in_sees_nothing(self):
        page = self.page
        token = "sixteen-characters"
        weir = self.enterContext(Weir("--threads", "1", config=CONFIG,
                                      environment={"WEIR_ADMIN_TOKEN": token}))
        page.open(weir.url, "keys")
        self.addCleanup(page.driver.get, "about:blank")
        page.find("dialog input[type=password]").send_keys(token)
        page.click("dialog button.primary")
        page.gone("dialog")
        self.open("ann", "It has no row")
        page.run("""navigator.clipboard.writeText = (text) => {
          window.copied = text;
          return Promise.resolve();
        }""")
        self.fill(limit="5")
        page.click("#tenant button", "curl")
        page.find("#tenant .message.good", "Copied")
        command = page.run("return window.copied")
        self.assertIn('Authorization: Bearer $WEIR_ADMIN_TOKEN"', command)
        self.assertIn("""-d '{"key":"ann","limit":5}'""", command)
        for label, done in (("Give", "save"), ("Remove", "remove")):
            page.driver.delete_all_cookies()
            page.click(f"#{done}-tenant")
            page.find("dialog h2", label)
            page.click("dialog button.danger")
            page.find("dialog input[type=password]").send_keys(token)
            page.click("dialog button.primary")
            page.gone("dialog")
            page.find("#tenant .message.bad", "Nothing is changed: the session had ended. Sign in, "
                      f"then {done} it again.")
            self.save("Give ann", "good", "ann has a limit of 5")
        page.driver.delete_all_cookies()
        page.click("#show-tenant")
        page.find("dialog input[type=password]")
        self.assertFalse(page.all("#tenant form")[0].is_displayed())


if __name__ == "__main__":
    main()
