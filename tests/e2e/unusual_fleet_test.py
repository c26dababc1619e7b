"""Unusual traffic of a fleet: all nodes find it in the sums, and one posts it."""

import unittest

from fleet import Fleet, http_load, metrics
from origin_server import serving
from redis_world import Redis
from webhook_receiver import WebhookReceiver
from weir_server import DEADLINE_S, get, main, wait_until

CONFIG = """
unusual_traffic: {learn: 1s, webhook: "http://127.0.0.1:PORT/"}
rules:
  - {id: login, limit: 1000000, window: 1m, mode: local}
"""


def begun(node):
    with node.connect() as connection:
        events = connection.ask(get("/admin/events")).json()["events"]
    return [event for event in events if event["event"] == "began"]


class UnusualTrafficOfAFleet(unittest.TestCase):
    def load(self, node, rate):
        """Goes on until its block ends."""
        return http_load(node, "--rule", "login", "--connections", 1, "--rate", rate,
                         "--duration", f"{4 * DEADLINE_S}s")

    def test_all_nodes_find_what_one_of_them_serves(self):
        port = self.enterContext(serving(WebhookReceiver())).server_port
        redis = self.enterContext(Redis())
        fleet = self.enterContext(
            Fleet([redis.url] * 2, config=CONFIG.replace("PORT", str(port))))
        wait_until(lambda: all((said["scope"], said["nodes"]) == ("fleet", 2)
                               for said in map(metrics, fleet.nodes)), "all count all")
        with self.load(fleet.nodes[0], rate=10), self.load(fleet.nodes[1], rate=10):
            # No second of the last ten is unknown, so they have learned from seven.
            wait_until(lambda: all(metrics(node)["req_per_sec"] > 18 for node in fleet.nodes),
                       "all have seen ten seconds of it")
        self.assertEqual([begun(node) for node in fleet.nodes], [[], []])

        with self.load(fleet.nodes[0], rate=400):
            for node in fleet.nodes:
                node.wait_for_log("unusual traffic of rule login since")
        wait_until(lambda: sum(node.metric("weir_webhook_delivered_total")
                               for node in fleet.nodes) > 0, "one node posts it")
        self.assertEqual(sum(node.metric("weir_webhook_delivered_total")
                             for node in fleet.nodes), 1)
        one, other = (begun(node) for node in fleet.nodes)
        self.assertEqual(one[0]["since"], other[0]["since"])


if __name__ == "__main__":
    main()
