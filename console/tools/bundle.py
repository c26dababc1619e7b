#!/usr/bin/python3
"""Makes the console's files into one C++ table: bundled, minified, hashed, compressed.

    bundle.py SOURCES CHART_JS ESBUILD OUT.cc      SOURCES is the folder console/

The same sources give the same bytes: nothing here depends on time, place or order of files.
Tested by src/console/assets_test.cc.
"""

import gzip
import hashlib
import pathlib
import subprocess
import sys
import tempfile

import brotli

LICENSE = ("/*! With Chart.js, (c) 2014-2022 Chart.js Contributors, and @kurkle/color, "
           "(c) 2018-2022 Jukka Kurkela, under the MIT License. Weir: Apache License 2.0. */")
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
COLUMNS = 96

HEAD = """\
// Made by console/tools/bundle.py of the files in console/.

#include "console/assets.h"

#include <array>

namespace weir {
namespace {

using namespace std::string_view_literals;

"""


def bundle(sources, chart, esbuild):
    """{name without hash: bytes} of what esbuild makes of the script and the style sheet."""
    with tempfile.TemporaryDirectory(prefix="weir-console-") as folder:
        subprocess.run(
            [esbuild, sources / "src/main.ts", sources / "style.css", sources / "dark.css",
             "--bundle", "--minify", "--format=iife", "--target=es2020", "--charset=utf8",
             "--legal-comments=none",
             f"--banner:js={LICENSE}", "--loader:.svg=text", f"--alias:chart.js={chart}",
             "--entry-names=[name]", f"--outdir={folder}", "--log-level=warning"], check=True)
        folder = pathlib.Path(folder)
        names = {"app.js": "main.js", "style.css": "style.css", "dark.css": "dark.css"}
        return {name: (folder / made).read_bytes() for name, made in names.items()}


def digest(content):
    return hashlib.sha256(content).hexdigest()[:12]


def hashed(name, content):
    stem, dot, suffix = name.rpartition(".")
    return f"{stem}.{digest(content)}{dot}{suffix}"


def assets(sources, chart, esbuild):
    """{name: bytes}; index.html names the others."""
    made = bundle(sources, chart, esbuild)
    made["icon.svg"] = (sources / "icons/weir.svg").read_bytes()
    page = (sources / "index.html").read_text(encoding="utf-8")
    named = {}
    for name, content in sorted(made.items()):
        named[hashed(name, content)] = content
        page = page.replace(f"/console/{name}", f"/console/{hashed(name, content)}")
    return {"index.html": page.encode(), **named}


def literal(name, content):
    """A constant of bytes. A string compiles a hundred times faster than a list of numbers."""
    lines, line = [], ""
    for byte in content:
        plain = 32 <= byte < 127 and chr(byte) not in '"\\?'
        line += chr(byte) if plain else f"\\{byte:03o}"
        if len(line) >= COLUMNS:
            lines.append(line)
            line = ""
    text = "\n".join(f'    "{each}"' for each in [*lines, line])
    return f"constexpr std::string_view {name}{{\n{text},\n    {len(content)}}};\n"


def entry(number, name, content):
    """The constants of one asset, and its row of the table."""
    forms = {"plain": content, "gzip": gzip.compress(content, 9, mtime=0),
             "brotli": brotli.compress(content)}
    constants = "".join(literal(f"k{form.title()}{number}", data) for form, data in forms.items())
    kind = TYPES[pathlib.PurePath(name).suffix]
    fields = [f'"{name}"sv', f'"{kind}"sv', f'"\\"{digest(content)}\\""sv',
              *(f"k{form.title()}{number}" for form in forms)]
    return constants, f"    ConsoleAsset{{{', '.join(fields)}}},\n"


def main(sources, chart, esbuild, out):
    made = assets(pathlib.Path(sources), chart, esbuild)
    parts = [entry(number, name, content) for number, (name, content) in enumerate(made.items())]
    text = HEAD + "".join(constants for constants, _ in parts)
    text += f"\nconstexpr std::array<ConsoleAsset, {len(parts)}> kAssets = {{\n"
    text += "".join(row for _, row in parts)
    text += "};\n\n}  // namespace\n\n"
    text += "std::span<const ConsoleAsset> console_assets() { return kAssets; }\n\n"
    text += "}  // namespace weir\n"
    pathlib.Path(out).write_text(text, encoding="ascii")


if __name__ == "__main__":
    main(*sys.argv[1:])
