#!/usr/bin/python3
"""Three places with a Redis and two nodes each, and one Redis that all reach over slow links."""

import concurrent.futures
import contextlib
import json
import math
import re
import subprocess
import tempfile
import unittest

from fleet import KEY, RESP_KEY, Fleet, admin, health, resp_load
from redis_world import Behaviour, Proxy, Redis
from weir_server import DEADLINE_S, WEIR, main, post, wait_until

TRIPS_S = (0.0, 0.08, 0.15)  # to the Redis of all places, and back
NODES = 2  # of each place
LIMIT = 600
RATE = 20  # checks a second on each node, which is more than the limit allows
YEAR_S = 366 * 24 * 3600  # no window ends while a test runs
# So many checks that each wait for a trip, or for a deadline, end after the client gives up.
MANY = math.ceil(2 * DEADLINE_S / TRIPS_S[1])

CONFIG = """
store: {{redis: "{place}", world: "{world}"}}
rules:
  - {{id: everywhere, algorithm: fixed_window, limit: {limit}, window: 366d, scope: world}}
  - {{id: here, algorithm: fixed_window, limit: {limit}, window: 366d}}
"""


def config_of(place, world):
    return CONFIG.format(place=place.url, world=world.url, limit=LIMIT)


class Place:
    def __init__(self, world, trip_s):
        self.trip_s = trip_s
        self._stack = contextlib.ExitStack()
        with self._stack:
            self.redis = self._stack.enter_context(Redis())
            self.link = self._stack.enter_context(Proxy(world.port))
            self.link.behave(Behaviour.PASS, trip_s / 2)
            self.config = config_of(self.redis, self.link)
            self.nodes = self._stack.enter_context(
                Fleet([self.redis.url] * NODES, config=self.config)).nodes
            self._stack = self._stack.pop_all()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stack.close()


def world_of(node):
    return health(node)["world"]


def left(node, key, rule="everywhere"):
    return node.check(rule=rule, key=key, cost=0)["remaining"]


def spend_all(node, key, rule="everywhere"):
    """How many checks are allowed until one is denied."""
    with node.connect() as connection:
        for allowed in range(LIMIT + 1):
            if not connection.check(rule=rule, key=key)["allowed"]:
                return allowed
    raise AssertionError(f"a node has admitted more than the limit of {key}")


def hurry(node, prefix):
    """So many checks of old and new keys that none can have waited for another place."""
    with node.connect() as connection:
        return sum(connection.check(rule="everywhere", key=f"{prefix}{number % 100}")["allowed"]
                   for number in range(MANY))


def lift(node, key):
    request = post("/admin/blocks", json.dumps({"key": key}).encode())
    with node.connect() as connection:
        reply = connection.ask(request.replace(b"POST", b"DELETE", 1))
    assert reply.status == 200, reply.text


def are_shared(nodes, place_nodes):
    said = [health(node) for node in nodes]
    return all(one["redis"] == one["world"]["redis"] == "connected"
               and one["nodes"] == place_nodes and one["world"]["nodes"] == len(nodes)
               for one in said)


def at_once(nodes, function, *arguments):
    with concurrent.futures.ThreadPoolExecutor(len(nodes)) as pool:
        return list(pool.map(lambda node: function(node, *arguments), nodes))


class PlacesTest(unittest.TestCase):
    def setUp(self):
        self.world = self.enterContext(Redis())
        self.places = [self.enterContext(Place(self.world, trip_s)) for trip_s in TRIPS_S]
        self.nodes = [node for place in self.places for node in place.nodes]
        self.wait_until_shared()

    def wait_until_shared(self):
        wait_until(lambda: are_shared(self.nodes, NODES), "all nodes share with all places")

    def test_one_limit_holds_over_all_places(self):
        # In the long run it is all spent: a place that heard nothing would spend it alone.
        needed = 3 * LIMIT // (RATE * len(self.nodes))
        command = ("WEIR.HIT", "everywhere", RESP_KEY)
        loads = [resp_load(node, command, "--rate", RATE, "--duration", f"{needed}s",
                           "--connections", 1) for node in self.nodes]
        results = [load.result() for load in loads]
        allowed = sum(result["allowed"] for result in results)
        over = allowed - LIMIT
        bound = self.printed_bound(RATE * len(self.nodes))
        print(f"\n{allowed} of {LIMIT} were admitted, {bound} over at most")
        self.assertGreaterEqual(over, 0)
        self.assertLessEqual(over, bound)
        for node in self.nodes:
            self.assertFalse(node.check(rule="everywhere", key=KEY)["allowed"])

    def printed_bound(self, rate):
        """Units over the limit at such a rate, by what `weir validate` says."""
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(self.places[-1].config)
            file.flush()
            said = subprocess.run([WEIR, "validate", file.name, "--promises"],
                                  capture_output=True, text=True, check=True).stdout
        interval_s, trip_ms = re.search(r"16 x \((\d+)s \+ (\d+)ms\) / 366d", said).groups()
        self.assertEqual(int(trip_ms), round(1000 * max(TRIPS_S)))
        return math.ceil(rate * (int(interval_s) + int(trip_ms) / 1000))

    def test_a_block_and_its_lift_reach_all_places(self):
        admin(self.places[2].nodes[0], "/admin/blocks", key="mallory", **{"for": "5m"})
        wait_until(lambda: not any(self.admits(node, "mallory") for node in self.nodes), "it came")
        lift(self.places[0].nodes[1], "mallory")
        wait_until(lambda: all(self.admits(node, "mallory") for node in self.nodes), "it is lifted")

    def test_a_place_that_is_cut_off_lives_on_its_share_and_heals(self):
        alone = self.places[2]
        others = self.places[0].nodes + self.places[1].nodes
        alone.link.behave(Behaviour.HOLD)
        # They notice as their syncs come back late.
        at_once(alone.nodes, hurry, "noticing")
        wait_until(lambda: all(world_of(node)["redis"] == "disconnected" for node in alone.nodes),
                   "they know that they are alone")
        share = LIMIT // len(self.nodes)
        self.assertEqual(at_once(alone.nodes, spend_all, "k"), [share] * NODES)
        at_once(alone.nodes, hurry, "old and new")
        admitted = at_once(others, lambda node: node.check(rule="everywhere", key="k")["allowed"])
        self.assertEqual(admitted, [True] * len(others))
        admin(alone.nodes[0], "/admin/blocks", key="mallory", **{"for": "5m"})
        alone.link.behave(Behaviour.PASS, alone.trip_s / 2)
        self.wait_until_shared()
        expected = LIMIT - NODES * share - len(others)
        wait_until(lambda: all(left(node, "k") == expected for node in self.nodes),
                   f"all know what was admitted: {[left(node, 'k') for node in self.nodes]}")
        wait_until(lambda: not any(node.check(rule="here", key="mallory", cost=0)["allowed"]
                                   for node in self.nodes), "the block of the lonely has come")

    def test_checks_are_unharmed_when_the_redis_of_all_places_dies(self):
        for kill in (self.world.pause, self.world.kill):
            kill()
            at_once(self.nodes, hurry, "noticing")
            wait_until(lambda: all(world_of(node)["redis"] == "disconnected"
                                   for node in self.nodes), "they know that it is away")
            share = LIMIT // len(self.nodes)
            self.assertEqual(at_once(self.nodes, spend_all, kill.__name__),
                             [share] * len(self.nodes))
            at_once(self.nodes, hurry, "old and new")
            for node in self.nodes:
                said = health(node)
                self.assertEqual((said["redis"], said["nodes"]), ("connected", NODES))
                self.assertTrue(node.check(rule="here", key="k")["allowed"])
            if kill == self.world.pause:
                self.world.resume()
            else:
                self.world.start()
            self.wait_until_shared()
            wait_until(lambda: all(left(node, kill.__name__) == 0 for node in self.nodes),
                       "what all have admitted is known to all")

    def test_a_link_that_is_slower_than_any_deadline_slows_no_check(self):
        slow = self.places[2]
        slow.link.behave(Behaviour.PASS, 2)
        at_once(slow.nodes, hurry, "slow")
        wait_until(lambda: all(world_of(node)["redis"] == "disconnected" for node in slow.nodes),
                   "they know that it is too slow")
        at_once(slow.nodes, hurry, "old and new")
        share = LIMIT // len(self.nodes)
        self.assertEqual(at_once(slow.nodes, spend_all, "k"), [share] * NODES)
        slow.link.behave(Behaviour.PASS, slow.trip_s / 2)
        self.wait_until_shared()
        wait_until(lambda: all(left(node, "k") == LIMIT - NODES * share for node in self.nodes),
                   "all know what was admitted")

    def test_nodes_that_lose_both_heal_though_both_come_back_empty(self):
        servers = [self.world] + [place.redis for place in self.places]
        admin(self.nodes[0], "/admin/blocks", key="mallory", **{"for": "10m"})
        wait_until(lambda: not any(self.admits(node, "mallory") for node in self.nodes), "it came")
        for server in servers:
            server.kill()
        at_once(self.nodes, hurry, "noticing")
        wait_until(lambda: all(health(node)["redis"] == world_of(node)["redis"] == "disconnected"
                               for node in self.nodes), "they know that they are alone")
        self.assertEqual(at_once(self.nodes, spend_all, "k"), [LIMIT // len(self.nodes)] * 6)
        self.assertEqual(at_once(self.nodes, spend_all, "k", "here"), [LIMIT // NODES] * 6)
        for server in servers:
            server.start()
        self.wait_until_shared()
        wait_until(lambda: all(left(node, "k") == 0 == left(node, "k", "here")
                               for node in self.nodes), "what all have admitted is known to all")
        for server in servers:
            server.ask("FLUSHALL")
        wait_until(lambda: are_shared(self.nodes, NODES), "all nodes have counted each other again")
        self.nodes[0].check(rule="everywhere", key="later", cost=5)
        wait_until(lambda: all(left(node, "later") == LIMIT - 5 for node in self.nodes),
                   "they count together")
        self.assertFalse(any(self.admits(node, "mallory") for node in self.nodes))
        lift(self.nodes[-1], "mallory")
        wait_until(lambda: all(self.admits(node, "mallory") for node in self.nodes), "it is lifted")

    @staticmethod
    def admits(node, key):
        return all(node.check(rule=rule, key=key, cost=0)["allowed"]
                   for rule in ("everywhere", "here"))


class OneRedisTest(unittest.TestCase):
    def test_the_redis_of_a_place_may_be_that_of_all(self):
        redis = self.enterContext(Redis())
        # A node that waits for less counts alone where the machine is busy.
        nodes = self.enterContext(
            Fleet([redis.url] * 2, "--redis-deadline", "2s", config=config_of(redis, redis))).nodes
        wait_until(lambda: are_shared(nodes, len(nodes)), "they share")
        nodes[0].check(rule="everywhere", key="k", cost=5)
        nodes[0].check(rule="here", key="k", cost=7)
        wait_until(lambda: (left(nodes[1], "k"), left(nodes[1], "k", "here"))
                   == (LIMIT - 5, LIMIT - 7), "each counts apart")
        admin(nodes[0], "/admin/blocks", key="mallory", **{"for": "5m"})
        wait_until(lambda: not PlacesTest.admits(nodes[1], "mallory"), "the block has come")
        lift(nodes[1], "mallory")
        wait_until(lambda: PlacesTest.admits(nodes[0], "mallory"), "the lift has come")


if __name__ == "__main__":
    main()
