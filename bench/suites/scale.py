"""What the beats of a large fleet cost its Redis, and how late nodes learn of a block.

Redis and all nodes have a CPU each, and go first there: neighbours would be measured as well.
"""

import json
import re
import subprocess
import time

import harness
import servers
from results import Row

NODES = (3, 30, 128, 500, 1000, 2000)
QUIET, BLOCKS = "settled\n", "blocks\n"  # what fleet_bench says first
LOST_MS = 10_000  # fleet_bench waits no longer for a block


def run(bench):
    rounds = 1 if bench.quick else 3
    sizes = NODES[:2] if bench.quick else NODES
    return [row(nodes, bench.alternate(f"{nodes} nodes", {"": lambda n=nodes: measure(bench, n)},
                                       rounds)[""]) for nodes in sizes]


def measure(bench, nodes):
    seconds = 3 if bench.quick else 10
    with servers.redis(bench, lambda command: harness.going_first(bench.on_server_cpu(command))) \
            as redis:
        fleet = subprocess.Popen(
            harness.going_first(bench.on_client_cpu(
                [bench.fleet_bench, f"redis://127.0.0.1:{redis.port}", nodes, seconds])),
            stdout=subprocess.PIPE, text=True)
        try:
            said = [fleet.stdout.readline()]
            settled = told(redis)
            said.append(fleet.stdout.readline())
            blocked = told(redis)
            report = fleet.communicate(timeout=harness.RUN_TIMEOUT_S)[0]
            ended = told(redis)
        finally:
            fleet.kill()
    if said != [QUIET, BLOCKS]:
        raise SystemExit(f"fleet_bench with {nodes} nodes failed")
    return {**between(settled, blocked), "busy_cpu": between(blocked, ended)["cpu"],
            **json.loads(report)}


def between(before, after):
    took = after["at"] - before["at"]
    return {name: (after[name] - before[name]) / took for name in ("cpu", "in", "out", "beats")}


def told(redis):
    text = harness.run(["redis-cli", "-p", str(redis.port), "INFO", "everything"])

    def number(name):
        found = re.search(rf"^{name}([\d.]+)", text, re.MULTILINE)
        return float(found[1]) if found else 0.0

    return {"at": time.monotonic(), "cpu": number("used_cpu_user:") + number("used_cpu_sys:"),
            "in": number("total_net_input_bytes:"), "out": number("total_net_output_bytes:"),
            "beats": number("cmdstat_evalsha:calls=")}


def row(nodes, runs):
    middle = {name: harness.median([run[name] for run in runs]) for name in runs[0]}
    is_lost = middle["all_ms"] >= LOST_MS
    learns = ("no block reaches all" if is_lost else
              f"half know a block after {middle['half_ms']:.0f} ms, all after "
              f"{middle['all_ms']:.0f} ms")
    return Row(f"{nodes:,} nodes",
               f"{100 * middle['cpu']:.1f} % of a core of Redis, "
               f"{100 * middle['busy_cpu']:.1f} % with one block after another",
               f"{middle['beats']:,.0f} beats/s, {middle['in'] / 1e6:.1f} MB/s in, "
               f"{middle['out'] / 1e6:.1f} MB/s out; {learns}", samples={"runs": runs})
