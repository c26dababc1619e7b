"""Layers: a folder includes only what lies below it, and never its sibling.

Why: a layer can be tested, replaced and understood without what is above it, and
libweir can be linked without a server. ARCHITECTURE.md draws the picture.
"""

import os
import re

from house_rules.tree import Finding

# Bottom first. Names on one row are siblings. "server/*" stands for each of its folders.
ROWS = [
    ["weir"],  # include/weir: the contract; includes only itself and the standard library
    ["base", "console"],
    ["observe"],
    ["algo"],
    ["rules"],
    ["config"],
    ["engine", "proto"],
    ["gate", "rls", "rulebook"],
    ["net", "server/*", "store/*"],
    ["cli", "nginx"],
]
RANKS = {layer: rank for rank, row in enumerate(ROWS) for layer in row}
# Folders of one layer, bottom first.
FOLDERS = [
    ["server/http", "server/http/check", "server/http/admin", "server/http/console"],
    ["cli/http", "cli/node", "cli"],
]

# Each of these headers belongs to these layers alone. Tests may use them anywhere.
OUTSIDE = [
    (r"boost/asio|curl/|sys/socket\.h|netinet/|sys/epoll\.h|openssl/ssl\.h",
     {"net", "cli"},
     "sockets and TLS belong to src/net; everything else is handed bytes"),
    (r"arpa/inet\.h",
     {"base", "net", "cli"},
     "addresses are read and written by base/ip_address.h"),
    (r"(thread|mutex|shared_mutex|condition_variable|future|semaphore)$",
     {"observe", "rules", "config", "engine", "proto", "rls", "net", "server/*",
      "store/*", "rulebook", "cli", "nginx"},
     "base and algo have no threads, so that they compile to WebAssembly"),
]

TESTS = re.compile(r"_test\.cc$|_testing\.|_test_door\.|/testing/")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)


def layer_of(path):
    """("store/memory", "store/*") of src/store/memory/table.h: itself and its row's name."""
    parts = path.split("/")
    if parts[:2] == ["include", "weir"]:
        return "weir", "weir"
    if parts[0] != "src":
        return None, None
    return layer_of_include("/".join(parts[1:]))


def layer_of_include(include):
    parts = include.split("/")
    if len(parts) < 2:
        return None, None
    if parts[0] in ("server", "store"):
        return "/".join(parts[:2]), parts[0] + "/*"
    return parts[0], parts[0]


def cpp_includes(tree):
    """(path, line, quote, included) of every include directive of ours."""
    for path in tree.matching(".h", ".cc", ".h.in"):
        text = tree.text(path)
        for match in INCLUDE.finditer(text):
            line = text.count("\n", 0, match.start(1)) + 1
            yield path, line, match[1], match[2]


def check_includes(tree):
    for path, line, quote, included in cpp_includes(tree):
        message = include_fault(path, quote, included)
        if message:
            yield Finding(path, line, "layer", message)
    for path in tree.matching(".h", ".cc", under="src/"):
        layer, row = layer_of(path)
        if row not in RANKS:
            yield Finding(path, 1, "layer", f"src/{layer or ''} is no layer; "
                          "scripts/house_rules/layers.py lists them, bottom first")


def check_pairs(tree):
    """Two folders of src include each other: neither can be read first."""
    includes = {}  # (folder, included folder): where
    for path, line, quote, included in cpp_includes(tree):
        folder, target = os.path.dirname(path)[len("src/"):], os.path.dirname(included)
        is_ours = path.startswith("src/") and quote == '"' and not TESTS.search(path)
        if is_ours and target and target != folder:
            includes.setdefault((folder, target), (path, line))
            if any(row.index(folder) < row.index(target) for row in FOLDERS
                   if folder in row and target in row):
                yield Finding(path, line, "layer", f"{folder} is below {target}")
    pairs = {pair for pair in includes if pair[0] < pair[1] and pair[::-1] in includes}
    for pair in sorted(pairs):
        path, line = includes[pair[::-1]]
        yield Finding(path, line, "pair", f"{pair[0]} and {pair[1]} include each other: "
                      "let one point to the other")


def include_fault(path, quote, included):
    """Why the file at `path` may not include `included`; None if it may."""
    target, target_row = layer_of_include(included)
    if path.startswith("examples/") and quote == '"' and target != "weir":
        return f'an example includes "{included}"; users have weir/ headers alone'
    layer, row = layer_of(path)
    if layer is None:
        return None  # tests, bench and fuzz look at anything
    if quote == "<" and target_row not in RANKS:
        return None  # a system header
    if target_row not in RANKS:
        return f'"{included}": write the path from src/ or include/'
    if target == layer or row not in RANKS:
        return None
    if RANKS[target_row] == RANKS[row]:
        return f"{layer} includes its sibling {target}; move what they share below both"
    if RANKS[target_row] > RANKS[row]:
        return f"{layer} includes {target}, which is above it; includes go downward only"
    return None


def check_outside_includes(tree):
    for path, line, _, included in cpp_includes(tree):
        _, row = layer_of(path)
        if row is None or path.endswith("_test.cc"):
            continue
        for pattern, allowed, reason in OUTSIDE:
            if re.match(pattern, included) and row not in allowed:
                yield Finding(path, line, "outside", f"<{included}>: {reason}")
