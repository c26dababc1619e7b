#!/usr/bin/python3
"""weir-bench against a started weir serve: it runs, counts right and says so.

Says nothing about speed. $WEIR_BINARY is the program; ctest sets it.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True

import harness  # noqa: E402 (after the line above)
import servers  # noqa: E402

WEIR = pathlib.Path(os.environ.get("WEIR_BINARY", "build/release/weir"))
WEIR_BENCH = WEIR.with_name("weir-bench")


def bench_http(*options):
    return subprocess.run([WEIR_BENCH, "http", *map(str, options)], capture_output=True,
                          text=True, timeout=30)


class Suites(unittest.TestCase):
    def test_ask_for_nothing_that_bench_lacks(self):
        bench = harness.Bench(build=pathlib.Path("build"), quick=True)
        for suite in sorted((pathlib.Path(__file__).parent / "suites").glob("*.py")):
            for name in re.findall(r"(?<![/\w])bench\.(\w+)", suite.read_text(encoding="utf-8")):
                self.assertTrue(hasattr(bench, name), f"{suite.name}: bench.{name}")


class BenchResp(unittest.TestCase):
    def test_one_key_is_allowed_its_limit(self):
        port = harness.free_port()
        serve = [WEIR, "serve", "--http", "127.0.0.1:0", "--resp", f"127.0.0.1:{port}"]
        with servers.started(serve, port):
            done = subprocess.run(
                [WEIR_BENCH, "resp", "--server", f"redis://127.0.0.1:{port}", "--json",
                 "--requests", "200", "--keys", "1", "--connections", "4", "--pipeline", "5", "--",
                 "CL.THROTTLE", "{key}", "6", "7", "31622400"],
                capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual((report["requests"], report["allowed"], report["denied"]), (200, 7, 193))
        self.assertEqual(report["errors"], 0, report)


class BenchHttp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        port = harness.free_port()
        command = [WEIR, "serve", "--http", f"127.0.0.1:{port}", "--threads", "1"]
        cls.server = cls.enterClassContext(servers.started(command, port))

    def report(self, *options):
        done = bench_http("--server", self.server.url, "--json", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertGreater(report["requests"], 0)
        self.assertEqual(report["allowed"] + report["denied"], report["requests"])
        return report

    def test_closed_loop(self):
        report = self.report("--duration", "200ms", "--connections", 8, "--pipeline", 16,
                             "--limit", 1_000_000_000, "--window", "1h")
        self.assertEqual(report["errors"], 0, report)
        self.assertEqual(report["denied"], 0)
        self.assertEqual(report["loop"], "closed")

    def test_one_key_is_allowed_its_limit(self):
        for algorithm in ("fixed_window", "sliding_log", "sliding_window", "token_bucket"):
            with self.subTest(algorithm):
                # A year: no window ends, and no bucket earns a unit, while we look.
                report = self.report("--requests", 200, "--keys", 1, "--limit", 7, "--connections",
                                     4, "--pipeline", 5, "--window", "366d", "--algorithm",
                                     algorithm)
                self.assertEqual(report["requests"], 200)
                self.assertEqual(report["allowed"], 7)

    def test_open_loop(self):
        report = self.report("--duration", "200ms", "--rate", 2000, "--distribution", "zipf",
                             "--connections", 16)
        self.assertEqual(report["loop"], "open")
        # On a machine too busy for the schedule, what could not be sent is an error.
        self.assertEqual(report["requests"] + report["errors"], 400)

    def test_plain_get(self):
        done = bench_http("--server", self.server.url, "--get", "/health", "--requests", 10)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("GET /health at 127.0.0.1:", done.stdout)
        self.assertIn("requests   10 in ", done.stdout)
        self.assertIn("errors     0\n", done.stdout)
        self.assertIn("closed loop: latencies are service times", done.stdout)

    def test_refuses_another_machine(self):
        done = bench_http("--server", "http://192.0.2.1:80")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--allow-remote", done.stderr)

    def test_nobody_listens(self):
        done = bench_http("--server", f"127.0.0.1:{harness.free_port()}")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot connect to", done.stderr)


if __name__ == "__main__":
    unittest.main()
