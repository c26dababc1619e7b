"""Where the server listens: Unix sockets, several doors, and behind PROXY headers."""

import json
import os
import socket
import stat
import struct
import subprocess
import tempfile
import unittest

import weir_server
from weir_server import DEADLINE_S, Connection, ConnectionClosed, Weir, check_request, get

# The client that connects, and the one that PROXY headers name.
TRUSTED = "trusted_proxies: [127.0.0.0/8, 192.0.2.0/24]\n"
PER_CLIENT = "rules:\n  - {id: per_client, limit: 1, window: 365d, match: {}, key: client}\n"


class UnixSocket(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="weir-e2e-"))
        self.path = os.path.join(self.folder, "http.sock")

    def serve(self, *arguments):
        return Weir("--threads", "2", *arguments, http=f"unix:{self.path}")

    def curl(self, request="/health"):
        return subprocess.run(
            ["curl", "-sS", "--unix-socket", self.path, f"http://localhost{request}"],
            capture_output=True, text=True, timeout=DEADLINE_S, check=True).stdout

    def test_curl_asks_through_the_file(self):
        with self.serve() as weir:
            self.assertEqual(weir.url, f"http://unix:{self.path}")
            self.assertEqual(json.loads(self.curl())["status"], "ok")
            self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o660)
            # It counts as loopback: nobody else can come.
            self.assertIn("max_keys", self.curl("/admin/stats"))
            self.assertEqual(weir.stop(), 0)
            self.assertFalse(os.path.exists(self.path))

def version2(command, family, addresses):
    return (b"\r\n\r\n\0\r\nQUIT\n" + bytes([0x20 | command, family]) +
            struct.pack("!H", len(addresses)) + addresses)


def header2(source):
    return version2(1, 0x11, socket.inet_aton(source) + socket.inet_aton("198.51.100.7") +
                    struct.pack("!HH", 56324, 443))


def header1(source):
    return f"PROXY TCP4 {source} 198.51.100.7 56324 443\r\n".encode()


class ProxyProtocol(unittest.TestCase):
    def serve(self, config=PER_CLIENT + TRUSTED):
        return self.enterContext(Weir("--threads", "2", "--proxy-protocol", "http", config=config))

    def status(self, weir, header):
        """That of a request that is allowed once for each client."""
        with Connection(weir.port) as connection:
            return connection.ask(header + get("/auth/envoy/page")).status

    def assert_closed_without_a_word(self, weir, data):
        with Connection(weir.port) as connection:
            connection.send(data)
            with self.assertRaises(ConnectionClosed) as closed:
                connection.read_reply()
            self.assertFalse(closed.exception.began)

    def test_the_client_is_who_the_header_says(self):
        weir = self.serve()
        self.assertEqual(self.status(weir, header1("192.0.2.1")), 200)
        self.assertEqual(self.status(weir, header2("192.0.2.1")), 429)
        self.assertEqual(self.status(weir, header2("192.0.2.2")), 200)
        self.assertEqual(self.status(weir, header1("192.0.2.2")), 429)
        # The balancer is trusted, but not whom it speaks for.
        self.assertEqual(self.status(weir, header1("198.51.100.1")), 400)
        self.assert_closed_without_a_word(weir, get("/health"))
        with Connection(weir.port) as connection:
            reply = connection.ask(header1("192.0.2.9") + get("/metrics?format=prometheus"))
        self.assertIn("weir_proxy_headers_refused_total 1\n", reply.text)

    def test_other_doors_are_as_they_were(self):
        weir = self.enterContext(
            Weir("--proxy-protocol", "http", "--resp", "127.0.0.1:0", config=PER_CLIENT))
        with Connection(weir.port_of("redis")) as connection:
            connection.send(b"PING\r\n")
            self.assertEqual(connection.socket.recv(100), b"+PONG\r\n")
        with Connection(weir.port) as connection:
            reply = connection.ask(header1("192.0.2.1") + check_request(key="a", limit=1, window=9))
            self.assertEqual(reply.status, 200)

if __name__ == "__main__":
    weir_server.main()
