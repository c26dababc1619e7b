"""Ten thousand connections over all doors, half of them with half a request, and everybody
else is served."""

import resource
import socket
import unittest

from weir_server import DEADLINE_S, Weir, wait_until

CONNECTIONS = 9_999
FILES_NEEDED = CONNECTIONS + 500
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"  # and empty SETTINGS

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
            self.skipTest(f"the limit of open files, {hard}, forbids {CONNECTIONS} connections")
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES_NEEDED, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))

    def test_everybody_else_is_served(self):
        with Weir("--resp", "127.0.0.1:0", "--grpc", "127.0.0.1:0") as weir:
            ports = {scheme: weir.port_of(scheme) for scheme in DOORS}
            crowd = [self.join(ports, number) for number in range(CONNECTIONS)]
            try:
                wait_until(lambda: weir.metric("weir_connections_accepted_total") >= CONNECTIONS,
                           "all are accepted")
                for scheme, (_, request, answer) in DOORS.items():
                    for _ in range(20):
                        with connect(ports[scheme]) as client:
                            client.sendall(request)
                            self.assertEqual(client.recv(len(answer)), answer, scheme)
                self.assertEqual(weir.check(key="a", limit=1, window=60)["allowed"], True)
            finally:
                for member in crowd:
                    member.close()
            self.assertEqual(weir.stop(), 0)

    @staticmethod
    def join(ports, number):
        scheme = list(DOORS)[number % len(DOORS)]
        member = connect(ports[scheme])
        if number % 2 == 0:
            member.sendall(DOORS[scheme][0])
        return member


def connect(port):
    client = socket.create_connection(("127.0.0.1", port))
    client.settimeout(DEADLINE_S)
    return client


if __name__ == "__main__":
    unittest.main()
