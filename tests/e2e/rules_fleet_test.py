"""Rules that requests change on one node of three, and where they hold."""

import concurrent.futures
import json
import signal
import socket
import time
import unittest

import weir_server
from fleet import Fleet
from redis_world import Behaviour, Proxy, Redis
from resp_client import RespWeir
from rules_test import ask, request
from weir_server import get, wait_until

CONFIG = """
rules:
  - {id: api, limit: 1000, window: 365d}
  - {id: other, limit: 5, window: 1m}
"""
KEY = "weir:{fleet}:rules"
OTHER_FILE = "its file has other rules than the file they were made on"
UNHEARD = "it has not heard of them: Redis is away, or does not take them"


def put(node, limit, query=""):
    rule = {"id": "api", "limit": limit, "window": "365d"}
    return ask(node, request("PUT", "/admin/rules/api" + query, rule))


def limit_of(node):
    return ask(node, get("/admin/rules/api")).json()["rule"]["limit"]


def hold(node):
    return ask(node, get("/admin/stats")).json()["shared_store"]["rules"]


def reasons(said):
    return sorted(node["why_not"] or "" for node in said["nodes"])


def wait_for(nodes, limit):
    wait_until(lambda: [limit_of(node) for node in nodes] == [limit] * len(nodes),
               f"the limit is {limit} on all nodes")


class Shared(unittest.TestCase):
    def setUp(self):
        self.redis = self.enterContext(Redis())

    def fleet(self, nodes=3, urls=None):
        fleet = self.enterContext(Fleet(urls or [self.redis.url] * nodes, config=CONFIG))
        fleet.wait_until_shared()
        wait_until(lambda: all(len(hold(node)["nodes"]) == len(fleet.nodes)
                               for node in fleet.nodes), "each has heard of all")
        return fleet.nodes

    def node(self, config=CONFIG):
        return self.enterContext(RespWeir("--redis", self.redis.url, config=config))

    def test_a_limit_saved_on_one_node_denies_on_the_others(self):
        first, *others = self.fleet()
        begun = time.monotonic()
        reply = put(first, 0, "?by=carol&why=bots")
        took = time.monotonic() - begun
        self.assertEqual(reply.status, 200, reply.text)
        said = reply.json()["fleet"]
        self.assertEqual((said["version"], said["told"], said["runs"]), (1, True, 3))
        for node in others:
            self.assertFalse(node.check(rule="api", key="k")["allowed"])
            last = ask(node, get("/admin/history?rule=api")).json()["history"][0]
            self.assertEqual((last["who"], last["by"], last["why"]),
                             (f"127.0.0.1, at {socket.gethostname()}", "carol", "bots"))
        print(f"\na limit held on three nodes after {took:.3f} s")
        for node in (first, *others):
            wait_until(lambda node=node: reasons(hold(node)) == ["", "", ""], "each knows of it")
        self.assertEqual(ask(others[0], request("DELETE", "/admin/rules/api")).json()["fleet"]
                         ["runs"], 3)
        self.assertEqual(ask(first, get("/admin/rules/api")).status, 404)

    def test_a_node_that_joins_or_comes_again_takes_it(self):
        first, second = self.fleet(2)
        put(first, 7)
        wait_for([self.node()], 7)
        self.assertEqual([first.stop(), second.stop()], [0, 0])
        wait_for([self.node()], 7)

    def test_a_node_with_another_file_keeps_its_own_and_is_named(self):
        first, second = self.fleet(2)
        stranger = self.node(CONFIG.replace("limit: 5", "limit: 6"))
        comment = self.node("# The same rules.\n" + CONFIG)
        said = put(first, 7).json()["fleet"]
        self.assertEqual((said["runs"], reasons(said)), (3, ["", "", "", OTHER_FILE]))
        wait_for([second, comment], 7)
        self.assertEqual(limit_of(stranger), 1000)
        marked = [node["node"] for node in said["nodes"] if node["why_not"]]
        self.assertEqual(marked, [ask(stranger, get("/console/session")).json()["node"]])
        # Its file becomes theirs.
        stranger.write_config(CONFIG)
        stranger.signal(signal.SIGHUP)
        wait_for([stranger], 7)
        wait_until(lambda: hold(first)["runs"] == 4, "all nodes run it")

    def test_of_two_changes_at_once_one_counts_and_the_other_is_refused(self):
        nodes = self.fleet(2)
        self.redis.pause()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            replies = [pool.submit(put, node, 50 + i) for i, node in enumerate(nodes)]
            for node in nodes:
                wait_until(lambda: not hold(node)["told"], "it has offered")
            self.redis.resume()
            replies = [reply.result() for reply in replies]
        self.assertEqual(sorted(reply.status for reply in replies), [200, 409])
        winner = 50 + [reply.status for reply in replies].index(200)
        loser = nodes[51 - winner]
        self.assertEqual(limit_of(loser), winner)
        self.assertEqual(put(loser, 60).status, 200)
        wait_for(nodes, 60)

    def test_without_redis_it_holds_here_and_is_told_later(self):
        first, *others = self.fleet()
        self.redis.kill()
        said = put(first, 7).json()["fleet"]
        self.assertEqual((said["told"], said["runs"]), (False, 1))
        self.assertEqual(reasons(said), ["", UNHEARD, UNHEARD])
        self.assertEqual([limit_of(node) for node in others], [1000, 1000])
        self.redis.start()
        wait_for(others, 7)
        wait_until(lambda: hold(first)["runs"] == 3, "all nodes run it")
        self.redis.ask("FLUSHALL")
        wait_until(lambda: self.redis.ask("EXISTS", KEY), "Redis has it again")
        wait_for([self.node()], 7)

    def test_what_a_node_changed_alone_gives_way_to_a_newer_version(self):
        proxy = self.enterContext(Proxy(self.redis.port))
        first, second = self.fleet(urls=[proxy.url, self.redis.url])
        proxy.behave(Behaviour.CUT)
        self.assertFalse(put(first, 7).json()["fleet"]["told"])
        self.assertTrue(put(second, 8).json()["fleet"]["told"])
        self.assertEqual((limit_of(first), limit_of(second)), (7, 8))
        proxy.behave(Behaviour.PASS)
        wait_for([first], 8)
        first.wait_for_log("a change of the rules by request is gone")

    def test_a_reload_keeps_it_with_the_same_rules_and_says_what_it_drops_else(self):
        first, second = self.fleet(2)
        put(first, 7)
        first.signal(signal.SIGHUP)
        first.wait_for_log("reloaded")
        self.assertEqual(limit_of(first), 7)
        written = ask(first, request("PATCH", "/admin/rules/other?persist=true", {"limit": 4}))
        self.assertEqual(written.status, 200, written.text)
        before = first.log_length()
        first.signal(signal.SIGHUP)
        first.wait_for_log("reloaded", before)
        self.assertEqual((limit_of(first), hold(first)["runs"]), (7, 2))
        first.wait_for_log("unlike the file, by request: changed api: ", before)
        first.write_config(CONFIG.replace("limit: 5", "limit: 6"))
        first.signal(signal.SIGHUP)
        first.wait_for_log("the change of rule api by request was not in the file, and is gone")
        self.assertEqual((limit_of(first), limit_of(second)), (1000, 7))
        wait_until(lambda: reasons(hold(second)) == ["", OTHER_FILE], "the other node hears of it")

    def test_a_rule_in_the_file_of_one_node_holds_on_the_others_by_request(self):
        first, second = self.fleet(2)
        reply = put(first, 7, "?persist=true").json()
        self.assertEqual((reply["persisted"], reply["fleet"]["runs"]), (True, 2))
        wait_for([second], 7)
        self.assertEqual(ask(second, get("/admin/rules/api")).json()["origin"], "request")
        self.assertEqual(put(second, 1000).json()["fleet"]["runs"], 2)  # as in its own file
        wait_for([first], 1000)
        self.assertEqual(put(second, 7).json()["fleet"]["runs"], 2)
        self.assertEqual(first.stop(), 0)
        again = self.node(CONFIG.replace("1000", "7"))  # its file, as it was written
        wait_until(lambda: hold(second)["runs"] == 2 and reasons(hold(again)) == ["", ""],
                   "both run it")
        self.assertEqual(ask(again, get("/admin/rules/api")).json()["origin"], "file")

    def test_what_others_wrote_into_redis_is_checked_as_a_request_is(self):
        first, second = self.fleet(2)
        put(first, 777)
        value = self.redis.ask("GET", KEY)
        self.redis.ask("SET", KEY, value.replace(b"1 ", b"5 ", 1).replace(b"777", b"-77"))
        second.wait_for_log("this node keeps its rules, while others have changed theirs")
        wait_until(lambda: hold(first)["version"] == 5 and hold(first)["runs"] == 0 and
                   all("limit" in reason for reason in reasons(hold(first))), "all say why not")
        self.redis.ask("SET", KEY, b"9 9 junk")
        wait_until(lambda: reasons(hold(first)) == ["it cannot read them"] * 2, "both say why not")
        self.assertEqual([limit_of(node) for node in (first, second)], [777, 777])
        said = put(first, 8).json()["fleet"]
        self.assertEqual((said["version"], said["runs"]), (10, 2))

    def test_weir_does_not_overwrite_what_is_no_version(self):
        first, second = self.fleet(2)
        for command in (("SET", KEY, "junk"), ("SET", KEY, "1" * 50 + " 1 x"),
                        ("HSET", KEY, "a", "b"), ("SET", KEY, "1 1 " + "x" * 140_000)):
            with self.subTest(command[:3]):
                # At once, or a node would write its rules in between.
                self.redis.ask("EVAL", "redis.call('DEL', ARGV[2]) redis.call(unpack(ARGV))", 0,
                               *command)
                self.assertFalse(put(first, 7).json()["fleet"]["told"])
                self.assertEqual(limit_of(second), 1000)
        first.wait_for_log(f"{KEY} cannot hold the rules that requests change")
        self.redis.ask("DEL", KEY)
        wait_for([second], 7)


if __name__ == "__main__":
    weir_server.main()
