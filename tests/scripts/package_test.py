#!/usr/bin/python3
"""The Debian packages say what the program says; `./dev package --test` makes and installs them."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["WEIR_BUILD_DIR"])
WEIR = os.environ["WEIR_BINARY"]
DEBIAN = ROOT / "deploy" / "debian"


def said_by(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


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


if __name__ == "__main__":
    unittest.main()
