"""100,000 requests leave the server as large as it was."""

import json
import unittest

import weir_server
from weir_server import Weir, post

BATCH = 1000
# What an allocator may take for itself. A leak of 16 bytes a request would be 1,562 KiB.
GROWTH_KIB_MAX = 512


class Memory(unittest.TestCase):
    def ask(self, connection, batches):
        """Pipelined batches of new keys, refused requests among them."""
        for _ in range(batches):
            bodies = [json.dumps({"key": f"key-{self.count + i}", "limit": 5, "window": 60,
                                  "algorithm": ("sliding_window", "sliding_log")[i % 2]})
                      for i in range(BATCH)]
            bodies[0] = '{"key":"no limit"}'
            self.count += BATCH
            connection.send(b"".join(post("/check", body.encode()) for body in bodies))
            for i in range(BATCH):
                self.assertEqual(connection.read_reply().status, 400 if i == 0 else 200)

    def test_it_does_not_grow(self):
        self.count = 0
        # So few keys that the warm-up touches all the memory of the store.
        with Weir("--threads", "1", "--max-keys", "1024") as weir:
            with weir.connect() as connection:
                self.ask(connection, 50)
                before = weir.rss_kib()
                self.ask(connection, 100)
                growth = weir.rss_kib() - before
            for _ in range(500):
                self.assertTrue(weir.check(key="short", limit=9**9, window=1)["allowed"])
            print(f"{growth} KiB after {100 * BATCH} requests, "
                  f"{weir.rss_kib() - before} after 500 connections more", flush=True)
            self.assertLess(growth, GROWTH_KIB_MAX)
            self.assertLess(weir.rss_kib() - before, GROWTH_KIB_MAX)


if __name__ == "__main__":
    weir_server.main()
