"""Installs the build into a folder of its own and builds programs against that copy: the
example, once with CMake's find_package and once with pkg-config, and what README shows, by
README's own command. Installed is nothing that `./dev build` does not make."""

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


def run_what_readme_shows(prefix, folder):
    """Copied from the page, and compiled as it says."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```cpp\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    (command,) = re.findall(r"^c\+\+ .*pkg-config.*$", readme, re.MULTILINE)
    (folder / "login.cc").write_text(program, encoding="utf-8")
    run("bash", "-c", command, cwd=folder, env=environment_for(prefix))
    assert run(folder / "login") == "welcome, 4 left\n"
    broken = program.replace(".limit = 5", ".limit = -5")
    (folder / "login.cc").write_text(broken, encoding="utf-8")
    run("bash", "-c", command, cwd=folder, env=environment_for(prefix))
    done = subprocess.run([folder / "login"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr.startswith("limit must be "), done


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
        run_what_readme_shows(prefix, folder)
    expect_that_dev_build_makes_what_is_installed()
    print("the example runs against the installed copy")


main()
