"""What the tests of weir-lab share: logs, and runs over them."""

import json
import pathlib
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from weir_server import WEIR, run_weir  # noqa: E402 (after the line above)

LAB = str(pathlib.Path(WEIR).with_name("weir-lab"))
START_S = 1_700_000_000
FORMAT = '$remote_addr $msec "$request" $status'


def combined(second, client="192.0.2.1", request="GET / HTTP/1.1", status=200):
    date = time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(START_S + second))
    return f'{client} - - [{date}] "{request}" {status} 5 "-" "agent"\n'


def exact(us, client="192.0.2.1", request="GET / HTTP/1.1", status=200):
    """A line of FORMAT, so many microseconds after the start."""
    return f'{client} {START_S + us // 10**6}.{us % 10**6:06d} "{request}" {status}\n'


class LabTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weir-lab-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def lab(self, *arguments):
        """(exit code, stdout, stderr)."""
        return run_weir(*map(str, arguments), program=LAB)

    def said(self, *arguments):
        code, out, complaint = self.lab(*arguments)
        self.assertEqual((code, complaint), (0, ""), out)
        return out

    def report(self, rules, *arguments):
        """Of a replay of this text of rules."""
        config = self.write("rules.yaml", rules)
        return json.loads(self.said("replay", "--config", config, "--json", *arguments))
