"""Rules of files of any kind: where they lie, how large they are, what none may contain."""

import collections
import os
import re

from house_rules.cpp import FILE_LINES_MAX
from house_rules.tree import Finding

BYTES_MAX = 512 * 1024  # git keeps every version for ever
COLUMNS_MAX = 100  # two files fit side by side

# A new name at the top is a decision about where things are found: add it here.
TOP_LEVEL = set("""
    .ci .clang-format .clang-tidy .dockerignore .gitattributes .github .gitignore
    ARCHITECTURE.md CHANGELOG.md CMakeLists.txt CMakePresets.json CONTRIBUTING.md Dockerfile
    LICENSE README.md SECURITY.md bench cmake console deploy dev docs examples fuzz include lab
    mkdocs.yml npm scripts src tests wasm worker
""".split())

FILES_MAX = 24  # a listing of the folder is read at once, and its files have one subject

# Folders that have more, and why.
CROWDED = {
    "src/base": "each file is a subject of its own, and most are one page",
}

CODE = (".h", ".cc", ".h.in", ".py", ".sh", ".cmake", "CMakeLists.txt", ".lua", ".proto", ".ts",
        ".js", ".mjs", ".css")
# Tests and what only they use.
TESTING = re.compile(r"_test\.cc$|_testing\.|_test_door\.|/testing/")
# Spelled so that this line does not find itself.
LEFTOVER = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")

MUTANT = re.compile(r"(?!\s*(//|#|--)).*mutant", re.IGNORECASE)


def check_names(tree):
    for path in tree.paths:
        top = path.split("/")[0]
        if top not in TOP_LEVEL:
            yield Finding(path, 1, "top-level", f"{top} is not among the names known at the top; "
                          "put it in a folder, or add it to scripts/house_rules/files.py")
        if tree.size(path) > BYTES_MAX:
            yield Finding(path, 1, "size", f"{tree.size(path) // 1024} KiB; at most "
                          f"{BYTES_MAX // 1024}: git keeps every version for ever, so generate it")


def check_text(tree):
    for path in tree.paths:
        lines = tree.lines(path)
        for number, line in enumerate(lines, 1):
            if LEFTOVER.search(line):
                yield Finding(path, number, "leftover",
                              "finish it, or open an issue: nobody comes back to a note")
        if is_code(tree, path):
            yield from check_code_shape(path, lines)


def is_code(tree, path):
    return path.endswith(CODE) or tree.text(path).startswith("#!")


def check_code_shape(path, lines):
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS_MAX:
            yield Finding(path, number, "columns", f"{len(line)} columns; at most {COLUMNS_MAX}, "
                          "so that two files fit side by side")
    if len(lines) - 1 > FILE_LINES_MAX:
        yield Finding(path, 1, "file-length", f"{len(lines) - 1} lines; at most {FILE_LINES_MAX}: "
                      "it has more than one subject, split it")


def product_files(tree, *folders):
    """The files of the program and the library: C++ without tests."""
    return [path for folder in folders for path in tree.matching(".h", ".cc", under=folder)
            if not TESTING.search(path)]


def check_crowds(tree):
    """Tests do not count: they lie next to what they test, and are found by its name."""
    folders = collections.defaultdict(list)
    for path in product_files(tree, "src/"):
        folders[os.path.dirname(path)].append(path)
    for folder, paths in folders.items():
        if len(paths) > FILES_MAX and folder not in CROWDED:
            yield Finding(paths[0], 1, "crowd", f"{folder} has {len(paths)} product files; at most "
                          f"{FILES_MAX}: give a subject that is there a folder of its own")


def check_dead(tree):
    """A source that no CMakeLists.txt names is not built, and a test that is not built passes."""
    listed = "\n".join(tree.text(path) for path in tree.matching("CMakeLists.txt"))
    names = set(re.findall(r"[\w.-]+", listed))
    folders = ("src/", "lab/", "tests/", "bench/", "fuzz/")
    for path in tree.matching(".cc", "_test.py"):
        if path.startswith(folders) and os.path.basename(path) not in names:
            yield Finding(path, 1, "dead", "no CMakeLists.txt names it: it is not built, "
                          "and a test that is not run always passes")


def check_mutants(tree):
    """What is broken on purpose is a text in tests/mutants, which no product can contain."""
    folders = ("CMakeLists.txt", "cmake/", "include/", "lab/", "src/")
    for path in tree.matching(*CODE, ".in"):
        for number, line in enumerate(tree.lines(path) if path.startswith(folders) else (), 1):
            if MUTANT.match(line):
                yield Finding(path, number, "mutant", "mutants are for a test build: "
                              "tests/mutants changes a copy of the source")
