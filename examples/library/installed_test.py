"""Installs the build into a folder of its own and builds programs against that copy. It
builds the example, once with CMake's find_package and once with pkg-config, and what README and
docs/how-to/cpp.md show, by the page's own commands. The test installs only what `./dev build`
makes."""

import os
import pathlib
import re
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ["WEIR_BUILD_DIR"])

EXPECTED = re.compile(
    r"login 1: allowed, 4 left\n"
    r"login 2: allowed, 3 left\n"
    r"login 3: allowed, 2 left\n"
    r"login 4: allowed, 1 left\n"
    r"login 5: allowed, 0 left\n"
    r"login 6: denied, retry after \d+ s\n"
    r"search: allowed, 8 left for ann, 999 for everyone\n"
)


def run(*command, **options):
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, **options
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def expect_output_of(program):
    output = run(program)
    assert EXPECTED.fullmatch(output), output


def build_with_cmake(prefix, folder):
    run("cmake", "-S", HERE, "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", folder)
    return folder / "library_example"


def environment_for(prefix):
    (pc_file,) = prefix.rglob("weir.pc")
    return dict(os.environ, PKG_CONFIG_PATH=str(pc_file.parent))


def build_with_pkg_config(prefix, folder):
    environment = environment_for(prefix)
    flags = run("pkg-config", "--cflags", "--libs", "weir", env=environment).split()
    program = folder / "pkg_config_example"
    run("c++", "-std=c++20", HERE / "main.cc", "-o", program, *flags)
    return program


def fence(language, page):
    """The one block of this language on a page of the documents."""
    text = (ROOT / page).read_text(encoding="utf-8")
    (block,) = re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return block


def run_what_the_page_shows(prefix, folder):
    """The files and the commands of the page, as they stand there."""
    page = "docs/how-to/cpp.md"
    program = fence("cpp", page)
    text = (ROOT / page).read_text(encoding="utf-8")
    (command,) = re.findall(r"^c\+\+ .*pkg-config.*$", text, re.MULTILINE)
    (cmake,) = re.findall(r"^cmake -B .*$", text, re.MULTILINE)
    environment = environment_for(prefix) | {"CMAKE_PREFIX_PATH": str(prefix)}
    folder = folder / "page"
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(fence("cmake", page), encoding="utf-8")
    for source, code, said in ((program, 0, ("welcome, 4 left\n", "")),
                               (program.replace(".limit = 5", ".limit = -5"), 1,
                                ("", "limit must be "))):
        (folder / "login.cc").write_text(source, encoding="utf-8")
        run("bash", "-c", command, cwd=folder, env=environment)
        done = subprocess.run([folder / "login"], capture_output=True, text=True, check=False)
        assert done.returncode == code, done
        assert done.stdout == said[0] and done.stderr.startswith(said[1]), done
    (folder / "login.cc").write_text(program, encoding="utf-8")
    assert run("bash", "-c", cmake, cwd=folder, env=environment).endswith("welcome, 4 left\n")


def run_what_readme_shows(prefix, folder):
    """README's lines, which are the middle of a program."""
    includes = ["<chrono>", "<iostream>", '"weir/limiter.h"', '"weir/memory_store.h"']
    source = folder / "readme.cc"
    source.write_text("".join(f"#include {name}\n" for name in includes) + "int main() {\n"
                      + fence("cpp", "README.md") + "}\n", encoding="utf-8")
    environment = environment_for(prefix)
    flags = run("pkg-config", "--cflags", "--libs", "weir", env=environment).split()
    run("c++", "-std=c++20", source, "-o", folder / "readme", *flags)
    assert run(folder / "readme") == "welcome, 4 left\n"


def ninja_says(*tool):
    return run("ninja", "-C", BUILD, "-t", *tool).splitlines()


def expect_that_dev_build_makes_what_is_installed():
    """`./dev build` builds the target `installed`; else `cmake --install` finds files missing."""
    (verb,) = re.findall(r"^verb_build\(\) \{\n(.*?)^\}", (ROOT / "dev").read_text("utf-8"),
                         re.MULTILINE | re.DOTALL)
    assert "build release --target installed" in verb, verb
    scripts = [path.read_text("utf-8") for path in BUILD.rglob("cmake_install.cmake")]
    files = {file for text in scripts for file in re.findall(rf'"({re.escape(str(BUILD))}/[^"]+)"',
                                                             text)}
    made = {line.rpartition(": ")[0] for line in ninja_says("targets", "all")}
    built = {file for file in files if file.removeprefix(f"{BUILD}/") in made}
    needed = {str(BUILD / name.strip()) for name in ninja_says("query", "installed")}
    assert built, "nothing that is built is installed"
    assert built <= needed, built - needed


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prefix = folder / "installed"
        run("cmake", "--install", BUILD, "--prefix", prefix)
        expect_output_of(build_with_cmake(prefix, folder / "build"))
        expect_output_of(build_with_pkg_config(prefix, folder))
        run_what_the_page_shows(prefix, folder)
        run_what_readme_shows(prefix, folder)
    expect_that_dev_build_makes_what_is_installed()
    print("the example runs against the installed copy")


main()
