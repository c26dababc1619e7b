#!/usr/bin/python3
"""Three nodes lose their Redis and get it back: what they admit alone, and that they say so."""

import contextlib
import functools
import json
import unittest

from admin_commands_test import command
from fleet import KEY, Fleet, health, is_shared
from redis_world import Behaviour, Proxy, Redis
from weir_server import main, post, wait_until

NODES = 3
MODES = ("strict", "leased", "async")
LIMIT = 500
# Nothing is earned back while a test runs.
LONG_S = 366 * 24 * 3600
CHECK = {"key": KEY, "limit": LIMIT, "window": LONG_S, "algorithm": "token_bucket"}
# A test machine may be busy: here only a lost connection is an outage.
PATIENT = ("--redis-deadline", "2s")
RULES = """
rules:
  - {id: own, limit: 9, window: 1h, mode: local}
  - {id: denies, limit: 9, window: 1h, on_store_failure: deny}
  - {id: lets, limit: 9, window: 1h, on_store_failure: allow}
  - {id: counts, limit: 9, window: 1h, more_limits: [{limit: 5, window: 1m}]}
"""
# What a node admits alone, rounded down.
SHARE = LIMIT // NODES


def by_http(node, times, **changes):
    """Whether each of so many checks is allowed, one after the other."""
    with node.connect() as connection:
        for _ in range(times):
            yield connection.check(**CHECK | changes)["allowed"]


def by_throttle(node, times):
    with node.client() as client:
        for _ in range(times):
            yield client.ask("CL.THROTTLE", KEY, LIMIT - 1, LIMIT, LONG_S)[0] == 0


@contextlib.contextmanager
def fleet_behind_a_proxy(mode):
    with Redis() as redis, Proxy(redis.port) as proxy, \
            Fleet([proxy.url] * NODES, "--mode", mode, *PATIENT) as fleet:
        fleet.wait_until_shared()
        yield fleet, proxy


def cut(fleet, proxy):
    proxy.behave(Behaviour.CUT)
    for node in fleet.nodes:
        wait_until(lambda: health(node)["redis"] == "disconnected", "it is noticed")


def restore(fleet, proxy):
    proxy.behave(Behaviour.PASS)
    for node in fleet.nodes:
        wait_until(lambda: is_shared(node, NODES), "the node shares again")


def use_up(nodes, door):
    """All nodes ask in turn: how much they admit, of mode leased less what is held."""
    asked = [door(node, SHARE + 1) for node in nodes]
    return sum(sum(answers) for answers in zip(*asked))


class Outage(unittest.TestCase):
    def test_a_bucket_that_is_used_up_is_not_nearly_full_again(self):
        for mode in MODES:
            for door in (by_http, by_throttle):
                with self.subTest(mode, door=door.__name__), \
                        fleet_behind_a_proxy(mode) as (fleet, proxy):
                    together = use_up(fleet.nodes, door)
                    cut(fleet, proxy)
                    alone = sum(sum(door(node, LIMIT)) for node in fleet.nodes)
                    print(f"\n{mode}, {door.__name__}: {together} of {LIMIT} together, "
                          f"{alone} more alone")
                    self.assertGreaterEqual(together, 0.9 * LIMIT)
                    self.assertLessEqual(together + alone, LIMIT + NODES)  # by rounding

    def test_what_one_node_has_used_up_the_others_do_not_admit_again(self):
        for mode in ("strict", "leased"):  # a node of mode async asks at its next sync
            for algorithm in ("token_bucket", "sliding_window", "fixed_window"):
                with self.subTest(mode, algorithm=algorithm), \
                        fleet_behind_a_proxy(mode) as (fleet, proxy):
                    busy, *others = fleet.nodes
                    ask = functools.partial(by_http, algorithm=algorithm)
                    together = sum(ask(busy, LIMIT + 1))
                    together += sum(sum(ask(node, 3)) for node in others)
                    cut(fleet, proxy)
                    # Nodes remember for a second that Redis denied a cost of 1.
                    alone = sum(2 * sum(ask(node, LIMIT, cost=2)) for node in fleet.nodes)
                    print(f"\n{mode}, {algorithm}: {together} of {LIMIT} by one node, "
                          f"{alone} more alone")
                    self.assertGreaterEqual(together, 0.9 * LIMIT)
                    self.assertLessEqual(together + alone, LIMIT)

    def test_what_was_admitted_alone_counts_when_redis_is_back(self):
        for mode in ("strict", "leased"):  # async lets pass what comes in an interval
            with self.subTest(mode), fleet_behind_a_proxy(mode) as (fleet, proxy):
                cut(fleet, proxy)
                alone = sum(sum(by_http(node, LIMIT)) for node in fleet.nodes)
                self.assertEqual(alone, NODES * SHARE)
                restore(fleet, proxy)
                together = sum(sum(by_http(node, LIMIT)) for node in fleet.nodes)
                print(f"\n{mode}: {alone} alone, {together} more together, of {LIMIT}")
                self.assertEqual(alone + together, LIMIT)

    def test_what_was_admitted_before_the_first_connection_counts(self):
        for mode in MODES:
            with self.subTest(mode), Redis() as redis, Proxy(redis.port) as proxy:
                proxy.behave(Behaviour.CUT)
                with Fleet([proxy.url], "--mode", mode, *PATIENT) as fleet:
                    alone = sum(by_http(fleet.nodes[0], SHARE))
                    self.assertEqual(alone, SHARE)
                    proxy.behave(Behaviour.PASS)
                    fleet.wait_until_shared()
                    self.assertEqual(sum(by_http(fleet.nodes[0], LIMIT)), LIMIT - alone)

    def test_an_answer_of_a_node_alone_says_so(self):
        with fleet_behind_a_proxy("strict") as (fleet, proxy):
            node = fleet.nodes[0]
            ask = post("/check", json.dumps(CHECK).encode())
            with node.connect() as connection:
                shared = connection.ask(ask)
                self.assertNotIn("mode", shared.json())
                cut(fleet, proxy)
                fallbacks = node.metric("weir_store_fallbacks_total")
                alone = connection.ask(ask)
            self.assertEqual(alone.json()["mode"], "local")
            self.assertIn("X-Weir-Mode: local", alone.head)
            self.assertEqual(node.metric("weir_store_fallbacks_total"), fallbacks + 1)

    def test_an_explanation_says_what_the_rule_does_without_redis(self):
        with Redis() as redis, Proxy(redis.port) as proxy, \
                Fleet([proxy.url] * NODES, *PATIENT, config=RULES) as fleet:
            fleet.wait_until_shared()
            said = lambda rule: command(fleet.nodes[0], "explain", KEY, "--rule", rule).out
            self.assertRegex(said("own"), "mode local, on this node alone\n  at worst 42 above")
            self.assertEqual(said("denies"), "denies: allowed now, 9 of 9 left by sliding_window "
                             "of 1h, mode strict\n"
                             "  at worst 8 above the limit, or denied 9 below it\n"
                             "  at this moment at most 0 over, as nodes share it\n")
            self.assertIn("9 of 9 left by sliding_window of 1h and 5 of 5 left by sliding_window "
                          "of 1m, mode strict\n", said("counts"))
            cut(fleet, proxy)
            away = "Redis has not answered and on_store_failure is "
            self.assertEqual(said("denies"), "denies: denied now (store_failure), "
                             f"{away}deny\n"
                             "  at this moment at most 0 over, as nodes share it\n")
            self.assertEqual(said("lets"), "lets: allowed now (store_failure), "
                             f"{away}allow\n"
                             "  nobody knows how far over at this moment, as a node is silent "
                             "or without Redis, and may count alone\n")
            # Of the limit of 5 in a minute: each of the other nodes may admit 5 + 4.
            over = (NODES - 1) * (5 + 4)
            self.assertRegex(said("counts"), f"now, {away}local, 3 of 3 .* 1 of 1 .* mode strict, "
                             "on this node alone\n"
                             f"  at this moment at most {over} over, as a node is silent or "
                             "without Redis, and may count alone\n$")


if __name__ == "__main__":
    main()
