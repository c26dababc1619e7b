"""Matching one request against 10, 1,000 and 10,000 rules, in one process."""

import harness
from results import Row

COUNTS = [10, 1_000, 10_000]
GOAL_NS = 1_000  # at 10 rules
GROWTH_GOAL = 10  # times the time of 10 rules, for a thousand times as many


def run(bench):
    rows = []
    for kind, what in (("paths", "paths and headers"),
                       ("regexes", "paths, headers and expressions")):
        runs = bench.alternate("rules", {kind: lambda kind=kind: measure(bench, kind)},
                               1 if bench.quick else 3)[kind]
        times = {count: [run[count] for run in runs] for count in COUNTS}
        least = harness.median(times[COUNTS[0]])
        for count in COUNTS:
            rows.append(row(f"{count:,} rules with {what}", times[count], least, count))
    return rows


def measure(bench, kind):
    report = harness.run_json(bench.on_all_cpus(
        [bench.rules_bench, f"--benchmark_filter=^match/{kind}/",
         "--benchmark_format=json", f"--benchmark_min_time={0.1 if bench.quick else 0.5}"]))
    found = {}
    for entry in report["benchmarks"]:
        if entry.get("error_occurred"):
            raise SystemExit(f"{entry['name']}: {entry['error_message']}")
        found[int(entry["name"].rpartition("/")[2])] = entry["cpu_time"]
    return found


def row(what, times, least, count):
    time = harness.median(times)
    if count == COUNTS[0]:
        return Row(what, f"{time:.0f} ns a request", "none", goal=f"at most {GOAL_NS} ns",
                   met=time <= GOAL_NS, samples={"ns": times})
    ratio = time / least
    return Row(what, f"{time:.0f} ns a request", f"{COUNTS[0]} rules {least:.0f} ns",
               f"{ratio:.2f}", f"at most {GROWTH_GOAL}", ratio <= GROWTH_GOAL, {"ns": times})
