"""What a blocked key costs at each door, against one that is allowed, in one process."""

import harness
from results import Row

DOORS = {"asks": "engine, no door", "check": "POST /check by rule", "auth": "forward-auth",
         "resp": "WEIR.HIT", "grpc": "ShouldRateLimit, without HTTP/2"}
GOAL = 1.0  # a blocked key costs no more than an allowed one


def run(bench):
    runs = bench.alternate("blocks", {"all doors": lambda: measure(bench)},
                           1 if bench.quick else 5)["all doors"]
    return [row(door, what, runs) for door, what in DOORS.items()]


def measure(bench):
    report = harness.run_json(bench.on_all_cpus(
        [bench.blocks_bench, "--benchmark_format=json",
         f"--benchmark_min_time={0.05 if bench.quick else 0.2}"]))
    for entry in report["benchmarks"]:
        if entry.get("error_occurred"):
            raise SystemExit(f"{entry['name']}: {entry['error_message']}")
    return {entry["name"]: entry["cpu_time"] for entry in report["benchmarks"]}


def row(door, what, runs):
    blocked, allowed = ([run[f"{door}/{whom}"] for run in runs] for whom in ("blocked", "allowed"))
    ratio = harness.median([b / a for b, a in zip(blocked, allowed)])
    return Row(f"a blocked key, {what}", f"{harness.median(blocked):.0f} ns",
               f"an allowed key: {harness.median(allowed):.0f} ns", f"{ratio:.2f}",
               f"at most {GOAL}", ratio <= GOAL, {"blocked_ns": blocked, "allowed_ns": allowed})
