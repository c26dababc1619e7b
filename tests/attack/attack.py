"""Lets a hostile client loose on a server, and says what it did: docs/internals/attacks.md.

    tests/attack/attack.py [--quick] [--long] [--write] [WORD ...]

./dev attack builds the release first.

Prints a table, a row for each attack; with words, only of attacks that have one of them in
their name. Every attack has a server of its own, on one core, and an innocent client, which asks
200 times a second all the while. --quick does a little of each, and judges no latency. --long adds
attacks on other servers behind Weir, which ./dev attack --long installs. --write puts the table
into docs/internals/attacks.md. Exit code 1 if the server failed, answered wrongly, took more
memory than it may, kept the innocent client waiting, or let through what it must not.
"""

import argparse
import os
import re
import sys

sys.dont_write_bytecode = True

import entrances  # noqa: E402 (after the line above)
import floods  # noqa: E402
import header_values  # noqa: E402
import http2  # noqa: E402
import keys  # noqa: E402
import leavers  # noqa: E402
import origins  # noqa: E402
import outages  # noqa: E402
import paths  # noqa: E402
import redis_door  # noqa: E402
import requests_forged  # noqa: E402
import scene  # noqa: E402
import smuggling  # noqa: E402
import unknown_costs  # noqa: E402
from fleet import Load  # noqa: E402

ATTACKS = [*floods.ATTACKS, *http2.ATTACKS, *keys.ATTACKS, *smuggling.ATTACKS,
           *requests_forged.ATTACKS, *paths.ATTACKS, *header_values.ATTACKS, *leavers.ATTACKS,
           *redis_door.ATTACKS, *entrances.ATTACKS, *unknown_costs.ATTACKS,
           *outages.ATTACKS]
HEADINGS = ("attack", "peak RSS, MiB", "innocent p50, ms", "p99, ms", "max, ms",
            "shed or refused", "verdict")
MEMORY_MAX_MIB = 128  # above what the server took at its start
P99_MAX_MS = 10
P99_RATIO_MAX = 2  # of that under a harmless load, on a machine that pauses by itself
DOCUMENT = scene.ROOT / "docs" / "internals" / "attacks.md"
IN_DOCUMENT = re.compile("(<!-- attacks -->\n).*(<!-- end of attacks -->)", re.DOTALL)


def harmless(stage):
    """Clients that wait for each answer keep the server as busy as it can be."""
    load = Load("http", stage.weir.url, "--connections", 50, "--duration",
                f"{stage.size.seconds * 1000:.0f}ms")
    stage.note(f"{load.result()['requests']:,} checks")


HARMLESS = scene.Attack("none: 50 clients check as fast as they can", harmless)


def faults_of(outcome, size):
    """What an attack did that it must not."""
    yield from outcome.complaints
    if outcome.over_start_mib > MEMORY_MAX_MIB:
        yield f"{outcome.over_start_mib:.0f} MiB more than at the start; {MEMORY_MAX_MIB} may be"
    if size.judges_time and outcome.p99_ms > P99_MAX_MS:
        harmless = scene.measure(HARMLESS, size).p99_ms
        if outcome.p99_ms > P99_RATIO_MAX * harmless:
            yield f"p99 of {outcome.p99_ms:.1f} ms; with harmless clients {harmless:.1f} ms"


def row_of(attack, outcome, faults):
    verdict = "; ".join(faults) if faults else "holds"
    notes = "; ".join(note for note in outcome.notes if note)
    cells = (attack.name, f"{outcome.peak_mib:.0f}", f"{outcome.p50_ms:.2f}",
             f"{outcome.p99_ms:.2f}", f"{outcome.max_ms:.1f}",
             outcome.refused + (f" ({notes})" if notes else ""), verdict)
    return "| " + " | ".join(cells) + " |"


def write(lines):
    """Into the document, with the machine."""
    text = DOCUMENT.read_text(encoding="utf-8")
    table = "\n".join([f"The last run, on {machine()}:", "", *lines, ""])
    DOCUMENT.write_text(IN_DOCUMENT.sub(lambda found: found[1] + table + found[2], text),
                        encoding="utf-8")


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as facts:
        model = re.search(r"model name\s*: (.*)", facts.read())
    cores = len(os.sched_getaffinity(0))
    return f"{cores} virtual cores of {model[1] if model else 'an unknown kind'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", metavar="WORD", help="of the attacks to try [all]")
    parser.add_argument("--quick", action="store_true", help="a little of each, no latency")
    parser.add_argument("--long", action="store_true", help="other servers behind Weir, too")
    parser.add_argument("--write", action="store_true", help="put the table into the document")
    arguments = parser.parse_args()
    size = scene.QUICK if arguments.quick else scene.FULL
    known = [HARMLESS, *ATTACKS, *(origins.ATTACKS if arguments.long else [])]
    attacks = [attack for attack in known
               if not arguments.words or any(word in attack.name for word in arguments.words)]
    lines, complaints = [f"| {' | '.join(HEADINGS)} |", "|" + "---|" * len(HEADINGS)], []
    print("\n".join(lines), flush=True)
    for number, attack in enumerate(attacks, 1):
        print(f"==> {attack.name}, {number} of {len(attacks)}", file=sys.stderr)
        outcome = scene.measure(attack, size)
        faults = list(faults_of(outcome, size))
        lines.append(row_of(attack, outcome, faults))
        print(lines[-1], flush=True)
        complaints += [f"{attack.name}: {fault}" for fault in faults]
    if arguments.write:
        write(lines)
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
