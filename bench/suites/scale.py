"""What the beats of a large fleet cost its Redis, and how late nodes learn of a block.

Redis and all nodes have a CPU each, and go first there: neighbours would be measured as well. All
masters of a cluster share Redis's CPU. The row is that of the master that works most.
"""

import contextlib
import json
import re
import subprocess
import time

import harness
import servers
from results import Row

SIZES = ((1, 3), (1, 30), (1, 128), (1, 500), (1, 1000), (1, 2000),
         (3, 1000), (3, 2000), (12, 1000))  # masters, nodes
QUICK_SIZES = ((1, 3), (1, 30), (3, 3))
QUIET, BLOCKS = "settled\n", "blocks\n"  # what fleet_bench says first
LOST_MS = 10_000  # fleet_bench waits no longer for a block


def run(bench):
    rounds, sizes = (1, QUICK_SIZES) if bench.quick else (3, SIZES)
    return [row(name_of(*size), runs_of(bench, size, rounds)) for size in sizes]


def runs_of(bench, size, rounds):
    return bench.alternate(name_of(*size), {"": lambda: measure(bench, *size)}, rounds)[""]


def name_of(masters, nodes):
    return f"{nodes:,} nodes" + (f", a cluster of {masters}" if masters > 1 else "")


def measure(bench, masters, nodes):
    seconds = 3 if bench.quick else 10
    with started(bench, masters) as (ports, url):
        fleet = subprocess.Popen(
            harness.going_first(bench.on_client_cpu([bench.fleet_bench, url, nodes, seconds])),
            stdout=subprocess.PIPE, text=True)
        try:
            said = [fleet.stdout.readline()]
            settled = told(ports)
            said.append(fleet.stdout.readline())
            blocked = told(ports)
            report = fleet.communicate(timeout=harness.RUN_TIMEOUT_S)[0]
            ended = told(ports)
        finally:
            fleet.kill()
    if said != [QUIET, BLOCKS]:
        raise SystemExit(f"fleet_bench with {nodes} nodes failed")
    return {**between(settled, blocked), "busy_cpu": between(blocked, ended)["cpu"],
            **json.loads(report)}


@contextlib.contextmanager
def started(bench, masters):
    """The ports of the masters, and the URL of them all."""
    def pinned(command):
        return harness.going_first(bench.on_server_cpu(command))

    if masters == 1:
        with servers.redis(bench, pinned) as redis:
            yield [redis.port], f"redis://127.0.0.1:{redis.port}"
    else:
        with servers.redis_cluster(bench, masters, pinned) as nodes:
            ports = [node.port for node in nodes]
            yield ports, "redis-cluster://" + ",".join(f"127.0.0.1:{port}" for port in ports)


def between(before, after):
    """A second of the master that has used most of its CPU."""
    took = after["at"] - before["at"]
    spent = [{name: (now[name] - then[name]) / took for name in now}
             for then, now in zip(before["masters"], after["masters"])]
    return max(spent, key=lambda master: master["cpu"])


def told(ports):
    return {"at": time.monotonic(), "masters": [told_by(port) for port in ports]}


def told_by(port):
    text = harness.run(["redis-cli", "-p", str(port), "INFO", "everything"])

    def number(name):
        found = re.search(rf"^{name}([\d.]+)", text, re.MULTILINE)
        return float(found[1]) if found else 0.0

    return {"cpu": number("used_cpu_user:") + number("used_cpu_sys:"),
            "in": number("total_net_input_bytes:"), "out": number("total_net_output_bytes:"),
            "beats": number("cmdstat_evalsha:calls=")}


def row(name, runs):
    middle = {name: harness.median([run[name] for run in runs]) for name in runs[0]}
    is_lost = middle["all_ms"] >= LOST_MS
    learns = ("no block reaches all" if is_lost else
              f"half know a block after {middle['half_ms']:.0f} ms, all after "
              f"{middle['all_ms']:.0f} ms")
    return Row(name,
               f"{100 * middle['cpu']:.1f} % of a core of Redis, "
               f"{100 * middle['busy_cpu']:.1f} % with one block after another",
               f"{middle['beats']:,.0f} beats/s, {middle['in'] / 1e6:.1f} MB/s in, "
               f"{middle['out'] / 1e6:.1f} MB/s out; {learns}", samples={"runs": runs})
