#!/usr/bin/python3
"""Nodes that share a Redis share slots: never more tokens are good than the limit says."""

import signal
import threading
import time
import unittest

from fleet import Fleet
from redis_world import Redis, Sentinels
from slot_callers import HOLD_S, LIMIT, ByHttp, ByResp, Caller, Log, acquire, call, held, \
    wait_for_streams
from weir_server import main, wait_until

PATIENT = ("--redis-deadline", "2s", "--sync-interval", "100ms")
CONFIG = f"""
rules:
  - {{id: streams, of: concurrency, limit: {LIMIT}}}
  - {{id: pair, of: concurrency, limit: 2}}
  - {{id: open, of: concurrency, limit: 2, on_store_failure: allow}}
"""


class SlotsFleetTest(unittest.TestCase):
    def start(self, *urls, mode="strict"):
        fleet = self.enterContext(Fleet(urls, *PATIENT, "--mode", mode, config=CONFIG))
        fleet.wait_until_shared()
        return fleet.nodes

    def test_never_more_than_the_limit_while_nodes_die_and_stand_still(self):
        redis = self.enterContext(Redis())
        nodes = self.start(*[redis.url] * 5)
        *good, dies, stops = nodes
        log, goal = Log(), threading.Event()
        callers = [Caller((ByHttp, ByResp)[number % 2], nodes[number // 2 % 5], good, log, goal,
                          number) for number in range(40)]
        self.addCleanup(goal.set)
        for caller in callers:
            caller.start()

        wait_for_streams(log, 1000)
        dies.process.kill()
        wait_for_streams(log, 500)
        stops.signal(signal.SIGSTOP)
        wait_for_streams(log, 1000, seconds=1.5 * HOLD_S)  # until what it took has ended
        stops.signal(signal.SIGCONT)
        wait_for_streams(log, 1000)
        goal.set()
        for caller in callers:
            caller.join()
        over = time.monotonic()

        self.assertLessEqual(log.most_at_once(), LIMIT)
        self.assertGreater(log.most_at_once(), LIMIT * 3 // 4)
        self.assertGreater(sum(caller.failures for caller in callers), 0)
        wait_until(lambda: held(good[0], "streams") == 0, "all slots are back")
        self.assertLess(time.monotonic() - over, HOLD_S + 2)
        tokens = [acquire(node, rule="streams").get("token") for node in [stops, *good] * 10]
        self.assertEqual(len(set(tokens) - {None}), LIMIT)
        self.assertNotIn("token", acquire(stops, rule="streams"))

    def test_any_node_releases(self):
        redis = self.enterContext(Redis())
        here, there = self.start(redis.url, redis.url)
        first, second = acquire(here), acquire(there)
        self.assertEqual((first["remaining"], second["remaining"]), (1, 0))
        denial = acquire(here)
        self.assertFalse(denial["allowed"] or "token" in denial)
        self.assertTrue(0 < denial["retry_after"] <= 30, denial)
        self.assertEqual(held(there, "pair"), 2)
        self.assertEqual(call(there, "/v1/release", token=first["token"]),
                         (200, {"released": True}))
        for node in (here, there):
            self.assertEqual(call(node, "/v1/release", token=first["token"])[0], 404)
        with there.client() as client:
            numbers, token = client.ask("WEIR.ACQUIRE", "pair", "a", "30s")
            self.assertEqual(numbers[:3], [0, 2, 0])
            self.assertIsNone(client.ask("WEIR.ACQUIRE", "pair", "a", "30s")[1])
        self.assertEqual(call(here, "/v1/release", token=token.decode())[0], 200)
        for node, allowed in ((here, True), (there, False)):
            said = call(node, "/v1/acquire", limit=1, key="a", hold="30s")[1]
            self.assertEqual(said["allowed"], allowed)

    def test_redis_decides_whatever_the_mode_of_nodes(self):
        for mode in ("async", "leased"):
            redis = self.enterContext(Redis())
            here, there = self.start(redis.url, redis.url, mode=mode)
            tokens = [acquire(node, mode).get("token") for node in (here, there, here, there)]
            self.assertTrue(all(tokens[:2]) and not any(tokens[2:]), tokens)
            self.assertEqual(call(there, "/v1/release", token=tokens[0])[0], 200)
            self.assertIn("token", acquire(there, mode))

    def test_tokens_that_are_no_slots_free_nothing(self):
        redis = self.enterContext(Redis())
        here, there = self.start(redis.url, redis.url)
        token = acquire(here)["token"]
        forged = token[:-1] + ("0" if token[-1] != "0" else "1")
        for wrong in (forged, token[:32], token[:-32], token + token):
            self.assertEqual(call(there, "/v1/release", token=wrong)[0], 404)
        for more in (True, False):
            self.assertEqual(call(there, "/v1/commit", token=token, cost=9, more=more)[0], 404)
        self.assertEqual(held(there, "pair"), 1)

    def test_without_redis_nobody_gets_a_slot_but_by_a_rule_that_allows_it(self):
        redis = self.enterContext(Redis())
        here, there = self.start(redis.url, redis.url)
        token = acquire(here)["token"]
        redis.kill()
        self.assertEqual(call(here, "/v1/release", token=token)[0], 503)
        denial = acquire(here, "b")
        self.assertFalse(denial["allowed"] or "token" in denial)
        for _ in range(3):
            free = acquire(here, "b", "open")
            self.assertEqual((free["allowed"], free["mode"]), (True, "local"))
        self.assertEqual(call(there, "/v1/release", token=free["token"])[0], 404)
        self.assertEqual(call(here, "/v1/release", token=free["token"])[0], 200)

    def test_a_failover_keeps_what_redis_has_told_its_replica(self):
        world = self.enterContext(Sentinels())
        here, there = self.start(world.url, world.url)
        token = acquire(here, hold="10m")["token"]
        acquire(there, hold="10m")
        world.master.await_replica()
        world.master.kill()
        # 404: an earlier try has released it, and its answer was lost.
        wait_until(lambda: call(there, "/v1/release", token=token)[0] in (200, 404),
                   "the slot is released at the new master")
        # An acquire that Redis does not answer may have taken a slot: look until Redis answers.
        wait_until(lambda: held(here, "pair") == 1, "this node, too, asks the new master")
        self.assertTrue(acquire(here)["allowed"])
        self.assertFalse(acquire(there)["allowed"])


if __name__ == "__main__":
    main()
