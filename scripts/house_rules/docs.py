"""Rules of the documents: what they point at and tell the reader to type exists."""

import os
import re
import urllib.parse

from house_rules.tree import Finding, line_of
from house_rules.weight import part_of

LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)|^\[[^\]]+\]:\s*(\S+)", re.MULTILINE)
FENCE = re.compile(r"^ {0,3}```(\w*)[^\n]*\n(.*?)^ {0,3}```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`\n]+)`")
SHELLS = {"", "sh", "bash", "shell", "console"}


def check_links(tree):
    for path in tree.matching(".md"):
        prose = without_code(tree.text(path))
        for match in LINK.finditer(prose):
            target = urllib.parse.unquote(match[1] or match[2])
            message = link_fault(tree, path, target)
            if message:
                yield Finding(path, line_of(prose, match.start()), "link", message)


def check_index(tree):
    """The first page leads to all others: README says so. A decision's page is ARCHITECTURE's."""
    index = "docs/index.md"
    text = tree.text(index) if tree.exists(index) else None
    for path in tree.matching(".md", under="docs/") if text else ():
        if path != index and "/adr/" not in path and f"]({path[len('docs/'):]}" not in text:
            yield Finding(path, 1, "link", f"{index} does not link it")


def check_two_commands(tree):
    """README says how to run Weir, and how to test it."""
    if not tree.exists("README.md"):
        return
    for command in ("./dev run", "./dev test"):
        if command not in tree.text("README.md"):
            yield Finding("README.md", 1, "docs", f"it does not name `{command}`")


def without_code(text):
    return INLINE.sub(blank, FENCE.sub(blank, text))


def link_fault(tree, path, target):
    if re.match(r"[a-z][a-z0-9+.-]*:", target):
        return None  # the world's; checking it would need a network
    file, _, heading = target.partition("#")
    base = "" if file.startswith("/") else os.path.dirname(path)
    file = os.path.normpath(os.path.join(base, file.lstrip("/"))) if file else path
    if not tree.exists(file):
        return f"there is no {file}"
    if heading and file.endswith(".md") and heading not in headings(tree.text(file)):
        return f"{file} has no heading #{heading}"
    return None


# In code, configuration and what they print: docs/reference/redis.md, with a heading or without.
NAMED = re.compile(r"""(?:\bdocs/|[" ])((?:tutorial|how-to|reference|explanation|internals)/"""
                   r"""[\w/-]+\.md)(#[\w-]+)?""")
NAMES_PAGES = (".cc", ".h", ".py", ".json", ".yml", ".yaml", ".conf", ".service", "CMakeLists.txt")


def check_named_pages(tree):
    """Pages that code, configuration and error texts name are there, with their headings."""
    for path in tree.matching(*NAMES_PAGES):
        text = tree.text(path)
        for match in NAMED.finditer(text) if path != "tests/scripts/check_test.py" else ():
            fault = link_fault(tree, path, f"/docs/{match[1]}{match[2] or ''}")
            if fault:
                yield Finding(path, line_of(text, match.start()), "link", fault)


def headings(text):
    """The names that GitHub gives to the headings of a document."""
    names = []
    for title in re.findall(r"^#+ +(.*?)\s*#*$", FENCE.sub("", text), re.MULTILINE):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        name = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        names.append(f"{name}-{names.count(name)}" if name in names else name)
    return names


def check_commands(tree):
    """`./dev VERB` and `weir SUBCOMMAND` in code are verbs and subcommands that exist."""
    verbs = dev_verbs(tree)
    subcommands = weir_subcommands(tree)
    for path in tree.matching(".md"):
        for line, code, is_shell in code_of(tree.text(path)):
            for verb in re.findall(r"(?:^|[\s(])\./dev ([a-z]+)", code):
                if verbs and verb not in verbs:
                    yield Finding(path, line, "command", f"dev has no verb {verb!r}")
            for subcommand in named_subcommands(code) if is_shell else ():
                if subcommands and subcommand not in subcommands:
                    yield Finding(path, line, "command", f"weir has no subcommand {subcommand!r}")


def dev_verbs(tree):
    if not tree.exists("dev"):
        return set()
    table = re.search(r"<<'TABLE'\n(.*?)^TABLE", tree.text("dev"), re.MULTILINE | re.DOTALL)
    return set(re.findall(r"^  ([a-z]+)", table[1], re.MULTILINE)) if table else set()


def weir_subcommands(tree):
    return {
        name for path in tree.matching(".h", ".cc", under="src/cli/")
        for name in re.findall(r'add_subcommand\(\s*"([a-z-]+)"', tree.text(path))
    }


def code_of(text):
    """(line number, code, may it be typed into a shell) of fenced lines and inline code."""
    for fence in FENCE.finditer(text):
        first = line_of(text, fence.start(2))
        for number, line in enumerate(fence[2].split("\n"), first):
            yield number, line, fence[1] in SHELLS
    prose = FENCE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    for inline in INLINE.finditer(prose):
        is_directive = inline[1].endswith(";")  # nginx's: `weir on;`
        yield line_of(prose, inline.start()), inline[1], not is_directive


def named_subcommands(code):
    for command in re.split(r"&&|\|\||[;|]", code):
        words = [w for w in command.split() if not re.match(r"[A-Z_]+=", w)]
        while words and words[0] in ("$", "sudo", "exec", "time"):
            words = words[1:]
        if len(words) > 1 and words[0].split("/")[-1] == "weir":
            if re.fullmatch(r"[a-z][a-z-]*", words[1]):
                yield words[1]


# What a reader gets through at once. A folder stands for each page in it; a page may have its own.
SENTENCE_WORDS_MAX = 30
WORDS_MAX = {
    "README.md": 700,
    "CHANGELOG.md": 667,
    "npm/README.md": 988,
    "docs/": 400,
    "docs/tutorial/": 600,
    "docs/how-to/": 500,
    "docs/how-to/fleet-sentinel.md": 700,
    "docs/explanation/": 850,
    "docs/explanation/trust-model.md": 955,
    "docs/reference/": 710,
    "docs/reference/admin-api.md": 1533,
    "docs/reference/cli.md": 720,
    "docs/reference/console.md": 734,
    "docs/reference/envoy.md": 893,
    "docs/reference/http.md": 1735,
    "docs/reference/log-messages.md": 727,
    "docs/reference/metrics.md": 1653,
    "docs/reference/nginx-directives.md": 1560,
    "docs/reference/promises.md": 1007,
    "docs/reference/reservations.md": 824,
    "docs/reference/rules.md": 2996,
    "docs/reference/settings.md": 2470,
    "docs/reference/tenants.md": 842,
    "docs/reference/usage.md": 1112,
}
GENERATED = re.compile(
    r"^<!-- (settings|the table of \S+ begins) -->\n.*?^<!-- .*? -->", re.MULTILINE | re.DOTALL)
SENTENCE_END = re.compile(
    r"(?<=[.!?])[)\"*_]*\s+|\n\s*\n|\n(?=\s*([-*#>]|\d+\.) )")
ROW = re.compile(r"^\|.*$", re.MULTILINE)
# Ours alone, and the plain word for it.
PRIVATE = {"mend": "fix", "anew": "again", "beside": "next to", "whoever": "a client that"}
USERS = PRIVATE | {"beat": "report"}  # the name of a part of the code, and so in its comments
MARKS = {"py": "#", "dev": "#", "in": "#", "lua": "--"}  # of comments; the rest is C++ and its kin
DOCSTRING = re.compile(r'^( *)"""(.*?)"""|""".*?"""', re.M | re.S)


def check_lengths(tree):
    """Sentences and cells that are read at once, and pages within their budgets."""
    for path in tree.matching(".md"):
        budget = WORDS_MAX.get(path, WORDS_MAX.get(os.path.dirname(path) + "/"))
        if budget is None:  # contributors read it
            continue
        text = tree.text(path)
        count = len(text.split())
        if count > budget:
            yield Finding(path, 1, "words", f"{count} words; at most {budget}: shorten it, or move "
                          "what only contributors need to docs/internals")
        yield from check_prose(path, GENERATED.sub(blank, FENCE.sub(blank, text)), USERS)


# Docstrings are comments, too. A comment behind code is a row of a table.
def check_comments(tree):
    for path in [p for p in tree.paths if part_of(p)]:
        mark = MARKS.get(path.rsplit(".", 1)[-1], r"//|/?\*+")
        text = DOCSTRING.sub(as_comment, tree.text(path))
        code = rf"^(?:[ \t]*({mark})( |$)|.*  ({mark}) |.*$)"
        prose = re.sub(code, lambda at: "  " if at[1] else "| " if at[3] else "", text, flags=re.M)
        yield from check_prose(path, prose, PRIVATE)


def as_comment(at):
    return blank(at) if at[2] is None else re.sub(rf"^({at[1]})?", "# ", at[2], flags=re.M)


def check_prose(path, prose, private):
    for place, part in sentences(prose):
        place += len(part) - len(part.lstrip())
        count = len(re.findall(r"\S*\w\S*", part))
        if count > SENTENCE_WORDS_MAX:
            yield Finding(path, line_of(prose, place), "length", f"{count} words at once; at "
                          f"most {SENTENCE_WORDS_MAX}: {' '.join(part.split()[:5])} ...")
    for match in re.finditer(rf"\b({'|'.join(private)})(?:s|ed|ing)?\b", prose, re.IGNORECASE):
        yield Finding(path, line_of(prose, match.start()), "words",
                      f"say {private[match[1].lower()]!r} for {match[0]!r}")


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def sentences(prose):
    """(where it begins, its text) of each cell of a table, and of each sentence."""
    prose = re.sub(r"^    .*$", blank, INLINE.sub(as_word, prose), flags=re.MULTILINE)
    prose = re.sub(r"(?<=\])\([^)\s]*\)", as_word, prose)
    for row in ROW.finditer(prose):
        place = row.start()
        for cell in row[0].split("|"):
            yield place, cell
            place += len(cell) + 1
    begin = 0
    prose = ROW.sub(blank, prose)
    for end in SENTENCE_END.finditer(prose + "\n\n"):
        yield begin, prose[begin:end.start()]
        begin = end.end()


def as_word(match):
    return "x" * len(match[0])
