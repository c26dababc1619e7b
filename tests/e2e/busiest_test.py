"""The busiest keys, at one node and of three nodes that share a Redis."""

import contextlib
import json
import os
import unittest

from fleet import admin, is_shared
from redis_world import Redis
from resp_client import RespWeir
from weir_server import Weir, get, main_side_by_side, run_weir, wait_until

IS_LONG = os.environ.get("WEIR_TESTS") == "long"
TOKEN = "a-token-of-the-busiest-test"
BEARER = f"Authorization: Bearer {TOKEN}\r\n"
CONFIG = """
rules:
  - {id: api, limit: 10, window: 8784h, algorithm: fixed_window}
  - {id: here, limit: 10, window: 8784h}
"""
SHARED = "weir:{fleet}:busiest"


def ask(node, query, fields=BEARER):
    with node.connect() as connection:
        return connection.ask(get(f"/admin/busiest?{query}", fields))


def busiest(node, query="rule=api"):
    reply = ask(node, query)
    assert reply.status == 200, reply.text
    return reply.json()


def spend(node, times, key):
    """On connections of their own, so that both cores get some."""
    for _ in range(times):
        node.check(rule="api", key=key)


class OneNode(unittest.TestCase):
    def weir(self, *arguments):
        return self.enterContext(Weir("--threads", "2", *arguments, config=CONFIG,
                                      environment={"WEIR_ADMIN_TOKEN": TOKEN}))

    def test_the_command_shows_them(self):
        weir = self.weir("--show-keys")
        spend(weir, 15, "alice")
        spend(weir, 5, "b\x1b[31mob")
        def command(rule, *arguments, token=TOKEN):
            return run_weir("busiest", "--server", weir.url, "--rule", rule, *arguments,
                            environment={"WEIR_ADMIN_TOKEN": token})

        self.assertEqual(command("api"), (0, "   requests  share  key\n"
                                             "         15   75 %  alice\n"
                                             "          5   25 %  b?[31mob\n", ""))
        self.assertIn("  5  100 %  alice\n", command("api", "--by", "denied")[1])
        self.assertEqual(json.loads(command("api", "--json")[1])["total"], 20)
        code, said, wrong = command("api&limit=0")  # one id, which no rule has
        self.assertEqual((code, said), (2, ""))
        self.assertIn("rule", wrong)
        self.assertEqual(command("api", token="wrong-and-long-enough")[:2], (2, ""))

class ThreeNodes(unittest.TestCase):
    def setUp(self):
        self.redis = self.enterContext(Redis())

    def nodes(self, *arguments):
        """Three nodes of two cores each; `arguments`: of each."""
        stack = self.enterContext(contextlib.ExitStack())
        options = ("--redis", self.redis.url, "--redis-deadline", "2s")
        nodes = [stack.enter_context(RespWeir(*options, *more, threads=2, config=CONFIG))
                 for more in arguments]
        wait_until(lambda: all(is_shared(node, len(nodes)) for node in nodes), "all nodes share")
        return nodes

    def wait_for_total(self, node, total, query="rule=api"):
        wait_until(lambda: busiest(node, query)["total"] == total,
                   f"{total} in all: {busiest(node, query)}")
        return busiest(node, query)

    def test_each_node_shows_the_sum_of_all(self):
        nodes = self.nodes((), ("--show-keys",), ())
        for node, times in zip(nodes, (20, 10, 1)):
            spend(node, times, "alice")
        spend(nodes[2], 7, "bob")
        for number, node in enumerate(nodes):
            said = self.wait_for_total(node, 38)
            self.assertEqual([key["count"] for key in said["keys"]], [31, 7])
            self.assertEqual(sorted(one["total"] for one in said["nodes"]), [8, 10, 20])
            self.assertEqual(sorted(one["count"] for one in said["keys"][0]["nodes"]), [1, 10, 20])
            # Another node's keys are shown only where this node shows keys, too.
            self.assertEqual(said["keys"][0].get("key"), "alice" if number == 1 else None)
            denied = self.wait_for_total(node, 21, "rule=api&by=denied")
            self.assertEqual([key["count"] for key in denied["keys"]], [21])
            self.assertEqual(len(busiest(node, "rule=api&scope=node")["nodes"]), 1)
        self.assertEqual(nodes[0].stop(), 0)
        for node in nodes[1:]:
            self.wait_for_total(node, 18)

    def test_keys_stay_in_the_node_that_hides_them(self):
        nodes = self.nodes((), (), ())
        for node in nodes:
            spend(node, 2, "alice-in-clear")
        for node in nodes:
            self.wait_for_total(node, 6)
        held = b"".join(self.redis.ask("HGETALL", SHARED))
        self.assertIn(b" 1\x03api\x02", held)
        self.assertNotIn(b"alice", held)

    def test_what_others_write_there_changes_nothing_but_what_they_say(self):
        nodes = self.nodes((), (), ())
        spend(nodes[0], 3, "alice")
        alice = busiest(nodes[0])["keys"][0]["hash"]
        seconds = int(self.redis.ask("TIME")[0])
        # 900 times alice (busiest_field.h).
        lie = (b" 1\x03api\x84\x07\0\x01\x01" + int(alice, 16).to_bytes(8, "little") +
               b"\x84\x07\x84\x07\0" b"\0\0\x01\0")
        soon, now = b"%d" % (seconds + 5), b"%d" % seconds
        self.redis.ask("HSET", SHARED, "liar", soon + lie, "old", b"1" + lie,
                       "cut", soon + lie[:-3], "none", "", "binary", b"\xff\0\r\n",
                       "later", b"9" * 400 + lie, "long", now + b" " + b"x" * 100_000,
                       "n" * 100, now + lie, b"\xff", now + lie)
        said = self.wait_for_total(nodes[1], 1803)
        key = said["keys"][0]
        self.assertEqual(key["hash"], alice)
        self.assertEqual(sorted(one["count"] for one in key["nodes"]), [3, 900, 900])
        self.assertEqual(busiest(nodes[1], "rule=api&scope=node")["total"], 0)
        held = self.redis.ask("HKEYS", SHARED)
        for gone in (b"old", b"none", b"binary", b"later", b"long", b"n" * 100):
            self.assertNotIn(gone, held)
        for number in range(4100):
            self.redis.ask("HSET", SHARED, str(number), b"%d" % (seconds + 10) + lie)
        self.wait_for_total(nodes[1], 3)

    @unittest.skipUnless(IS_LONG, "only ./dev test --long")
    def test_a_key_of_another_type_stops_nothing_else(self):
        nodes = self.nodes((), (), ())
        spend(nodes[0], 3, "alice")
        self.redis.ask("SET", SHARED, "something else", "EX", "3600")
        for node in nodes:
            wait_until(lambda: "WRONGTYPE" in busiest(node).get("trouble", ""), "it is named")
        self.assertEqual(self.redis.ask("GET", SHARED), b"something else")
        admin(nodes[0], "/admin/blocks", rule="here", key="mallory", **{"for": "5m"})
        for node in nodes:
            wait_until(lambda: not node.check(rule="here", key="mallory", cost=0)["allowed"],
                       "the block has come")
        self.redis.ask("DEL", SHARED)
        for node in nodes:
            self.wait_for_total(node, 3)
            wait_until(lambda: "trouble" not in busiest(node), "it goes on")

    @unittest.skipUnless(IS_LONG, "only ./dev test --long")
    def test_a_user_who_may_not_write_it_is_named_and_does_all_else(self):
        self.redis.ask("ACL", "SETUSER", "weir", "on", ">secret", "~weir:*", "+@all",
                       "-hset", "-hkeys")
        url = self.redis.url.replace("redis://", "redis://weir:secret@")
        stack = self.enterContext(contextlib.ExitStack())
        node = stack.enter_context(RespWeir("--redis", url, threads=2, config=CONFIG))
        wait_until(lambda: is_shared(node, 1), "it shares")
        wait_until(lambda: "trouble" in busiest(node), "it is named")
        spend(node, 1, "alice")
        self.assertEqual(busiest(node)["total"], 1)


if __name__ == "__main__":
    main_side_by_side()
