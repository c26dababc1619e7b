#!/usr/bin/python3
"""What ./dev coverage prints: which lines and branches of the product its tests have reached."""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Files that do not count: those of libraries, and those that tests are made of.
IGNORED = rf"^/usr/|^{ROOT}/(build|fuzz|tests)/|testing|_test[._]"


def llvm(tool, *arguments):
    done = subprocess.run([f"llvm-{tool}-16", *map(str, arguments)], stdout=subprocess.PIPE,
                          check=True)
    return done.stdout


def is_program(path):
    """Those that were built, and the module of nginx."""
    if "CMakeFiles" in path.parts or not path.is_file() or not path.stat().st_mode & 0o100:
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def main(build):
    profiles = sorted((build / "profiles").glob("*.profraw"))
    programs = sorted(filter(is_program, build.rglob("*")))
    if not profiles:
        sys.exit("no test has written a profile")
    print(f"==> {len(profiles)} profiles of {len(programs)} programs", flush=True)
    merged, page = build / "tests.profdata", build / "html"
    llvm("profdata", "merge", "-sparse", "-failure-mode=all", *profiles, "-o", merged)
    said = [f"-instr-profile={merged}", f"-ignore-filename-regex={IGNORED}", programs[0],
            *(f"-object={program}" for program in programs[1:])]
    totals = json.loads(llvm("cov", "export", "-summary-only", *said))["data"][0]["totals"]
    print(f"==> writing {page}/index.html", flush=True)
    llvm("cov", "show", "-format=html", "-show-branches=count", f"-output-dir={page}", *said)
    for what in ("lines", "branches"):
        print(f"{totals[what]['percent']:6.2f} % of {totals[what]['count']:,} {what}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
