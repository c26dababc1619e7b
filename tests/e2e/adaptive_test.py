"""A fleet whose rules adapt: one switch on all nodes, and no unit more for it."""

import collections
import unittest

import weir_server
from fleet import KEY, RESP_KEY, Fleet, health, resp_load
from redis_world import Redis
from weir_server import get, wait_until

NODES = 3
MODE = "local"
LIMIT = 300
BURST = 100  # on each node
# Nothing is earned back while a test runs.
LONG = "8784h"
PATIENT = ("--redis-deadline", "2s")
# Before that, whatever comes looks like a burst; and the fleet's seconds are two behind.
WARM_S = 15


def config(dwell, mode):
    return f"""
adaptive: {{dwell: {dwell}}}
rules:
  - {{id: api, algorithm: adaptive, limit: {LIMIT}, window: {LONG}, mode: {mode}}}
  - {{id: calm, algorithm: adaptive, limit: 1000000, window: {LONG}, mode: local}}
"""


def let_time_pass(fleet, seconds):
    """With a little traffic on one node, which is no reason to switch anything."""
    load = resp_load(fleet.nodes[0], ("WEIR.HIT", "calm", RESP_KEY), "--rate", 5, "--duration",
                     f"{seconds}s", "--connections", 1)
    load.result()


def start_burst(node):
    return resp_load(node, ("WEIR.HIT", "api", RESP_KEY), "--requests", BURST, "--connections", 8)


def spent(node, times):
    with node.client() as client:
        return sum(client.ask("WEIR.HIT", "api", KEY)[0] == 0 for _ in range(times))


def ask(node, path):
    with node.connect() as connection:
        return connection.ask(get(path)).json()


def last_switches(node):
    """The algorithm of each rule that has ever switched, and the number of the switch."""
    return {one["rule"]: (one["algorithm"], one["number"])
            for one in ask(node, "/metrics")["switches"]}


def switches_in_log(node):
    return collections.Counter(
        line.split("rule ", 1)[1].split(":")[0]
        for line in node.log().splitlines() if " now follows " in line)


class Together(unittest.TestCase):
    def test_a_burst_switches_once_on_all_nodes_and_back_once_and_grants_nothing(self):
        with Redis() as redis, \
                Fleet([redis.url] * NODES, *PATIENT, config=config("5s", MODE)) as fleet:
            fleet.wait_until_shared()
            let_time_pass(fleet, WARM_S)
            allowed = sum(load.result()["allowed"]
                          for load in [start_burst(node) for node in fleet.nodes])
            for node in fleet.nodes:
                node.wait_for_log("rule api now follows token_bucket instead of sliding_window: "
                                  "burst ratio ")
            for node in fleet.nodes:
                self.assertEqual(last_switches(node), {"api": ("token_bucket", 1)})
                explained = ask(node, "/v1/explain?rule=api&key=somebody")["applies"][0]
                self.assertEqual(explained["algorithm"], "adaptive")
                self.assertEqual(explained["following"]["algorithm"], "token_bucket")
                self.assertIn("burst ratio", explained["following"]["because"])
            for node in fleet.nodes:
                node.wait_for_log("rule api now follows sliding_window instead of token_bucket")
            for node in fleet.nodes:
                self.assertEqual(last_switches(node), {"api": ("sliding_window", 3)})
                self.assertEqual(switches_in_log(node), {
                    "api now follows token_bucket instead of sliding_window": 1,
                    "api now follows sliding_window instead of token_bucket": 1})
                self.assertEqual(node.metric('weir_rule_switches_total{rule="api"}'), 2)
            allowed += sum(spent(node, LIMIT) for node in fleet.nodes)
            limit = LIMIT if MODE != "local" else LIMIT * NODES
            print(f"\nadaptive, {MODE}: {allowed} of {limit} over two switches")
            self.assertLessEqual(allowed, limit)
            # A switch rounds up: to less than a unit for each.
            self.assertGreaterEqual(allowed, limit - 2 * NODES)


class Apart(unittest.TestCase):
    def test_nodes_adapt_by_their_own_figures_while_redis_is_away_and_agree_afterwards(self):
        with Redis() as redis, \
                Fleet([redis.url] * 2, *PATIENT, config=config("1h", "local")) as fleet:
            fleet.wait_until_shared()
            first, second = fleet.nodes
            redis.kill()
            let_time_pass(fleet, WARM_S)
            for node in fleet.nodes:
                self.assertEqual(health(node)["redis"], "disconnected")
            start_burst(first).result()
            first.wait_for_log("rule api now follows token_bucket")
            self.assertEqual(last_switches(first), {"api": ("token_bucket", 1)})
            self.assertEqual(last_switches(second), {})
            redis.start()
            second.wait_for_log("rule api now follows token_bucket")
            wait_until(lambda: last_switches(first) == last_switches(second), "they agree")
            self.assertEqual(sum(switches_in_log(first).values()), 1)
            # A Redis that has lost all is told again, and tells it to a node that comes later.
            redis.ask("FLUSHALL")
            with Fleet([redis.url], *PATIENT, config=config("1h", "local")) as late:
                late.nodes[0].wait_for_log("rule api now follows token_bucket")


if __name__ == "__main__":
    weir_server.main()
