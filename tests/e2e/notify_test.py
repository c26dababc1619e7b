#!/usr/bin/python3
"""Keys near their limits (notify_at): one event over all nodes, in a log, a list and a webhook."""

import json
import unittest

from fleet import Fleet
from origin_server import serving
from redis_world import Redis, Sentinels
from webhook_receiver import WebhookReceiver
from weir_server import Weir, get, main, wait_until

# Nothing is earned back while a test runs.
CONFIG = """
unusual_traffic: {webhook: "http://127.0.0.1:PORT/"}
show_keys: SHOWN
rules:
  - {id: strict, algorithm: fixed_window, limit: 100, window: 8784h, mode: strict, notify_at: PARTS}
  - {id: leased, algorithm: fixed_window, limit: 100, window: 8784h, mode: leased, notify_at: PARTS}
  - {id: async, algorithm: fixed_window, limit: 100, window: 8784h, mode: async, notify_at: PARTS}
  - {id: local, algorithm: fixed_window, limit: 100, window: 8784h, mode: local, notify_at: PARTS}
"""


class Receiver(WebhookReceiver):
    """A webhook that keeps what it gets."""

    def __init__(self):
        super().__init__()
        self.events = []

    def take(self, path, headers, event):
        self.events.append(event)
        return 204

    def posted(self, rule, key):
        """The parts of which it was told."""
        return [event["percent"] for event in self.events
                if event["rule"] == rule and key in [one.get("key") for one in event["keys"]]]


def config(receiver, parts="[100%, 80%]", shown="true"):
    return (CONFIG.replace("PORT", str(receiver.server_port)).replace("PARTS", parts)
            .replace("SHOWN", shown))


def spend(node, rule, key, cost):
    with node.connect() as connection:
        return connection.check(rule=rule, key=key, cost=cost)


def listed(node):
    with node.connect() as connection:
        return connection.ask(get("/admin/events")).json()["events"]


class NotifyTest(unittest.TestCase):
    def setUp(self):
        self.receiver = self.enterContext(serving(Receiver()))

    def fleet_at(self, *urls, **options):
        fleet = self.enterContext(Fleet(urls, "--sync-interval", "100ms", "--redis-deadline", "2s",
                                        config=config(self.receiver, **options)))
        fleet.wait_until_shared()
        return fleet

    def reach(self, nodes, rule, key, part=80):
        """Each node sees the key there. Then no node has an older notice that nobody answered."""
        spend(nodes[0], rule, key, part)
        for node in nodes:
            wait_until(lambda: spend(node, rule, key, 0)["remaining"] <= 100 - part,
                       "all nodes know what is left")
            spend(node, rule, key, 1)
        for i, node in enumerate(nodes):
            spend(node, rule, f"{key}-after-{i}", 80)
            wait_until(lambda: self.receiver.posted(rule, f"{key}-after-{i}") == [80],
                       "later notices are told")

    def test_two_nodes_tell_once(self):
        redis = self.enterContext(Redis())
        nodes = self.fleet_at(redis.url, redis.url).nodes
        for rule in ("strict", "leased", "async"):
            with self.subTest(rule):
                self.reach(nodes, rule, "alice")
                # Of mode leased 100 may be there already: what nodes hold counts as used.
                self.assertEqual(self.receiver.posted(rule, "alice").count(80), 1)
                own = [event["percent"] for node in nodes for event in listed(node)
                       if event["rule"] == rule and event["keys"][0].get("key") == "alice"]
                self.assertEqual(own.count(80), 1)
                spend(nodes[1], rule, "alice", 18)
                wait_until(lambda: 100 in self.receiver.posted(rule, "alice"),
                           "the other part is told")
                self.assertEqual(sorted(self.receiver.posted(rule, "alice")), [80, 100])

    def test_after_a_failover_they_go_on(self):
        world = self.enterContext(Sentinels())
        fleet = self.fleet_at(world.url, world.url)
        self.reach(fleet.nodes, "strict", "alice")
        world.master.kill()
        wait_until(world.replica.is_master, "the replica takes over")
        fleet.wait_until_shared()
        self.reach(fleet.nodes, "strict", "bob")
        self.assertEqual(self.receiver.posted("strict", "bob"), [80])
        self.assertEqual(self.receiver.posted("strict", "alice"), [80])

    def test_a_node_alone_says_it_in_its_log_too(self):
        weir = self.enterContext(Weir(config=config(self.receiver, parts="80%")))
        spend(weir, "local", "al\x1bice", 80)
        weir.wait_for_log('limits of rule local: key "al?ice" has reached 80%: 80 of 100 per 366d')
        wait_until(lambda: self.receiver.posted("local", "al\x1bice") == [80], "it is posted")
        event = self.receiver.events[0]
        self.assertEqual((event["event"], event["limit"], event["keys"][0]["count"]),
                         ("limit", 100, 80))

    def test_a_key_is_hidden_where_keys_are(self):
        weir = self.enterContext(Weir(config=config(self.receiver, parts="80%", shown="false")))
        spend(weir, "local", "alice", 80)
        wait_until(lambda: self.receiver.events, "it is posted")
        self.assertEqual(set(self.receiver.events[0]["keys"][0]), {"hash", "count"})
        self.assertNotIn("alice", json.dumps(self.receiver.events))
        self.assertNotIn("alice", weir.log())


if __name__ == "__main__":
    main()
