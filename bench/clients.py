"""Clients: weir bench and wrk, pinned to the client's CPU, with one form of answer."""

import pathlib
import re
import sys

import harness

CONNECTIONS = 64
KEYS = 100_000
CHECK_LUA = pathlib.Path(__file__).with_name("check.lua")


def weir_bench(bench, server, seconds, *options):
    """One run of `weir bench http`: its JSON, and server_cpu, the part of one CPU used."""
    cpu_before = server.cpu_seconds()
    report = harness.run_json(bench.on_client_cpu(
        [bench.weir, "bench", "http", "--json", "--server", server.url,
         "--connections", CONNECTIONS, "--keys", KEYS, "--duration", f"{round(seconds * 1000)}ms",
         *options]))
    report["server_cpu"] = (server.cpu_seconds() - cpu_before) / report["elapsed_s"]
    report["client_cpu"] = report["client_cpu_s"] / report["elapsed_s"]
    # No answer in time is a figure of a busy machine; a wrong answer is no figure at all.
    if report["bad_status"] or report["lost"]:
        sys.exit(f"wrong answers from {server.url}: {report}")
    return report


# High enough that nothing is denied: each check writes its key's counter. Not higher: a
# limit beyond 16 million a minute is kept in the store's slower part.
CHECKS = ("--limit", "1000000", "--window", "60s", "--algorithm", "sliding_window")
GETS = ("--get", "/")


def wrk(bench, server, seconds, *options):
    """One run of wrk: requests a second."""
    cpu_before = server.cpu_seconds()
    seconds = max(1, round(seconds))  # wrk knows whole seconds only
    output = harness.run(bench.on_client_cpu(
        [harness.require("wrk"), "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", *options,
         server.url]))
    rate = re.search(r"Requests/sec:\s+([\d.]+)", output)
    if not rate or "Non-2xx" in output or "Socket errors" in output:
        sys.exit(f"wrk against {server.url}:\n{output}")
    return {"requests_per_s": float(rate[1]),
            "server_cpu": (server.cpu_seconds() - cpu_before) / seconds}
