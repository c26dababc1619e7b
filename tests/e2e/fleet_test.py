"""Three nodes and one Redis: what each mode promises, counted from outside."""

import collections
import json
import math
import re
import threading
import time
import unittest

import weir_server
from fleet import KEY, RESP_KEY, Fleet, admin, health, http_load, is_shared, resp_load
from redis_world import Redis
from weir_server import post, wait_until

NODES = 3
ALGORITHMS = ["fixed_window", "sliding_log", "sliding_window", "token_bucket"]
# Nothing is earned back while a test runs.
LONG = "8784h"
LONG_S = 366 * 24 * 3600
SYNC_S = 0.1
# What a busy machine may add to a sync interval and a round trip before we call it wrong.
SLACK_S = 0.4
# A test machine may be busy: a deadline is no promise that is tested here.
PATIENT = ("--redis-deadline", "2s", "--sync-interval", f"{int(SYNC_S * 1000)}ms")

CONFIG = f"""
rules:
  - {{id: exact, algorithm: fixed_window, limit: 50, window: 1s, mode: strict}}
  - {{id: leased, algorithm: fixed_window, limit: 50, window: 1s, mode: leased}}
  - {{id: long-leased, limit: 500, window: {LONG}, mode: leased}}
  - {{id: ten-leased, limit: 10, window: {LONG}, mode: leased}}
  - {{id: busy-leased, limit: 1000000, window: {LONG}, mode: leased}}
  - {{id: soon, limit: 300, window: {LONG}, mode: async}}
  - {{id: here, limit: 90, window: {LONG}, mode: strict}}
  - {{id: open, limit: 5, window: {LONG}, mode: strict, on_store_failure: allow}}
  - {{id: shut, limit: 5, window: {LONG}, mode: strict, on_store_failure: deny}}
"""


class FleetTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.redis = Redis()
        cls.addClassCleanup(cls.redis.__exit__)
        cls.fleet = Fleet([cls.redis.url] * NODES, *PATIENT, config=CONFIG)
        cls.addClassCleanup(cls.fleet.__exit__)
        cls.fleet.wait_until_shared()
        cls.nodes = cls.fleet.nodes

    def total(self, loads, what="allowed"):
        results = [load.result() for load in loads]
        # Requests that a client on a busy machine had no time to send are not the nodes' failure.
        failed = [result["errors"] - result["unsent"] for result in results]
        self.assertEqual(failed, [0] * len(results))
        return sum(result[what] for result in results)


class Strict(FleetTest):
    def crowd(self, algorithm, limit):
        """1,000 requests, 192 at once, from all nodes."""
        return [http_load(node, "--requests", 334, "--connections", 64, "--limit", limit,
                          "--window", LONG, "--algorithm", algorithm) for node in self.nodes]

    def test_a_thousand_at_once_against_ten(self):
        for algorithm in ALGORITHMS:
            with self.subTest(algorithm):
                self.assertEqual(self.total(self.crowd(algorithm, 10)), 10)

    def test_all_doors_and_nodes_share_one_counter(self):
        limit = 500
        throttle = ("CL.THROTTLE", RESP_KEY, limit - 1, limit, LONG_S - 1)
        loads = []
        for node in self.nodes:
            loads += [http_load(node, "--requests", 400, "--connections", 8, "--limit", limit,
                                "--window", f"{LONG_S - 1}s", "--algorithm", "token_bucket"),
                      resp_load(node, throttle, "--requests", 400, "--connections", 8)]
        self.assertEqual(self.total(loads), limit)

    def test_exactly_the_limit_in_every_window(self):
        counted = in_each_window(self.nodes, "exact", windows=5)
        print(f"\nstrict, 50 in each window of 1 s: {counted}")
        self.assertEqual(counted, [50] * len(counted))


class Leased(FleetTest):
    def test_never_more_in_any_window(self):
        counted = in_each_window(self.nodes, "leased", windows=5)
        print(f"\nleased, at most 50 in each window of 1 s: {counted}")
        self.assertLessEqual(max(counted), 50)
        self.assertGreaterEqual(min(counted), 25, "leases shrink to single units")

    def test_a_thousand_at_once_against_ten(self):
        self.admit_all("ten-leased", 10, connections=64)

    def test_what_others_hold_comes_back(self):
        self.admit_all("long-leased", 500, connections=8)

    def admit_all(self, rule, limit, connections):
        """All nodes at once never admit more; one that goes on alone gets the rest."""
        loads = [resp_load(node, ("WEIR.HIT", rule, RESP_KEY), "--requests", 334 + limit,
                           "--connections", connections) for node in self.nodes]
        admitted = self.total(loads)
        print(f"\nleased: {admitted} of {limit} at once, by three nodes")
        self.assertLessEqual(admitted, limit)
        with self.nodes[0].client() as client:
            def admitted_all():
                nonlocal admitted
                admitted += client.ask("WEIR.HIT", rule, KEY)[0] == 0
                return admitted >= limit
            wait_until(admitted_all, "what others gave back is admitted")
            for _ in range(100):
                self.assertEqual(client.ask("WEIR.HIT", rule, KEY)[0], 1)

    def test_a_busy_key_asks_redis_seldom(self):
        before = self.calls()
        load = resp_load(self.nodes[0], ("WEIR.HIT", "busy-leased", RESP_KEY), "--requests", 5000,
                         "--connections", 1)
        self.assertEqual(self.total([load]), 5000)
        calls = self.calls() - before
        print(f"\nleased: {calls} calls of Redis for 5000 checks")
        self.assertLess(calls, 1000)

    def calls(self):
        lines = self.redis.ask("INFO", "commandstats").decode()
        return sum(int(calls) for calls in re.findall(r"cmdstat_eval.*?:calls=(\d+)", lines))


class Async(FleetTest):
    def test_over_by_what_comes_within_an_interval(self):
        limit, rate, seconds = 300, 400, 2
        hit = ("WEIR.HIT", "soon", RESP_KEY)
        loads = [resp_load(node, hit, "--rate", rate, "--duration", f"{seconds}s",
                           "--connections", 4) for node in self.nodes]
        over = self.total(loads) - limit
        promised = NODES * rate * SYNC_S
        print(f"\nasync: {over} over a limit of {limit}; {promised:.0f} come in an interval")
        self.assertGreaterEqual(over, 0, "nobody was denied too early")
        self.assertLessEqual(over, NODES * rate * (SYNC_S + SLACK_S))
        for node in self.nodes:
            with node.client() as client:
                self.assertEqual(client.ask("WEIR.HIT", "soon", KEY)[0], 1)


class Shared(FleetTest):
    def test_a_block_is_known_everywhere_after_two_beats(self):
        begun = time.monotonic()
        admin(self.nodes[0], "/admin/blocks", rule="here", key="mallory", **{"for": "5m"})
        for node in self.nodes:
            with node.connect() as connection:
                wait_until(lambda: not connection.check(rule="here", key="mallory", cost=0)
                           ["allowed"], "the block has come")
        print(f"\na block was known to all after {time.monotonic() - begun:.3f} s")

    def test_a_node_that_tells_more_or_less_is_understood(self):
        """As one of another version may: other fields, of a block more or none of ours."""
        block = b"1\x01\x09\0\x04here\x05trudy\0\0"  # block_bytes.h
        told = ("XADD", "weir:{fleet}:blocks", "*")
        self.redis.ask(*told, "weather", "rain")
        self.redis.ask(*told, "why", "many denials", "left", "300000", "block", block,
                       "node", "another")
        self.redis.ask("HSET", "weir:{fleet}:weather", "another", "rain")
        for node in self.nodes:
            with node.connect() as connection:
                wait_until(lambda: not connection.check(rule="here", key="trudy", cost=0)
                           ["allowed"], "the block has come")


class Leaving(unittest.TestCase):
    """A node that is stopped in peace, and what the others know of it then."""

    def stop_the_first(self, mode, sync_interval):
        """What of 1,000 is known as spent when a node that admitted 200 has been stopped."""
        config = f"rules: [{{id: r, limit: 1000, window: {LONG}, mode: {mode}}}]"
        # An answer that is late leaves its lease to run out: the node has nothing to give back.
        patient = ("--redis-deadline", "2s", "--sync-interval", sync_interval)
        with Redis() as redis, Fleet([redis.url] * 2, *patient, config=config) as fleet:
            fleet.wait_until_shared()
            first, second = fleet.nodes
            self.assertEqual(spent(first, "r", 200), 200)
            self.assertEqual(first.stop(), 0)
            # Without its goodbye it would count until 5 s after its last report.
            self.assertEqual(redis.ask("ZCARD", "weir:{fleet}:nodes"), 1)
            look = post("/v1/look", json.dumps({"rule": "r", "key": KEY}).encode())
            with second.connect() as connection:
                left = connection.ask(look).json()["remaining"]
            wait_until(lambda: is_shared(second, 1), "the node is no longer counted")
            return 1000 - left

    def test_what_async_counted_is_told(self):
        self.assertEqual(self.stop_the_first("async", "2s"), 200)

    def test_what_was_leased_goes_back(self):
        self.assertEqual(self.stop_the_first("leased", "100ms"), 200)

    def test_nobody_waits_for_a_redis_that_hangs(self):
        with Redis() as redis, Fleet([redis.url], config=CONFIG) as fleet:
            fleet.wait_until_shared()
            spent(fleet.nodes[0], "soon", 20)
            redis.pause()
            begun = time.monotonic()
            self.assertEqual(fleet.nodes[0].stop(), 0)
            self.assertLess(time.monotonic() - begun, 4)


class Alone(unittest.TestCase):
    """What a node does while there is no Redis, and when it comes."""

    def test_a_fleet_that_loses_its_redis_and_gets_it_back(self):
        with Redis() as redis, Fleet([redis.url] * NODES, *PATIENT, config=CONFIG) as fleet:
            fleet.wait_until_shared()
            first, second = fleet.nodes[:2]
            self.assertEqual(spent(first, "here", 200), 90)
            redis.kill()
            for node in fleet.nodes:
                wait_until(lambda: health(node)["redis"] == "disconnected", "it is noticed")
                self.assertEqual(health(node)["status"], "ok")
            # It knows what it has admitted; the others have a share of the limit each.
            self.assertEqual(spent(first, "here", 200), 0)
            self.assertLessEqual(spent(second, "here", 200), 90 // NODES)
            self.assertEqual(spent(first, "open", 20), 20)
            self.assertEqual(spent(first, "shut", 20), 0)
            redis.start()
            fleet.wait_until_shared()
            self.assertEqual(sum(spent(node, "shut", 5) for node in fleet.nodes), 5)

    def test_calls_that_fail_are_counted_in_modes_that_decide_in_memory(self):
        for rule in ("busy-leased", "soon"):
            with self.subTest(rule), Redis() as redis, Fleet([redis.url], config=CONFIG) as fleet:
                fleet.wait_until_shared()
                node = fleet.nodes[0]
                self.assertEqual(timed_out(node), 0)
                redis.pause()
                node.check(rule=rule, key="first")
                wait_until(lambda: timed_out(node) > 0, "the failure is counted")
                self.assertEqual(node.metric("weir_store_calls_total"), 0)  # none of mode strict
                redis.resume()

    def test_it_starts_without_one(self):
        redis = Redis()
        with redis:
            redis.kill()
            with Fleet([redis.url] * 2, *PATIENT, config=CONFIG) as fleet:
                for node in fleet.nodes:
                    self.assertEqual(health(node)["redis"], "disconnected")
                    self.assertTrue(node.check(rule="here", key="early")["allowed"])
                redis.start()
                fleet.wait_until_shared()
                self.assertEqual(sum(spent(node, "shut", 5) for node in fleet.nodes), 5)

    def test_blocks_outlive_a_redis_that_loses_them(self):
        with Redis() as redis, Fleet([redis.url] * 2, config=CONFIG) as fleet:
            fleet.wait_until_shared()
            admin(fleet.nodes[0], "/admin/blocks", rule="here", key="mallory", **{"for": "5m"})
            wait_until(lambda: is_blocked(fleet.nodes[1], "mallory"), "the block has come")
            redis.kill()
            redis.start()
            fleet.wait_until_shared()
            with Fleet([redis.url], config=CONFIG) as joining:
                wait_until(lambda: is_blocked(joining.nodes[0], "mallory"), "it learns of it")

    def test_a_lift_made_while_redis_is_away_holds_on_all_nodes(self):
        """In half of the tries one node had lifted it, and the others brought it back for ever."""
        with Redis() as redis, Fleet([redis.url] * 2, config=CONFIG) as fleet:
            first, second = fleet.nodes
            for attempt in range(6):
                fleet.wait_until_shared()
                key = f"mallory{attempt}"
                admin(first, "/admin/blocks", rule="here", key=key, **{"for": "5m"})
                wait_until(lambda: is_blocked(second, key), "the block has come")
                redis.kill()
                lift = json.dumps({"rule": "here", "key": key}).encode()
                with second.connect() as connection:
                    request = post("/admin/blocks", lift).replace(b"POST", b"DELETE", 1)
                    self.assertEqual(connection.ask(request).status, 200)
                redis.start()
                wait_until(lambda: not is_blocked(first, key), "the lift has come")
                fleet.wait_until_shared()
                self.assertFalse(is_blocked(second, key))

    def test_a_node_that_goes_is_no_longer_counted(self):
        with Redis() as redis, Fleet([redis.url] * 2, config=CONFIG) as fleet:
            fleet.wait_until_shared()
            fleet.nodes[1].process.kill()
            wait_until(lambda: is_shared(fleet.nodes[0], 1), "it is counted alone")


def timed_out(node):
    return node.metric('weir_store_failures_total{kind="timed_out"}')


def is_blocked(node, key):
    return not node.check(rule="here", key=key, cost=0)["allowed"]


def spent(node, rule, times):
    """How many of so many checks are allowed, one after the other."""
    with node.connect() as connection:
        return sum(connection.check(rule=rule, key=KEY)["allowed"] for _ in range(times))


def in_each_window(nodes, rule, windows):
    """How many are allowed in each of so many windows of 1 s, asked from all nodes.

    An answer tells when its window ends: at a whole second of the machine's clock, by the
    server's reckoning, and not later than the time it reaches us.
    """
    allowed = collections.Counter()
    first = math.floor(time.time()) + 2
    lock = threading.Lock()

    def ask(node):
        with node.connect() as connection:
            while time.time() < first + windows + 1:
                reply = connection.check(rule=rule, key="alice")
                if reply["allowed"]:
                    with lock:
                        allowed[math.floor(time.time() + reply["reset_after"])] += 1

    threads = [threading.Thread(target=ask, args=(node,)) for node in nodes for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [allowed[first + number] for number in range(windows)]


if __name__ == "__main__":
    weir_server.main()
