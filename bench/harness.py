"""What all suites need: pinned processes, alternating runs, medians.

One run of the thing and one of its yardstick, then again: A B A B. What drifts (the
clock speed, a neighbour on the host) then hits both, and the ratio stays.
"""

import contextlib
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "scripts"))

from free_ports import free_port, free_ports  # noqa: E402, F401: servers take them from here

START_TIMEOUT_S = 60  # below valgrind, while the machine is busy
# A client that never ends is a bug; a run is seconds.
RUN_TIMEOUT_S = 120


class Bench:
    """The build under test and how long to measure."""

    def __init__(self, build, quick):
        self.weir = build / "weir"
        self.weir_bench = build / "weir-bench"
        self.weir_lab = build / "weir-lab"
        self.library_bench = build / "bench" / "library_bench"
        self.rules_bench = build / "bench" / "rules_bench"
        self.blocks_bench = build / "bench" / "blocks_bench"
        self.fleet_bench = build / "bench" / "fleet_bench"
        self.grpc_yardstick = build / "bench" / "grpc_yardstick"
        self.npm_package = build / "npm" / "package"
        self.quick = quick
        self.rounds = 2 if quick else 5
        self.seconds = 0.5 if quick else 3
        cpus = sorted(os.sched_getaffinity(0))
        self.all_cpus = cpus[:2]
        # With one CPU server and client share it: figures are low, ratios still hold.
        self.server_cpu, self.client_cpu = cpus[0], cpus[min(1, len(cpus) - 1)]

    def on_server_cpu(self, command):
        return pinned([self.server_cpu], command)

    def on_client_cpu(self, command):
        return pinned([self.client_cpu], command)

    def on_all_cpus(self, command):
        return pinned(self.all_cpus, command)

    def alternate(self, what, measures, rounds=None):
        """{name: [sample per round]}; `measures` is {name: function of no arguments}.

        The order turns round each time, so that none is always the one after a pause.
        """
        samples = {name: [] for name in measures}
        rounds = rounds or self.rounds
        for round_number in range(rounds):
            names = list(measures)
            for name in names if round_number % 2 == 0 else reversed(names):
                print(f"{what}: {name}, {round_number + 1} of {rounds}", file=sys.stderr)
                samples[name].append(measures[name]())
        return samples


def pinned(cpus, command):
    return ["taskset", "-c", ",".join(map(str, cpus)), *map(str, command)]


def going_first(command):
    """Ahead of all that is not so started, if this user may say so."""
    first = ["chrt", "--fifo", "1"]
    may = subprocess.run([*first, "true"], capture_output=True).returncode == 0
    return [*(first if may else []), *command]


def run(command):
    """The standard output of `command`; what went wrong is shown, and ends the bench."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_TIMEOUT_S)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nfailed with {done.returncode}:\n{done.stderr}")
    return done.stdout


def run_json(command):
    return json.loads(run(command))


def require(program):
    path = shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin")
    return path or sys.exit(f"{program} is not installed; ./dev bench installs it")


def wait_until(condition, what):
    deadline = time.monotonic() + START_TIMEOUT_S
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"it never became so: {what}")
        time.sleep(0.02)


def wait_until_listening(port, process):
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            sys.exit(f"{process.args}\nended with {process.returncode} before it listened")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    sys.exit(f"{process.args}\ndid not listen on port {port} within {START_TIMEOUT_S} s")


def median(values):
    return statistics.median(values)
