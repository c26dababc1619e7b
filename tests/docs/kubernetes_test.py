#!/usr/bin/python3
"""The manifests of docs/how-to/kubernetes.md are what the API of Kubernetes takes.

The schemas are those of kubernetes-validate, which ./dev test fetches from PyPI where it can.
"""

import os
import pathlib
import re
import sys
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, os.environ.get("WEIR_PYPI", str(ROOT / "build" / "pypi")))
try:
    import kubernetes_validate
except ImportError:
    kubernetes_validate = None

PAGE = (ROOT / "docs" / "how-to" / "kubernetes.md").read_text(encoding="utf-8")


class Manifests(unittest.TestCase):
    def setUp(self):
        block = re.search(r"```yaml\n(# weir-kubernetes\.yaml\n.*?)```", PAGE, re.DOTALL)[1]
        self.manifests = {each["kind"]: each for each in yaml.safe_load_all(block)}

    def test_are_there(self):
        self.assertLessEqual({"Secret", "ConfigMap", "Deployment", "Service",
                              "PodDisruptionBudget"}, set(self.manifests))

    @unittest.skipUnless(kubernetes_validate, "PyPI was out of reach: there are no schemas")
    def test_are_valid(self):
        latest = kubernetes_validate.latest_version()
        for manifest in self.manifests.values():
            kubernetes_validate.validate(manifest, latest, strict=True)
        broken = dict(self.manifests["Service"], spec={"prots": []})
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(broken, latest, strict=True)


if __name__ == "__main__":
    unittest.main()
