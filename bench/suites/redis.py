"""Nodes that share a Redis: what a decision costs it, and what sharing costs the nodes."""

import concurrent.futures
import contextlib
import sys

import clients
import harness
import servers
from results import Row, rate
from suites.resp import CAPACITY, PERIOD_S, THROTTLE, TOKEN_BUCKET

NODES = 3
RUNS = 3  # of each mode in memory, so much longer than others, and before them
LONGER, WARM_UP = 3, 10
SHORTER = 3  # runs of latency, so many more
PIPELINE = 32
STRICT_GOAL = 3.0
ADDED_P99_GOAL_MS = 1.0
LEASED_GOAL = 0.9
REDIS_BUSY_GOAL = 0.03
ASYNC_GOAL = 0.95
# Three nodes behind nginx, as the service that Weir takes the place of reports them.
FLEET_RATE_GOAL, FLEET_P50_GOAL_MS, FLEET_P95_GOAL_MS = 1_000, 14, 75
ZIPF = ("--distribution", "zipf")


def run(bench):
    return [strict_by_redis(bench), strict_latency(bench), *memory_modes(bench),
            *behind_nginx(bench)]


def strict_by_redis(bench):
    """Redis has a CPU of its own, so that its CPU time is its own work."""
    def ours(node, redis):
        return by_redis_cpu(redis, lambda: clients.weir_bench_resp(
            bench, node, bench.seconds, PIPELINE, THROTTLE))

    def script(redis, command):
        return by_redis_cpu(redis, lambda: clients.redis_benchmark(
            bench, redis, bench.seconds, 1, command))

    with servers.redis(bench) as redis, \
            servers.node(bench.on_client_cpu, bench.weir, redis, "strict") as node:
        digest = harness.run(["redis-cli", "-p", str(redis.port), "SCRIPT", "LOAD", TOKEN_BUCKET])
        command = ("EVALSHA", digest.strip(), 1, clients.KEY, CAPACITY, CAPACITY / PERIOD_S, 1)
        samples = bench.alternate("redis, strict", {
            "weir": lambda: ours(node, redis), "script": lambda: script(redis, command)})
        decided_by_redis(node)
    weir, other = (harness.median([run["per_redis_cpu"] for run in samples[name]])
                   for name in ("weir", "script"))
    return Row(f"strict CL.THROTTLE, {PIPELINE} pipelined, a second of Redis's CPU", rate(weir),
               f"token bucket by EVALSHA, {clients.CONNECTIONS} connections: {rate(other)}",
               f"{weir / other:.2f}", f"at least {STRICT_GOAL}", weir / other >= STRICT_GOAL,
               samples)


def by_redis_cpu(redis, measure):
    before = redis.cpu_seconds()
    report = measure()
    # redis_benchmark() tries its speed before, and tells the CPU time of what it counted.
    seconds = (redis.cpu_seconds() - before if "elapsed_s" in report
               else report["server_cpu"])
    decided = report["requests"] if "elapsed_s" in report else report["requests_per_s"]
    return {**report, "per_redis_cpu": decided / seconds}


def decided_by_redis(node):
    """A node that went on without its Redis has been measured at something else."""
    if decided_alone([node]):
        sys.exit("some checks were decided without the Redis, which was too busy")


def decided_alone(nodes):
    return int(sum(node.metric("weir_store_fallbacks_total") for node in nodes))


def strict_latency(bench):
    """In many short runs. A machine that pauses for 30 ms has a p99 of its own in a run of
    seconds, and the median is to be of runs without a pause. Redis shares the node's CPU, as the
    client, which keeps a schedule, needs all of its own."""
    with servers.redis(bench, bench.on_server_cpu) as redis, \
            servers.node(bench.on_server_cpu, bench.weir, redis, "strict") as strict, \
            servers.node(bench.on_server_cpu, bench.weir, redis, "local") as local:
        peak = bench.alternate("redis, peak of strict", {"strict": lambda: clients.weir_bench(
            bench, strict.http, bench.seconds, *clients.CHECKS)})["strict"]
        asked = round(harness.median([run["requests_per_s"] for run in peak]) / 2)
        measures = {name: lambda node=node: clients.weir_bench(
            bench, node.http, bench.seconds / SHORTER, *clients.CHECKS, "--rate", asked)
            for name, node in (("strict", strict), ("local", local))}
        for measure in measures.values():  # thrown away: memory is new at first
            measure()
        samples = bench.alternate(f"redis, latency at {rate(asked)}", measures,
                                  rounds=SHORTER * bench.rounds)
        decided_by_redis(strict)
    p99 = {name: harness.median([run["latency_ms"]["p99"] for run in runs])
           for name, runs in samples.items()}
    added = p99["strict"] - p99["local"]
    return Row(f"strict POST /check at {rate(asked)}, half its peak, open loop, p99",
               f"{p99['strict']:.3f} ms", f"local, same schedule: {p99['local']:.3f} ms",
               f"{added:+.3f} ms", f"below +{ADDED_P99_GOAL_MS} ms", added < ADDED_P99_GOAL_MS,
               samples)


def memory_modes(bench):
    """Three nodes on one CPU; their clients and Redis have the other. Each mode is measured
    for a while without pause, as nodes lease what a key needs for a minute, and give back
    what it does not need. Mode local is measured before the others and after them."""
    samples = {mode: [] for mode in ("local", "leased", "async")}
    alone = {}
    for mode in ("local", "leased", "async", "local"):
        with contextlib.ExitStack() as stack:
            redis = stack.enter_context(servers.redis(bench, bench.on_client_cpu))
            nodes = [stack.enter_context(servers.node(bench.on_server_cpu, bench.weir, redis, mode))
                     for _ in range(NODES)]
            print(f"redis, {NODES} nodes: {mode}", file=sys.stderr)
            load_all(bench, nodes, redis, WARM_UP * bench.seconds)  # they learn what keys need
            samples[mode] += [load_all(bench, nodes, redis, LONGER * bench.seconds)
                              for _ in range(RUNS)]
            alone[mode] = decided_alone(nodes)
    what = f"{NODES} nodes, CL.THROTTLE by Zipf's law on 100 k keys, {PIPELINE} pipelined"
    local = clients.figures(samples["local"])
    rows = []
    for mode, goal in (("leased", LEASED_GOAL), ("async", ASYNC_GOAL)):
        shared = clients.figures(samples[mode])
        ratio = shared["per_cpu"] / local["per_cpu"]
        left_out = f", {alone[mode]} decided without the busy Redis" if alone[mode] else ""
        rows.append(Row(f"{mode}, {what}{left_out}", clients.told(shared),
                        f"local: {clients.told(local)}",
                        f"{ratio:.2f} by CPU time", f"at least {goal}", ratio >= goal,
                        {mode: samples[mode], "local": samples["local"]}))
    busy = harness.median([run["redis_cpu"] for run in samples["leased"]])
    rows.append(Row("leased, the same: Redis", f"{busy:.1%} of a CPU", "", "",
                    f"below {REDIS_BUSY_GOAL:.0%}", busy < REDIS_BUSY_GOAL))
    return rows


def load_all(bench, nodes, redis, seconds):
    """A client for each node, at once: the sum of what they are told."""
    before = redis.cpu_seconds()

    def one(node):
        return clients.load(bench, node, seconds, "resp", "--server",
                            f"127.0.0.1:{node.port}", "--pipeline", PIPELINE, *ZIPF, "--",
                            *THROTTLE)
    with concurrent.futures.ThreadPoolExecutor(len(nodes)) as pool:
        reports = list(pool.map(one, nodes))
    elapsed = max(report["elapsed_s"] for report in reports)
    return {"requests_per_s": sum(report["requests"] for report in reports) / elapsed,
            "server_cpu": sum(report["server_cpu"] for report in reports),
            "redis_cpu": (redis.cpu_seconds() - before) / elapsed}


def behind_nginx(bench):
    with servers.fleet(bench) as fleet:
        samples = bench.alternate("redis, fleet behind nginx", {
            "fleet": lambda: clients.weir_bench(bench, fleet, bench.seconds, *clients.CHECKS)})
    runs = samples["fleet"]
    per_second = harness.median([run["requests_per_s"] for run in runs])
    p50, p99 = (harness.median([run["latency_ms"][name] for run in runs])
                for name in ("p50", "p99"))
    what = f"{NODES} strict nodes behind nginx, POST /check, {clients.CONNECTIONS} connections"
    return [
        Row(what, rate(per_second), f"reported elsewhere: {rate(FLEET_RATE_GOAL)}",
            f"{per_second / FLEET_RATE_GOAL:.1f}", f"at least {FLEET_RATE_GOAL}/s",
            per_second >= FLEET_RATE_GOAL, samples),
        Row(f"{what}, p50", f"{p50:.2f} ms", f"reported elsewhere: {FLEET_P50_GOAL_MS} ms",
            f"{p50 / FLEET_P50_GOAL_MS:.2f}", f"below {FLEET_P50_GOAL_MS} ms",
            p50 < FLEET_P50_GOAL_MS),
        Row(f"{what}, p99", f"{p99:.2f} ms",
            f"reported elsewhere: p95 of {FLEET_P95_GOAL_MS} ms",
            f"{p99 / FLEET_P95_GOAL_MS:.2f}", f"below {FLEET_P95_GOAL_MS} ms",
            p99 < FLEET_P95_GOAL_MS),
    ]
