"""Settings with which no server can run: `weir validate` and `weir serve` say the same of them."""

import os
import signal
import tempfile
import unittest

from certificates import Authority
from weir_server import ROOT, Weir, run_weir

MISTAKES = "docs/reference/settings.md#mistakes"

# A configuration ({f} is a folder, {c} one with certificates), and what both say, with its place.
REFUSED = [
    ("unusual_traffic: {webhook: 'ftp://a.example/'}", "1:28: unusual_traffic.webhook must be"),
    ("unusual_traffic:\n  webhook: https://a.example:99999/", "2:12: unusual_traffic.webhook must"),
    ("unusual_traffic: {webhook: 'http://a.example/', webhook_token_file: {f}/word}",
     "1:28: the token of unusual_traffic.webhook must not travel in clear"),
    ("unusual_traffic: {webhook_token_file: {f}/word}",
     "1:39: unusual_traffic.webhook_token_file is for a webhook"),
    ("unusual_traffic: {webhook: 'https://a.example/', webhook_token_file: {f}/none}",
     "1:70: cannot read the token of the webhook from {f}/none: No such file"),
    ("unusual_traffic: {webhook: 'https://a.example/', webhook_token_file: {f}/short}",
     "1:70: the token of the webhook in {f}/short is not fit"),
    ("threads: 1\nstate_file: {f}/none/blocks",
     "2:13: blocks cannot be kept: cannot write {f}/none/blocks: No such file"),
    ("threads: 1\nstate_file: /proc/blocks",  # as root it may write everywhere, says the system
     "2:13: blocks cannot be kept: cannot write /proc/blocks: No such file or directory; "
     "name a file in a folder that weir may write to"),
    ("state_file: {f}", "1:13: cannot read the state file {f}: Is a directory"),
    ("state_file: {f}/word", "1:13: {f}/word is not a state file"),
    ("listen: {http_tls: '127.0.0.1:0'}", "1:20: TLS needs a certificate and its key"),
    ("listen: {http_tls: '127.0.0.1:0'}\ntls: {certificate: {f}/none, key: {c}/a.key}",
     "2:20: the certificate {f}/none cannot be used: No such file"),
    ("listen: {http_tls: '127.0.0.1:0'}\ntls: {certificate: {c}/a.pem, key: {f}/none}",
     "the key {f}/none cannot be used: No such file"),
    ("listen: {http_tls: '127.0.0.1:0'}\n"
     "tls: {certificate: {c}/a.pem, key: {c}/a.key, client_ca: {f}/word}",
     "the authority of client certificates {f}/word cannot be used"),
    ("listen: {http: '127.0.0.1:0', proxy_protocol: resp}",
     "1:47: proxy_protocol names 'resp', but nothing listens under that name"),
    ("listen: {http: '127.0.0.1:7777', grpc: '127.0.0.1:7777'}",
     "1:40: 127.0.0.1:7777 is the address of 'http' already; give each its own"),
    ("store: {redis: 'rediss://127.0.0.1?ca_file={f}/none'}",
     "1:16: the authorities' file {f}/none cannot be used"),
    ("store: {redis: 'http://127.0.0.1'}", "1:16: 'redis': "),
    ("jwt: {secret_file: {f}/none}", "1:20: "),
    ("country_database: {f}/none", "1:19: "),
]


class Refused(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.authority = cls.enterClassContext(Authority())
        cls.authority.issue("a")
        for name, text in (("word", "a-word-of-some-length\n"), ("short", "word\n")):
            with open(os.path.join(cls.folder, name), "w", encoding="ascii") as file:
                file.write(text)

    def filled(self, text):
        certificates = os.path.dirname(self.authority.certificate)
        return text.replace("{f}", self.folder).replace("{c}", certificates)

    def written(self, text):
        path = os.path.join(self.folder, "weir.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.filled(text) + "\n")
        return path

    def test_validate_and_serve_say_the_same_in_the_same_place(self):
        for config, said in REFUSED:
            with self.subTest(config):
                path = self.written(config)
                code, validated, _ = run_weir("validate", path)
                self.assertEqual(code, 1, validated)
                self.assertRegex(validated, rf"^{path}:\d+:\d+: ")
                self.assertIn(self.filled(said), validated)
                code, _, log = run_weir("serve", "--config", path)
                self.assertEqual(code, 1, log)
                errors = [line.split(" error ", 1)[1] for line in log.splitlines()]
                *mistakes, last = validated.splitlines()
                self.assertEqual(last, "see " + MISTAKES)
                self.assertEqual(errors, [
                    *mistakes, f"not starting: the configuration has errors; {last}"])

    def test_errors_end_with_a_page_that_is_there(self):
        page, heading = MISTAKES.split("#")
        self.assertIn(f"\n## {heading}\n", (ROOT / page).read_text(encoding="utf-8").lower())
        code, _, log = run_weir("serve", "--http", "127.0.0.1:0", "--admin-token-file", "/none")
        self.assertEqual(code, 1)
        page = log.strip().rpartition("; see ")[2]
        self.assertTrue((ROOT / page).is_file(), log)

    def test_both_take_what_is_right(self):
        path = self.written(
            "listen: {http: '127.0.0.1:0', http_tls: '127.0.0.1:0'}\n"
            "tls: {certificate: {c}/a.pem, key: {c}/a.key}\nstate_file: {f}/blocks\n"
            "unusual_traffic: {webhook: 'https://127.0.0.1:1/', webhook_token_file: {f}/word}")
        self.assertEqual(run_weir("validate", path), (0, f"{path}: ok, 0 rules\n", ""))
        self.assertFalse(os.path.exists(os.path.join(self.folder, "blocks")), "validate looks only")

    def test_a_mistake_of_the_command_line_names_no_file(self):
        path = self.written("threads: 1")
        code, _, log = run_weir("serve", "--config", path, "--mode", "leased")
        self.assertEqual(code, 1)
        self.assertIn(" error --mode is about a store", log)

    def test_a_reload_refuses_what_validate_refuses(self):
        with Weir(config="threads: 1\n") as weir:
            weir.write_config("threads: 1\nunusual_traffic: {webhook: 'ftp://a.example/'}\n")
            weir.signal(signal.SIGHUP)
            weir.wait_for_log(":2:28: unusual_traffic.webhook must be")


if __name__ == "__main__":
    unittest.main()
