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
    ["cli/http", "cli/kept", "cli/node", "cli"],
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


def check_rings(tree):
    """Folders of src and include that include each other in a ring: none can be read first."""
    includes = {}  # {folder: {included folder: where}}
    for path, line, quote, included in cpp_includes(tree):
        root, _, folder = os.path.dirname(path).partition("/")
        target = os.path.dirname(included)
        is_ours = root in ("src", "include") and quote == '"' and not TESTS.search(path)
        if is_ours and target and target != folder:
            includes.setdefault(folder, {}).setdefault(target, (path, line))
            if any(row.index(folder) < row.index(target) for row in FOLDERS
                   if folder in row and target in row):
                yield Finding(path, line, "layer", f"{folder} is below {target}")
    for folder in sorted(includes):
        ring = ring_of(folder, includes)
        if ring and folder == min(ring):
            path, line = includes[ring[-1]][folder]
            yield Finding(path, line, "ring", " includes ".join(ring + [folder])
                          + ": let all of them point one way")


def ring_of(folder, includes):
    """The shortest way from a folder to what it includes, and on, back to it; None: no way."""
    ways = [[folder]]
    seen = set()
    for way in ways:  # and those that are added meanwhile
        for target in includes.get(way[-1], ()):
            if target == folder:
                return way
            if target not in seen:
                seen.add(target)
                ways.append(way + [target])
    return None


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
