"""`./dev fleet`: three nodes behind nginx count together, and go when they are told."""

import contextlib
import os
import re
import signal
import subprocess
import unittest

import weir_server
from weir_server import DEADLINE_S, ROOT, Connection, free_ports, get, wait_until


class DevFleet(unittest.TestCase):
    def setUp(self):
        self.port = free_ports(4)
        self.fleet = subprocess.Popen(
            ["/usr/bin/python3", ROOT / "scripts" / "fleet.py", "--port", str(self.port),
             "--redis-deadline", "2s"], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
        self.addCleanup(self.end)

    def end(self):
        if self.fleet.poll() is None:
            self.fleet.terminate()
        self.fleet.wait(DEADLINE_S)
        self.fleet.stdout.close()
        self.fleet.stdin.close()

    def is_shared(self, port):
        with Connection(port) as connection:
            said = connection.ask(get("/health")).json()
        return said["redis"] == "connected" and said["nodes"] == 3

    def test_it_counts_together_and_stops(self):
        said = self.fleet.stdout.readline()
        self.assertIn(f"http://127.0.0.1:{self.port}, its nodes at", said)
        for number in range(1, 4):
            wait_until(lambda: self.is_shared(self.port + number), "the nodes are a fleet")
        allowed = 0
        for number in range(4):  # through nginx, then each node itself
            with Connection(self.port + number) as connection:
                for _ in range(10):
                    allowed += connection.check(key="alice", limit=7, window="8784h")["allowed"]
        self.assertEqual(allowed, 7)
        with Connection(self.port) as connection:
            self.assertEqual(connection.ask(get("/admin/stats")).status, 404)
        self.fleet.send_signal(signal.SIGINT)
        self.assertEqual(self.fleet.wait(DEADLINE_S), 0)
        for number in range(4):
            with self.assertRaises(OSError, msg="it has stopped"):
                Connection(self.port + number)

    def line_with(self, text):
        while text not in (line := self.fleet.stdout.readline()):
            self.assertTrue(line, f"it says {text}")
        return line

    def test_a_node_that_is_killed_is_named_and_starts_again_on_request(self):
        said = self.line_with("Kill a part")
        for ask in (lambda: self.fleet.send_signal(signal.SIGHUP),
                    lambda: self.fleet.stdin.write("\n") and self.fleet.stdin.flush()):
            os.kill(int(re.search(r"node 2 is process (\d+)", said)[1]), signal.SIGKILL)
            self.assertIn("has ended with -9; the others go on", self.line_with("node 2"))
            with self.assertRaises(OSError, msg="it is dead"):
                Connection(self.port + 2)
            for number in (0, 1, 3):  # nginx passes the dead one over
                with Connection(self.port + number) as connection:
                    self.assertTrue(connection.check(key="a", limit=1000, window=60)["allowed"])
            ask()
            said = self.line_with("node 2 is process")
            wait_until(lambda: self.is_there(self.port + 2), "it answers again")
        self.assertIsNone(self.fleet.poll())

    def is_there(self, port):
        with contextlib.suppress(OSError), Connection(port) as connection:
            return connection.ask(get("/health")).status == 200
        return False


if __name__ == "__main__":
    weir_server.main()
