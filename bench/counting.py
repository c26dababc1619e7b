"""Counts instructions by callgrind: the same figures on a busy machine, and on any processor.

Two counts of different length are taken of the same work, and subtracted: what remains is that of
the requests between them.
"""

import collections
import os
import pathlib
import re
import subprocess
import tempfile

# Libraries choose among functions by what the processor can do: here what any x86-64 can. Of
# callgrind, too: its processor can what the real one can.
PINNED = {
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-AVX,-AVX512F,-AVX512VL,-ERMS,-FSRM,-BMI1,-BMI2,"
                      "-LZCNT,-MOVBE,-POPCNT,-SSE4_1,-SSE4_2,-SSSE3,-AVX_Fast_Unaligned_Load,"
                      "-Prefer_No_AVX512_Probing",
    "SIMDJSON_FORCE_IMPLEMENTATION": "westmere",
    "OPENSSL_ia32cap": "~0x0:~0xffffffff",  # without AVX2, BMI, SHA
}
CALLGRIND = ["valgrind", "--tool=callgrind", "-q", "--compress-pos=no"]
TIMEOUT_S = 300
# How much of a row it may cost that the node remembers what it was asked, or judges some of it. A
# busy node remembers few keys: src/observe/keys/recent_asks.h. What is judged is the cheapest check
# there is; with what the kernel does for it, judging takes below 1 % of throughput.
REMEMBERING = {", remembering few keys": 0.01, ", remembering all keys": 0.10, ", judged": 0.012}
TRIGGER = "desc: Trigger: Client Request: "


def pinned_environment():
    return {**os.environ, **PINNED}


def count_rows(program, rows=()):
    """{row: (instructions, {function: instructions})} a request, of bench/counted."""
    with tempfile.TemporaryDirectory(prefix="weir-counted-") as folder:
        done = subprocess.run(
            [*CALLGRIND, f"--callgrind-out-file={folder}/out", str(program), *rows],
            env=pinned_environment(), stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_S)
        if done.returncode != 0:
            raise SystemExit(f"{program} failed with {done.returncode}")
        requests = int(done.stdout)
        parts = sorted(pathlib.Path(folder).glob("out.*"), key=lambda path: int(path.suffix[1:]))
        counts = dict(map(read_costs, parts))
    names = [name.removesuffix(" few") for name in counts if name.endswith(" few")]
    return {name: difference(counts[f"{name} few"], counts[f"{name} many"], requests)
            for name in names}


def difference(few, many, requests):
    functions = {name: (cost - few.get(name, 0)) / requests for name, cost in many.items()}
    return sum(functions.values()), functions


def remembering(totals):
    """(row, what it takes more than the one that remembers nothing, what it may): shares."""
    return [(name, total / totals[name.removesuffix(suffix)] - 1, most)
            for suffix, most in REMEMBERING.items()
            for name, total in totals.items() if name.endswith(suffix)]


def read_costs(path):
    """What a dump is of, and {function: its own instructions}."""
    of, library, function, is_callee = None, "", None, False
    names, costs = {}, collections.Counter()
    for line in path.read_text(errors="replace").splitlines():
        key, _, value = line.partition("=")
        if line[:1].isdigit():
            if not is_callee:
                costs[function] += int(line.partition(" ")[2] or 0)
            is_callee = False
        elif key in ("fn", "cfn", "ob", "cob"):
            number, _, name = value.partition(" ")
            # A number stands for its name, after the first time.
            name = names.setdefault((key[-1], number), name)
            if key == "ob":
                library = pathlib.Path(name).name
            elif key == "fn":  # those of a library without names count together
                function = library if name.startswith("0x") else short(name)
        elif key == "calls":
            is_callee = True  # the next line is what the callee takes
        elif line.startswith(TRIGGER):
            of = line.removeprefix(TRIGGER)
    return of, costs


def short(function):
    """Without arguments, templates and our namespaces: weir::CompactTable<...>::apply<...>(...)."""
    function = function.replace("(anonymous namespace)::", "").replace("operator()", "call")
    function = re.sub(r"'\d+$", "", function)  # a recursion's depth
    previous = None
    while previous != function:
        previous, function = function, re.sub(r"<[^<>]*>|\([^()]*\)", "", function)
    function = re.sub(r" (const|\[clone.*\]|noexcept)", "", function)
    return function.split(" ")[-1].removeprefix("weir::")
