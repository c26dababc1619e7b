#!/usr/bin/python3
"""Runs the swarm on each mutant until a check finds it: ./dev sim --mutants [WORD...].

    run.py BUILD [--seeds N] [WORD...]     mutants with one of the words in their names

Prints which seed found it, by which promise, and how long that took. Fails if one lives.
"""

import argparse
import functools
import os
import re
import subprocess
import sys
import time

from mutate import all_mutants

AT_ONCE = 25  # seeds between two looks
FOUND = re.compile(r"^seed (\d+)@\w+: ([^,]+), at ", re.MULTILINE)


def say(text):
    if sys.stderr.isatty():
        print(f"\r{text:<78}", end="", file=sys.stderr, flush=True)


def swarm(program, first, seeds):
    """[(seed, promise)] of those that failed; a bug that stops the program fails the first."""
    run = subprocess.run([program, "swarm", "--from", str(first), "--seeds", str(seeds)],
                         capture_output=True, text=True, timeout=600, check=False)
    if run.returncode < 0:
        return [(first, (run.stderr.strip().splitlines() or ["it crashed"])[-1])]
    return [(int(seed), promise) for seed, promise in FOUND.findall(run.stdout)]


@functools.cache
def fails_anyway(build, first, seeds):
    """What the program without a mutant fails, which is a bug and no mutant's."""
    return {seed for seed, _ in swarm(os.path.join(build, "weir-lab"), first, seeds)}


def hunt(mutant, build, seeds_max):
    """(seed, promise, seconds) of the first seed that finds it; None: it lives."""
    program = os.path.join(build, "tests/mutants", "mutant_" + mutant["id"])
    begin = time.monotonic()
    for first in range(1, seeds_max + 1, AT_ONCE):
        say(f"{mutant['name']}: seed {first}, {time.monotonic() - begin:.0f} s")
        seeds = min(AT_ONCE, seeds_max + 1 - first)
        failed = swarm(program, first, seeds)
        known = fails_anyway(build, first, seeds) if failed else set()
        found = [(seed, promise) for seed, promise in failed if seed not in known]
        if found:
            return *found[0], time.monotonic() - begin
    return None


def build_all(mutants, build):
    targets = ["weir-lab"] + ["mutant_" + mutant["id"] for mutant in mutants]
    subprocess.run(["cmake", "--build", build, "--parallel", str(os.cpu_count()), "--target",
                    *targets], check=True, stdout=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--seeds", type=int, default=10_000)
    parser.add_argument("words", nargs="*")
    options = parser.parse_intermixed_args()
    mutants = [mutant for mutant in all_mutants()
               if not options.words or any(word in mutant["name"] for word in options.words)]
    say(f"building {len(mutants)} mutants")
    build_all(mutants, options.build)
    living = 0
    print(f"{'mutant':<52} {'seed':>6} {'time':>7}  found by")
    for mutant in mutants:
        found = hunt(mutant, options.build, options.seeds)
        say("")
        if not found:
            living += 1
            print(f"\r{mutant['name']:<52} {'-':>6} {'':>7}  it lives after {options.seeds} seeds",
                  flush=True)
            continue
        seed, promise, took = found
        print(f"\r{mutant['name']:<52} {seed:>6} {took:>5.1f} s  {promise}", flush=True)
    return 1 if living else 0


if __name__ == "__main__":
    sys.exit(main())
