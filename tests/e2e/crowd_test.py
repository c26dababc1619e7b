"""Ten thousand connections over all doors: idle they cost little, and with half a request in every
other one everybody else is served."""

import resource
import socket
import unittest

from weir_server import DEADLINE_S, IS_ASAN, Weir, wait_until

CROWD = 3_333  # at each door
# Ours, and those of the server, which inherits the limit: a socket each and some more.
FILES_NEEDED = 3 * CROWD + 500
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"  # and empty SETTINGS

# What the server itself holds for a connection that has never spoken: the connection,
# the session, its place in two lists. Kernel memory does not show in RSS.
IDLE_BYTES_MAX = 2048

# By the scheme of the door: the beginning of a request, a whole one, and how its answer
# begins.
DOORS = {
    "http": (b"POST /check HTTP/1.1\r\nHost: w\r\nContent-Le",
             b"GET /health HTTP/1.1\r\nHost: w\r\n\r\n", b"HTTP/1.1 200 OK\r\n"),
    "redis": (b"*2\r\n$4\r\nECHO\r\n$100\r\nhal", b"*1\r\n$4\r\nPING\r\n", b"+PONG\r\n"),
    "grpc": (PREFACE[:20], PREFACE, b"\0\0"),  # a SETTINGS frame, shorter than 64 KiB
}


class CrowdTest(unittest.TestCase):
    def setUp(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard != resource.RLIM_INFINITY and hard < FILES_NEEDED:
            self.skipTest(f"the limit of open files, {hard}, forbids the crowd")
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES_NEEDED, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))

    def test_everybody_else_is_served(self):
        with Weir("--resp", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--max-keys", "1024") as weir:
            weir.check(key="warm", limit=5, window=60)
            before = weir.rss_kib()
            ports = {scheme: weir.port_of(scheme) for scheme in DOORS}
            crowds = {scheme: [] for scheme in DOORS}
            try:
                for scheme, crowd in crowds.items():
                    crowd += [connect(ports[scheme]) for _ in range(CROWD)]
                    accepted = sum(map(len, crowds.values()))
                    wait_until(lambda: weir.metric("weir_connections_accepted_total") >= accepted,
                               "all are accepted")
                    if scheme == "http":
                        growth = (weir.rss_kib() - before) * 1024 / CROWD
                        print(f"{growth:.0f} bytes an idle connection", flush=True)
                        self.assertTrue(growth < IDLE_BYTES_MAX or IS_ASAN, growth)
                for scheme, (beginning, request, answer) in DOORS.items():
                    for member in crowds[scheme][::2]:
                        member.sendall(beginning)
                    for client in (connect(ports[scheme]), crowds[scheme][1]):
                        client.sendall(request)
                        self.assertEqual(client.recv(len(answer)), answer, scheme)
                        client.close()
                self.assertEqual(weir.check(key="a", limit=1, window=60)["allowed"], True)
            finally:
                for member in sum(crowds.values(), []):
                    member.close()
            wait_until(lambda: weir.metric("weir_connections_open") < 10, "all have gone")
            self.assertEqual(weir.stop(), 0)


def connect(port):
    client = socket.create_connection(("127.0.0.1", port))
    client.settimeout(DEADLINE_S)
    return client


if __name__ == "__main__":
    unittest.main()
