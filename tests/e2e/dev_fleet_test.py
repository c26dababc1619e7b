"""`./dev fleet`: three nodes behind nginx count together, and go when they are told."""

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
             "--redis-deadline", "2s"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end)

    def end(self):
        if self.fleet.poll() is None:
            self.fleet.terminate()
        self.fleet.wait(DEADLINE_S)
        self.fleet.stdout.close()

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


if __name__ == "__main__":
    weir_server.main()
