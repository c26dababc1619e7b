"""libweir in one process: time a check, two threads against one, memory a key."""

import harness
from results import Row

ALGORITHMS = ["token_bucket", "sliding_window", "fixed_window"]
# Keys, and the goal in nanoseconds a check.
GOALS_NS = {100_000: 50, 10_000_000: 200}
ACCESSES_GOAL = 1.3  # of the time that one access to the table's memory takes
BATCH = 16
THREADS_GOAL = 1.8
WIDE = "wide/100000"  # keys that the compact table has no room for, under the locks of their shards
BYTES_GOAL = 32
# Memory is measured where rounding up to pages and powers of two no longer counts.
MEMORY_KEYS = 10_000_000


def run(bench):
    measures = {
        f"{algorithm}/{keys}": lambda name=f"{algorithm}/{keys}": measure(bench, name)
        for keys in GOALS_NS for algorithm in ALGORITHMS
    }
    if len(bench.all_cpus) > 1:
        measures[WIDE] = lambda: measure(bench, WIDE)
    rounds = 1 if bench.quick else 3
    samples = bench.alternate("library", measures, rounds)
    rows = []
    for keys in GOALS_NS:
        for algorithm in ALGORITHMS:
            runs = samples[f"{algorithm}/{keys}"]
            what = f"{algorithm}, {keys:,} keys"
            rows += [check_row(f"`Limiter::hit`, {what}", runs, "hit", keys),
                     check_row(f"store, batches of {BATCH}, {what}", runs, "batch16", keys)]
            if len(bench.all_cpus) > 1:
                rows.append(threads_row(f"two threads, {what}", runs))
            if keys == MEMORY_KEYS:
                rows.append(access_row(f"`Limiter::hit`, {what}", runs))
                rows.append(memory_row(f"memory, {what}", runs, algorithm))
    if WIDE in samples:
        rows.append(threads_row("two threads, 10^12 an hour, 100,000 keys", samples[WIDE]))
    return rows


def measure(bench, name):
    """One process, and so one store: {benchmark: its figures}."""
    keys = name.rpartition("/")[2]
    wanted = f"^(clock|(keys|access)/{keys}|(hit|batch16|shared)/{name})($|/)"
    report = harness.run_json(bench.on_all_cpus(
        [bench.library_bench, f"--benchmark_filter={wanted}", "--benchmark_format=json",
         f"--benchmark_min_time={0.1 if bench.quick else 0.5}"]))
    found = {}
    for entry in report["benchmarks"]:
        if entry.get("error_occurred"):
            raise SystemExit(f"{entry['name']}: {entry['error_message']}")
        found[short_name(entry)] = {
            field: entry[field]
            for field in ("cpu_time", "items_per_second", "bytes_per_key", "evictions")
            if field in entry}
    return found


def short_name(entry):
    """hit/token_bucket/100000 -> hit; shared/.../threads:2 -> shared 2."""
    kind = entry["name"].partition("/")[0]
    return f"{kind} {entry['threads']}" if kind == "shared" else kind


def check_row(what, runs, kind, keys):
    checks = BATCH if kind == "batch16" else 1
    gross = harness.median([run[kind]["cpu_time"] / checks for run in runs])
    making = harness.median([run["keys"]["cpu_time"] for run in runs])
    clock = harness.median([run["clock"]["cpu_time"] for run in runs])
    net = gross - making
    yardstick = f"empty loop (making a key) {making:.1f} ns"
    if kind == "hit":
        yardstick += f"; reading the clock, part of the figure, {clock:.0f} ns"
    return Row(what, f"{net:.0f} ns a check ({gross:.0f} with its loop)", yardstick,
               goal=f"at most {GOALS_NS[keys]} ns", met=net <= GOALS_NS[keys],
               samples={"gross_ns": [run[kind]["cpu_time"] / checks for run in runs],
                        "loop_ns": [run["keys"]["cpu_time"] for run in runs],
                        "clock_ns": [run["clock"]["cpu_time"] for run in runs]})


def access_row(what, runs):
    """Beyond all caches, a hit waits for memory once."""
    hit, access = ([run[kind]["cpu_time"] - run["keys"]["cpu_time"] for run in runs]
                   for kind in ("hit", "access"))
    ratio = harness.median([one / other for one, other in zip(hit, access)])
    return Row(what, f"{harness.median(hit):.0f} ns a check",
               f"one access that waits for the one before: {harness.median(access):.0f} ns",
               f"{ratio:.2f}", f"at most {ACCESSES_GOAL}", ratio <= ACCESSES_GOAL,
               {"hit_ns": hit, "access_ns": access})


def threads_row(what, runs):
    one = [run["shared 1"]["items_per_second"] for run in runs]
    two = [run["shared 2"]["items_per_second"] for run in runs]
    ratio = harness.median([b / a for a, b in zip(one, two)])
    return Row(what, f"{harness.median(two) / 1e6:.1f} M checks/s",
               f"one thread {harness.median(one) / 1e6:.1f} M checks/s", f"{ratio:.2f}",
               f"at least {THREADS_GOAL}", ratio >= THREADS_GOAL, {"one": one, "two": two})


def memory_row(what, runs, algorithm):
    sizes = [run["hit"]["bytes_per_key"] for run in runs]
    evictions = max(run["hit"]["evictions"] for run in runs)
    size = harness.median(sizes)
    has_goal = algorithm != "fixed_window"
    return Row(what, f"{size:.1f} bytes of RSS a live key",
               f"none; {evictions:.0f} of {MEMORY_KEYS:,} keys evicted",
               goal=f"at most {BYTES_GOAL} bytes" if has_goal else "",
               met=size <= BYTES_GOAL if has_goal else None, samples={"bytes_per_key": sizes})
