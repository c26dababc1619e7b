"""Rows of the benchmark table, kept as JSON and shown as Markdown."""

import dataclasses
import datetime
import json
import os
import pathlib
import platform
import subprocess


@dataclasses.dataclass
class Row:
    what: str
    figure: str
    yardstick: str = ""  # what it is compared with, and that one's figure in the same run
    ratio: str = ""
    goal: str = ""
    met: bool | None = None  # None: there is no goal
    samples: dict = dataclasses.field(default_factory=dict)  # every run, for the JSON


def rate(per_second):
    if per_second >= 999_500:
        return f"{per_second / 1e6:.2f} M/s"
    return f"{per_second / 1e3:.0f} k/s"


def machine(root):
    """Where and when: figures mean nothing without."""
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": git(root, "rev-parse", "--short", "HEAD") or "unknown",
        "modified": bool(git(root, "status", "--porcelain", "--", "src", "include")),
        "cpu": cpu_model(),
        "cpus": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "load_before": round(os.getloadavg()[0], 2),
    }


def git(root, *arguments):
    done = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True)
    return done.stdout.strip()


def cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def keep(folder, suite, rows, machine_facts, order):
    """Puts the rows of one suite into latest.json, and writes latest.md from all of it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "latest.json"
    suites = json.loads(path.read_text()) if path.exists() else {}
    suites[suite] = {"machine": machine_facts, "rows": [dataclasses.asdict(row) for row in rows]}
    suites = {name: suites[name] for name in order if name in suites}
    path.write_text(json.dumps(suites, indent=1) + "\n")
    (folder / "latest.md").write_text(markdown(suites))


def seconds_of(folder, names):
    """How long these suites took the last time; None if that is not known of all."""
    path = folder / "latest.json"
    suites = json.loads(path.read_text()) if path.exists() else {}
    seconds = [suites.get(name, {}).get("machine", {}).get("seconds") for name in names]
    return None if None in seconds else sum(seconds)


def markdown(suites):
    lines = ["# Benchmark results", "",
             "Written by `./dev bench`; "
             "[how each figure is made](../../docs/internals/benchmarks.md).", ""]
    for name, suite in suites.items():
        lines += [f"## {name}", "", describe(suite["machine"]), "",
                  "| what | figure | yardstick, same run | ratio | goal | met |",
                  "|---|---|---|---|---|---|"]
        lines += [table_line(row) for row in suite["rows"]] + [""]
    return "\n".join(lines)


def describe(facts):
    text = (f"{facts['date']}, commit {facts['commit']}{' with changes' * facts['modified']}, "
            f"{facts['cpus']} CPUs of {facts['cpu']}, Linux {facts['kernel']}.")
    if facts["load_before"] > 0.5:
        text += (f" **The machine was busy (load {facts['load_before']}): "
                 "figures are low, ratios uncertain.**")
    return text


def table_line(row):
    met = {True: "yes", False: "**no**", None: ""}[row["met"]]
    cells = [row["what"], row["figure"], row["yardstick"], row["ratio"], row["goal"], met]
    return "| " + " | ".join(cells) + " |"
