"""A fleet whose rules adapt: one switch on all nodes, and no unit more for it."""

import collections
import unittest

import weir_server
from fleet import KEY, RESP_KEY, Fleet, health, resp_load
from redis_world import Redis
from weir_server import get, wait_until

NODES = 3
MODES = ("local", "strict", "leased")
LIMIT = 300
BURST = 100  # on each node
# Nothing is earned back while a test runs.
LONG = "8784h"
PATIENT = ("--redis-deadline", "2s")
# Before that, whatever comes looks like a burst; and the fleet's seconds are two behind.
WARM_S = 15


def config(dwell):
    """A rule for each mode, by its name, and one that never has a reason to switch."""
    rules = "".join(f"  - {{id: {mode}, algorithm: adaptive, limit: {LIMIT}, window: {LONG}, "
                    f"mode: {mode}}}\n" for mode in MODES)
    return f"""
adaptive: {{dwell: {dwell}}}
rules:
{rules}  - {{id: calm, algorithm: adaptive, limit: 1000000, window: {LONG}, mode: local}}
"""


def let_time_pass(fleet, seconds):
    """With a little traffic on one node, which is no reason to switch anything."""
    load = resp_load(fleet.nodes[0], ("WEIR.HIT", "calm", RESP_KEY), "--rate", 5, "--duration",
                     f"{seconds}s", "--connections", 1)
    load.result()


def start_burst(node, rule):
    return resp_load(node, ("WEIR.HIT", rule, RESP_KEY), "--requests", BURST, "--connections", 8)


def spent(node, rule, times):
    with node.client() as client:
        return sum(client.ask("WEIR.HIT", rule, KEY)[0] == 0 for _ in range(times))


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
        with Redis() as redis, Fleet([redis.url] * NODES, *PATIENT, config=config("5s")) as fleet:
            fleet.wait_until_shared()
            let_time_pass(fleet, WARM_S)
            loads = [(mode, start_burst(node, mode)) for node in fleet.nodes for mode in MODES]
            allowed = collections.Counter()
            for mode, load in loads:
                allowed[mode] += load.result()["allowed"]
            self.expect(fleet, "token_bucket", 1, instead_of="sliding_window")
            explained = ask(fleet.nodes[2], "/v1/explain?rule=strict&key=somebody")["applies"][0]
            self.assertEqual(explained["algorithm"], "adaptive")
            self.assertEqual(explained["following"]["algorithm"], "token_bucket")
            self.assertIn("burst ratio", explained["following"]["because"])
            self.expect(fleet, "sliding_window", 3, instead_of="token_bucket")
            for node in fleet.nodes:
                self.assertEqual(set(switches_in_log(node).values()), {1}, "each once")
                self.assertEqual(len(switches_in_log(node)), 2 * len(MODES))
                self.assertEqual(node.metric('weir_rule_switches_total{rule="strict"}'), 2)
            for mode in MODES:
                allowed[mode] += sum(spent(node, mode, LIMIT) for node in fleet.nodes)
            self.expect_no_more_than_the_limit(allowed)

    def expect(self, fleet, algorithm, number, instead_of):
        for node in fleet.nodes:
            for mode in MODES:
                node.wait_for_log(f"rule {mode} now follows {algorithm} instead of {instead_of}: "
                                  "burst ratio ")
        for node in fleet.nodes:
            self.assertEqual(last_switches(node), {mode: (algorithm, number) for mode in MODES})

    def expect_no_more_than_the_limit(self, allowed):
        print(f"\nadaptive, over two switches: {dict(allowed)} of {LIMIT}, local on each node")
        self.assertLessEqual(allowed["strict"], LIMIT)
        self.assertLessEqual(allowed["leased"], LIMIT)
        self.assertLessEqual(allowed["local"], LIMIT * NODES)
        # A switch rounds up what is spent, to a unit. Leases may be out.
        self.assertGreaterEqual(allowed["strict"], LIMIT - 2)
        self.assertGreaterEqual(allowed["local"], (LIMIT - 2) * NODES)


class Apart(unittest.TestCase):
    def test_nodes_adapt_by_their_own_figures_while_redis_is_away_and_agree_afterwards(self):
        with Redis() as redis, Fleet([redis.url] * 2, *PATIENT, config=config("1h")) as fleet:
            fleet.wait_until_shared()
            first, second = fleet.nodes
            redis.kill()
            let_time_pass(fleet, WARM_S)
            for node in fleet.nodes:
                self.assertEqual(health(node)["redis"], "disconnected")
            start_burst(first, "local").result()
            first.wait_for_log("rule local now follows token_bucket")
            self.assertEqual(last_switches(first), {"local": ("token_bucket", 1)})
            self.assertEqual(last_switches(second), {})
            redis.start()
            second.wait_for_log("rule local now follows token_bucket")
            wait_until(lambda: last_switches(first) == last_switches(second), "they agree")
            self.assertEqual(sum(switches_in_log(first).values()), 1)
            # A Redis that has lost all is told again, and tells it to a node that comes later.
            redis.ask("FLUSHALL")
            with Fleet([redis.url], *PATIENT, config=config("1h")) as late:
                late.nodes[0].wait_for_log("rule local now follows token_bucket")


if __name__ == "__main__":
    weir_server.main_side_by_side()
