#!/usr/bin/python3
"""Nodes have slots on lease from one Redis: never more tokens are good than the limit says."""

import contextlib
import signal
import threading
import time
import unittest

from fleet import Fleet
from redis_world import Behaviour, Proxy, Redis, Sentinels
from slot_callers import HOLD_S, LIMIT, ByGrpc, ByHttp, ByResp, Caller, Log, acquire, call, held, \
    wait_for_all_slots, wait_for_streams
from weir_server import main, wait_until

LEASE_S = 3
PATIENT = ("--redis-deadline", "2s", "--sync-interval", "1s")
CONFIG = f"""
rules:
  - {{id: streams, of: concurrency, limit: {LIMIT}, mode: leased}}
  - {{id: pair, of: concurrency, limit: 2, mode: leased}}
  - {{id: open, of: concurrency, limit: 2, mode: leased, on_store_failure: allow}}
"""


def calls_of(redis):
    said = redis.info("cmdstat_evalsha")
    return int(said.partition("calls=")[2].partition(",")[0])


def release(node, token):
    return call(node, "/v1/release", token=token)[0]


def token_of(node, **more):
    """As soon as there is one: at first, Redis waits for a lease before it lends anything."""
    found = []

    def is_there():
        said = acquire(node, **more)
        assert said["allowed"] or said["retry_after"] > 0, said
        found.append(said.get("token"))
        return found[-1]

    wait_until(is_there, "there is a slot")
    return found[-1]


class LentSlotsTest(unittest.TestCase):
    def start(self, *urls):
        fleet = self.enterContext(Fleet(urls, *PATIENT, config=CONFIG))
        fleet.wait_until_shared()
        self.assertEqual(release(fleet.nodes[0], token_of(fleet.nodes[0], key="first")), 200)
        return fleet.nodes

    def test_never_more_than_the_limit_while_nodes_die_stand_still_and_are_cut_off(self):
        redis = self.enterContext(Redis())
        path = self.enterContext(Proxy(redis.port))
        nodes = self.start(redis.url, path.url, *[redis.url] * 3)
        good, cut, stops, *dying = nodes
        log, goal, calm = Log(), threading.Event(), threading.Event()
        # More than twice as many as there are slots are wanted. While it is calm, few are on their
        # way from one to another, so that one too many would be seen.
        callers = [Caller((ByHttp, ByResp, ByGrpc)[number % 3], nodes[number % 5], [good, cut], log,
                          goal, number, elsewhere=0.02, dies=0.001, may_end=True, most=6,
                          ends=0.2, calm=calm) for number in range(15)]
        self.addCleanup(goal.set)
        spent = []  # calls, streams and seconds, while it is not calm

        def go_on(streams, seconds=0):
            calls, begun, since = calls_of(redis), len(log.streams), time.monotonic()
            wait_for_streams(log, streams, seconds)
            spent.append((calls_of(redis) - calls, len(log.streams) - begun,
                          time.monotonic() - since))
            wait_for_all_slots(log, calm)

        for caller in callers:
            caller.start()
        go_on(2000)
        dying[0].process.kill()
        go_on(1000)
        stops.signal(signal.SIGSTOP)
        go_on(1000, seconds=5)
        stops.signal(signal.SIGCONT)
        go_on(1000)
        path.behave(Behaviour.CUT)
        go_on(1000, seconds=LEASE_S + 1)
        path.behave(Behaviour.PASS)
        dying[1].process.kill()
        go_on(max(1000, 10_000 - len(log.streams)))
        goal.set()
        for caller in callers:
            caller.join()
        over = time.monotonic()
        calls, streams, seconds = map(sum, zip(*spent, strict=True))

        print(f"{len(log.streams)} streams, at most {log.most_at_once()} at once, "
              f"{calls / streams:.3f} calls a stream, {calls / seconds:.1f} calls a second, "
              f"{sum(one.late for one in callers)} releases too late")

        self.assertEqual(log.most_at_once(), LIMIT)
        self.assertGreater(sum(caller.failures for caller in callers), 0)
        # A node that has no slot asks as often, however few streams a busy machine lets through.
        self.assertLess(calls, max(0.1 * streams, 15 * len(nodes) * seconds))
        wait_until(lambda: held(good, "streams") == 0, "all slots are back")
        self.assertLess(time.monotonic() - over, HOLD_S + LEASE_S + 2)
        tokens = []
        wait_until(lambda: tokens.append(acquire(stops, rule="streams").get("token")) or
                   len(set(tokens) - {None}) == LIMIT, "a lone busy node has all slots")
        self.assertNotIn("token", acquire(good, rule="streams"))

    def test_any_node_releases_through_the_one_that_has_lent(self):
        redis = self.enterContext(Redis())
        here, there = self.start(redis.url, redis.url)
        first, second = token_of(here), token_of(there)
        self.assertNotIn("token", acquire(here))
        self.assertEqual(held(there, "pair"), 2)
        self.assertEqual(release(there, first), 200)
        self.assertEqual(release(there, first), 404)
        third = token_of(there)  # soon
        self.assertEqual(release(here, first), 404)
        with there.client() as client:
            self.assertEqual(client.ask("WEIR.RELEASE", second), 1)
            numbers, fourth = client.ask("WEIR.ACQUIRE", "pair", "a", "30s")
            self.assertEqual(numbers[:3], [0, 2, 0])
        for token in (third, fourth.decode()):
            self.assertEqual(release(there, token), 200)

    def test_tokens_that_are_no_slots_free_nothing(self):
        redis = self.enterContext(Redis())
        here, there = self.start(redis.url, redis.url)
        token = token_of(here)
        forged = token[:-1] + ("0" if token[-1] != "0" else "1")
        for node in (here, there):
            for wrong in (forged, token[:-32], token + token):
                self.assertEqual(release(node, wrong), 404)
            self.assertEqual(call(node, "/v1/commit", token=token, cost=9)[0], 404)
        self.assertEqual(held(there, "pair"), 1)

    def test_without_redis_a_node_lives_on_what_it_has_until_its_lease_ends(self):
        redis = self.enterContext(Redis())
        here, there = self.start(redis.url, redis.url)
        token, other = token_of(here), token_of(here)
        redis.kill()
        self.assertEqual(release(there, other), 503)
        self.assertEqual(release(here, other), 200)
        self.assertEqual(release(here, acquire(here)["token"]), 200)
        wait_until(lambda: release(here, token_or_nothing(here)) != 200, "the lease has ended")
        self.assertEqual(release(here, token), 404)
        denial = acquire(here)
        self.assertFalse(denial["allowed"] or "token" in denial)
        for _ in range(3):
            free = acquire(here, "b", "open")
            self.assertEqual((free["allowed"], free["mode"]), (True, "local"))
        self.assertEqual(release(here, free["token"]), 200)

    def test_a_failover_grants_nothing_above_the_limit(self):
        world = self.enterContext(Sentinels())
        here, there = self.start(world.url, world.url)
        tokens = [(node, token_of(node)) for node in (here, there)]
        world.master.kill()
        until = time.monotonic() + 2 * LEASE_S
        while time.monotonic() < until or len(tokens) == 2:
            for node in (here, there):
                token = acquire(node).get("token")
                if token:
                    tokens.append((node, token))
            self.assertLess(time.monotonic(), until + 30, "the new master lends slots")
            if time.monotonic() >= until and tokens[:2] == tokens:
                # Perhaps both are good still; else their callers are told.
                tokens = [(node, token) for node, token in tokens if release(node, token) != 200]
                tokens += [None] * (2 - len(tokens))
        good = [token for token in tokens if token and release(*token) == 200]
        self.assertLessEqual(len(good), 2)


def token_or_nothing(node):
    return acquire(node).get("token", "0" * 32)


if __name__ == "__main__":
    main()
