#!/usr/bin/python3
"""No path becomes dearer unseen: instructions of bench/counted against bench/budgets.yaml.

    ./dev test -R budgets_test      WEIR_UPDATE_BUDGETS=1 in front writes the budgets

A row may take 3 % more than its budget. One that takes more fails, and names the functions that
have grown. So does one that remembers what it was asked, if that takes too much more than one that
does not. A commit that makes a path cheaper writes its budgets; one that makes it dearer does, too,
and says why. Counts hold for one compiler and one C library: with others it skips.
"""

import json
import os
import pathlib
import sys

import yaml

sys.dont_write_bytecode = True

import counting  # noqa: E402 (after the line above)

BUDGETS = pathlib.Path(__file__).with_name("budgets.yaml")
SLACK = 0.03
SHOWN_MIN = 8, 0.01  # instructions, and part of a row, of a function that has a place in the file
GREW_MAX = 6         # functions that a failure names
HEAD = """\
# Instructions a request, of each row of bench/counted, and of its dearest functions: what
# budgets_test.py compares with. WEIR_UPDATE_BUDGETS=1 ./dev test -R budgets_test writes it.
"""


def main():
    built_by = {"compiler": sys.argv[2], "glibc": os.confstr("CS_GNU_LIBC_VERSION")}
    updates = "WEIR_UPDATE_BUDGETS" in os.environ
    budgets = yaml.safe_load(BUDGETS.read_text()) if BUDGETS.exists() else {}
    budgeted_by = {name: budgets.get(name) for name in built_by}
    if budgeted_by != built_by and not updates:
        print(f"SKIPPED: budgets are of {budgeted_by}, this is built by {built_by}")
        return
    rows = counting.count_rows(sys.argv[1])
    if updates:
        BUDGETS.write_text(written(built_by, rows))
        return
    over = [text for name, (total, functions) in rows.items()
            for text in exceeded(name, total, functions, budgets["rows"].get(name))]
    totals = {name: total for name, (total, _) in rows.items()}
    over += [f"{name}: {more:+.1%}, at most {most:+.0%}"
             for name, more, most in counting.remembering(totals) if more > most]
    over += [f"{name}: has a budget, and is not counted"
             for name in set(budgets["rows"]) - set(rows)]
    sys.exit("\n".join(over) if over else 0)


def exceeded(name, total, functions, budget):
    if budget is None:
        return [f"{name}: has no budget; WEIR_UPDATE_BUDGETS=1 writes it"]
    print(f"{name}: {total:.0f} of {budget['instructions']}")
    if total <= budget["instructions"] * (1 + SLACK):
        return []
    grown = sorted(((cost - budget["functions"].get(function, shown_min(total)), function)
                    for function, cost in functions.items()), reverse=True)
    return [f"{name}: {total:.0f} instructions, {total / budget['instructions'] - 1:+.1%} of its "
            f"budget {budget['instructions']}:",
            *(f"    {more:+.0f} {function}" for more, function in grown[:GREW_MAX] if more >= 1)]


def shown_min(total):
    return max(SHOWN_MIN[0], SHOWN_MIN[1] * total)


def written(built_by, rows):
    lines = [HEAD + "\n".join(f"{name}: {value}" for name, value in built_by.items()), "rows:"]
    for name, (total, functions) in rows.items():
        dearest = sorted(((round(cost), function) for function, cost in functions.items()
                          if cost >= shown_min(total)), key=lambda pair: (-pair[0], pair[1]))
        shown = ", ".join(f"{json.dumps(function)}: {cost}" for cost, function in dearest)
        lines += [f"  {json.dumps(name)}:", f"    instructions: {round(total)}",
                  f"    functions: {{{shown}}}"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
