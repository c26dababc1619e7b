"""The commands that a person types: check, validate, schema, version, and curl."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

import weir_server
from weir_server import ROOT, Weir, run_weir


class Check(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.weir = Weir(config="rules:\n  - {id: once, limit: 1, window: 1h}\n")
        cls.addClassCleanup(cls.weir.__exit__)

    def check(self, *arguments):
        return run_weir("check", *arguments, "--server", self.weir.url)

    def test_allowed_is_0_and_denied_is_1(self):
        limit = ("human", "--limit", "1", "--window", "1h", "--algorithm", "token_bucket")
        self.assertEqual(self.check(*limit),
                         (0, "allowed, 0 of 1 left, full again in 3600 s\n", ""))
        code, said, _ = self.check(*limit)
        self.assertEqual(code, 1)
        self.assertRegex(said, r"^denied, retry after 3\d\d\d s\n$")

    def test_buckets_costs_and_bursts(self):
        quota = ("buyer", "--limit", "10", "--window", "1h", "--algorithm", "token_bucket",
                 "--burst", "20", "--cost", "15")
        self.assertIn("5 of 20 left", self.check(*quota)[1])
        self.assertEqual(self.check(*quota)[0], 1)
        self.assertEqual(self.check(*quota, "--bucket", "other")[0], 0)
        self.assertEqual(self.check(*quota[:-1], "21")[1],
                         "denied, more than 20 are never allowed at once\n")

    def test_json_is_the_servers_own(self):
        code, said, _ = self.check("machine", "--limit", "5", "--window", "60", "--json")
        self.assertEqual(code, 0)
        self.assertEqual(json.loads(said)["remaining"], 4)

    def test_what_the_server_refuses_is_2_with_its_reason(self):
        code, _, said = self.check("nobody", "--rule", "nosuch")
        self.assertEqual(code, 2)
        self.assertIn("There is no rule with this id", said)


class WrongUse(unittest.TestCase):
    def test_no_server_is_2(self):
        with Weir() as weir:
            url = weir.url
        code, _, said = run_weir("check", "a", "--limit", "1", "--window", "1s", "--server", url)
        self.assertEqual(code, 2)
        self.assertIn("nothing listens there", said)

    def test_a_senseless_command_line_is_2(self):
        for arguments in ([], ["nosuch"], ["check"], ["check", "a"], ["check", "a", "--limit", "x"],
                          ["check", "a", "--limit", "1", "--window", "1.5h"],
                          ["serve", "--threads", "0"], ["serve", "--max-keys", "3"],
                          ["serve", "--drain-timeout", "soon"], ["validate"]):
            code, out, err = run_weir(*arguments)
            self.assertEqual((code, out), (2, ""), arguments)
            self.assertTrue(err)

    def test_help_is_0(self):
        for arguments in (["--help"], ["serve", "--help"], ["check", "--help"]):
            self.assertEqual(run_weir(*arguments)[0], 0)


class Validate(unittest.TestCase):
    FILES = (  # a file, options, the code, and what is said, of FILE
        ("rules:\n  - {id: a, limit: 1, window: 1m}\n", (), 0, "FILE: ok, 1 rule\n"),
        ("rules:\n  - id: a\n    limt: 5\n    window: 1m\nthreads: none\n", (), 1,
         "FILE:3:5: unknown key 'limt'; did you mean 'limit'?\nFILE:5:10: "),
        ("rules:\n  - {id: a, limit: 1, window: 1m, match: {path: /}}\n", (), 0,
         "FILE:2:20: warning: all clients share this limit; for one each add 'key: client'\n"
         "FILE: ok, 1 rule\n"),
        ("rules:\n  - {id: a, limit: 1, window: 1m, match: {path: /a}}\n", ("--strict",), 1,
         "FILE:2:20: warning: all clients share this limit; for one each add 'key: client'\n"),
        ("rules:\n  - {id: a, limit: 9, window: 1m, match: {path: /a}, key: client,\n"
         "     count_if: {status: 401, unknown: skip}}\n", (), 1, "weir gateway"),
        ("rules:\n  - {id: a, limit: 9, window: 1m, match: {path: /a}, key: client,\n"
         "     count_if: {status: 401, unknown: skip}}\n", ("--gateway",), 0,
         "FILE:3:16: warning: 'unknown: skip' counts nobody who leaves"),
        ("rules:\n  - {id: tokens, match: {path: /a}, key: client, limit: 100, window: 1m,\n"
         "     cost: response:X-Tokens-Used, reserve: 30,\n"
         "     overrides: [{key: 192.0.2.1, limit: 200, window: 1m}]}\n", ("--gateway",), 0,
         "rule 'tokens': at most 6 requests of a key pass at once; they cost at most as many times "
         "what the dearest costs\nFILE: ok, 1 rule\n"),
        ("rules:\n  - {id: tokens, match: {path: /a}, key: client, limit: 100, window: 1m,\n"
         "     cost: usage, reserve: 30, reserve_from: max_tokens}\n", ("--gateway",), 0,
         "rule 'tokens': at most 3 requests of a key pass at once, if they do not say what they "
         "may cost; others as long as that fits\nFILE: ok, 1 rule\n"),
        ("rules: [{id: a, limit: 1, window: 1m, match: {path: /Login/}, key: client}]\n",
         ("--strict",), 0,
         "FILE:1:46: note: a request for '/LOGIN/' and '/Login' passes this rule for '/Login/'; if "
         "that is the same to your origin, add 'case: insensitive' and 'trailing_slash: same', "
         "else say 'sensitive' and 'distinct' there\nFILE: ok, 1 rule\n"),
        ("rules: [{id: a, limit: 1, window: 1m, key: client,\n"
         "         match: {path: /login, case: sensitive}}]\n", (), 0,
         "note: a request for '/login/' passes this rule for '/login'; if that is the same to "
         "your origin, add 'trailing_slash: same',"),
        ("rules: [{id: a, limit: 1, window: 1m, key: client,\n"
         "         match: {path: /a, case: sensitive, trailing_slash: distinct}}]\n", (), 0,
         "FILE: ok, 1 rule\n"),
        ("rules: [{id: a, limit: 100, window: 1m, bound: never_over}]\n", (), 0,
         "rule 'a': never over 100 in any 1m, so of a client that always asks 80 pass per 1m, and "
         "of batches of the limit every second one at worst\nFILE: ok, 1 rule\n"),
        ("store: {redis: 'redis://127.0.0.1', mode: leased}\n"
         "rules: [{id: a, limit: 100, window: 1m}, {id: b, limit: 300, window: 1m, mode: local}]\n",
         ("--promises", "--nodes", "2"), 0,
         "rule  limit                      mode    over, at most  denied below, at most\n"
         "a     sliding_window 100 per 1m  leased  99 (99 %)      100 (100 %)\n"
         "b     sliding_window 300 per 1m  local   898 (300 %)    300 (100 %)\n"),
        ("rules: [{id: a, limit: 5, window: 1m, shadow: true}, {id: b, limit: 5, window: 1m, "
         "enabled: false}, {id: c, limit: 5, window: 1m, enforce: 10%}, {id: d, limit: 5, "
         "window: 1m, overdraft: true}, {id: e, limit: 5, window: 1m, enforce: 0%}]\n",
         ("--promises", "--nodes", "1"), 0,
         "a     sliding_window 5 per 1m  local  no bound       it is in shadow\n"
         "b     sliding_window 5 per 1m  local  no bound       it is disabled\n"
         "c     sliding_window 5 per 1m  local  4 (80 %)       5 (100 %), for 10 % of the keys; "
         "the others are not denied\n"
         "d     sliding_window 5 per 1m  local  no bound       costs count whether or not they "
         "fit\n"
         "e     sliding_window 5 per 1m  local  no bound       it is in shadow\n"),
    )

    def test_files(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            for text, options, code, said in self.FILES:
                with self.subTest(text, options=options):
                    file.seek(0)
                    file.truncate()
                    file.write(text)
                    file.flush()
                    done = run_weir("validate", *options, file.name)
                    self.assertEqual((done[0], done[2]), (code, ""))
                    self.assertIn(said.replace("FILE", file.name), done[1])

    def test_files_for_gateways_name_the_option_with_which_they_pass(self):
        path = str(ROOT / "examples" / "llm" / "rules.yaml")
        code, said, _ = run_weir("validate", path)
        self.assertEqual((code, said.splitlines()[-2]), (1, (
            f"{path}: weir gateway, or nginx with Weir in it, would take this file; for them "
            "write 'weir validate --gateway'")))
        self.assertEqual(run_weir("validate", "--gateway", path)[0], 0)
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("unusual_traffic: {webhook: 'ftp://a.example/'}\n")  # a gateway ignores it
            file.flush()
            for words in (["validate", file.name], ["validate", "--gateway", path + "/none"]):
                code, said, _ = run_weir(*words)
                self.assertEqual((code, "would take" in said), (1, False), said)
            file.write("limit: 5\nrules: [{id: a, limit: 9, window: 1m, match: {path: /a}, "
                       "key: client, count_if: {status: 401}}]\n")
            file.flush()
            code, said, _ = run_weir("validate", file.name)
            self.assertEqual((code, "would take" in said), (1, False), said)

    def test_the_example(self):
        path = str(ROOT / "examples" / "quickstart.yaml")
        self.assertEqual(run_weir("validate", path), (0, f"{path}: ok, 5 rules\n", ""))


class Schema(unittest.TestCase):
    def test_is_the_one_in_the_documentation(self):
        code, said, _ = run_weir("schema")
        self.assertEqual(code, 0)
        self.assertEqual(json.loads(said),
                         json.loads((ROOT / "docs" / "weir.schema.json").read_text("utf-8")))

    def test_is_written_for_an_editor(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "weir.schema.json")
            self.assertEqual(run_weir("schema", "--write", path),
                             (0, f"# yaml-language-server: $schema={path}\n", ""))
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), run_weir("schema")[1])
            self.assertEqual(run_weir("schema", "--write", folder)[0], 1)


class Slips(unittest.TestCase):
    def test_a_command_that_there_is_not_names_the_nearest(self):
        for program, words, said in (
                (weir_server.WEIR, ("blokc", "alice"),
                 "weir: there is no command 'blokc'; did you mean 'block'?\n"),
                (weir_server.WEIR_BENCH, ("htp",),
                 "weir-bench: there is no command 'htp'; did you mean 'http'?\n")):
            self.assertEqual(run_weir(*words, program=program), (2, "", said))
        self.assertIn("expected one of serve, gateway, check, ", run_weir("frobnicate")[2])
        self.assertIn("A subcommand is required", run_weir()[2])


    def test_an_option_that_there_is_not_names_the_nearest(self):
        self.assertEqual(
            run_weir("check", "alice", "--limti=5"),
            (2, "", "weir check: there is no option '--limti'; did you mean '--limit'?\n"))
        self.assertEqual(run_weir("check", "alice", "--frobnicate", "--limit", "5"),
                         (2, "", "weir check: there is no option '--frobnicate'; "
                                 "see weir check --help\n"))


class Help(unittest.TestCase):
    def test_groups_commands_by_job(self):
        said = run_weir("--help")[1]
        jobs = ["Run:", "Ask a running server:", "Block by hand:", "Work on a file of rules:",
                "About the program:"]
        places = [said.index(job) for job in jobs]
        self.assertEqual(places, sorted(places))
        self.assertNotIn("Subcommands:", said)


class Completions(unittest.TestCase):
    def completed(self, *words):
        script = run_weir("completions", "bash")[1]
        asked = f"COMP_WORDS=(weir {' '.join(words)}); COMP_CWORD={len(words)}; _weir"
        return subprocess.run(["bash", "-c", f'{script}\n{asked}; echo "${{COMPREPLY[@]}}"'],
                              capture_output=True, text=True, check=True).stdout.split()

    def test_name_commands_and_their_options(self):
        self.assertEqual(self.completed("den"), ["denials"])
        self.assertEqual(self.completed("explain", "--ru"), ["--rule"])
        self.assertEqual(self.completed("check", "--rule"), ["--rule"])

    def test_are_for_three_shells(self):
        for shell, says in (("zsh", "'denials:Show what"), ("fish", "-a denials -d 'Show what")):
            code, said, _ = run_weir("completions", shell)
            self.assertEqual(code, 0)
            self.assertIn(says, said)
            if shutil.which(shell):
                subprocess.run([shell, "-n"], input=said, text=True, check=True)


class Version(unittest.TestCase):
    def test_is_one_line(self):
        for spelling in ("version", "--version"):
            code, said, _ = run_weir(spelling)
            self.assertEqual(code, 0)
            self.assertRegex(said, r"^weir \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    weir_server.main()
