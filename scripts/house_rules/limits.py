"""The limits that the two pages about limits promise are those of the code.

A row of a table whose last cell names a constant, as in `src/net/entrance.h`: `kPatience`,
states that constant's value in its second cell: 10 seconds, 32 KiB, 100,000.
"""

import re

from house_rules.tree import Finding, line_of

DOCUMENTS = ("docs/reference/limits.md", "docs/internals/limits.md")
ROW = re.compile(r"^\|[^|\n]*\| *([^|\n]*?) *\|.*`([\w/.]+\.(?:h|cc))`: `(\w+)` *\|$", re.MULTILINE)
STATED = re.compile(r"^([\d,]+(?:\.\d+)?) ?(\w*)")
BYTES = {"KiB": 1 << 10, "MiB": 1 << 20}
SECONDS = {"ms": 0.001, "second": 1, "seconds": 1, "minute": 60, "minutes": 60, "hours": 3600}
DURATION = re.compile(r"(?:std::chrono::)?(milliseconds|seconds|minutes|hours)\((\d+)\)")


def check_limits(tree):
    for document in filter(tree.exists, DOCUMENTS):
        text = tree.text(document)
        for row in ROW.finditer(text):
            stated, path, name = row.groups()
            actual = value_of(tree.text(path), name) if tree.exists(path) else None
            line = line_of(text, row.start())
            if actual is None:
                yield Finding(document, line, "limit", f"{path} has no {name}")
            elif actual != meaning_of(stated):
                yield Finding(document, line, "limit", f"{name} is {actual:g} and not {stated!r}")


def meaning_of(stated):
    """Bytes, seconds or a plain number."""
    found = STATED.match(stated)
    if found is None:
        return None
    unit = BYTES.get(found[2]) or SECONDS.get(found[2]) or 1
    return float(found[1].replace(",", "")) * unit


def value_of(code, name):
    """The value of a constant, or of a field with an initializer; None where there is none."""
    found = re.search(rf"\b{name} *= *([^;]*?)[;,}}]\s*(?://.*)?$", code, re.MULTILINE)
    if found is None:
        return None
    text = DURATION.sub(lambda match: f"{int(match[2]) * scale(match[1])}", found[1])
    text = re.sub(r"std::\w+\{(\d+)\}", r"\1", text).replace("'", "")
    return float(eval(text)) if re.fullmatch(r"[\d.\s<*+()-]+", text) else None


def scale(unit):
    return 0.001 if unit == "milliseconds" else SECONDS[unit]
