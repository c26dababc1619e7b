#!/usr/bin/python3
"""The Debian packages say what the program says; `./dev package --test` makes and installs them."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["WEIR_BUILD_DIR"])
WEIR = os.environ["WEIR_BINARY"]
DEBIAN = ROOT / "deploy" / "debian"


def said_by(*command, status=0):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != status:
        raise AssertionError(f"{command} ended with {done.returncode}: {done.stdout}")
    return done.stdout


class Package(unittest.TestCase):
    def test_its_version_is_that_of_the_program(self):
        latest = re.match(r"weir \(([^)]+)\)", (DEBIAN / "changelog").read_text(encoding="utf-8"))
        self.assertEqual(f"weir {latest[1]}\n", said_by(WEIR, "version"))

    def test_its_configuration_is_valid(self):
        written = (DEBIAN / "weir.yaml").read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as state:  # which systemd makes for the service
            file = pathlib.Path(state, "weir.yaml")
            file.write_text(written.replace("/var/lib/weir", state), encoding="utf-8")
            self.assertIn("ok", said_by(WEIR, "validate", "--strict", file))

    def test_dev_build_makes_all_that_is_installed(self):
        made = said_by("ninja", "-C", BUILD, "-t", "query", "installed").split()
        script = "".join(path.read_text(encoding="utf-8")
                         for path in BUILD.rglob("cmake_install.cmake"))
        installed = re.findall(rf'FILES "{BUILD}/([^"]+)"', script)
        built = [path for path in installed if path == "weir" or path.endswith((".a", ".so"))]
        self.assertIn("libweir.a", built)
        self.assertEqual([path for path in built if path not in made], [])

    def test_a_release_is_one_command(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder, "weir")
            said_by("git", "clone", "--quiet", "--depth", "1", f"file://{ROOT}", copy)
            for name in ("dev", "scripts/release.py"):
                shutil.copy(ROOT / name, copy / name)
            refused = said_by(copy / "dev", "release", "99.0.0", "--dry-run", status=1)
            self.assertIn("no section '## 99.0.0, unreleased'", refused)
            changelog = copy / "CHANGELOG.md"
            section = "## 99.0.0, unreleased\n\n## "
            changelog.write_text(changelog.read_text().replace("## ", section, 1))
            before = said_by("git", "-C", copy, "status", "--porcelain")
            shown = said_by(copy / "dev", "release", "99.0.0", "--dry-run")
            for change in ("project(weir VERSION 99.0.0", '  "version": "99.0.0"',
                           "Version 99.0.0 ·", "## 99.0.0, 20", "weir (99.0.0) unstable"):
                self.assertIn("\n+" + change, shown)
            self.assertRegex(shown, r"SBOM of [1-9]\d+ components, tag v99.0.0")
            self.assertEqual(said_by("git", "-C", copy, "status", "--porcelain"), before)

    def test_all_that_name_a_version_name_one(self):
        version = said_by(WEIR, "version").split()[1]
        self.assertIn(f'"version": "{version}"', (ROOT / "npm" / "package.json").read_text())
        self.assertIn(f"Version {version}", (ROOT / "README.md").read_text())


if __name__ == "__main__":
    unittest.main()
