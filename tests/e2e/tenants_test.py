"""The table of tenants: on one node, over a restart, on three nodes with a Redis, and loads."""

import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import stat
import tempfile
import threading
import unittest

import weir_server
from fleet import Fleet
from redis_world import Behaviour, Proxy, Redis
from rules_test import ask, request
from weir_server import Weir, get, post, run_weir, wait_until

CONFIG = """
rules:
  - id: api
    limit: 10
    window: 365d
    tenants: true
    tiers: [{name: gold, limit: 1000, window: 365d}]
"""
MONTHS = CONFIG.replace("window: 365d", "window: month")
ROWS = 20_000
KEY = "weir:{fleet}:tenants"


def put(node, key, row, fields=""):
    return ask(node, request("PUT", f"/admin/tenants/{key}", row, fields))


def load(node, text, query="", method="PUT"):
    data = post("/admin/tenants" + query, text.encode())
    return ask(node, data.replace(b"POST", method.encode(), 1))


def loaded(node, text):
    """As a client does whom a busy Redis has not answered within a second."""
    replies = []
    wait_until(lambda: replies.append(load(node, text)) or replies[-1].status != 503, "it loads")
    return replies[-1]


def limit(node, key):
    return node.check(rule="api", key=key, cost=0)["limit"]


def own(node, key):
    """The limit in the table. Without Redis a node decides by its share of it."""
    return ask(node, get(f"/admin/tenants/{key}")).json().get("limit")


def version(node):
    return ask(node, get("/admin/tenants")).json()["version"]


def field(reply, name):
    return re.search(rf"^{name}: (.*?)\r$", reply.head + "\r\n", re.M | re.I)[1]


def etag(node):
    return field(ask(node, get("/admin/tenants")), "ETag")


def rows(node):
    return ask(node, get("/admin/tenants")).json()["rows"]


def wait_for(nodes, key, expected):
    wait_until(lambda: [limit(node, key) for node in nodes] == [expected] * len(nodes),
               f"{key} has the limit {expected} on all nodes")


def csv(number, row_limit):
    return "key,limit\n" + "".join(f"t{i},{row_limit}\n" for i in range(number))


class OneNode(unittest.TestCase):
    def test_a_key_has_a_plan_a_limit_or_nothing(self):
        with Weir(config=CONFIG) as weir:
            self.assertEqual(limit(weir, "ann"), 10)
            reply = put(weir, "ann", {"plan": "gold"})
            self.assertEqual((reply.status, reply.json()), (201, {"version": 1, "rows": 1}))
            self.assertEqual(limit(weir, "ann"), 1000)
            self.assertEqual(put(weir, "ann", {"limit": 50}).status, 200)
            self.assertEqual(limit(weir, "ann"), 50)
            explained = ask(weir, post("/v1/explain", b'{"rule": "api", "key": "ann"}')).json()
            self.assertEqual(explained["applies"][0]["tenant"], {"limit": 50})
            self.assertEqual(ask(weir, request("DELETE", "/admin/tenants/ann")).status, 200)
            self.assertEqual(ask(weir, request("DELETE", "/admin/tenants/ann")).status, 404)
            self.assertEqual(limit(weir, "ann"), 10)
            refused = put(weir, "ann", {"plan": "golf"})
            self.assertEqual((refused.status, refused.json()["detail"]),
                             (400, "plan: no rule with 'tenants: true' has a tier 'golf'; "
                                   "did you mean 'gold'?"))
            self.assertEqual(put(weir, "ann", {"limit": 1}, 'If-Match: "7"\r\n').status, 412)
            self.assertEqual(version(weir), 3)

    def test_a_key_has_a_billing_day(self):
        with tempfile.TemporaryDirectory() as folder:
            state = str(pathlib.Path(folder, "blocks"))
            with Weir("--state-file", state, config=MONTHS) as weir:
                self.assertEqual(put(weir, "t7", {"plan": "gold", "anchor": 7}).status, 201)
                got = ask(weir, get("/admin/tenants/t7")).json()
                self.assertEqual((got["plan"], got["anchor"]), ("gold", 7))
                for anchor in (0, 32, "7", 1.5):
                    self.assertEqual(put(weir, "t7", {"plan": "gold", "anchor": anchor}).status,
                                     400, anchor)
                days = "".join(f"t{i},{'gold,' if i % 2 else ',50'},{i}\n" for i in range(1, 29))
                self.assertEqual(load(weir, "key,plan,limit,anchor\n" + days).json()["rows"], 28)
                self.assert_months_end_day_by_day(weir)
                self.assertEqual(weir.stop(), 0)
            with Weir("--state-file", state, config=MONTHS) as weir:
                self.assert_months_end_day_by_day(weir)
                said = run_weir("explain", "t7", "--rule", "api", "--server", weir.url_of("http"))
                self.assertIn("left of the month, plan gold, months from day 7", said[1])

    def assert_months_end_day_by_day(self, weir):
        """Whatever the date is: of days in a row, months end a day apart, but for one step back."""
        ends = [weir.check(rule="api", key=f"t{day}")["reset_after"] for day in range(1, 29)]
        steps = [round((later - end) / 86_400, 3) for end, later in itertools.pairwise(ends)]
        self.assertGreaterEqual(steps.count(1), 26, steps)
        self.assertAlmostEqual(weir.check(rule="api", key="other")["reset_after"], ends[0],
                               delta=60)

    def test_a_load_is_all_or_nothing(self):
        with Weir(config=CONFIG) as weir:
            self.assertEqual(load(weir, csv(100, 5)).json(), {"version": 1, "rows": 100})
            bad = load(weir, "key,limit\n" + "t1,-1\n" * 20)
            self.assertEqual(bad.status, 400)
            self.assertEqual(bad.json()["detail"].splitlines()[0],
                             "line 2: limit: expected a whole number from 0 to 10^12")
            self.assertEqual(bad.json()["detail"].splitlines()[-1], "and 10 more")
            # As curl sends a file that is not there.
            self.assertEqual(load(weir, "").status, 400)
            self.assertEqual((version(weir), rows(weir), limit(weir, "t1")), (1, 100, 5))
            self.assertEqual(load(weir, '{"key": "t1", "limit": 6}', method="PATCH").json(),
                             {"version": 2, "rows": 100})
            self.assertEqual((limit(weir, "t1"), limit(weir, "t2")), (6, 5))
            self.assertEqual(load(weir, '{"key": "t1", "limit": 7}').json()["rows"], 1)
            self.assertEqual((limit(weir, "t1"), limit(weir, "t2")), (7, 10))

    def test_a_load_in_parts_waits_for_the_last(self):
        with Weir(config=CONFIG) as weir:
            waits = load(weir, "key,limit\na,1\n", "?load=x&part=1&of=2")
            self.assertEqual(waits.json(), {"version": 0, "rows": 0, "waiting": 1})
            self.assertEqual(load(weir, "a,1\n", "?load=y&part=1&of=2").status, 409)
            self.assertEqual(load(weir, "a,1\n", "?load=x&part=3&of=3").status, 409)
            again = load(weir, "a,2\n", "?load=x&part=2&of=2")
            self.assertEqual((again.status, again.json()["detail"]),
                             (400, "line 3: the key of line 2 once more"))
            self.assertEqual(load(weir, "b,2\n", "?load=x&part=2&of=2").status, 409)

    def test_it_is_kept_over_a_restart(self):
        with tempfile.TemporaryDirectory() as folder:
            state = pathlib.Path(folder, "blocks")
            kept = pathlib.Path(folder, "blocks.tenants")
            with Weir("--state-file", str(state), config=CONFIG) as weir:
                put(weir, "secret-of-ann", {"plan": "gold"})
                self.assertEqual(weir.stop(), 0)
            self.assertEqual(stat.S_IMODE(os.stat(kept).st_mode), 0o600)
            self.assertNotIn(b"secret-of-ann", kept.read_bytes())
            with Weir("--state-file", str(state), config=CONFIG) as weir:
                self.assertEqual(limit(weir, "secret-of-ann"), 1000)
                self.assertEqual(version(weir), 1)
                self.assertEqual(put(weir, "bob", {"limit": 7}).status, 201)
                weir.process.kill()
            with Weir("--state-file", str(state), config=CONFIG) as weir:
                self.assertEqual((limit(weir, "bob"), version(weir)), (7, 2))
                self.assertEqual(weir.stop(), 0)
            kept.write_bytes(kept.read_bytes()[:-1])
            with Weir("--state-file", str(state), config=CONFIG) as weir:
                self.assertEqual(limit(weir, "secret-of-ann"), 10)
                weir.wait_for_log("starting without its tenants")
            self.assertTrue(pathlib.Path(folder, "blocks.tenants.broken").exists())



class Shared(unittest.TestCase):
    def setUp(self):
        self.redis = self.enterContext(Redis())

    def fleet(self, nodes=3, config=CONFIG, arguments=()):
        fleet = self.enterContext(Fleet([self.redis.url] * nodes, *arguments, config=config))
        fleet.wait_until_shared()
        return fleet.nodes

    def node(self, *arguments):
        return self.enterContext(Weir("--redis", self.redis.url, *arguments, config=CONFIG))

    def test_a_change_on_one_node_holds_on_the_others(self):
        first, second, third = self.fleet()
        reply = put(first, "ann", {"plan": "gold"})
        self.assertEqual(reply.json(), {"version": 1, "rows": 1, "told": True})
        wait_for([second, third], "ann", 1000)
        self.assertEqual(load(third, csv(1000, 7), method="PATCH").status, 200)
        wait_for([first, second], "t999", 7)
        self.assertEqual(ask(second, request("DELETE", "/admin/tenants/ann")).status, 200)
        wait_for([first, third], "ann", 10)
        wait_for([self.node()], "t0", 7)

    def test_a_billing_day_holds_on_the_others_and_gives_no_fresh_quota(self):
        here, there = self.fleet(2, MONTHS)
        put(here, "ann", {"limit": 50, "anchor": 7})
        put(here, "bob", {"limit": 50, "anchor": 8})
        wait_for([there], "bob", 50)
        self.assertTrue(here.check(rule="api", key="ann", cost=50)["allowed"])
        self.assertTrue(here.check(rule="api", key="bob")["allowed"])
        ann, bob = (there.check(rule="api", key=key, cost=0)["reset_after"]
                    for key in ("ann", "bob"))
        # A day later, but on the day before, when that is a month sooner.
        self.assertIn(round((bob - ann) / 86_400), (1, -27, -28, -29, -30))
        for anchor in (20, 31, 1):
            put(here, "ann", {"limit": 50 - anchor, "anchor": anchor})
            wait_for([there], "ann", 50 - anchor)
            self.assertFalse(there.check(rule="api", key="ann")["allowed"], anchor)

    def test_a_large_load_is_in_force_as_a_whole(self):
        first, second, third = self.fleet()
        put(first, "ann", {"limit": 1})
        wait_for([second], "ann", 1)
        text = csv(ROWS, 8)
        seen = set()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            reply = pool.submit(loaded, first, text)
            while not reply.done():
                seen.add(rows(second))
        # A Redis that says nothing for a second hears of it later.
        self.assertEqual(reply.result().json()["rows"], ROWS)
        wait_for([second, third], f"t{ROWS - 1}", 8)
        self.assertLessEqual(seen, {1, ROWS}, "nothing in between")
        self.assertEqual(limit(second, "ann"), 10)

    def test_a_large_load_waits_for_its_turn_and_is_never_in_force_on_one_node(self):
        first, second, third = self.fleet()
        put(first, "ann", {"limit": 1})
        wait_for([second, third], "ann", 1)
        # As a node leaves it that is killed in the middle of a load.
        self.redis.ask("SET", KEY + ":aside", "killed", "PX", "2500")
        self.redis.ask("HSET", KEY + ":aside:rows", "7", "half")
        reply = load(first, csv(ROWS, 8))
        self.assertEqual((reply.status, reply.json()["told"]), (200, True))
        wait_for([second, third], f"t{ROWS - 1}", 8)
        self.assertFalse(self.redis.ask("EXISTS", KEY + ":aside"), "it is for the next")
        # As a node that goes on with its own for long.
        self.redis.ask("SET", KEY + ":aside", "other")
        reply = load(second, csv(ROWS, 9))
        self.assertEqual((reply.status, field(reply, "Retry-After")), (503, "1"))
        self.assertEqual({own(node, "t0") for node in (first, second, third)}, {8})
        self.assertEqual(put(third, "solo", {"limit": 5}).status, 201, "a small one needs no turn")
        self.redis.ask("DEL", KEY + ":aside")
        self.assertEqual(load(second, csv(ROWS, 9)).json()["told"], True)
        wait_for([first, third], "t0", 9)

    def test_of_two_loads_at_once_the_loser_leaves_nothing_in_the_way(self):
        nodes = self.fleet(2)
        for turn in range(3):
            with concurrent.futures.ThreadPoolExecutor() as pool:
                replies = [pool.submit(load, node, csv(ROWS, 10 * turn + i))
                           for i, node in enumerate(nodes, start=1)]
            statuses = [reply.result().status for reply in replies]
            self.assertIn(sorted(statuses), ([200, 200], [200, 409]))
            # The next finds its turn, and the node its version.
            loser = nodes[statuses.index(max(statuses))]
            reply = load(loser, csv(ROWS, 10 * turn + 3))
            self.assertEqual((reply.status, reply.json()["told"]), (200, True))
            for node in nodes:
                wait_until(lambda node=node: own(node, "t0") == 10 * turn + 3, "all have it")

    def test_of_two_admins_at_once_the_second_is_told(self):
        nodes = self.fleet(2)
        put(nodes[0], "ann", {"limit": 1})
        wait_for(nodes, "ann", 1)
        if_match = f"If-Match: {etag(nodes[0])}\r\n"
        self.assertEqual(etag(nodes[1]), etag(nodes[0]))
        self.redis.pause()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            replies = [pool.submit(put, node, "ann", {"limit": 50 + i}, if_match)
                       for i, node in enumerate(nodes)]
            self.redis.resume()
            replies = [reply.result() for reply in replies]
        statuses = [reply.status for reply in replies]
        self.assertIn(sorted(statuses), ([200, 409], [200, 412]))
        wait_for(nodes, "ann", 50 + statuses.index(200))
        # By what each was answered, which has the version in it.
        rows_seen = [ask(node, get("/admin/tenants/ann")).json() for node in nodes]
        self.assertEqual(rows_seen[0], rows_seen[1])
        with concurrent.futures.ThreadPoolExecutor() as pool:
            replies = [pool.submit(put, node, "ann", {**row, "limit": 60 + i})
                       for i, (node, row) in enumerate(zip(nodes, rows_seen, strict=True))]
        statuses = [reply.result().status for reply in replies]
        self.assertEqual(sorted(statuses), [200, 412])
        wait_for(nodes, "ann", 60 + statuses.index(200))
        # Without a version each is made on top of the other.
        with concurrent.futures.ThreadPoolExecutor() as pool:
            replies = [pool.submit(put, node, f"new{i}", {"limit": 3})
                       for i, node in enumerate(nodes)]
        self.assertEqual([reply.result().status for reply in replies], [201, 201])
        for i in range(2):
            wait_for(nodes, f"new{i}", 3)

    def test_loads_are_made_while_another_node_changes_rows_back_to_back(self):
        # A node that waits for less gives up where the machine is busy.
        here, there = self.fleet(2, arguments=("--redis-deadline", "2s"))
        ends = threading.Event()

        def change():
            while not ends.is_set():
                put(there, "ann", {"limit": 5})
                put(there, "ann", {"limit": 6})
        with tempfile.NamedTemporaryFile("w", encoding="ascii") as file:
            file.write(csv(100, 7))
            file.flush()
            with concurrent.futures.ThreadPoolExecutor() as pool:
                pool.submit(change)
                said = [run_weir("tenants", "import", *keep, file.name, "--server",
                                 here.url_of("http")) for keep in (["--keep"], []) * 5]
                ends.set()
        self.assertEqual([code for code, *_ in said], [0] * 10, said)
        wait_until(lambda: own(there, "t99") == 7, "the other node has it")

    def test_without_redis_the_last_copy_counts(self):
        with tempfile.TemporaryDirectory() as folder:
            first = self.node("--state-file", folder + "/a")
            second = self.node("--state-file", folder + "/b")
            put(first, "ann", {"limit": 5})
            # A check may show a node's share of the rule's limit, until it has reached Redis.
            wait_until(lambda: own(second, "ann") == 5, "the second node has heard of it")
            self.redis.kill()
            self.assertEqual(own(second, "ann"), 5)
            said = put(first, "ann", {"limit": 6}).json()
            self.assertEqual((said["version"], said["told"]), (2, False))
            self.assertEqual([first.stop(), second.stop()], [0, 0])
            first = self.node("--state-file", folder + "/a")
            second = self.node("--state-file", folder + "/b")
            self.assertEqual((own(first, "ann"), own(second, "ann")), (6, 5))
            self.redis.start()
            wait_for([first, second], "ann", 6)

    def test_changes_of_a_node_that_was_cut_off_give_way(self):
        proxy = self.enterContext(Proxy(self.redis.port))
        second = self.node()
        first = self.enterContext(Weir("--redis", proxy.url, config=CONFIG))
        put(second, "ann", {"limit": 5})
        put(second, "bob", {"limit": 5})
        wait_until(lambda: own(first, "bob") == 5, "the first node has heard of it")
        proxy.behave(Behaviour.CUT)
        for row_limit in (6, 7, 8):
            reply = put(first, "ann", {"limit": row_limit})
            self.assertFalse(reply.json()["told"])
            if row_limit == 6:
                own_third = field(reply, "ETag")
        put(first, "eve", {"limit": 9})
        self.assertEqual(put(second, "bob", {"limit": 55}).json()["version"], 3)
        self.assertEqual(version(first), 6)
        proxy.behave(Behaviour.PASS)
        wait_until(lambda: own(first, "bob") == 55, "what the others have made counts")
        self.assertEqual([own(first, key) for key in ("ann", "eve")], [5, None])
        self.assertEqual([own(second, key) for key in ("ann", "bob", "eve")], [5, 55, None])
        lost = {"rows": 2, "since": 2, "version": 3}
        self.assertEqual(ask(first, get("/admin/tenants")).json()["lost"], lost)
        self.assertNotIn("lost", ask(second, get("/admin/tenants")).json())
        # Both have made a version 3, and this one is not it.
        self.assertEqual(put(first, "bob", {"limit": 1}, f"If-Match: {own_third}\r\n").status, 412)
        text = "2 rows changed here without Redis since version 2 gave way to version 3"
        first.wait_for_log("tenants: " + text)
        events = ask(first, get("/admin/events")).json()["events"]
        told = [event for event in events if event["event"] == "tenants"]
        self.assertEqual(len(told), 1)
        self.assertTrue(told[0]["text"].startswith(text))
        # Alone again, and nobody has changed anything: it is told.
        proxy.behave(Behaviour.CUT)
        self.assertFalse(put(first, "eve", {"limit": 9}).json()["told"])
        proxy.behave(Behaviour.PASS)
        wait_until(lambda: own(second, "eve") == 9, "the second node has heard of it")

    def test_rows_that_redis_has_evicted_are_put_back(self):
        first, second = self.fleet(2)
        put(first, "ann", {"limit": 5})
        wait_for([second], "ann", 5)
        for part in (":rows", ":index"):
            self.redis.ask("DEL", KEY + part)
            wait_until(lambda part=part: self.redis.ask("EXISTS", KEY + part), "it is there again")
        wait_for([self.node()], "ann", 5)
        self.assertIn("has lost its rows", first.log() + second.log())

    def test_a_whole_table_takes_the_place_of_rows_that_no_node_has(self):
        with Weir("--redis", self.redis.url, config=CONFIG) as gone:
            wait_until(lambda: put(gone, "ann", {"limit": 5}).json()["told"], "Redis has it")
        self.redis.ask("DEL", KEY + ":rows")
        first, second = self.fleet(2)
        said = []
        wait_until(lambda: said.append(put(first, "bob", {"limit": 6})) or said[-1].status == 409,
                   "nobody has ann's row")
        for reply in said:
            self.assertIn("oad the whole table: PUT /admin/tenants, or weir tenants import.",
                          reply.json()["detail"])
        first.wait_for_log("has lost its rows")
        self.assertEqual(load(first, "key,limit\nbob,6\n").status, 200)
        wait_for([second], "bob", 6)
        self.assertEqual(rows(second), 1)

    def test_rows_whose_head_redis_has_evicted_are_left_behind(self):
        with Weir("--redis", self.redis.url, config=CONFIG) as gone:
            wait_until(lambda: put(gone, "ann", {"limit": 5}).json()["told"], "Redis has it")
        self.redis.ask("DEL", KEY)
        self.assertTrue(self.redis.ask("EXISTS", KEY + ":rows"))
        first, second = self.fleet(2)
        put(first, "bob", {"limit": 6})
        wait_for([second], "bob", 6)
        self.assertEqual(rows(second), 1)

    def test_many_changes_at_once_on_several_nodes_are_all_made(self):
        nodes = self.fleet()
        with concurrent.futures.ThreadPoolExecutor(max_workers=60) as pool:
            replies = [pool.submit(put, nodes[i % 3], f"k{i}", {"limit": i}) for i in range(60)]
        self.assertEqual([reply.result().status for reply in replies], [201] * 60)
        for node in nodes:
            wait_until(lambda node=node: rows(node) == 60, "all have all")
        self.assertLess(version(nodes[0]), 60, "those that waited were made together")

    def test_a_redis_that_has_lost_it_gets_it_again(self):
        first, second = self.fleet(2)
        load(first, csv(ROWS, 8))
        wait_for([second], "t7", 8)
        self.redis.ask("FLUSHALL")
        wait_until(lambda: self.redis.ask("EXISTS", KEY), "Redis has it again")
        wait_for([self.node()], f"t{ROWS - 1}", 8)

    def test_what_others_have_written_there_does_no_harm(self):
        first, second = self.fleet(2)
        put(first, "ann", {"limit": 5})
        wait_for([second], "ann", 5)
        bucket = self.redis.ask("ZRANGE", KEY + ":index", "0", "0")
        self.redis.ask("HSET", KEY + ":rows", bucket, "nonsense")
        self.redis.ask("SET", KEY, "9 9 " + "s" * 192)
        first.wait_for_log("the table of tenants there cannot be read")
        self.assertEqual((limit(first, "ann"), limit(second, "ann")), (5, 5))
        wait_until(lambda: "cannot read" in put(second, "ann", {"limit": 6}).json()["detail"],
                   "the second node has seen that")
        self.assertEqual(load(first, csv(3, 7)).json(), {"version": 10, "rows": 3, "told": True})
        wait_for([second], "t2", 7)
        self.assertEqual(put(second, "ann", {"limit": 5}).status, 201)
        wait_for([first, second], "ann", 5)
        self.redis.ask("DEL", KEY)
        self.redis.ask("LPUSH", KEY, "x")
        first.wait_for_log("cannot hold the table of tenants")
        self.assertEqual(limit(first, "ann"), 5)
        self.assertEqual(json.loads(ask(first, get("/health")).text)["status"], "ok")


if __name__ == "__main__":
    weir_server.main()
