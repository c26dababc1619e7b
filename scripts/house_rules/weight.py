"""Weight: how many lines each part of the repository has, and may have.

A line counts if it is neither blank nor a comment. The parts are held apart, so that nothing is
saved by moving it from one to another. A bound is raised in the commit that needs it, which says
why; it is lowered by the commit that makes a part smaller.
"""

import re

from house_rules.files import TESTING
from house_rules.tree import Finding

TESTS = re.compile(r"^(tests|fuzz)/|/test/|_test\.py$|\.test\.m?js$|" + TESTING.pattern)
CODE = (".h", ".cc", ".h.in", ".conf.in", ".py", ".ts", ".mjs", ".js", ".css", ".html", ".lua")
COMMENTS = {  # by the end of a name; the rest is C++
    (".py", "dev", ".conf.in"): re.compile(r"\s*(#.*)?$"),
    (".lua",): re.compile(r"\s*(--.*)?$"),
    (".ts", ".mjs", ".js", ".css", ".html"): re.compile(r"\s*((//|/\*|\*).*)?$"),
    CODE: re.compile(r"\s*(//.*)?$"),
}

# The parts in the order in which they are asked, each with its folders and the most lines it may
# have. Tests of all parts are one part.
PARTS = [
    ("server", ("src/", "include/"), 61_907),
    ("laboratory", ("lab/", "bench/"), 15_626),
    ("console", ("console/",), 5_839),
    ("npm and Worker", ("npm/", "worker/", "wasm/"), 4_417),
    ("scripts", ("scripts/", "dev"), 1_555),
]
LUA_MAX = 2_217
TESTS_MAX = 73_752


def weigh(tree):
    """{part: lines} of all parts."""
    lines = {name: 0 for name, *_ in PARTS} | {"Lua": 0, "tests": 0}
    for path in tree.paths:
        part = part_of(path)
        if part:
            comment = next(COMMENTS[ends] for ends in COMMENTS if path.endswith(ends))
            lines[part] += sum(not comment.match(line) for line in tree.lines(path))
    return lines


def part_of(path):
    if not path.endswith(CODE) and path != "dev":
        return None
    if TESTS.search(path):
        return "tests"
    if path.endswith(".lua"):
        return "Lua"
    return next((name for name, folders, _ in PARTS if path.startswith(folders)), None)


def bounds():
    return {name: most for name, _, most in PARTS} | {"Lua": LUA_MAX, "tests": TESTS_MAX}


def check_weight(tree):
    for part, lines in weigh(tree).items():
        if lines > bounds()[part]:
            yield Finding("scripts/house_rules/weight.py", 1, "weight",
                          f"{part} has {lines} lines; at most {bounds()[part]}: let something go, "
                          "or raise the bound and say why in the commit")


def table(tree):
    most = bounds()
    return "\n".join(f"{lines:6d} of {most[part]:6d} lines: {part}"
                     for part, lines in weigh(tree).items())
