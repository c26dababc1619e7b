"""Rules that come to be enforced by degrees, on one node and on two."""

import json
import signal
import unittest

import weir_server
from admin_commands_test import command
from fleet import Fleet
from outage_test import cut
from redis_world import Behaviour, Proxy, Redis
from rules_test import ask, request
from weir_server import Weir, get, wait_until

# Of the keys of r, frank is among the first 10 %, and so are about two of k0 to k19.
CONFIG = """
show_keys: true
rules:
  - {id: r, limit: 1, window: 1h, shadow: true}
  - {id: full, limit: 1, window: 1h}
  - {id: part, limit: 1, window: 1h, enforce: 5%}
  - {id: even, algorithm: fixed_window, limit: 1, window: 1h, enforce: proportional}
"""
TO_10 = ("--to", "100%", "--steps", "10", "--every", "1h", "--stop-if", "denied_keys>3%")


def rule_of(node, rule="r"):
    return ask(node, get(f"/admin/rules/{rule}")).json()["rule"]


def shares(node):
    """Where the rule has stood, the latest last."""
    history = ask(node, get("/admin/history?rule=r")).json()["history"]
    return [entry["rule"].get("enforce") for entry in reversed(history)]


def is_the_mover(node):
    return ", by the rollout" in node.log()


def see_keys(node):
    for i in range(20):
        node.check(rule="r", key=f"k{i}")


class Rollouts(unittest.TestCase):
    def test_starts_stops_by_itself_and_says_whom_it_denied(self):
        with Weir(config=CONFIG) as weir:
            begun = command(weir, "rollout", "r", *TO_10, "--why", "bots")
            self.assertEqual((begun.code, begun.out), (0, "r denies 10% of the keys\n"), begun.err)
            self.assertIn("r                    10%  of 0% 10% 100%, each 1h, stops if "
                          "denied_keys>3%\n", command(weir, "rollout").out)
            last = ask(weir, get("/admin/history")).json()["history"][0]
            self.assertEqual((last["by"], last["why"]), ("carol", "bots"))
            see_keys(weir)
            weir.check(rule="r", key="frank")
            self.assertFalse(weir.check(rule="r", key="frank")["allowed"])
            wait_until(lambda: "stopped" in rule_of(weir)["rollout"], "it stops")
            self.assertTrue(weir.check(rule="r", key="frank")["allowed"])
            weir.wait_for_log("the rollout of rule r denies 0% of the keys again, and has stopped")
            self.assertRegex(command(weir, "rollout", "r").out,
                             r"0%  of 0% 10% 100%, has stopped: it denied about 1 of about \d\d "
                             r"keys, more than 3%, in this step and up to two minutes before: "
                             r"frank\n")
            events = ask(weir, get("/admin/events")).json()["events"]
            self.assertEqual([event["event"] for event in events], ["rollout"] * len(events))
            self.assertIn("frank", events[-1]["text"])

    def test_ends_by_hand_where_it_is_and_by_a_reload(self):
        with Weir(config=CONFIG) as weir:
            command(weir, "rollout", "r", *TO_10)
            again = command(weir, "rollout", "r", *TO_10)
            self.assertEqual(again.code, 2)
            self.assertIn("r has a rollout already, at 10%; --stop ends it", again.err)
            ended = command(weir, "rollout", "r", "--stop")
            self.assertEqual(ended.out, "r denies 10% of the keys, and stays there\n", ended.err)
            self.assertEqual(rule_of(weir), {"id": "r", "limit": 1, "window": "1h",
                                             "enforce": "10%"})
            self.assertIn("r has no rollout", command(weir, "rollout", "r", "--stop").err)
            command(weir, "rollout", "r", "--to", "50", "--steps", "20",
                    "--stop-if", " denied_keys  > 0.5 %")
            self.assertEqual(rule_of(weir)["rollout"]["steps"], ["10%", "20%", "50%"])
            weir.signal(signal.SIGHUP)
            weir.wait_for_log("the change of rule r by request was not in the file, and is gone")
            self.assertEqual(rule_of(weir), {"id": "r", "limit": 1, "window": "1h",
                                             "shadow": True})

    def test_refuses_what_is_no_rollout(self):
        with Weir(config=CONFIG) as weir:
            version = ask(weir, get("/admin/rules")).json()["version"]
            for rule, arguments, complaint in (
                    ("r", ("--to", "0%"), "--to: '0%' is no share from 1% to 100%"),
                    ("r", ("--to", "120%"), "--to: '120%' is no share from 1% to 100%"),
                    ("r", ("--to", "100%", "--steps", "0,10"), "--steps: '0' is no share"),
                    ("r", ("--to", "100%", "--steps", "10,10"), "'steps' must rise"),
                    ("r", ("--to", "100%", "--steps", "10,x"), "--steps: 'x' is no share"),
                    ("r", ("--to", "100%", "--every", "0s"), "--every"),
                    ("r", ("--to", "100%", "--every", "1ms"), "'every' must be from 1s"),
                    ("r", ("--to", "100%", "--stop-if", "denied>1%"), "denied_keys>0.1%"),
                    ("part", ("--to", "100%"), "part is at enforce: 5% already; put it in "
                                               "shadow first, or begin above with --steps"),
                    ("full", ("--to", "100%"), "full is at enforce: 100% already"),
                    ("even", ("--to", "100%"), "even is at enforce: proportional already"),
                    ("none", ("--to", "100%"), "no rule with this id"),
                    ("r", ("--to", "100%", "--stop"), "--stop")):
                with self.subTest(rule=rule, arguments=arguments):
                    done = command(weir, "rollout", rule, *arguments)
                    self.assertEqual(done.code, 2)
                    self.assertIn(complaint, done.err)
            self.assertEqual(command(weir, "rollout", "--to", "100%").code, 2)
            self.assertEqual(ask(weir, get("/admin/rules")).json()["version"], version)
            by_hand = request("PATCH", "/admin/rules/r", {"enforce": "20%"})
            command(weir, "rollout", "r", *TO_10)
            self.assertIn("must be a step of 'rollout'", ask(weir, by_hand).text)

    def test_goes_on_when_the_node_that_moves_it_dies(self):
        with Redis() as redis, Fleet([redis.url] * 2, config=CONFIG) as fleet:
            fleet.wait_until_shared()
            for node in fleet.nodes:
                see_keys(node)
            begun = command(fleet.nodes[0], "rollout", "r", "--to", "100%", "--steps", "1,10,50",
                            "--every", "3s", "--stop-if", "denied_keys>90%")
            self.assertEqual(begun.code, 0, begun.err)
            wait_until(lambda: any(map(is_the_mover, fleet.nodes)), "a node moves it")
            mover, other = sorted(fleet.nodes, key=is_the_mover, reverse=True)
            mover.signal(signal.SIGKILL)
            wait_until(lambda: "rollout" not in rule_of(other), "the other one ends it")
            self.assertEqual(shares(other), [None, "1%", "10%", "50%", "100%"])
            self.assertEqual(json.loads(command(other, "rollout", "--json").out)["version"],
                             ask(other, get("/admin/rules")).json()["version"])

    def test_stands_still_while_redis_is_away(self):
        with Redis() as redis, Proxy(redis.port) as proxy, \
                Fleet([proxy.url] * 2, config=CONFIG) as fleet:
            fleet.wait_until_shared()
            node = fleet.nodes[0]
            for each in fleet.nodes:
                see_keys(each)
            command(node, "rollout", "r", "--to", "100%", "--steps", "1,10,20,30,40,50,60,70,80",
                    "--every", "1s", "--stop-if", "denied_keys>90%")
            wait_until(lambda: rule_of(node).get("enforce") == "10%", "it has begun")
            cut(fleet, proxy)
            stood = [len(shares(each)) for each in fleet.nodes]
            until = node.metric("weir_uptime_seconds") + 4
            wait_until(lambda: node.metric("weir_uptime_seconds") > until, "four steps of time")
            for each, steps in zip(fleet.nodes, stood):  # one may have been under way
                self.assertLessEqual(len(shares(each)), steps + 1)
            self.assertIn("rollout", rule_of(node))
            proxy.behave(Behaviour.PASS)
            steps = ["1%"] + [f"{tens}0%" for tens in range(1, 9)] + ["100%"]
            said = []
            for each in fleet.nodes:
                wait_until(lambda: "rollout" not in rule_of(each), "it goes on to its end")
                said.append(shares(each)[1:])
                # A node that hears of two steps at once remembers the second.
                self.assertEqual(said[-1], [step for step in steps if step in said[-1]])
                self.assertEqual(said[-1][-1], "100%")
                self.assertGreaterEqual(len(said[-1]), len(steps) - 2)
            self.assertEqual(set().union(*said), set(steps))

    def test_stands_still_while_all_nodes_are_down(self):
        with Redis() as redis:
            with Fleet([redis.url], config=CONFIG) as fleet:
                fleet.wait_until_shared()
                node = fleet.nodes[0]
                see_keys(node)
                command(node, "rollout", "r", "--to", "100%", "--steps", "10", "--every", "5s",
                        "--stop-if", "denied_keys>90%")
                node.signal(signal.SIGKILL)
            with Fleet([redis.url], config=CONFIG) as fleet:
                node = fleet.nodes[0]
                wait_until(lambda: "rollout" in rule_of(node), "it takes the rollout over")
                see_keys(node)
                self.assertEqual(rule_of(node)["enforce"], "10%")
                wait_until(lambda: rule_of(node)["enforce"] == "100%", "it goes on")
                self.assertEqual(shares(node)[-2:], ["10%", "100%"])


if __name__ == "__main__":
    weir_server.main()
