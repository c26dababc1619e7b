"""What sliding windows misjudge, against an exact log, on traffic drawn from a seed."""

import json
import subprocess

from results import Row

TWO = "two counters"
STRICT = "five strict sub-windows"
PRECISE = "precise past a quarter"
# How many times fewer than two counters the precise window misjudges.
GOALS = {("poisson", 1_000): 10, ("bursty", 1_000): 10, ("pages", 1_000): 10, ("cron", 1_000): 10,
         ("bursty", 100): 10, ("pages", 100): 6}


def run(bench):
    sources, millions = (2_700, 4) if bench.quick else (270_000, 400)
    # Its bar is drawn on standard error.
    done = subprocess.run([bench.weir_lab, "accuracy", "--json", "--sources", str(sources),
                           "--millions", str(millions)], stdout=subprocess.PIPE, check=True)
    reports = {}
    for line in done.stdout.splitlines():
        report = json.loads(line)
        reports.setdefault((report["traffic"], report["limit"]), {})[report["window"]] = report
    return [row(traffic, windows[name], windows[TWO]) for traffic, windows in reports.items()
            for name in (TWO, STRICT, PRECISE)]


def row(traffic, report, two):
    name, limit = traffic
    ratio = misjudged(two) / max(1, misjudged(report))
    worst = report["worst_over_limit_percent"]
    goal, met = "", None
    if report["window"] == STRICT:
        goal, met = "no window above the limit", worst == 0
    elif report["window"] == PRECISE and traffic in GOALS:
        goal, met = f"at least {GOALS[traffic]} times fewer", ratio >= GOALS[traffic]
    return Row(
        f"{name}, limit {limit:,}: {report['window']}",
        f"{percent(report, misjudged(report))} misjudged "
        f"({percent(report, report['false_positives'])} false positives), worst window "
        f"+{worst:.0f} %, {report['bytes_per_key']:.0f} B a key, {report['ns']:.0f} ns",
        "" if report is two else f"two counters: {percent(two, misjudged(two))}",
        "" if report is two else f"{ratio:.1f}", goal, met, report)


def misjudged(report):
    return report["false_positives"] + report["false_negatives"]


def percent(report, part):
    return f"{100 * part / report['requests']:.4f} %"
