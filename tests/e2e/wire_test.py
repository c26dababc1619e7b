"""Bad bytes from the wire cost only the connection that sent them.

All the while a crowd of well-behaved clients is served; a single failure of theirs fails
the test.
"""

import random
import unittest

import weir_server
from weir_server import ConnectionClosed, Crowd, Weir, check_request, get, post

GOOD = check_request(key="good", limit=5, window=60)


class Wire(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.weir = Weir("--threads", "2")
        cls.addClassCleanup(cls.weir.__exit__)

    def setUp(self):
        self.crowd = Crowd(self.weir.port, clients=2, key="crowd", limit=5, window=60)
        self.crowd.__enter__()
        self.addCleanup(self.crowd_is_unharmed)

    def crowd_is_unharmed(self):
        self.crowd.wait_for_replies(20)
        self.crowd.__exit__()
        self.assertEqual(self.crowd.failures, [])
        self.assertIsNone(self.weir.process.poll())

    def status_of(self, data):
        with self.weir.connect() as connection:
            try:
                return connection.ask(data).status
            except (ConnectionClosed, OSError):
                return None

    def assert_refused(self, status, data):
        with self.weir.connect() as connection:
            reply = connection.ask(data)
            self.assertEqual(reply.status, status, reply.text)
            self.assertIn("application/problem+json", reply.head)
            self.assertTrue(connection.is_closed_by_server())

    def test_garbage(self):
        prng = random.Random(1)
        for _ in range(50):
            status = self.status_of(prng.randbytes(prng.randrange(1, 5000)) + b"\r\n\r\n")
            self.assertIn(status, (400, 431, 501, 505, None))

    def test_what_is_not_http(self):
        self.assert_refused(400, b"*1\r\n$4\r\nPING\r\n\r\n")
        self.assert_refused(400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n")

    def test_a_flood_of_fields(self):
        fields = "".join(f"X-{i}: {'y' * 100}\r\n" for i in range(10000))
        status = self.status_of(get("/health", fields))
        self.assertIn(status, (431, None))  # it may hang up while we are still sending

    def test_a_head_without_end(self):
        status = self.status_of(b"GET /" + b"a" * 100000)
        self.assertIn(status, (414, 431, None))

    def test_a_key_of_a_mebibyte(self):
        body = b'{"key":"' + b"k" * 2**20 + b'","limit":5,"window":60}'
        self.assertIn(self.status_of(post("/check", body)), (413, None))
        shorter = b'{"key":"' + b"k" * 500_000 + b'","limit":5,"window":60}'
        self.assertEqual(self.status_of(post("/check", shorter)), 400)

    def test_bytes_that_are_no_text(self):
        for body in (b'{"key":"a\x00b","limit":5,"window":60}',
                     b'{"key":"\xff\xfe","limit":5,"window":60}',
                     b"\x00" * 100, b'{"key":"a","limit":5,"window":60'):
            with self.weir.connect() as connection:
                self.assertEqual(connection.ask(post("/check", body)).status, 400)
                self.assertTrue(connection.check(key="a", limit=9**9, window=1)["allowed"])

    def test_peers_that_vanish(self):
        for cut in range(1, len(GOOD), 7):
            with self.weir.connect() as connection:
                connection.send(GOOD[:cut])
        for _ in range(50):
            with self.weir.connect() as connection:
                connection.send(GOOD * 100)  # and not wait for the replies


if __name__ == "__main__":
    weir_server.main()
