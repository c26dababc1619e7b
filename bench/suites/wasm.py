"""The npm package in node, compared with what others use there: `Limiter.hit` in memory. And
what the Worker adds to a request in workerd."""

import json
import pathlib
import subprocess
import sys
import tempfile

import harness
from results import Row

ROOT = pathlib.Path(__file__).resolve().parents[2]
HIT_GOAL_NS = 150
DECISION_GOAL_NS = 60
IMPORT_GOAL_MS = 5
WORKER_GOAL_US = 100
WORKER_RULES = "rules: [{id: all, match: {path: /*}, key: client, limit: 1000000, window: 1m}]\n"
PEERS = (("rate-limiter-flexible", 15.0), ("express-rate-limit", 8.0))
PARTS = (("clock", "`Date.now()` alone"),
         ("access", "one access to memory as large as the table, alone"),
         ("map", "a `Map` that counts new strings, alone"))
ROUNDS = (("known", "keys that are known"), ("fresh", "keys that are new"))


def run(bench):
    cache = npm_cache()
    runs = bench.alternate("wasm", {"all in node": lambda: measure(bench, cache)},
                           1 if bench.quick else 5)["all in node"]
    hit = middle(runs, "hit", "known")
    rows = [Row("`hit` in memory, node, 100,000 keys that are known", f"{hit:.0f} ns", "", "",
                f"{HIT_GOAL_NS} ns", hit <= HIT_GOAL_NS, {"ns": values(runs, "hit", "known")})]
    rows += [compared(runs, peer, goal, kind, keys)
             for kind, keys in ROUNDS for peer, goal in PEERS if peer in runs[0]]
    decision = middle(runs, "decision", "known")
    rows.append(Row("a decision within wasm", f"{decision:.0f} ns", "", "",
                    f"{DECISION_GOAL_NS} ns", decision <= DECISION_GOAL_NS, {}))
    rows += [Row(what, f"{middle(runs, name, 'known'):.0f} ns", samples={})
             for name, what in PARTS]
    imported = middle(runs, "import", "ms")
    first_hit = middle(runs, "import", "first_hit_ms")
    rows.append(Row("first import of the package; the first hit", f"{imported:.1f} ms", "", "",
                    f"{IMPORT_GOAL_MS} ms", imported <= IMPORT_GOAL_MS,
                    {"first_hit_ms": first_hit}))
    return rows + in_workerd(bench, cache)


def npm_cache():
    cache = ROOT / "build" / "npm-cache"
    subprocess.run(["node", ROOT / "npm/tools/peers.mjs", cache], check=True)
    return cache


def compared(runs, peer, goal, kind, keys):
    ratio = harness.median([run[peer][kind] / run["hit"][kind] for run in runs])
    yardstick = f"{peer}'s memory: {middle(runs, peer, kind):.0f} ns"
    return Row(f"`hit`, {keys}", f"{middle(runs, 'hit', kind):.0f} ns", yardstick, f"{ratio:.1f}",
               f"{goal:.0f}" if goal else "", ratio >= goal if goal else None,
               {"ns": values(runs, peer, kind)})


def in_workerd(bench, cache):
    tools = ROOT / "worker/tools"
    with tempfile.TemporaryDirectory(prefix="weir-bench-worker-") as folder:
        rules = pathlib.Path(folder, "rules.yaml")
        rules.write_text(WORKER_RULES)
        exported = pathlib.Path(folder, "rules.weir")
        exported.write_bytes(subprocess.check_output([bench.weir, "export", rules]))
        harness.run(["node", tools / "build.mjs", folder, bench.weir.parent, exported])
        times = harness.run_json(["node", tools / "request_cost.mjs", folder, cache])
    if not times:
        print("the Worker is not measured: npm brings no workerd", file=sys.stderr)
        return []
    plain, worker = (harness.median(times[name]) for name in ("plain", "worker"))
    return [Row("the Worker in workerd, a request more than one that only passes on",
                f"{worker - plain:+.0f} µs", f"passing on: {plain:.0f} µs", "",
                f"at most +{WORKER_GOAL_US} µs", worker - plain <= WORKER_GOAL_US, times)]


def measure(bench, cache):
    script = ROOT / "npm/tools/bench.mjs"
    words = ["node", script, bench.npm_package, cache]
    return json.loads(subprocess.run(words, check=True, text=True, capture_output=True).stdout)


def values(runs, name, figure):
    return [run[name][figure] for run in runs]


def middle(runs, name, figure):
    return harness.median(values(runs, name, figure))
