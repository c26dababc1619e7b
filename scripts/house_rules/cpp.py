"""Rules of C++ code, each with its reason in the message.

They read text, not syntax: comments and literals are blanked first, and a function is
what a scan of the braces takes for one. That is right for code in our format; where it
is not, check:allow says why. Names are clang-tidy's business.
"""

import glob
import os
import re

from house_rules.tree import Finding, line_of

FUNCTION_LINES_MAX = 70  # one can be read without scrolling
FILE_LINES_MAX = 500  # beyond, a file has two subjects
METHODS_MAX = 25  # beyond, a class has two jobs

TESTING = re.compile(r"_test\.cc$|_testing\.|_test_door\.|/testing/|^(tests|bench|lab|fuzz)/")
TESTS = re.compile(r"^tests/|_test\.cc$|/testing/")
# Layers that may read clocks and random sources. Others take `now` and randomness as arguments.
CLOCK_FREE = re.compile(r"^(include|fuzz)/|^src/(?!net/|cli/)")

# (rule, which files, what, message). The code is matched without comments and literals.
LINE_RULES = [
    ("clock", CLOCK_FREE,
     r"::now\s*\(|\bclock_gettime\b|\bgettimeofday\b|(?<![\w.>])time\s*\(\s*(nullptr|NULL|0|&)",
     "reads a clock; take `now` as the last argument, so that tests and replays are exact"),
    ("random", CLOCK_FREE,
     r"\brandom_device\b|\bgetrandom\b|\bgetentropy\b|(?<![\w.>:])s?rand\s*\(",
     "draws randomness; take it as an argument, so that a seed repeats the run"),
    ("sleep", TESTS,
     r"\b(sleep_for|sleep_until|usleep|nanosleep|sleep)\s*\(",
     "a test that sleeps is slow when it passes and wrong when the machine is busy; "
     "move the clock or wait for the event"),
    ("using-std", re.compile(r""),
     r"\busing\s+namespace\s+std\b(?!::\w*literals)",
     "names of std then collide with ours; write std::"),
]

# Comments, raw strings, strings, characters. ' after a digit separates digits.
TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^()\s\\]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'",
    re.DOTALL)


def blank(text):
    """The text with comments and literals made spaces; every line keeps its number."""
    return TOKEN.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def check_files(tree):
    for path in tree.matching(".cpp", ".cxx", ".hpp", ".hh", ".c", ".C"):
        yield Finding(path, 1, "file-name", "C++ files here end in .h and .cc")
    for path in tree.matching(".h", ".cc", ".h.in"):
        if not re.fullmatch(r"[a-z0-9_]+\.(h|cc|h\.in)", os.path.basename(path)):
            yield Finding(path, 1, "file-name", "names of C++ files are snake_case")
        if path.endswith(".cc"):
            continue
        if "\n#pragma once\n" not in "\n" + tree.text(path):
            yield Finding(path, 1, "pragma-once", "a header begins with #pragma once")
        if not tree.text(path).startswith("//"):
            yield Finding(path, 1, "header-comment",
                          "a header opens with a comment: what it is, its thread rule, its test")


def check_lines(tree):
    for path in tree.matching(".h", ".cc", ".h.in"):
        code = blank(tree.text(path))
        for rule, applies, pattern, message in LINE_RULES:
            if applies.search(path):
                for match in re.finditer(pattern, code):
                    yield Finding(path, line_of(code, match.start()), rule, message)
    for path in tree.matching(".py", under="tests/"):
        for number, line in enumerate(tree.lines(path), 1):
            if re.search(r"\bsleep\s*\(", line):
                yield Finding(path, number, "sleep", LINE_RULES[2][3])


def check_functions(tree):
    for path in tree.matching(".h", ".cc"):
        for first, last in functions(blank(tree.text(path))):
            length = last - first + 1
            if length > FUNCTION_LINES_MAX:
                yield Finding(path, first, "function-length",
                              f"a function of {length} lines; {FUNCTION_LINES_MAX} can be read "
                              "without scrolling: take a part out and name it")


def functions(code):
    """(first, last) line of each outermost block that follows a parameter list."""
    code = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: re.sub(r"[^\n]", " ", m[0]), code,
                  flags=re.MULTILINE)
    start = 0  # where the statement before the next brace begins
    stack = []  # of (is a function, its first line)
    for match in re.finditer(r"[;{}]", code):
        if match[0] == "{":
            statement = code[start:match.start()]
            inside = any(is_function for is_function, _ in stack)
            begins = start + len(statement) - len(statement.lstrip())
            stack.append((not inside and opens_function(statement), line_of(code, begins)))
        elif match[0] == "}" and stack:
            is_function, first = stack.pop()
            if is_function:
                yield first, line_of(code, match.start())
        start = match.end()


def opens_function(statement):
    """Has it a parameter list, and is it not the head of a type or namespace?"""
    head = re.sub(r"\b(template|requires|alignas|__attribute__)\b[^;{}]*?>", " ", statement)
    if re.match(r"\s*(inline\s+)?(namespace|class|struct|union|enum|extern)\b[^()]*$", head):
        return False
    return "(" in head


def check_classes(tree):
    for path in tree.matching(".h", ".cc"):
        if TESTING.search(path):
            continue
        code = blank(tree.text(path))
        for head in CLASS_HEAD.finditer(code):
            count = sum(map(is_method, statements(code, head.end())))
            if count > METHODS_MAX:
                yield Finding(path, line_of(code, head.start(1)), "methods",
                              f"{head[2]} has {count} methods; at most {METHODS_MAX}: it has more "
                              "than one job, or a reason that stands above it")


CLASS_HEAD = re.compile(
    r"^[ \t]*(class|struct)\s+(?:\[\[\w+\]\]\s+)?(?:alignas\(\w+\)\s+)?(\w+)[^;{}()=]*\{",
    re.MULTILINE)


def statements(code, begin):
    """What stands in the class whose brace opens before `begin`, without what is in braces."""
    depth, statement = 1, ""
    for match in re.finditer(r"[;{}]|[^;{}]+", code[begin:]):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return
        if match[0] == ";" and depth == 1 or match[0] == "}" and depth == 1:
            yield statement
            statement = ""
        elif depth == 1:
            statement += match[0]


def is_method(statement):
    """Declares a function, and is none of what every type has: it is not built, ended or copied."""
    head = statement.partition("(")[0]
    name = re.search(r"(operator\W+|\w+)\s*$", re.sub(r"<[^<>]*>", "", head))
    if "(" not in statement or not name or "=" in head.partition("operator")[0]:
        return False
    before = head[:head.rfind(name[1])].split()
    return bool(before) and not re.search(r"\b(friend|using|static_assert|explicit)\b|~", head)


def check_tested_by(tree):
    """A header that names its tests names files that exist; a public one must name some."""
    for path in tree.matching(".h", ".h.in"):
        opening = re.match(r"(//[^\n]*\n)*", tree.text(path))[0]
        place = opening.find("Tested by")
        if place < 0:
            if path.startswith("include/weir/"):
                yield Finding(path, 1, "tested-by", "a public header says which test holds it to "
                              "its word: `// Tested by src/...`")
            continue
        sentence = re.sub(r"\n// ?", " ", opening[place:])
        names = re.findall(r"[\w.*/-]*(?:/[\w.*-]*|\.(?:cc|py|sh|mjs))", sentence)
        for name in (name.rstrip(".") for name in names):
            if not has_match(tree, path, name):
                yield Finding(path, line_of(opening, place), "tested-by",
                              f"there is no {name} (looked from here and from the top)")
        if not names:
            yield Finding(path, line_of(opening, place), "tested-by", "name a file")


def has_match(tree, path, name):
    for base in (os.path.dirname(path), ""):
        full = os.path.join(base, name)
        if glob.glob(str(tree.root / full)) if "*" in full else tree.exists(full):
            return True
    return False
