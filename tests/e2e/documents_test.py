"""What README and docs/ show: their YAML is taken, their JSON is what a server answers to their
commands, and the options that they name exist.

The C++ of README and docs/how-to/cpp.md is built by examples/library/installed_test.py.
"""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import yaml
from weir_server import DEADLINE_S, ROOT, Weir, run_weir

FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
API = [ROOT / "docs/reference" / name for name in ("http.md", "admin-api.md", "metrics.md")]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

# Recipes name their files, and tests/docs/recipes_test.py runs them.
IS_FILE = re.compile(r"# \S+\.ya?ml\n")

# Answers of a fleet, or of a moment: their shape is another here.
ELSEWHERE = ("/admin/busiest",)


def fences(path):
    return [(match[1], match[2]) for match in FENCE.finditer(path.read_text(encoding="utf-8"))]


def examples(language):
    for path in DOCUMENTS:
        for number, (found, text) in enumerate(fences(path)):
            if found == language:
                yield f"{path.name}, block {number + 1}", text


def json_values(text):
    """One after the other; a member alone is one of an object."""
    text = text.strip()
    if text.startswith('"'):
        text = "{" + text + "}"
    values = []
    while text:
        value, end = json.JSONDecoder().raw_decode(text)
        values.append(value)
        text = text[end:].lstrip()
    return values


def commands_of(text):
    """The lines of a shell, joined where a quotation goes on."""
    commands, open_text = [], ""
    for line in text.splitlines():
        open_text += line + "\n"
        if open_text.count("'") % 2 == 0:
            commands.append(open_text)
            open_text = ""
    return commands


def difference(documented, actual, where="it"):
    """The first part of two JSON values that differs in shape; none, if one is null or empty."""
    if documented is None or actual is None:
        return None
    if isinstance(documented, dict) and isinstance(actual, dict):
        if where.endswith(".rule"):
            return None  # as somebody wrote it
        if documented.keys() != actual.keys():
            return f"{where} has {sorted(actual)}, documented are {sorted(documented)}"
        found = (difference(documented[name], actual[name], f"{where}.{name}")
                 for name in documented)
        return next(filter(None, found), None)
    if isinstance(documented, list) and isinstance(actual, list):
        both = documented and actual
        return difference(documented[0], actual[0], where + "[0]") if both else None
    kinds = [float if type(value) is int else type(value) for value in (documented, actual)]
    return None if kinds[0] is kinds[1] else f"{where} is {actual!r}, documented is {documented!r}"


class Yaml(unittest.TestCase):
    def test_weir_takes_the_files(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("jwt.secret", "webhook.token", "admin-token"):
                pathlib.Path(folder, name).write_text("s" * 32 + "\n", encoding="ascii")
                pathlib.Path(folder, name).chmod(0o600)
            for where, text in examples("yaml"):
                if "http_filters:" in text or text.startswith("# /") or IS_FILE.match(text):
                    continue
                file = pathlib.Path(folder, "weir.yaml")
                file.write_text(text.replace("/etc/weir", folder), encoding="utf-8")
                # `weir docs` reads what only a gateway can do, and validate refuses it.
                reads = {"nginx-directives.md": "docs", "usage.md": "docs",
                         "simulator.md": "simulate"}.get(
                    where.split(",")[0], "validate")
                code, said, wrong = run_weir(reads, str(file))
                self.assertEqual(code, 0, f"{where}: {said}{wrong}")

    def test_weir_takes_the_rules_of_kubernetes(self):
        (text,) = [text for where, text in examples("yaml") if "kind: ConfigMap" in text]
        parts = {part["kind"]: part for part in yaml.safe_load_all(text)}
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "weir.yaml")
            file.write_text(parts["ConfigMap"]["data"]["weir.yaml"], encoding="utf-8")
            code, said, wrong = run_weir("validate", str(file))
        self.assertEqual(code, 0, said + wrong)
        labels = [parts["Deployment"]["spec"]["template"]["metadata"]["labels"],
                  parts["Service"]["spec"]["selector"],
                  parts["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"]]
        self.assertEqual(labels, labels[:1] * 3)

    def test_envoys_filter_is_that_of_the_whole_configuration(self):
        (text,) = [text for _, text in examples("yaml") if "http_filters:" in text]
        whole = yaml.safe_load((ROOT / "deploy/envoy/ratelimit.yaml").read_text("utf-8"))
        shown = yaml.safe_load(text)["http_filters"][0]
        self.assertTrue(any(self.is_part(shown, one) for one in self.all_in(whole)), shown)

    def all_in(self, value):
        yield value
        for each in value.values() if isinstance(value, dict) else value:
            if isinstance(each, (dict, list)):
                yield from self.all_in(each)

    def is_part(self, shown, whole):
        if not isinstance(shown, dict) or not isinstance(whole, dict):
            return shown == whole
        return all(name in whole and self.is_part(shown[name], whole[name]) for name in shown)


class Json(unittest.TestCase):
    def test_it_is_json(self):
        for where, text in examples("json"):
            try:
                json_values(text)
            except ValueError as error:
                self.fail(f"{where}: {error}")


class Shell(unittest.TestCase):
    def test_the_options_exist(self):
        helps = {}
        for where, text in (*examples("sh"), *examples("console")):
            for line in re.sub(r"#.*", "", text).splitlines():
                found = re.match(r"(?:\$ )?(?:\S*/)?weir ((?:(?:bench|tenants) )?[a-z]+)(.*)", line)
                if not found:
                    continue
                command = found[1]
                if command not in helps:
                    helps[command] = run_weir(*command.split(), "--help")[1]
                for option in re.findall(r"--[a-z][a-z-]*", found[2]):
                    self.assertRegex(helps[command], rf"{option}\b", f"{where}: weir {command}")


class Answers(unittest.TestCase):
    """The commands of a document in their order, on one server."""

    def setUp(self):
        # The first file of docs/reference/http.md is that of its examples.
        rules = next(text for language, text in fences(API[0]) if language == "yaml")
        self.weir = Weir(config=rules)
        self.addCleanup(self.weir.__exit__)

    def run_shell(self, command):
        done = subprocess.run(
            ["bash", "-c", command.replace("localhost:8080", f"localhost:{self.weir.port}")],
            capture_output=True, text=True, timeout=DEADLINE_S, check=False,
            env={**os.environ, "WEIR_ADMIN_TOKEN": "none"})
        self.assertEqual(done.returncode, 0, command + done.stderr)
        return done.stdout

    def test_of_the_http_api(self):
        blocks = [block for page in API for block in fences(page)]
        compared = 0
        for (language, text), (next_language, answer) in zip(blocks, blocks[1:] + [("", "")]):
            if language != "sh":
                continue
            documented = json_values(answer) if next_language == "json" else []
            # Lines of weir itself are for a server at its usual port; some never end.
            commands = [each for each in commands_of(text) if not each.startswith("weir ")]
            for number, command in enumerate(commands):
                said = self.run_shell(command)
                if number >= len(documented) or any(path in command for path in ELSEWHERE):
                    continue
                compared += 1
                self.assertIsNone(difference(documented[number], json.loads(said)), command)
        self.assertGreater(compared, 10)

    def test_of_the_pages_about_the_node(self):
        page = "".join(path.read_text(encoding="utf-8") for path in API)
        self.weir.check(key="alice", rule="login")
        for path in ("/metrics", "/admin/stats", "/health"):
            shown = re.search(rf"^## GET {path}\n\n```json\n(.*?)^```", page, re.M | re.S)[1]
            said = self.run_shell("curl -s localhost:8080" + path)
            self.assertIsNone(difference(json.loads(shown), json.loads(said)), path)

    def test_of_a_check_with_its_header_fields(self):
        blocks = fences(API[0])
        start = next(i for i, (_, text) in enumerate(blocks) if "curl -si" in text)
        for documented in (blocks[start + 1][1], None, blocks[start + 2][1]):
            said = self.run_shell(blocks[start][1]).replace("\r\n", "\n")
            if documented is None:
                continue
            heads = [text.partition("\n\n") for text in (documented, said)]
            names = [re.findall(r"^([\w-]+):", head, re.MULTILINE) for head, _, _ in heads]
            self.assertEqual(*names)
            self.assertIsNone(difference(*(json.loads(body) for _, _, body in heads)))

    def test_of_the_readme(self):
        shown = next(text for _, text in examples("console") if "curl -d" in text)
        command, _, answer = shown.removeprefix("$ ").partition("\n")
        said = self.run_shell("curl -s" + command.removeprefix("curl"))
        self.assertIsNone(difference(json.loads(answer), json.loads(said)))


class RedisCli(unittest.TestCase):
    def test_the_answer_is_the_documented_one(self):
        (shown,) = [text for where, text in examples("console")
                    if where.startswith("resp.md") and "redis-cli" in text]
        command, _, answer = shown.removeprefix("$ ").partition("\n")
        with Weir("--resp", "127.0.0.1:0") as weir:
            words = command.replace("-p 6380", f"--no-raw -p {weir.port_of('redis')}").split()
            done = subprocess.run(words, capture_output=True, text=True, timeout=DEADLINE_S,
                                  check=True)
        self.assertEqual(done.stdout, answer)


if __name__ == "__main__":
    unittest.main()
