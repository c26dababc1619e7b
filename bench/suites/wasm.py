"""The npm package in node, beside what others use there: `Limiter.hit` in memory."""

import json
import pathlib
import subprocess

import harness
from results import Row

ROOT = pathlib.Path(__file__).resolve().parents[2]
HIT_GOAL_NS = 150
DECISION_GOAL_NS = 60
IMPORT_GOAL_MS = 5
PEERS = (("rate-limiter-flexible", 15.0), ("express-rate-limit", 8.0))
PARTS = (("clock", "`Date.now()` alone"),
         ("access", "one access to memory as large as the table, alone"),
         ("map", "a `Map` that counts new strings, alone"))
ROUNDS = (("known", "keys that are known"), ("fresh", "keys that are new"))


def run(bench):
    cache = ROOT / "build" / "npm-cache"
    subprocess.run(["node", ROOT / "npm/tools/peers.mjs", cache], check=True)
    runs = [measure(bench, cache) for _ in range(1 if bench.quick else 5)]
    hit = middle(runs, "hit", "known")
    rows = [Row("`hit` in memory, node, 100,000 keys that are known", f"{hit:.0f} ns", "", "",
                f"{HIT_GOAL_NS} ns", hit <= HIT_GOAL_NS, {"ns": values(runs, "hit", "known")})]
    rows += [beside(runs, peer, goal, kind, keys)
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
    return rows


def beside(runs, peer, goal, kind, keys):
    ratio = harness.median([run[peer][kind] / run["hit"][kind] for run in runs])
    yardstick = f"{peer}'s memory: {middle(runs, peer, kind):.0f} ns"
    return Row(f"`hit`, {keys}", f"{middle(runs, 'hit', kind):.0f} ns", yardstick, f"{ratio:.1f}",
               f"{goal:.0f}", ratio >= goal, {"ns": values(runs, peer, kind)})


def measure(bench, cache):
    script = ROOT / "npm/tools/bench.mjs"
    words = ["node", script, bench.npm_package, cache]
    return json.loads(subprocess.run(words, check=True, text=True, capture_output=True).stdout)


def values(runs, name, figure):
    return [run[name][figure] for run in runs]


def middle(runs, name, figure):
    return harness.median(values(runs, name, figure))
