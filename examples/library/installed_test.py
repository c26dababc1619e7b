"""Installs the build into a folder of its own and builds the example against that copy,
once with CMake's find_package and once with pkg-config. What it prints must be what the
README says a limiter does: five logins, then a denial."""

import os
import pathlib
import re
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
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


def build_with_pkg_config(prefix, folder):
    (pc_file,) = prefix.rglob("weir.pc")
    environment = dict(os.environ, PKG_CONFIG_PATH=str(pc_file.parent))
    flags = run("pkg-config", "--cflags", "--libs", "weir", env=environment).split()
    program = folder / "pkg_config_example"
    run("c++", "-std=c++20", HERE / "main.cc", "-o", program, *flags)
    return program


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prefix = folder / "installed"
        run("cmake", "--install", BUILD, "--prefix", prefix)
        expect_output_of(build_with_cmake(prefix, folder / "build"))
        expect_output_of(build_with_pkg_config(prefix, folder))
    print("the example runs against the installed copy")


main()
