"""When a node with a Redis is ready: when it shares its limits, or has waited for a second."""

import os
import socket
import tempfile
import unittest

from fleet import health
from redis_world import Behaviour, Proxy, Redis, free_port
from weir_server import DEADLINE_S, Weir, main

PATIENT = ("--redis-deadline", "2s", "--mode", "strict")
ASKED = {"key": "a", "limit": 4, "window": 3600}
NOT_REACHED = "redis: not reached within 1s; starting without it"


class Start(unittest.TestCase):
    # A node that had just said that it listens decided alone for 50 to 110 ms.
    def test_the_first_answer_of_a_node_counts_for_all(self):
        with Redis() as redis:
            for remaining in (3, 2, 1, 0):
                with Weir("--redis", redis.url, *PATIENT) as weir:
                    answer = weir.check(**ASKED)
                    self.assertNotIn("mode", answer, weir.log())
                    self.assertEqual(answer["remaining"], remaining)
                    self.assertEqual(health(weir)["redis"], "connected")
                    self.assertNotIn(NOT_REACHED, weir.log())

    def test_a_redis_that_is_slow_to_reach_is_waited_for(self):
        with Redis() as redis, Proxy(redis.port) as proxy:
            proxy.behave(Behaviour.PASS, delay_s=0.02)
            with Weir("--redis", proxy.url, *PATIENT) as weir:
                self.assertNotIn("mode", weir.check(**ASKED), weir.log())

    def starts_alone(self, url):
        """Ready all the same, and the service manager hears of it behind the log."""
        with tempfile.TemporaryDirectory() as folder, \
                socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            path = os.path.join(folder, "notify.sock")
            manager.bind(path)
            manager.settimeout(DEADLINE_S)
            with Weir("--redis", url, *PATIENT, environment={"NOTIFY_SOCKET": path}) as weir:
                self.assertIn(NOT_REACHED, weir.log())
                self.assertEqual(manager.recv(64), b"READY=1")
                said = health(weir)
                self.assertEqual((said["redis"], said["state"]), ("disconnected", "degraded"))
                self.assertEqual(weir.check(**ASKED)["mode"], "local")
                self.assertEqual(weir.stop(), 0)

    def test_a_redis_that_is_away_does_not_keep_a_node_from_starting(self):
        self.starts_alone(f"redis://127.0.0.1:{free_port()}")

    def test_nor_does_one_that_never_answers(self):
        with Redis() as redis, Proxy(redis.port) as proxy:
            proxy.behave(Behaviour.MUTE)
            self.starts_alone(proxy.url)


if __name__ == "__main__":
    main()
