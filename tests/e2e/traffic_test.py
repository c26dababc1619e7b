"""The traffic of a fleet: what all nodes count is what clients sent to each."""

import contextlib
import glob
import os
import time
import unittest

import weir_server
from fleet import Fleet, metrics
from redis_world import Cluster, Redis
from weir_server import check_request, get, wait_until

IS_LONG = os.environ.get("WEIR_TESTS") == "long"
NODES = 3
TRAFFIC = "weir:{fleet}:traffic"
WARNING = "the figures of the fleet's traffic are not complete"
PATIENT = ("--redis-deadline", "2s")
CONFIG = """
rules:
  - {id: login, algorithm: fixed_window, limit: 10, window: 8784h, mode: local}
  - {id: api, limit: 1000000, window: 8784h, mode: local}
"""


def send(node, **times):
    """So many checks of each rule, as fast as they are answered."""
    requests = [check_request(rule=rule, key="alice") for rule, n in times.items()
                for _ in range(n)]
    with node.connect() as connection:
        connection.send(b"".join(requests))
        return sum(not connection.read_reply().json()["allowed"] for _ in requests)


def in_ten_seconds(said):
    return round(10 * said["req_per_sec"]), round(10 * said["req_per_sec"] * said["deny_rate"])


def rule_hash(rule):
    value = 0xcbf29ce484222325
    for byte in rule.encode():
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return value


def read_word(word):
    """What a node has written of a second: (requests, denied) of all and of each rule."""
    assert word[:1] == b"2", word
    at = 1

    def number():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = word[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def counts():
        requests, denied, _would_be = number(), number(), number()
        return requests, denied

    everything = counts()
    number()  # denied since the start
    for _ in range(number()):
        number()  # decisions of an algorithm
    rules = {}
    for _ in range(number()):
        name = int.from_bytes(word[at:at + 8], "little")
        at += 8
        rules[name] = counts()
    assert at == len(word)
    return everything, rules


class TrafficTest(unittest.TestCase):
    @contextlib.contextmanager
    def fleet(self, nodes=NODES, **options):
        with Redis() as redis, Fleet([redis.url] * nodes, *PATIENT, config=CONFIG,
                                     **options) as fleet:
            fleet.wait_until_shared()
            self.wait_until_counted(fleet.nodes)
            yield redis, fleet

    def wait_until_counted(self, nodes):
        wait_until(lambda: all(metrics(node)["nodes"] == len(nodes) for node in nodes),
                   "all nodes count all")
        self.assertEqual({metrics(node)["scope"] for node in nodes}, {"fleet"})

    def wait_for_sums(self, nodes, requests, denied):
        """All nodes have these sums of ten seconds."""
        wait_until(lambda: all(in_ten_seconds(metrics(node)) == (requests, denied)
                               for node in nodes),
                   f"{requests} requests and {denied} denied are the sum of all")


class Sums(TrafficTest):
    def test_the_sums_are_what_clients_sent_to_each(self):
        sent = [{"login": 40, "api": 5}, {"login": 15}, {"api": 300}]
        with self.fleet() as (redis, fleet):
            denied = [send(node, **times) for node, times in zip(fleet.nodes, sent)]
            self.assertEqual(denied, [30, 5, 0])
            self.wait_for_sums(fleet.nodes, 360, 35)
            for node, times, refused in zip(fleet.nodes, sent, denied):
                said = metrics(node)
                self.assertEqual((said["total_requests"], said["total_denied"]), (360, 35))
                self.assertEqual(said["active_algorithm"], "sliding_window")
                own = said["node"]
                self.assertEqual((own["total_requests"], own["total_denied"]),
                                 (sum(times.values()), refused))
                self.assertEqual(node.metric("weir_fleet_nodes_counted"), NODES)
            self.check_words(redis, {"login": (55, 35), "api": (305, 0)})

    def check_words(self, redis, expected):
        """Redis holds this: who wrote what of which rule, and until when it stays."""
        keys = redis.ask("KEYS", TRAFFIC + ":*")
        self.assertLessEqual(len(keys), 22)
        rules = {rule: (0, 0) for rule in expected}
        for key in keys:
            self.assertLessEqual(redis.ask("TTL", key), 20)
            for word in redis.ask("HVALS", key):
                counted = read_word(word)[1]
                for rule, sums in rules.items():
                    of_rule = counted.get(rule_hash(rule), (0, 0))
                    rules[rule] = tuple(map(sum, zip(sums, of_rule)))
        self.assertEqual(rules, expected)

    def test_a_node_that_was_killed_is_gone_from_the_sums(self):
        with self.fleet() as (_, fleet):
            for number, node in enumerate(fleet.nodes, 1):
                send(node, api=100 * number)
            self.wait_for_sums(fleet.nodes, 600, 0)
            fleet.nodes[2].process.kill()
            begun = time.monotonic()
            left = fleet.nodes[:2]
            wait_until(lambda: all(metrics(node)["total_requests"] == 300 for node in left),
                       "only those of the two are counted")
            print(f"\na killed node was gone from the sums after {time.monotonic() - begun:.1f} s")
            for node in left:
                self.assertLessEqual(in_ten_seconds(metrics(node))[0], 300)
                self.assertEqual(metrics(node)["nodes"], 2)

    @unittest.skipIf(weir_server.IS_ASAN, "libfaketime starts before AddressSanitizer can")
    def test_nodes_whose_clocks_are_an_hour_apart_add_up_the_same_seconds(self):
        library = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), None)
        if library is None:
            self.skipTest("needs Debian's package faketime")
        environments = [{"LD_PRELOAD": library, "FAKETIME": offset,
                         "FAKETIME_DONT_FAKE_MONOTONIC": "1"} for offset in ("+1h", "-1h", "+0")]
        with self.fleet(environments=environments) as (_, fleet):
            for number, node in enumerate(fleet.nodes, 1):
                send(node, api=10 * number)
            self.wait_for_sums(fleet.nodes, 60, 0)

    @unittest.skipUnless(IS_LONG, "only ./dev test --long")
    def test_a_cluster_adds_up_as_one_server_does(self):
        """The script makes the names of seconds, so no node has told the cluster of them."""
        with Cluster() as cluster, Fleet([cluster.url] * 2, *PATIENT, config=CONFIG) as fleet:
            fleet.wait_until_shared()
            self.wait_until_counted(fleet.nodes)
            for number, node in enumerate(fleet.nodes, 1):
                send(node, api=10 * number)
            self.wait_for_sums(fleet.nodes, 30, 0)

    @unittest.skipUnless(IS_LONG, "only ./dev test --long")
    def test_two_fleets_in_one_redis_do_not_meet(self):
        with Redis() as redis, contextlib.ExitStack() as stack:
            fleets = [stack.enter_context(Fleet([redis.url], "--redis-prefix", prefix, *PATIENT,
                                                config=CONFIG)) for prefix in ("one:", "two:")]
            nodes = [fleet.nodes[0] for fleet in fleets]
            for node in nodes:
                wait_until(lambda: metrics(node)["scope"] == "fleet", "it counts with its fleet")
            for number, node in enumerate(nodes, 1):
                send(node, api=10 * number)
            for number, node in enumerate(nodes, 1):
                self.wait_for_sums([node], 10 * number, 0)
                self.assertEqual(metrics(node)["nodes"], 1)


class Trouble(TrafficTest):
    def test_a_redis_that_goes_and_comes_back(self):
        with self.fleet() as (redis, fleet):
            send(fleet.nodes[0], api=50)
            redis.kill()
            for node, requests in zip(fleet.nodes, (50, 0, 0)):
                wait_until(lambda: metrics(node)["scope"] == "node", "it counts alone")
                said = metrics(node)
                self.assertEqual((said["nodes"], said["total_requests"]), (1, requests))
            redis.start()
            self.wait_until_counted(fleet.nodes)
            send(fleet.nodes[1], api=20)
            wait_until(lambda: all(metrics(node)["total_requests"] == 70 for node in fleet.nodes),
                       "they count together again")

    def test_what_others_have_written_there_counts_as_nothing(self):
        with self.fleet(nodes=2) as (redis, fleet):
            for garbage in (b"", b"rubbish", b"2\1\0\0\0\0", b"1" + b"\xff" * 30, b"1" * 100_000):
                self.plant(redis, "HSET", f"a node that says {len(garbage)} bytes", garbage)
            for node in fleet.nodes:
                node.wait_for_log(WARNING)
                send(node, api=30)
            self.wait_for_sums(fleet.nodes, 60, 0)
            for node in fleet.nodes:
                self.assertEqual(metrics(node)["nodes"], 2)
                self.assertEqual(node.log().count(WARNING), 1)

    @unittest.skipUnless(IS_LONG, "only ./dev test --long")
    def test_a_second_of_another_type_is_left_alone(self):
        with self.fleet(nodes=2) as (redis, fleet):
            self.plant(redis, "SET", "a string")
            for node in fleet.nodes:
                node.wait_for_log(WARNING)
            send(fleet.nodes[0], api=30)
            wait_until(lambda: all(metrics(node)["total_requests"] == 30 for node in fleet.nodes),
                       "seconds after that are counted")
            for node in fleet.nodes:
                with node.connect() as connection:
                    health = connection.ask(get("/health")).json()
                self.assertEqual((health["redis"], health["nodes"]), ("connected", 2))
            self.assertIn(b"a string", [redis.ask("GET", key)
                                        for key in redis.ask("KEYS", TRAFFIC + ":*")
                                        if redis.ask("TYPE", key) == "string"])

    def plant(self, redis, command, *words):
        """In the second that nodes will write of next, and the two after it."""
        now = int(redis.ask("TIME")[0])
        for second in range(now, now + 3):
            redis.ask(command, f"{TRAFFIC}:{second}", *words)

    @unittest.skipUnless(IS_LONG, "only ./dev test --long")
    def test_a_user_who_may_not_keep_seconds_shares_all_else(self):
        """As one whom an older Weir's documents made."""
        with Redis() as redis:
            redis.ask("ACL", "SETUSER", "default", "-hsetnx", "-hscan")
            with Fleet([redis.url], *PATIENT, config=CONFIG) as fleet:
                fleet.wait_until_shared()
                node = fleet.nodes[0]
                node.wait_for_log(WARNING)
                send(node, api=5)
                wait_until(lambda: in_ten_seconds(metrics(node)) == (5, 0), "it counts alone")
                self.assertEqual(metrics(node)["scope"], "node")


if __name__ == "__main__":
    weir_server.main_side_by_side()
