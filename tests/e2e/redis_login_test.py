"""How a node reaches its Redis, and what it says when it may not."""

import pathlib
import re
import tempfile
import unittest

import weir_server
from fleet import Fleet, admin, health
from redis_world import Cluster, Redis, Sentinels, Tls, free_port
from resp_client import RespConnection
from weir_server import Weir, wait_until

DOCS = pathlib.Path(__file__).parents[2] / "docs" / "reference" / "redis.md"
PATIENT = ("--redis-deadline", "2s")
ASKED = {"key": "a", "limit": 4, "window": 3600}


def redis_says(weir, reason):
    said = health(weir)
    return said["redis"] == "disconnected" and reason in said["reason"]


class RedisLoginTest(unittest.TestCase):
    def share(self, url):
        """Two nodes at `url` have one counter."""
        with Fleet([url, url], *PATIENT) as fleet:
            fleet.wait_until_shared()
            remaining = [fleet.nodes[i % 2].check(**ASKED)["remaining"] for i in range(4)]
            self.assertEqual(remaining, [3, 2, 1, 0])
            self.assertFalse(fleet.nodes[0].check(**ASKED)["allowed"])
            for node in fleet.nodes:
                for mode in ("strict", "leased", "async"):
                    node.check(mode=mode, key=mode, limit=4, window=3600)
                self.assertEqual(node.stop(), 0, node.log())

    def test_a_unix_socket_is_as_good(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/redis.sock"
            with Redis("--unixsocket", path):
                self.share(f"unix://{path}")

    def test_tls_is_as_good_if_the_certificate_is(self):
        port = free_port()
        with Tls() as tls, Redis(*tls.options(port)):
            url = f"rediss://localhost:{port}"
            self.share(f"{url}/3{tls.trust}")
            with Weir("--redis", url) as weir:
                wait_until(lambda: redis_says(weir, "certificate"), "it says so")

    def test_sentinels_lead_to_the_master(self):
        with Sentinels() as sentinels:
            self.share(sentinels.url)

    def test_a_cluster_is_shared(self):
        with Cluster() as cluster:
            self.share(cluster.url)

    def test_the_user_of_the_documentation_may_do_all_it_needs(self):
        command = re.search(r"^ACL SETUSER weir .*$", DOCS.read_text(encoding="utf-8"), re.M)[0]
        with Redis() as redis:
            redis.ask(*command.split())
            url = f"redis://weir:secret@127.0.0.1:{redis.port}"
            with Fleet([url, url], *PATIENT) as fleet:
                fleet.wait_until_shared()
                for algorithm in ("fixed_window", "sliding_log", "sliding_window",
                                  "token_bucket", "exponential_backoff"):
                    self.assertTrue(fleet.nodes[0].check(algorithm=algorithm, **ASKED)["allowed"])
                admin(fleet.nodes[0], "/v1/reset", **ASKED)
                for node in fleet.nodes:
                    self.assertNotIn("NOPERM", node.log())
                    self.assertNotIn("secret", node.log())

    def test_a_wrong_password_is_named_once_and_shown_and_nothing_hangs(self):
        with Redis("--requirepass", "right") as redis:
            url = f"redis://:not-so@127.0.0.1:{redis.port}"
            with Weir("--redis", url) as weir:
                wait_until(lambda: redis_says(weir, "password"), "it says so")
                self.assertTrue(weir.check(**ASKED)["allowed"])
                with RespConnection(redis.port) as connection:
                    connection.ask("AUTH", "right")
                    connection.ask("CONFIG", "SET", "requirepass", "not-so")
                wait_until(lambda: health(weir)["redis"] == "connected", "it joins by itself")
                weir.wait_for_log("password is wrong")
                self.assertEqual(weir.log().count("password is wrong"), 1, weir.log())
                self.assertNotIn("not-so", weir.log())

    def test_scripts_that_are_not_allowed_are_named(self):
        with Redis() as redis:
            redis.ask("ACL", "SETUSER", "poor", "on", ">secret", "~*", "+ping", "+info", "+hello",
                      "+role", "+select")
            url = f"redis://poor:secret@127.0.0.1:{redis.port}"
            with Weir("--redis", url) as weir:
                weir.wait_for_log("NOPERM")
                self.assertTrue(weir.check(**ASKED)["allowed"])

    def test_keys_of_others_under_our_prefix_fail_alone(self):
        with Redis() as redis, Fleet([redis.url], *PATIENT) as fleet:
            fleet.wait_until_shared()
            node = fleet.nodes[0]
            node.check(**ASKED)
            ours = [key for key in redis.ask("KEYS", "weir:*") if b"{fleet}" not in key]
            self.assertEqual(len(ours), 1)
            redis.ask("DEL", ours[0])
            redis.ask("LPUSH", ours[0], "somebody's")
            self.assertTrue(node.check(**ASKED)["allowed"])  # by this node alone
            node.wait_for_log("type")
            self.assertEqual(node.check(key="b", limit=4, window=3600)["remaining"], 3)

    def test_the_url_may_come_from_the_environment(self):
        with Redis() as redis, Weir(environment={"WEIR_REDIS_URL": redis.url}) as weir:
            wait_until(lambda: health(weir)["redis"] == "connected", "it is connected")

if __name__ == "__main__":
    weir_server.main()
