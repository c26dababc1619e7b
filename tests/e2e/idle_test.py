"""10,000 idle connections cost little, and keep nobody from being served."""

import resource
import unittest

import weir_server
from weir_server import Connection, Weir, check_request, wait_until

CONNECTIONS = 10_000
# Ours, and those of the server, which inherits the limit: a socket each and some more.
FILES_NEEDED = CONNECTIONS + 500

# What the server itself holds for a connection that has never spoken: the connection,
# the session, its place in two lists. Kernel memory does not show in RSS.
IDLE_BYTES_MAX = 2048


class Idle(unittest.TestCase):
    def setUp(self):
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard != resource.RLIM_INFINITY and hard < FILES_NEEDED:
            self.skipTest(f"the limit of open files, {hard}, forbids {CONNECTIONS} connections")
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES_NEEDED, hard))

    def test_10000_idle_connections(self):
        with Weir("--threads", "2", "--max-keys", "1024") as weir:
            weir.check(key="warm", limit=5, window=60)
            before = weir.rss_kib()
            idle = [Connection(weir.port) for _ in range(CONNECTIONS)]
            try:
                wait_until(lambda: weir.metric("weir_connections") >= CONNECTIONS,
                           "all are connected")
                growth = (weir.rss_kib() - before) * 1024 / CONNECTIONS
                print(f"{growth:.0f} bytes an idle connection", flush=True)
                self.assertLess(growth, IDLE_BYTES_MAX)

                self.assertTrue(weir.check(key="new", limit=5, window=60)["allowed"])
                for connection in (idle[0], idle[CONNECTIONS // 2], idle[-1]):
                    reply = connection.ask(check_request(key="idle", limit=5, window=60))
                    self.assertEqual(reply.status, 200)
            finally:
                for connection in idle:
                    connection.socket.close()
            wait_until(lambda: weir.metric("weir_connections") < 10, "all have gone")
            self.assertEqual(weir.stop(), 0)


if __name__ == "__main__":
    weir_server.main()
