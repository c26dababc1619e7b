"""The console never shows as alive what is not: in a real Chromium, a node, the Redis and the
server are killed in turn. Leaves screenshots of each state in build/console."""

import contextlib
import re
import time

import browser
from browser import PageTest
from redis_world import Redis
from weir_server import Weir, check_request, get

CONFIG = """
show_keys: true
rules:
  - {id: demo, limit: 100, window: 1h}
  - {id: api, algorithm: token_bucket, limit: 10, window: 1s, burst: 30, match: {path: /api}}
  - {id: login, limit: 5, window: 1m, match: {method: POST, path: /login}, key: client}
"""
TABS = ("overview", "denials", "rules", "keys", "explain", "simulator", "fleet")
# A page may look alive for three seconds without news; a node is gone after five, of which all
# hear two later. The rest is this machine's.
OLD_MAX_S = 5
GONE_MAX_S = 12


class Truth(PageTest):
    allowed = ("",)  # of servers that are gone

    @contextlib.contextmanager
    def fleet(self):
        """Three nodes, the page on the first."""
        with Redis() as redis, contextlib.ExitStack() as stack:
            nodes = [stack.enter_context(Weir("--threads", "1", "--redis", redis.url,
                                              config=CONFIG)) for _ in range(3)]
            self.page.open(nodes[0].url, "fleet")
            self.page.find("#fleet .lead", "3 nodes")
            self.page.wait(lambda _: len(self.good_nodes()) == 3, "three are well")
            yield redis, nodes

    def good_nodes(self):
        return self.page.all("#fleet .node.good")

    def says_since_when_it_sums_up(self, node):
        since = seen_at(self.page.find("#overview .now", "nobody since").text)
        with node.connect() as client:
            points = client.ask(get("/console/history?span=1m")).json()["points"]
        shared = [each["t"] - 1 for each in points if not each.get("alone")]
        return shared and abs(since - shared[0] % 86400) < 1.1

    def event(self, kind, level, text=""):
        """It is in the list of the Live tab, in this colour."""
        self.page.go("overview")
        self.page.find(f"#overview .events .badge.{level}", kind)
        self.page.find("#overview .events li", text)
        self.page.go("fleet")

    def green(self):
        """How much of what people see is green, in pixels."""
        return self.page.driver.execute_async_script("""
          const [picture, done] = arguments;
          const image = new Image();
          image.onload = () => {
            const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
            canvas.drawImage(image, 0, 0);
            const { data } = canvas.getImageData(0, 0, image.width, image.height);
            let green = 0;
            for (let at = 0; at < data.length; at += 4) {
              if (data[at + 1] - Math.max(data[at], data[at + 2]) > 24) green++;
            }
            done(green);
          };
          image.src = "data:image/png;base64," + picture;
        """, self.page.driver.get_screenshot_as_base64())

    def test_a_node_that_dies_stays_until_somebody_dismisses_it(self):
        page = self.page
        with self.fleet() as (redis, nodes):
            page.go("overview")
            page.wait(lambda _: self.says_since_when_it_sums_up(nodes[0]), "not since its start")
            page.go("fleet")
            began = time.time()
            nodes[2].process.kill()
            dead = page.find("#fleet .node.bad", "gone")
            self.assertLess(time.time() - began, GONE_MAX_S)
            self.assertEqual(len(self.good_nodes()), 2)
            self.assertLess(abs(seen_at(dead.text) - began % 86400), 4, dead.text)
            self.assertIn("and 1 gone", page.text("#fleet .lead"))
            first = dead.text
            page.wait(lambda _: page.find("#fleet .node.bad").text != first, "its silence grows")
            self.pictures("fleet-gone")
            self.event("node gone", "bad", "died, or does not reach Redis")
            page.click("#fleet .node.bad button", "Dismiss")
            page.gone("#fleet .node.bad")
            page.open(nodes[0].url, "fleet")
            page.wait(lambda _: len(self.good_nodes()) == 2, "the others are there")
            self.assertEqual(page.all("#fleet .node.bad"), [])
            nodes[1].stop()  # says goodbye, and at once another one comes
            with Weir("--threads", "1", "--redis", redis.url, config=CONFIG):
                page.find("#fleet .lead", "2 nodes")
                self.event("node", "badge", "has stopped")
                page.wait(lambda _: len(page.all("#fleet .node")) == 2, "it leaves no card")
                self.assertEqual(page.all("#fleet .node.bad"), [])

    def test_a_redis_that_is_lost_and_comes_back(self):
        page = self.page
        with self.fleet() as (redis, nodes):
            redis.kill()
            page.find("#fleet .redis .badge.bad", "down")
            page.find("#fleet .node.bad .badge.bad", "degraded")
            page.wait(lambda _: len(page.all("#fleet .node.warn")) == 2, "nobody knows of two")
            page.find("#fleet .node.warn", "Redis is away: nobody knows how it is")
            page.find("#fleet .lead", "This node alone of 3")
            self.assertEqual(self.good_nodes(), [])
            self.pictures("fleet-without-redis")
            self.event("Redis lost", "bad")
            page.go("overview")
            page.find("#overview .tile.warn", "alone of 3")
            page.find("#overview .tile:first-child", "of this node alone")
            page.find("#overview .chart .alone", "this node alone")
            self.assertEqual(page.run("""return [...document.querySelectorAll(".alone")].filter(
              (band) => band.scrollWidth > band.clientWidth).length"""), 0, "no letter is cut")
            self.assertTrue(page.run("""const tile = document.querySelector("#overview .tile");
              tile.querySelector("small").textContent =
                "last 10 minutes, without 20 s of this node alone";
              return tile.scrollWidth <= tile.clientWidth"""), "its words fit")
            self.pictures("overview-without-redis")
            answers = [nodes[0].check(key="x", rule="login")["allowed"] for _ in range(9)]
            denied = answers.count(False)
            cell = "#overview .rules > section [data-row=login] [data-column=Denied]"
            page.find(cell, f"{denied}\n")
            redis.start()
            page.go("fleet")
            page.wait(lambda _: len(self.good_nodes()) == 3, "all are well")
            self.event("Redis back", "good")
            self.event("counters lost", "bad", "its counters begin at 0")
            page.go("overview")
            page.find("#overview .chart .alone", "this node alone")
            page.wait(lambda _: "node alone" not in page.text("#overview .now"), "all count")
            page.find(cell, f"0\nand {denied} of this node alone")
            self.pictures("overview-with-redis-again")
            page.go("fleet")
            self.assertEqual(page.all("#fleet .node.bad"), [])

    def test_what_a_dialog_says_stays_true_while_it_is_open(self):
        page = self.page
        alone = "on this node alone until Redis is back."
        with self.fleet() as (redis, _):
            page.go("keys")
            page.type("#keys .fields > :nth-child(2) input", "x")
            page.click("#block")
            page.find("dialog p", "on this node, and on the others as soon as Redis answers.")
            redis.kill()
            page.find("dialog p", alone)
            page.press("ESCAPE")
            page.gone("dialog")
            page.driver.get(page.driver.current_url.split("#")[0] + "#/rules?rule=demo")
            page.find("#rule-page dd", "it is away, so each node admits its share alone")
            page.click("#rule-page button", "Shadow")
            page.find("dialog p", alone)
            redis.start()
            page.find("dialog p", "on 3 nodes (")
            page.press("ESCAPE")
            page.wait(lambda _: "it is away" not in page.text("#rule-page"), "it answers again")

    def test_a_server_that_dies_leaves_nothing_green(self):
        page = self.page
        with Weir("--threads", "1", config=CONFIG) as server:
            page.open(server.url)
            page.click("#overview [data-run=burst]")
            page.find("#overview .sums", "100 of 100 sent")
            page.find("#overview .tile", "0 of 100")
            for tab in ("overview", "rules", "fleet"):
                page.go(tab)
                page.wait(lambda _: self.green() > 0, f"{tab} is alive")
            for _ in range(6):
                server.check(key="x", rule="login")
            page.go("overview")
            said = page.find("#overview .now.bad", "login denied 1 of 6").text
            self.assertIn("Denied now", said)
            server.process.kill()
            began = time.time()
            old = page.find("#old", "Old figures, as of").text
            said = page.find("#overview .now.bad", "login denied 1 of 6").text
            self.assertLess(time.time() - began, OLD_MAX_S)
            self.assertRegex(said, r"Denied at \d\d:\d\d:\d\d")
            self.assertLess(abs(seen_at(old) - began % 86400), 3, old)
            page.find("#status", "Disconnected")
            for scheme in ("light", "dark"):
                page.prefer(color_scheme=scheme, reduced_motion="reduce")
                for tab in TABS:
                    page.go(tab)
                    self.assertEqual(self.green(), 0, f"{tab}, {scheme}")
            page.prefer(reduced_motion="reduce")
            page.go("denials")  # which nobody had opened before
            page.find("#denials .empty", "Not known.")
            page.go("fleet")
            beat = page.text("#fleet .node dl > :last-child dd")
            page.wait(lambda _: page.text("#fleet .node dl > :last-child dd") != beat, "it ages")
            page.go("overview")
            self.assertEqual(page.audit(), [])
            self.pictures("overview-old")
            with Weir("--threads", "1", config=CONFIG, http=f"127.0.0.1:{server.port}"):
                page.gone("#old")
                page.find("#status", "Live")
                page.wait(lambda _: self.green() > 0, "it is alive again")
                page.find("#overview .events .badge.bad", "not heard")
                away = page.find("#overview .events li", "and has begun again").text
                self.assertLess(abs(seen_at(away[away.index("from"):]) - began % 86400), 3, away)
                page.find("#overview .tile:first-child", "no traffic")  # which it has forgotten
                page.find("#overview .now", "nobody since")
                page.open(server.url)
                page.find("#overview .events li", "the node has started; counters and changes")
                self.pictures("overview-back")
                page.driver.get("about:blank")

    def test_a_server_that_says_the_same_again_is_silent(self):
        """A core that hangs, or a proxy that keeps answers: figures come, and are old."""
        page = self.page
        with Weir("--threads", "1", config=CONFIG) as server:
            end = page.before_pages("""
              window.WebSocket = class {
                constructor() { setTimeout(() => this.onclose?.(), 0); }
                close() {}
              };
              const real = window.fetch;
              let first;
              window.fetch = async (path, how) => {
                if (path !== "/console/live.json") return real(path, how);
                first ??= await (await real(path, how)).text();
                return new Response(first);
              };""")
            page.open(server.url)
            page.find("#old", "Old figures")
            self.assertEqual(self.green(), 0)
            end()

    def test_explain_asks_for_what_it_lacks(self):
        page = self.page
        with Weir("--threads", "1", config=CONFIG) as server:
            page.open(server.url, "explain")
            page.type("#explain-request textarea",
                      "curl -d user=x https://shop.example/login -H 'X-App: web'")
            page.find(".verdict.warn", "Nobody can say without the client's address.")
            page.find(".answer", "'login'")
            self.assertNotIn("would be allowed", page.text(".answer"))
            marked = page.find("#explain [aria-invalid=true]")
            self.assertEqual(page.audit(), [])
            self.pictures("explain-lacks")
            page.run("arguments[0].scrollIntoView()", marked)
            marked.send_keys("192.0.2.1")
            page.click("#explain-request button")
            page.find(".verdict.good", "1 rule applies")
            page.find(".applied", "login")
            page.click(".others summary", "2 rules do not apply. 'demo'")
            page.find(".others dl", "its path is another")
            self.assertEqual(page.value("#explain-request input"), "/login")
            page.type("#explain-request textarea", "wget https://shop.example/login")
            page.find("#explain .problem", "curl")
            page.type("#explain-request input", "/nowhere")
            page.click("#explain-request button")
            page.find(".verdict.warn", "no rule applies")
            page.choose("#explain-rule select", "demo")
            page.click("#explain-rule button")
            page.find(".verdict.warn", "Nobody can say without the key.")
            empty = page.run("""return [...document.querySelectorAll("[placeholder]")]
              .map((each) => each.placeholder).filter((text) => /[0-9:/]/.test(text))""")
            self.assertEqual(empty, [], "no placeholder looks like a value")

    def test_the_rule_that_denies_most_comes_first(self):
        page = self.page
        with Weir("--threads", "1", config=CONFIG) as server:
            server.check(key="x", rule="api")
            page.open(server.url)
            page.find("#overview td", "api")
            for _ in range(6):
                server.check(key="x", rule="login")
            rows = "#overview .rules > section [data-row]"
            page.wait(lambda _: page.find(rows).get_attribute("data-row") == "login", "it moves up")
            self.assertEqual([row.get_attribute("data-row") for row in page.all(rows)],
                             ["login", "api", "demo"])

    def test_estimates_look_like_estimates(self):
        page = self.page
        with Weir("--threads", "1", config=CONFIG) as server:
            with server.connect() as client:  # at once: more than are counted one by one
                client.send(200 * check_request(key="x", rule="demo"))
                for _ in range(200):
                    client.read_reply()
            page.open(server.url)
            page.find("#overview .tile", "about 1")
            page.find("#overview .tile", "since ")
            page.go("keys")
            page.find("#keys h2", "in this minute and the one before")
            page.find("#keys td", "about ")
            self.pictures("keys")


def seen_at(text):
    """The instant in a text, in seconds of the day; the browser's clock is ours."""
    hours, minutes, seconds = map(int, re.search(r"(\d\d):(\d\d):(\d\d)", text).groups())
    return hours * 3600 + minutes * 60 + seconds + time.timezone


if __name__ == "__main__":
    browser.main()
