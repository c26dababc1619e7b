#!/usr/bin/python3
"""An installed libweir serves a program that knows nothing of this source tree.

Installs the build into a temporary prefix, then builds a small program against it
twice, with find_package() and with pkg-config, and runs it. The archive is also linked
whole, which finds a layer that libweir forgot. A linker takes from an archive only
what is used, so a missing part may show up only in a user's program.
"""

import os
import pathlib
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["WEIR_BUILD_DIR"])

PROGRAM = """
#include <cstdio>
#include "weir/limiter.h"
#include "weir/memory_store.h"
#include "weir/version.h"
using namespace std::chrono_literals;
int main() {
  static_assert(WEIR_VERSION_NUMBER > 0);
  std::printf("%.*s", static_cast<int>(weir::kVersion.size()), weir::kVersion.data());
  weir::SystemClock clock;
  auto store = weir::make_memory_store({.max_keys = 1024}, clock.now());
  weir::Limiter limiter(*store, clock, {.limit = 2, .window = 1h});
  for (int i = 0; i < 3; ++i) {
    std::printf(" %s", limiter.hit("login", "user")->allowed() ? "allowed" : "denied");
  }
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
find_package(weir REQUIRED)
add_executable(app app.cc)
target_link_libraries(app weir::weir)
"""


def run(*command, **options):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                            check=False, **options)
    if result.returncode:
        raise AssertionError(f"{command}\n{result.stdout}{result.stderr}")
    return result.stdout


class InstallTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.user = pathlib.Path(folder.name, "user")
        self.prefix = pathlib.Path(folder.name, "prefix")
        self.user.mkdir()
        (self.user / "app.cc").write_text(PROGRAM, encoding="utf-8")
        (self.user / "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
        run("cmake", "--install", BUILD, "--prefix", self.prefix)
        self.compiler = cache_entry("CMAKE_CXX_COMPILER")

    def test_find_package(self):
        run("cmake", "-S", self.user, "-B", self.user / "build", "-G", "Ninja",
            f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_CXX_COMPILER={self.compiler}",
            *sanitizer_flags("-DCMAKE_CXX_FLAGS="))
        run("cmake", "--build", self.user / "build")
        self.assertEqual(run(self.user / "build/app"), expected_output())

    def test_pkg_config(self):
        pkg_config_file = next(self.prefix.rglob("weir.pc"))
        environment = {**os.environ, "PKG_CONFIG_PATH": str(pkg_config_file.parent)}
        flags = run("pkg-config", "--cflags", "--libs", "weir", env=environment).split()
        self.compile(*flags)
        self.assertEqual(run(self.user / "app"), expected_output())

    def test_archive_needs_nothing_else(self):
        archive = next(self.prefix.rglob("libweir.a"))
        self.compile(f"-I{self.prefix}/include", "-Wl,--whole-archive", archive,
                     "-Wl,--no-whole-archive", "-pthread")

    def test_all_public_headers_are_installed(self):
        source = {path.name.removesuffix(".in") for path in
                  pathlib.Path(__file__).resolve().parents[2].glob("include/weir/*.h*")}
        installed = {path.name for path in (self.prefix / "include/weir").iterdir()}
        self.assertEqual(installed, source)

    def compile(self, *flags):
        run(self.compiler, "-std=c++20", *sanitizer_flags(""), self.user / "app.cc", *flags,
            "-o", self.user / "app")


def cache_entry(name):
    for line in (BUILD / "CMakeCache.txt").read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition("=")
        if key.split(":")[0] == name:
            return value
    raise KeyError(name)


def expected_output():
    return cache_entry("CMAKE_PROJECT_VERSION") + " allowed allowed denied"


def sanitizer_flags(prefix):
    """A program that links a sanitized archive has to be sanitized itself."""
    sanitizers = cache_entry("WEIR_SANITIZE")
    return [f"{prefix}-fsanitize={sanitizers}"] if sanitizers else []


if __name__ == "__main__":
    unittest.main()
