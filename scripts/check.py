#!/usr/bin/python3
"""The house rules that a machine can check: layers, code, documents, files.

    scripts/check.py [ROOT]      prints `file:line: message (rule)`; exit 1 if any

It ends with the weight of each part: a change that makes one larger should know by how much.
A line that has a good reason to break a rule says so, on itself or the line above:

    // check:allow(columns): the table reads best in one piece

Fast on purpose (it runs before every commit): it reads text with regular expressions
and builds nothing. What needs a compiler is clang-tidy's: ./dev check --tidy.
Tested by tests/scripts/check_test.py.
"""

import pathlib
import sys

sys.dont_write_bytecode = True

from house_rules import (  # noqa: E402 (after the line above)
    cpp, docs, files, layers, limits, weight)
from house_rules.tree import Tree  # noqa: E402

RULES = [
    layers.check_includes,
    layers.check_outside_includes,
    layers.check_rings,
    cpp.check_files,
    cpp.check_lines,
    cpp.check_functions, cpp.check_classes,
    cpp.check_tested_by,
    docs.check_links, docs.check_index, docs.check_two_commands,
    docs.check_named_pages,
    docs.check_commands,
    docs.check_lengths, docs.check_comments,
    limits.check_limits,
    files.check_names,
    files.check_text,
    files.check_crowds,
    files.check_dead, files.check_mutants,
    weight.check_weight,
]


def check(tree):
    """All findings about the tree, sorted, without those that are waived."""
    findings = {finding for rule in RULES for finding in rule(tree)}
    return sorted(finding for finding in findings if not tree.is_waived(finding))


def main(arguments):
    root = pathlib.Path(arguments[0] if arguments else __file__).resolve()
    if not arguments:
        root = root.parent.parent
    tree = Tree(root)
    findings = check(tree)
    for finding in findings:
        print(finding)
    print(weight.table(tree))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
