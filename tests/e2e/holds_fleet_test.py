#!/usr/bin/python3
"""Nodes that share a Redis hold units together: any of them commits what another has reserved."""

import contextlib
import json
import random
import threading
import unittest

from fleet import Fleet
from redis_world import Redis, Sentinels
from resp_client import RespError
from slot_callers import call
from weir_server import ConnectionClosed, main, post, wait_until

PATIENT = ("--redis-deadline", "2s", "--sync-interval", "100ms")
# Nothing is earned back while a test runs.
CONFIG = """
rules:
  - {id: strict, algorithm: fixed_window, limit: 100, window: 8784h, max_holds: 999, mode: strict}
  - {id: leased, algorithm: sliding_log, limit: 100, window: 8784h, max_holds: 999, mode: leased}
  - {id: named, limit: 100, window: 8784h, max_holds: 999}
  - {id: crowd, algorithm: token_bucket, limit: 500, window: 8784h, max_holds: 999, mode: strict}
"""
RULES = ("strict", "leased", "named")


def reserve(node, rule, key, cost, hold="30s"):
    return call(node, "/v1/reserve", rule=rule, key=key, cost=cost, hold=hold)


def reserved(node, rule, key, cost, hold="30s"):
    status, said = reserve(node, rule, key, cost, hold)
    assert (status, said["allowed"]) == (200, True), said
    return said["token"]


def left(node, rule, key):
    status, said = call(node, "/v1/check", rule=rule, key=key, cost=0)
    assert status == 200, said
    return said["remaining"]


class Caller(threading.Thread):
    """Reserves, and says afterwards what its work has cost: once, twice or never."""

    COST = 5

    def __init__(self, nodes, seed):
        super().__init__()
        self.nodes = nodes
        self.chance = random.Random(seed)
        self.charged, self.lapsed, self.perhaps = 0, 0, 0
        self.twice = []

    def run(self):
        for _ in range(3):
            self.work()

    def work(self):
        try:
            status, said = reserve(self.chance.choice(self.nodes), "crowd", "a", self.COST, "3s")
        except (OSError, ConnectionClosed):
            self.perhaps += self.COST
            return
        if status != 200 or not said["allowed"]:
            return
        if self.chance.random() < 0.2:
            self.lapsed += self.COST
            return
        cost = self.chance.randint(0, self.COST)
        first = self.commit(said["token"], cost)
        if first is None:  # its node has died: whether it was charged nobody knows
            self.perhaps += self.COST
        elif first:
            self.charged += cost
        else:
            self.lapsed += self.COST
        if first and self.chance.random() < 0.1:
            self.twice.append(self.commit(said["token"], self.COST))

    def commit(self, token, cost):
        with contextlib.suppress(OSError, ConnectionClosed):
            return call(self.chance.choice(self.nodes), "/v1/commit", token=token,
                        cost=cost)[0] == 200
        return None


class HoldsFleetTest(unittest.TestCase):
    def start(self, *urls):
        fleet = self.enterContext(Fleet(urls, *PATIENT, config=CONFIG))
        fleet.wait_until_shared()
        return fleet.nodes

    def test_any_node_commits(self):
        redis = self.enterContext(Redis())
        here, there = self.start(redis.url, redis.url)
        for rule in RULES:
            with self.subTest(rule):
                token = reserved(here, rule, "a", 60)
                self.assertEqual(left(there, rule, "a"), 40)
                status, denial = reserve(there, rule, "a", 41)
                self.assertEqual((status, denial["allowed"]), (200, False))
                self.assertNotIn("token", denial)
                self.assertEqual(call(there, "/v1/commit", token=token, cost=20, more=True),
                                 (200, {"cost": 20, "charged": False}))
                self.assertEqual(call(there, "/v1/commit", token=token, cost=10),
                                 (200, {"cost": 10, "charged": True}))
                self.assertEqual(left(here, rule, "a"), 90)
                for node in (here, there):
                    self.assertEqual(call(node, "/v1/commit", token=token, cost=10)[0], 404)
                self.assertEqual(left(here, rule, "a"), 90)

    def test_a_reservation_says_when_there_is_more(self):
        redis = self.enterContext(Redis())
        (node,) = self.start(redis.url)
        for rule in RULES:
            body = json.dumps({"rule": rule, "key": "a", "cost": 60, "hold": "30s"}).encode()
            with self.subTest(rule), node.connect() as connection:
                head = connection.ask(post("/v1/reserve", body)).head
                self.assertRegex(head, rf'\r\nRateLimit: "{rule}";r=40;t=\d+\r\n')

    def test_nodes_share_what_a_caller_names(self):
        redis = self.enterContext(Redis())
        here, there = self.start(redis.url, redis.url)
        for mode in ("strict", "leased"):
            for algorithm in ("sliding_window", "token_bucket"):
                with self.subTest(mode, algorithm=algorithm):
                    quota = {"key": mode, "limit": 100, "window": "8784h", "mode": mode,
                             "algorithm": algorithm, "hold": "30s"}
                    status, said = call(here, "/v1/reserve", cost=60, **quota)
                    self.assertEqual((status, said["remaining"]), (200, 40), said)
                    self.assertFalse(call(there, "/v1/reserve", cost=41, **quota)[1]["allowed"])
                    self.assertEqual(call(there, "/v1/commit", token=said["token"], cost=10),
                                     (200, {"cost": 10, "charged": True}))
                    status, said = call(here, "/v1/reserve", cost=90, **quota)
                    self.assertEqual((status, said["remaining"]), (200, 0), said)
        status, said = call(here, "/v1/reserve", key="a", limit=9, window=60, cost=1, hold="1s",
                            mode="async")
        self.assertEqual((status, said["field"]), (400, "mode"))
        self.assertIn("each node counts by itself", said["detail"])
        redis.kill()
        local = {"key": "a", "limit": 9, "window": 60, "cost": 5, "hold": "30s", "mode": "local"}
        self.assertTrue(call(here, "/v1/reserve", **local)[1]["allowed"])
        self.assertFalse(call(here, "/v1/reserve", **local)[1]["allowed"])

    def test_any_node_says_what_is_held(self):
        redis = self.enterContext(Redis())
        here, there = self.start(redis.url, redis.url)
        for rule in RULES:
            with self.subTest(rule):
                token = reserved(here, rule, "a", 20)
                reserved(here, rule, "a", 40, "10m")
                status, said = call(there, "/v1/explain", rule=rule, key="a")
                held = said["applies"][0]["held"]
                self.assertEqual((status, held["units"], held["holds"]), (200, 60, 2))
                self.assertTrue(0 < held["lapses_after"] <= 30, held)
                call(there, "/v1/commit", token=token, cost=1)
                held = call(here, "/v1/explain", rule=rule, key="a")[1]["applies"][0]["held"]
                self.assertEqual((held["units"], held["holds"]), (40, 1))
                self.assertTrue(30 < held["lapses_after"] <= 600, held)

    def test_redis_clients_share_the_holds(self):
        redis = self.enterContext(Redis())
        here, there = self.start(redis.url, redis.url)
        with here.client() as ours, there.client() as theirs:
            numbers, token = ours.ask("WEIR.RESERVE", "strict", "b", "70", "30s")
            self.assertEqual(numbers[:3], [0, 100, 30])
            self.assertEqual(theirs.ask("WEIR.RESERVE", "strict", "b", "31", "30s")[1], None)
            self.assertEqual(theirs.ask("WEIR.COMMIT", token, "5"), 1)
            with self.assertRaisesRegex(RespError, "NOTOKEN"):
                ours.ask("WEIR.COMMIT", token, "5")
        self.assertEqual(left(here, "strict", "b"), 95)

    def test_a_token_that_is_forged_or_of_another_fleet_commits_nothing(self):
        redis, other = self.enterContext(Redis()), self.enterContext(Redis())
        here, _ = self.start(redis.url, redis.url)
        stranger, _ = self.start(other.url, other.url)
        foreign = reserved(stranger, "strict", "a", 60)
        token = reserved(here, "strict", "a", 60)
        forged = token[:-1] + ("0" if token[-1] != "0" else "1")
        for wrong in (foreign, forged, token[:32], token[:-32], token + token):
            with self.subTest(wrong):
                status, said = call(here, "/v1/commit", token=wrong, cost=1)
                self.assertEqual((status, said["type"]), (404, "urn:weir:problem:unknown-token"))
        self.assertEqual(left(here, "strict", "a"), 40)

    def test_without_redis_the_node_that_reserved_commits(self):
        redis = self.enterContext(Redis())
        here, there = self.start(redis.url, redis.url)
        shared = reserved(here, "strict", "a", 60)
        redis.kill()
        self.assertEqual(call(here, "/v1/commit", token=shared, cost=1)[0], 503)
        token = reserved(here, "strict", "a", 7)
        self.assertEqual(call(there, "/v1/commit", token=token, cost=1)[0], 404)
        self.assertEqual(call(here, "/v1/commit", token=token, cost=1),
                         (200, {"cost": 1, "charged": True}))

    def test_a_failover_keeps_what_redis_has_told_its_replica(self):
        world = self.enterContext(Sentinels())
        here, there = self.start(world.url, world.url)
        token = reserved(here, "strict", "a", 60, "10m")
        world.master.await_replica()
        world.master.kill()
        # 404: an earlier try has committed it, and its answer was lost.
        wait_until(lambda: call(there, "/v1/commit", token=token, cost=10)[0] in (200, 404),
                   "the token is committed at the new master")
        wait_until(lambda: call(here, "/v1/commit", token=token, cost=10)[0] == 404,
                   "it cannot be committed twice")
        wait_until(lambda: left(here, "strict", "a") == 90, "the cost is charged once")

    def test_200_callers_while_a_node_is_killed(self):
        redis = self.enterContext(Redis())
        nodes = self.start(redis.url, redis.url, redis.url)
        callers = [Caller(nodes, seed) for seed in range(200)]
        for caller in callers[:100]:
            caller.start()
        nodes[2].process.kill()
        for caller in callers[100:]:
            caller.start()
        for caller in callers:
            caller.join()
        charged = sum(caller.charged for caller in callers)
        lapsed = sum(caller.lapsed for caller in callers)
        perhaps = sum(caller.perhaps for caller in callers)
        self.assertGreater(charged, 0)
        self.assertNotIn(True, [twice for caller in callers for twice in caller.twice])
        self.assertLessEqual(charged + lapsed, 500)
        # Once the last hold has ended all is charged, and nothing is held.
        key = redis.ask("KEYS", "weir:*:holds")
        self.assertLessEqual(len(key), 1)

        def is_settled():
            used = 500 - left(nodes[0], "crowd", "a")
            held = redis.ask("EXISTS", key[0]) if key else 0
            return held == 0 and charged + lapsed <= used <= charged + lapsed + perhaps

        wait_until(is_settled, "what was held is charged")


if __name__ == "__main__":
    main()
