#!/usr/bin/python3
"""Runs the benchmarks: every row with its yardstick, measured in the same run.

    bench/run.py [suite ...] [--quick]      ./dev bench builds the release first

Prints a table and writes it to bench/results/latest.md and .json, which README quotes.
A suite that is not run keeps its last rows. --quick is a rehearsal: its figures are
too short to quote and go to build/bench-quick. The measurements, and how to read them:
docs/internals/benchmarks.md.
"""

import argparse
import pathlib
import sys
import time

sys.dont_write_bytecode = True

import harness  # noqa: E402 (after the line above)
import results  # noqa: E402
from suites import accuracy, blocks, grpc, http, http_latency, instructions, library  # noqa: E402
from suites import nginx, peers, redis, replay, resp, rules, scale, steps, wasm  # noqa: E402

SUITES = {"instructions": instructions, "library": library, "rules": rules, "blocks": blocks,
          "http": http, "http_latency": http_latency, "grpc": grpc, "resp": resp, "redis": redis,
          "scale": scale, "steps": steps, "wasm": wasm, "nginx": nginx, "peers": peers,
          "accuracy": accuracy, "replay": replay}
# Installs programs of others, or takes minutes, so only when it is asked for.
ON_REQUEST = {"peers", "accuracy", "replay", "scale", "steps"}
ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    arguments = parse_arguments()
    bench = harness.Bench(build=arguments.build, quick=arguments.quick)
    folder = ROOT / ("build/bench-quick" if arguments.quick else "bench/results")
    names = arguments.suites or [name for name in SUITES if name not in ON_REQUEST]
    for number, name in enumerate(names, 1):
        left = results.seconds_of(folder, names[number - 1:])
        print(f"{name}: suite {number} of {len(names)}"
              + (f", all in about {left / 60:.0f} min" if left else ""), file=sys.stderr)
        started = time.monotonic()
        machine = results.machine(ROOT)  # its load before we add ours
        rows = SUITES[name].run(bench)
        machine["seconds"] = round(time.monotonic() - started)
        print(f"{name}: {machine['seconds']} s", file=sys.stderr)
        results.keep(folder, name, rows, machine, order=list(SUITES))
    print((folder / "latest.md").read_text())


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suites", nargs="*", metavar="suite",
                        help=f"{', '.join(SUITES)}; all but {', '.join(sorted(ON_REQUEST))} "
                             "unless given")
    parser.add_argument("--quick", action="store_true", help="short runs, not to be quoted")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release",
                        help="the build to measure (build/release)")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.suites if name not in SUITES]
    if unknown:
        parser.error(f"no suite {unknown[0]!r}; there are {', '.join(SUITES)}")
    return arguments


if __name__ == "__main__":
    main()
