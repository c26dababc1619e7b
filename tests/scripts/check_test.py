#!/usr/bin/python3
"""Every house rule fires on a small bad tree, and keeps quiet about its good twin."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))

import check  # noqa: E402 (after the path is set)
from house_rules import layers, weight  # noqa: E402
from house_rules.tree import Tree  # noqa: E402

HEADER = "// What it is.\n#pragma once\n"


def write(root, files):
    for path, content in files.items():
        file = pathlib.Path(root, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")


def findings(files):
    """(rule, path, line) of everything check finds in a tree of these files."""
    with tempfile.TemporaryDirectory() as root:
        write(root, files)
        return [(f.rule, f.path, f.line) for f in check.check(Tree(root))]


def with_sources_listed(files):
    names = "\n".join(pathlib.PurePath(path).name for path in files)
    return {**files, "CMakeLists.txt": names}


class CheckTest(unittest.TestCase):
    def expect(self, files, *expected):
        by_place = sorted(expected, key=lambda finding: finding[1:])
        self.assertEqual(findings(with_sources_listed(files)), by_place)

    def expect_line(self, path, line, *rules):
        """The rules that fire on one line of code, the third of a file."""
        self.expect({path: HEADER + line + "\n"}, *((rule, path, 3) for rule in rules))


class Layers(CheckTest):
    def test_downward_and_own_folder(self):
        for path, included in [
            ("src/algo/a.h", "weir/quota.h"), ("src/algo/a.h", "base/hash.h"),
            ("src/algo/a.h", "algo/b.h"), ("src/observe/a.h", "base/hash.h"),
            ("src/engine/a.h", "rules/b.h"), ("src/store/memory/a.h", "engine/b.h"),
            ("src/store/memory/a.h", "store/memory/b.h"), ("src/cli/a.h", "net/b.h"),
            ("tests/a.h", "net/b.h"),
        ]:
            self.expect_line(path, f'#include "{included}"')

    def test_upward(self):
        for path, included in [
            ("src/base/a.h", "observe/b.h"), ("src/algo/a.h", "rules/b.h"),
            ("src/engine/a.h", "store/memory/b.h"), ("src/net/a.h", "cli/b.h"),
            ("src/base/a.h", "algo/b.h"),
        ]:
            self.expect_line(path, f'#include "{included}"', "layer")
            self.expect_line(path, f"#include <{included}>", "layer")

    def test_sideways(self):
        self.expect_line("src/engine/a.h", '#include "proto/b.h"', "layer")
        self.expect_line("src/server/http/a.h", '#include "server/resp/b.h"', "layer")
        self.expect_line("src/store/redis/a.h", '#include "store/memory/b.h"', "layer")
        self.expect_line("src/net/a.h", '#include "server/http/b.h"', "layer")

    def test_public_headers_include_only_each_other(self):
        public = "// X. Tested by include/weir/a.h.\n#pragma once\n"
        self.expect({"include/weir/a.h": public + '#include "base/b.h"\n'},
                    ("layer", "include/weir/a.h", 3))
        self.expect({"include/weir/a.h": public + '#include "weir/b.h"\n#include <vector>\n'})

    def test_examples_include_only_public_headers(self):
        self.expect_line("examples/a.h", '#include "weir/limiter.h"')
        self.expect_line("examples/a.h", '#include "engine/engine.h"', "layer")

    def test_unknown_folder_and_bare_name(self):
        self.expect({"src/misc/a.h": HEADER}, ("layer", "src/misc/a.h", 1))
        self.expect_line("src/algo/a.h", '#include "b.h"', "layer")

    def test_sockets_and_threads_have_their_place(self):
        self.expect_line("src/net/a.h", "#include <boost/asio.hpp>")
        self.expect_line("src/server/http/a.h", "#include <boost/asio/ip/tcp.hpp>", "outside")
        self.expect_line("src/store/memory/a.h", "#include <mutex>")
        self.expect_line("src/algo/a.h", "#include <thread>", "outside")
        self.expect({"src/algo/a_test.cc": "#include <thread>\n"})


class Code(CheckTest):
    def test_clock(self):
        for code in ["auto t = std::chrono::steady_clock::now();", "time(nullptr);",
                     "clock_gettime(CLOCK_REALTIME, &t);"]:
            self.expect_line("src/algo/a.h", code, "clock")
            self.expect_line("src/net/a.h", code)
            self.expect_line("bench/a.h", code)
        self.expect_line("src/algo/a.h", "auto t = clock.now(); slot.time(); time(1);")

    def test_randomness(self):
        self.expect_line("src/algo/a.h", "std::random_device device;", "random")
        self.expect_line("src/algo/a.h", "int operand(int);")

    def test_comments_and_literals_are_not_code(self):
        self.expect_line("src/algo/a.h", "// clock::now()")
        self.expect_line("src/algo/a.h", 'auto s = "clock::now()"; auto n = 1\'000;')
        self.expect_line("src/algo/a.h", 'auto s = R"x(clock::now() ")x"; char c = \'"\';')

    def test_waiver_needs_a_reason(self):
        call = "steady_clock::now();"
        self.expect_line("src/algo/a.h", call + "  // check:allow(clock): it is a stopwatch")
        self.expect_line("src/algo/a.h", call + "  // check:allow(clock):", "clock")
        self.expect_line("src/algo/a.h", call + "  // check:allow(sleep): other", "clock")
        self.expect({"src/algo/a.h": HEADER + "// check:allow(clock): why\n" + call + "\n"})

    def test_sleep_in_tests(self):
        code = "std::this_thread::sleep_for(1ms);\n"
        self.expect({"src/net/a_test.cc": code}, ("sleep", "src/net/a_test.cc", 1))
        self.expect({"tests/a.cc": "usleep(1);\n"}, ("sleep", "tests/a.cc", 1))
        self.expect({"tests/a.py": "time.sl" + "eep(1)\n"}, ("sleep", "tests/a.py", 1))
        self.expect({"src/net/a.cc": code})

    def test_using_namespace_std(self):
        self.expect_line("src/algo/a.h", "using namespace std;", "using-std")
        self.expect_line("src/algo/a.h", "using namespace std::chrono_literals;")

    def test_header_shape(self):
        self.expect({"src/algo/a.h": "// X.\n"}, ("pragma-once", "src/algo/a.h", 1))
        self.expect({"src/algo/a.h": "#pragma once\n"}, ("header-comment", "src/algo/a.h", 1))

    def test_file_names(self):
        self.expect({"src/algo/a.cpp": ""}, ("file-name", "src/algo/a.cpp", 1))
        self.expect({"src/algo/TokenBucket.cc": ""}, ("file-name", "src/algo/TokenBucket.cc", 1))

    def test_function_length(self):
        body = "  x();\n" * 69
        long = "class C {\n  void f(int a,\n         int b) {\n" + body + "  }\n};\n"
        self.expect({"src/algo/a.cc": long}, ("function-length", "src/algo/a.cc", 2))
        self.expect({"src/algo/a.cc": "void f() {\n" + body[:-7] + "}\n"})
        self.expect({"src/algo/a.cc": "namespace weir {\n" + "void f();\n" * 80 + "}\n"})
        self.expect({"src/algo/a.cc": "constexpr int kTable[] = {\n" + "1,\n" * 80 + "};\n"})
        self.expect({"src/algo/a.cc": "class C final : public B {\n" + "int a;\n" * 80 + "};\n"})

    def test_methods_of_a_class(self):
        def holding(methods):
            others = ("  C(int a);\n  ~C();\n  int a = f(1);\n  using A = void (*)();\n"
                      "  struct D {\n    void g();\n  };\n  enum E { x };\n")
            return "class C final : B {\n" + others + "  int f(A<int> a) const { return {}; }\n" \
                * (methods - 1) + "  bool operator==(const C&) const;\n};\n"

        self.expect({"src/algo/a.cc": holding(25)})
        self.expect({"src/algo/a.cc": holding(26)}, ("methods", "src/algo/a.cc", 1))
        self.expect({"src/algo/a_test.cc": holding(26)})
        reason = "// check:allow(methods): a method for each callback\n"
        self.expect({"src/algo/a.cc": reason + holding(26)})

    def test_tested_by(self):
        path = "include/weir/a.h"
        self.expect({path: HEADER}, ("tested-by", path, 1))
        named = "// A.\n//\n// Tested by src/algo/{}.\n#pragma once\n"
        self.expect({path: named.format("a_test.cc")}, ("tested-by", path, 3))
        self.expect({path: named.format("a_test.cc"), "src/algo/a_test.cc": ""})
        self.expect({path: named.format("*_test.cc (cases)"), "src/algo/a_test.cc": ""})
        self.expect({"src/algo/a.h": "// A. Tested by a_test.cc and\n// b_test.cc.\n#pragma once\n",
                     "src/algo/a_test.cc": ""}, ("tested-by", "src/algo/a.h", 1))


class Docs(CheckTest):
    def test_links(self):
        self.expect({"docs/a.md": "[b](b.md) [c](../src/algo) [d](https://example.com/x)\n",
                     "docs/b.md": "# B\n", "src/algo/a.cc": ""})
        self.expect({"docs/a.md": "\n[b](c.md)\n"}, ("link", "docs/a.md", 2))
        self.expect({"docs/a.md": "`[b](c.md)`\n```\n[b](c.md)\n```\n"})

    def test_the_index_has_all_pages(self):
        pages = {"docs/a.md": "", "docs/b/c.md": "", "docs/internals/adr/1.md": ""}
        self.expect({**pages, "docs/index.md": "[a](a.md) [c](b/c.md#d)\n", "docs/b/c.md": "# D\n"})
        self.expect({**pages, "docs/index.md": "[c](b/c.md)\n"}, ("link", "docs/a.md", 1))

    def test_headings(self):
        self.expect({"docs/a.md": "# One `two`, three\n[x](#one-two-three)\n"})
        self.expect({"docs/a.md": "# One\n[x](#two)\n"}, ("link", "docs/a.md", 2))

    def test_pages_that_code_names(self):
        page = {"docs/reference/a.md": "# A\n## Of b\n"}
        see = HEADER + '// docs/reference/a.md\nconst char* kSee = "reference/a.md#of-{}";\n'
        self.expect({**page, "src/algo/a.h": see.format("b")})
        self.expect({**page, "src/algo/a.h": see.format("c")}, ("link", "src/algo/a.h", 4))
        self.expect({"examples/a.yaml": "# docs/reference/b.md\n"}, ("link", "examples/a.yaml", 1))

    def test_verbs_of_dev(self):
        dev = "verbs() {\ncat <<'TABLE'\n  test [args]   test\nTABLE\n}\n"
        self.expect({"dev": dev, "docs/a.md": "```sh\n./dev test\n```\n`./dev test -R x`\n"})
        self.expect({"dev": dev, "docs/a.md": "```sh\n./dev tset\n```\n"},
                    ("command", "docs/a.md", 2))

    def test_subcommands_of_weir(self):
        main = {"src/cli/main.cc": 'app.add_subcommand("serve", "x");\n'}
        self.expect({**main, "docs/a.md": "```sh\nx/weir serve --x\nweir --help\n```\n"})
        self.expect({**main, "docs/a.md": "```sh\ncd x && weir sreve | tee y\n```\n"},
                    ("command", "docs/a.md", 2))
        self.expect({**main, "docs/a.md": "`weir off;`\n"})  # a directive of nginx
        self.expect({"docs/a.md": "`weir anything`\n"})  # until there is a src/cli

    def test_lengths(self):
        words = "word " * 30
        self.expect({"docs/how-to/a.md": f"{words.strip()}. {words}\n\n- {words}\n"})
        for text in (f"{words}one", f"| a | {words}one |", f"- short\n- {words}one"):
            line = text.count("\n") + 1
            self.expect({"docs/how-to/a.md": text + "\n"}, ("length", "docs/how-to/a.md", line))
        self.expect({"docs/how-to/a.md": f"```sh\n{words}one\n```\n",
                     "docs/internals/a.md": f"{words}one\n"})
        self.expect({"docs/how-to/a.md": "Word.\n" * 501}, ("words", "docs/how-to/a.md", 1))
        commands = "`./dev run`\n\n`./dev test`\n\n"
        self.expect({"README.md": commands + "Word.\n" * 696})
        self.expect({"README.md": "`./dev run`\n"}, ("docs", "README.md", 1))
        self.expect({"docs/how-to/a.md": "A.\nStart it anew.\n", "docs/internals/a.md": "Anew.\n"},
                    ("words", "docs/how-to/a.md", 2))

    def test_comments(self):
        words = "word " * 15
        self.expect({"dev": f"# {words}\n# {words}\nx = 1  # two\n# {words}\n"})
        self.expect({"dev": f"x\n# {words}\n# {words} one.\n"}, ("length", "dev", 2))
        self.expect({"dev": f'"""{words}\n{words} one"""\nx = """Anew."""\n'}, ("length", "dev", 1))
        self.expect({"worker/src/a.ts": "/** A.\n * Anew. */\nanew();  // Whoever\n"},
                    ("words", "worker/src/a.ts", 2), ("words", "worker/src/a.ts", 3))
        self.expect({"docs/how-to/a.md": "The beat.\n"}, ("words", "docs/how-to/a.md", 1))

    def test_limits(self):
        code = HEADER + "constexpr auto kMax = std::size_t{32} << 10;\n" + (
            "Limits kLimits = {.idle_max = std::chrono::seconds(60),\n};\n")
        def rows(size, idle="60 seconds", name="kMax"):
            return {"src/algo/a.h": code, "docs/reference/limits.md":
                    f"| a head | {size} | 431 | `src/algo/a.h`: `{name}` |\n"
                    f"| silence | {idle} | closed | `src/algo/a.h`: `idle_max` |\n"}
        self.expect(rows("32 KiB"))
        self.expect(rows("32 KiB", "1 minute"))
        self.expect(rows("16 KiB"), ("limit", "docs/reference/limits.md", 1))
        self.expect(rows("32 KiB", "10 seconds"), ("limit", "docs/reference/limits.md", 2))
        self.expect(rows("32 KiB", name="kGone"), ("limit", "docs/reference/limits.md", 1))


class Files(CheckTest):
    def test_columns(self):
        self.expect({"src/algo/a.cc": "x" * 101 + "\n"}, ("columns", "src/algo/a.cc", 1))
        self.expect({"src/algo/a.cc": "─" * 100 + "\n", "docs/a.md": "x" * 200 + "\n"})

    def test_length(self):
        self.expect({"src/algo/a.cc": "\n" * 501}, ("file-length", "src/algo/a.cc", 1))
        self.expect({"src/algo/a.cc": "\n" * 500})

    def test_leftovers(self):
        for word in ["TO" + "DO", "FIX" + "ME", "XX" + "X"]:
            self.expect({"docs/a.md": f"{word}: later\n"}, ("leftover", "docs/a.md", 1))
        self.expect({"docs/a.md": "mktemp XXXXXX\n"})

    def test_size_and_place(self):
        self.expect({"docs/a.bin": "\0" * 600_000}, ("size", "docs/a.bin", 1))
        self.expect({"notes.md": ""}, ("top-level", "notes.md", 1))

    def test_crowded_folders(self):
        def headers(folder, count, ending=".h"):
            return {f"src/{folder}/f{i:02}{ending}": HEADER for i in range(count)}
        self.expect(headers("engine", 24))
        self.expect({**headers("engine", 24), **headers("engine/part", 24),
                     **headers("engine", 9, "_testing.h"), **headers("engine/testing", 30)})
        self.expect(headers("engine", 25), ("crowd", "src/engine/f00.h", 1))
        self.expect(headers("base", 30))  # an exception, with its reason

    def test_dead_sources(self):
        files = {"src/algo/a.cc": "", "tests/b_test.py": "", "CMakeLists.txt": "xa.cc"}
        self.assertEqual(findings(files), [("dead", "src/algo/a.cc", 1),
                                           ("dead", "tests/b_test.py", 1)])

    def test_mutants_are_no_product(self):
        self.assertEqual(findings({"CMakeLists.txt": "# of mutants\na.cc\n",
                                   "tests/CMakeLists.txt": "add_subdirectory(mutants)\n"}), [])
        self.assertEqual(findings({"src/algo/CMakeLists.txt": "option(WEIR_MUTANT)\n",
                                   "src/algo/a.lua": "\nif MUTANT then x() end\n"}),
                         [("mutant", "src/algo/CMakeLists.txt", 1),
                          ("mutant", "src/algo/a.lua", 2)])


class Rings(unittest.TestCase):
    def test_folders_include_each_other_in_no_ring(self):
        def rings(files):
            with tempfile.TemporaryDirectory() as root:
                write(root, files)
                return [(f.path, f.line) for f in layers.check_rings(Tree(root))]
        down = {"src/algo/a.h": '#include "algo/b/b.h"\n'}
        self.assertEqual(rings(down), [])
        self.assertEqual(rings({**down, "src/algo/b/b_test.cc": '#include "algo/a.h"\n'}), [])
        self.assertEqual(rings({**down, "src/algo/b/b.h": '\n#include "algo/a.h"\n'}),
                         [("src/algo/b/b.h", 2)])
        further = {**down, "src/algo/b/b.h": '#include "weir/c.h"\n#include "algo/d/d.h"\n'}
        self.assertEqual(rings({**further, "src/algo/d/d.h": '#include "weir/c.h"\n'}), [])
        self.assertEqual(rings({**further, "include/weir/c.h": '\n\n#include "algo/a.h"\n'}),
                         [("include/weir/c.h", 3)])
        self.assertEqual(rings({**further, "src/algo/d/d.h": '#include "algo/b/b.h"\n'}),
                         [("src/algo/d/d.h", 1)], "a ring beside the one way")


class Weight(unittest.TestCase):
    CODE = "// A.\n\n  // b\nint a;  // c\n\t\nint b;\n"

    def test_counts_the_code_of_each_part_apart(self):
        parts = {
            "server": ["src/algo/a.cc", "include/weir/a.h"], "laboratory": ["lab/a.cc"],
            "tests": ["src/algo/a_test.cc", "src/algo/a_testing.h", "src/net/a_test_door.cc",
                      "src/net/testing/a.h", "tests/a.cc", "npm/test/a.test.mjs"],
            "npm and Worker": ["npm/src/a.ts", "worker/src/a.ts"],
        }
        with tempfile.TemporaryDirectory() as root:
            write(root, {path: self.CODE for paths in parts.values() for path in paths})
            weights = weight.weigh(Tree(root))
        self.assertEqual({part: weights[part] for part in parts},
                         {part: 2 * len(paths) for part, paths in parts.items()})

    def test_refuses_a_part_above_its_bound(self):
        most = weight.bounds()["scripts"]
        for lines, refusals in ((most, 0), (most + 1, 1)):
            with tempfile.TemporaryDirectory() as root:
                write(root, {"scripts/a.py": "pass\n" * lines})
                self.assertEqual(len(list(weight.check_weight(Tree(root)))), refusals)


class CommandLine(unittest.TestCase):
    def test_prints_place_and_fails(self):
        with tempfile.TemporaryDirectory() as root:
            pathlib.Path(root, "notes.md").write_text("x\n", encoding="utf-8")
            result = subprocess.run([sys.executable, ROOT / "scripts/check.py", root],
                                    capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stdout.startswith("notes.md:1: "), result.stdout)
        self.assertRegex(result.stdout, r"\n +0 of +\d+ lines: tests\n$")


if __name__ == "__main__":
    unittest.main()
