"""Clients: weir-bench, wrk and redis-benchmark, pinned to the client's CPU, with one form of
answer."""

import pathlib
import re
import sys

import harness
from results import rate

CONNECTIONS = 64
KEYS = 100_000
CHECK_LUA = pathlib.Path(__file__).with_name("check.lua")


def weir_bench(bench, server, seconds, *options):
    """One run of `weir-bench http`: its JSON, and server_cpu, the part of one CPU used."""
    return load(bench, server, seconds, "http", "--server", server.url, *options)


def weir_bench_resp(bench, server, seconds, pipeline, command):
    """The same of `weir-bench resp`."""
    return load(bench, server, seconds, "resp", "--server", f"127.0.0.1:{server.port}",
                "--pipeline", pipeline, "--", *command)


def load(bench, server, seconds, protocol, *options):
    cpu_before = server.cpu_seconds()
    report = harness.run_json(bench.on_client_cpu(
        [bench.weir_bench, protocol, "--json", "--connections", CONNECTIONS, "--keys", KEYS,
         "--duration", f"{round(seconds * 1000)}ms", *options]))
    report["server_cpu"] = (server.cpu_seconds() - cpu_before) / report["elapsed_s"]
    report["client_cpu"] = report["client_cpu_s"] / report["elapsed_s"]
    # No answer in time is a figure of a busy machine; a wrong answer is no figure at all.
    if report["bad_status"] or report["lost"]:
        sys.exit(f"wrong answers from port {server.port}: {report}")
    return report


# The word of a command for Redis doors that is another key each time.
KEY = "{key}"


def redis_benchmark(bench, server, seconds, pipeline, command):
    """One run of redis-benchmark: commands a second. It counts commands, not seconds, so a
    short run before says how many."""
    def run(count):
        output = harness.run(bench.on_client_cpu(
            [harness.require("redis-benchmark"), "-p", server.port, "--csv", "-c", CONNECTIONS,
             "-P", pipeline, "-n", count, "-r", KEYS,
             *("key:__rand_int__" if word == KEY else word for word in command)]))
        return float(output.splitlines()[-1].split('","')[1])

    count = round(run(200_000) * seconds)
    cpu_before = server.cpu_seconds()
    per_second = run(count)
    return {"requests_per_s": per_second,
            "server_cpu": (server.cpu_seconds() - cpu_before) / (count / per_second)}


# High enough that nothing is denied: each check writes its key's counter. Not higher: a
# limit beyond 16 million a minute is kept in the store's slower part.
CHECKS = ("--limit", "1000000", "--window", "60s", "--algorithm", "sliding_window")
GETS = ("--get", "/")


def h2load(bench, server, seconds, *options):
    """One run of h2load: requests a second."""
    cpu_before = server.cpu_seconds()
    seconds = max(1, round(seconds))  # h2load knows whole seconds only
    output = harness.run(bench.on_client_cpu(
        [harness.require("h2load"), "-D", seconds, *options]))
    rate = re.search(r"finished in [^,]+, ([\d.]+) req/s", output)
    # An error of gRPC is a good reply of HTTP/2: but it has no data.
    wrong = (" 0 failed, 0 errored" not in output or " 0 4xx, 0 5xx" not in output
             or " 0B (0) data" in output)
    if not rate or wrong:
        sys.exit(f"h2load against {server.url}:\n{output}")
    return {"requests_per_s": float(rate[1]),
            "server_cpu": (server.cpu_seconds() - cpu_before) / seconds}


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


# A server that had time to spare was not what the client waited for.
SATURATED = 0.9


def figures(runs):
    busy = harness.median([run["server_cpu"] for run in runs])
    return {"rate": harness.median([run["requests_per_s"] for run in runs]),
            "per_cpu": harness.median([run["requests_per_s"] / run["server_cpu"] for run in runs]),
            "busy": busy,
            "saturated": busy >= SATURATED}


def told(figure):
    if figure["saturated"]:
        return rate(figure["rate"])
    return (f"{rate(figure['rate'])} (server only {figure['busy']:.0%} busy: "
            f"{rate(figure['per_cpu'])} of its CPU time)")
