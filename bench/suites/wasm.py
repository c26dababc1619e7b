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


def run(bench):
    cache = ROOT / "build" / "npm-cache"
    subprocess.run(["node", ROOT / "npm/tools/peers.mjs", cache], check=True)
    runs = [measure(bench, cache) for _ in range(1 if bench.quick else 5)]
    hit = middle(runs, "hit")
    rows = [Row("`hit` in memory, node, 100,000 keys", f"{hit:.0f} ns", "", "",
                f"{HIT_GOAL_NS} ns", hit <= HIT_GOAL_NS, {"hit_ns": values(runs, "hit")})]
    for peer, goal in PEERS:
        if peer not in runs[0]:
            continue
        ratio = harness.median([run[peer] / run["hit"] for run in runs])
        yardstick = f"{peer}'s memory: {middle(runs, peer):.0f} ns"
        rows.append(Row("the same", f"{hit:.0f} ns", yardstick, f"{ratio:.1f}", f"{goal:.0f}",
                        ratio >= goal, {"ns": values(runs, peer)}))
    decision = middle(runs, "decision")
    rows.append(Row("a decision within wasm", f"{decision:.0f} ns", "", "",
                    f"{DECISION_GOAL_NS} ns", decision <= DECISION_GOAL_NS, {}))
    imported = middle(runs, "import")
    rows.append(Row("first import of the package", f"{imported:.1f} ms", "", "",
                    f"{IMPORT_GOAL_MS} ms", imported <= IMPORT_GOAL_MS, {}))
    return rows


def measure(bench, cache):
    script = ROOT / "npm/tools/bench.mjs"
    package = bench.build / "npm" / "package"
    return json.loads(subprocess.run(["node", script, package, cache], check=True, text=True,
                                     capture_output=True).stdout)


def values(runs, name):
    return [run[name] for run in runs]


def middle(runs, name):
    return harness.median(values(runs, name))
