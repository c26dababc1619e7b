"""How far mode async goes over a limit when traffic grows sixteenfold at once, in the simulator.

Until the step, traffic is half of what the limit allows. From the moment a window begins it is
sixteen times what the limit allows. At most what arrives within an interval and a trip is admitted
too much: STEP * (interval + trip) / window, as a part of the limit.
"""

import math
import pathlib
import re
import subprocess
import tempfile

from results import Row

STEP = 16
INTERVAL_S, ONE_WAY_S = 0.1, 0.001  # sync_interval, as it is if nobody sets it
NODES, ALLOWED_A_SECOND, BEFORE_S = 10, 250, 3
WINDOWS_S = (1, 10, 60, 180, 600)
PART = 0.01  # that few people would notice

SCENARIO = """\
begins: {begins}
length: {length}ms
nodes: {nodes}
latency: {latency}us
jitter: 0us
settings: {{ store: {{ redis: "redis://redis", mode: async, sync_interval: {interval}ms }} }}
rules: [{{ id: r, algorithm: fixed_window, limit: {limit}, window: {window}s }}]
traffic:
  - {{ kind: steady, rate: {before}, keys: 1, until: {step}s }}
  - {{ kind: steady, rate: {rate}, keys: 1, from: {step}s, until: {until}ms }}
"""


def run(bench):
    return rows(bench.weir_lab, seeds=range(1, 3 if bench.quick else 11))


def rows(weir_lab, seeds):
    found = [row(window, [over(weir_lab, window, seed) for seed in seeds]) for window in WINDOWS_S]
    least = math.ceil(bound(1) / PART)
    return [*found, Row(f"the bound is below {100 * PART:.0f} %", f"in windows from {least} s on")]


def bound(window):
    return STEP * (INTERVAL_S + 2 * ONE_WAY_S) / window


def percent(part):
    return f"{100 * part:.2f} %"


def row(window, parts):
    return Row(f"a step of {STEP}, window {window} s",
               f"{percent(max(parts))} over the limit at most",
               f"bound {percent(bound(window))}", f"{max(parts) / bound(window):.2f}",
               "within the bound", max(parts) <= bound(window), {"parts": parts})


def over(weir_lab, window, seed):
    """Units that the fleet admitted above its limit in the window, as a part of the limit."""
    limit = ALLOWED_A_SECOND * window
    until = BEFORE_S + min(window, window / STEP + 1)  # it is full by then
    text = SCENARIO.format(
        begins=(1_700_000_000 // window + 1) * window - BEFORE_S, length=int(1000 * until) + 500,
        nodes=NODES, latency=int(1e6 * ONE_WAY_S), interval=int(1000 * INTERVAL_S), limit=limit,
        window=window, before=ALLOWED_A_SECOND / 2, step=BEFORE_S, rate=STEP * ALLOWED_A_SECOND,
        until=int(1000 * until))
    with tempfile.TemporaryDirectory(prefix="weir-steps-") as folder:
        file = pathlib.Path(folder) / "step.yaml"
        file.write_text(text)
        told = subprocess.run([weir_lab, "simulate", file, "--seed", str(seed)],
                              capture_output=True, text=True, timeout=60)
    figures = re.search(r"allowed ([\d,]+), denied ([\d,]+),.*units over ([\d,]+)", told.stdout)
    if told.returncode != 0 or figures is None:
        raise SystemExit(f"window {window} s, seed {seed}:\n{told.stdout}{told.stderr}")
    allowed, denied, units = (int(figure.replace(",", "")) for figure in figures.groups())
    if denied == 0 or allowed < limit:
        raise SystemExit(f"window {window} s, seed {seed}: it was never full:\n{told.stdout}")
    return units / limit
