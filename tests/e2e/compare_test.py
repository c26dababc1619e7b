"""weir-bench compare: every algorithm allows exactly the limit, in memory and in a Redis."""

import json
import unittest

import redis_world
import weir_server

ALGORITHMS = ["fixed_window", "sliding_log", "sliding_window", "token_bucket",
              "exponential_backoff"]


def run_compare(url, *more):
    return weir_server.run_weir("compare", "--redis", url, *more, program=weir_server.WEIR_BENCH)


class Compare(unittest.TestCase):
    def compare(self, url):
        code, said, complaint = run_compare(url)
        self.assertEqual((code, complaint), (0, ""))
        rows = [line.split() for line in said.splitlines() if line.split()[:1]]
        rows = [row for row in rows if row[0] in ALGORITHMS]
        self.assertEqual([row[:2] for row in rows],
                         [[name, store] for name in ALGORITHMS for store in ("memory", "redis")])
        for row in rows:
            self.assertEqual(row[2:5], ["100", "900", "0"], row)

    def test_one_server(self):
        with redis_world.Redis() as redis:
            self.compare(redis.url)
            self.assertEqual(redis.ask("DBSIZE"), 0, "its keys are removed")

    def test_the_table_as_json(self):
        with redis_world.Redis() as redis:
            code, said, _ = run_compare(redis.url, "--json")
        self.assertEqual(code, 0)
        rows = [json.loads(line) for line in said.splitlines()]
        self.assertEqual([(row["algorithm"], row["store"]) for row in rows],
                         [(name, store) for name in ALGORITHMS for store in ("memory", "redis")])
        for row in rows:
            self.assertEqual((row["allowed"], row["blocked"], row["failed"]), (100, 900, 0))
            self.assertGreater(row["latency_us"]["p99"], 0)

    def test_no_redis_is_said(self):
        code, said, complaint = run_compare("redis://127.0.0.1:1")
        self.assertEqual((code, said), (1, ""))
        self.assertIn("redis://127.0.0.1:1 cannot be used", complaint)

    def test_a_wrong_url_is_said(self):
        code, _, complaint = run_compare("http://127.0.0.1:1")
        self.assertEqual(code, 1)
        self.assertIn("weir-bench compare: ", complaint)


if __name__ == "__main__":
    weir_server.main()
