"""The page of the fleet in a real Chromium: who the nodes are, where, and how. Leaves screenshots
in build/console."""

import contextlib
import signal

import browser
from browser import PageTest
from redis_world import Redis
from rules_test import ask, request
from weir_server import Weir

CONFIG = "rules: [{id: api, limit: 5, window: 1h}]"


class FleetPage(PageTest):
    allowed = ("ERR_", "Failed to load", "WebSocket")  # of nodes that are gone

    @contextlib.contextmanager
    def fleet(self, *arguments):
        """A node for each list of arguments; the page on the first."""
        with Redis() as redis, contextlib.ExitStack() as stack:
            self.redis_url = redis.url
            yield [stack.enter_context(Weir("--threads", "1", "--max-keys", "1024", "--redis",
                                            redis.url, *each)) for each in arguments]

    def test_nodes_have_names_and_lead_to_each_other(self):
        page = self.page
        with self.fleet(["--node-name", "web-1", "--mode", "leased"], ["--node-name", "web-2"],
                        ["--node-name", "web-1", "--advertise", "http://10.1.2.3"],
                        ["--node-name", "<b>db</b>", "--console", "off"]) as nodes:
            page.open(nodes[0].url, "fleet")
            page.find("#fleet .lead", "4 nodes")
            page.wait(lambda _: len(page.all("#fleet .node.good a")) == 2, "two have a console")
            page.find("#node", "web-1")
            page.find("#fleet .node h2", "<b>db</b>")
            for fact in ("Mode", "Memory", "Redis answers in", "Version", "Last heard"):
                page.wait(lambda _, fact=fact: page.run(  # they are replaced each second
                    """return [...document.querySelectorAll("#fleet dt")]
                      .filter((each) => each.textContent === arguments[0]).length""", fact) == 4,
                          fact)
            page.wait(lambda _: page.run(
                """return [...document.querySelectorAll("#fleet dd")]
                  .some((each) => each.textContent === "leased")"""), "leased")
            links = {each.text: each.get_attribute("href") for each in page.all("#fleet .node a")}
            self.assertEqual(links, {"web-2": f"{nodes[1].url}/#/fleet",
                                     "web-1": "http://10.1.2.3/#/fleet"})
            heights = page.run("""return [...document.querySelectorAll("#fleet .node dd")]
              .filter((each) => /^web|:|leased/.test(each.textContent))
              .map((each) => each.clientHeight)""")
            self.assertEqual(len(set(heights)), 1, "no address is broken")
            self.pictures("fleet-names")
            page.click("#fleet .node a", "web-2")
            page.wait(lambda _: page.driver.current_url.startswith(nodes[1].url), "the other page")
            page.find("#fleet .node", "this page's node")
            page.wait(lambda _: "web-2" in page.text("#node"), "its name")
            nodes[0].process.kill()
            gone = page.find("#fleet .node:first-child.bad", "gone")
            self.assertIn("web-1", gone.text)
            self.assertIn(nodes[0].url.removeprefix("http://"), gone.text)
            with Weir("--node-name", "web-1", "--redis", self.redis_url,
                      http=f"127.0.0.1:{nodes[0].port}"):
                page.gone("#fleet .node.bad")
                page.wait(lambda _: len(page.all("#fleet .node.good")) == 4, "it is there again")
                page.go("overview")
                page.find("#overview .events", "has started again")

    def test_many_nodes_are_a_table_with_those_in_trouble_first(self):
        page = self.page
        with self.fleet(*(["--node-name", f"web-{number}"] for number in range(1, 15))) as nodes:
            page.open(nodes[0].url, "fleet")
            page.find("#fleet .lead", "14 nodes")
            page.wait(lambda _: len(page.all("#fleet tbody tr")) == 14, "a row each")
            page.wait(lambda _: "web-14" in page.text("#fleet table"), "all have said who they are")
            self.pictures("fleet-table")
            nodes[9].process.kill()
            first = "#fleet tbody tr:first-child"
            page.wait(lambda _: "gone" in page.text(first), "trouble comes first")
            self.assertIn("web-10", page.text(first))
            page.type("#fleet input[type=search]", "web-13")
            page.wait(lambda _: len(page.all("#fleet tbody tr")) == 1, "only that one")
            page.type("#fleet input[type=search]", "gone")
            page.find("#fleet .empty", "No row has these words")
            page.run("arguments[0].value = ''; arguments[0].dispatchEvent(new Event('input'))",
                     page.find("#fleet input[type=search]"))
            page.click("#fleet tbody button", "Dismiss")
            page.wait(lambda _: len(page.all("#fleet tbody tr")) == 13, "it is dismissed")

    def test_a_node_with_other_rules_is_marked_wherever_people_look(self):
        page = self.page
        with Redis() as redis, contextlib.ExitStack() as stack:
            first, second = [stack.enter_context(Weir(
                "--node-name", name, "--redis", redis.url, config=CONFIG))
                for name in ("web-1", "web-2")]
            page.open(first.url, "fleet")
            page.wait(lambda _: len(page.all("#fleet .node.good")) == 2, "both are well")
            reply = ask(first, request("PATCH", "/admin/rules/api", {"limit": 7}))
            self.assertEqual(reply.json()["fleet"]["runs"], 2)
            second.write_config(CONFIG.replace("5", "6"))
            second.signal(signal.SIGHUP)
            card = page.find("#fleet .node.warn", "other rules")
            self.assertIn("web-2", card.text)
            self.assertIn("Changes by hand do not reach it: its file has other rules", card.text)
            page.go("overview")
            page.find("#overview .events .badge.warn", "other rules")
            page.find("#overview .events li", "changes by hand do not reach web-2 (")
            page.find("#overview .events li", "the node has started")
            page.go("rules")
            page.find("#rules .problem", "Changes by hand do not reach web-2")
            second.write_config(CONFIG)
            second.signal(signal.SIGHUP)
            page.gone("#rules .problem")
            page.go("overview")
            page.find("#overview .events li", "changes by hand reach web-2 (")
            blocked = {"rule": "api", "key": "alice", "for": "5m", "by": "carol", "why": "bots"}
            ask(second, request("POST", "/admin/blocks", blocked))
            said = page.find("#overview .events", "api: key ").text
            self.assertRegex(said, "api: key [0-9a-f]{16} is blocked for 5m, by carol, "
                                   r"told by web-2 \([0-9a-f]{16}\), "
                                   'because "bots"')

    def test_a_node_alone_says_what_a_fleet_takes(self):
        with Weir("--node-name", "lonely") as node:
            self.page.open(node.url, "fleet")
            self.page.find("#fleet .lead", "Nodes with the same --redis share their limits")
            self.page.find("#fleet .node.good h2", "lonely")
            self.pictures("fleet-alone")


if __name__ == "__main__":
    browser.main()
