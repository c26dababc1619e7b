"""weir-lab suggest: limits of one half of a log deny hardly anybody honest in the other half, and
its file is one that weir takes."""

import gzip
import json
import random
import unittest

from lab import LabTest, combined, run_weir

import weir_server

SCANNER = "203.0.113.9"


def traffic(seed, clients=1500, seconds=3600):
    """A site with people of very different zeal, in bursts, and one scanner."""
    dice = random.Random(seed)
    lines = []
    for client in range(clients):
        address = f"198.51.{client // 250}.{client % 250}"
        for _ in range(min(12, int(dice.paretovariate(1.2)))):  # pages
            start = dice.uniform(0, seconds - 20)
            for asset in range(dice.randint(1, 20)):
                lines.append((start + asset / 8, address, f"GET /img/{asset}.png HTTP/1.1", 200))
            lines.append((start, address, f"GET /users/{dice.randrange(9**6)} HTTP/1.1", 200))
    for request in range(4000):
        lines.append((1000 + request / 50, SCANNER, f"GET /{request}.php HTTP/1.1", 404))
    return [combined(int(second), *rest) for second, *rest in sorted(lines)]


class Suggested(LabTest):
    def suggested(self, lines):
        rules = self.said("suggest", self.write("half.log", "".join(lines)))
        return rules, self.write("suggested.yaml", rules)

    def test_limits_of_one_half_leave_the_honest_of_the_other_alone(self):
        lines = traffic(1)
        half = len(lines) // 2
        rules, config = self.suggested(lines[:half])
        self.assertIn(f"{SCANNER}: by its errors", rules)
        self.assertIn('path: "/users/*"', rules)
        self.assertIn('path: "/img/*"', rules)
        self.assertNotIn(".php", rules)
        report = json.loads(self.said("replay", "--config", config, "--json", self.write(
            "other.log", "".join(lines[half:]))))
        keys = {rule["id"]: [key["key"] for key in rule["worst"]]
                for rule in report["rules"]["rules"]}
        self.assertEqual(set(sum(keys.values(), [])) - {SCANNER}, set())

        whole = json.loads(self.said("replay", "--config", config, "--json", self.write(
            "whole.log", "".join(lines))))
        self.assertEqual([rule["worst"][0]["key"] for rule in whole["rules"]["rules"]
                          if rule["worst"]], [SCANNER], "nobody but the scanner, by one rule")

    def test_the_file_is_right(self):
        rules, config = self.suggested(traffic(2, clients=300))
        code, said, _ = run_weir("validate", "--strict", config)
        self.assertEqual(code, 0, said)
        self.assertIn("clients are set apart, as they look like scanners", rules)
        self.assertIn("with 95 % confidence, at most", rules)
        self.assertEqual(run_weir("suggest", self.folder / "half.log")[1], rules, "weir starts it")

    def test_odd_paths_and_few_clients_make_no_rules(self):
        odd = [combined(second, f"192.0.2.{second % 5}",
                        f'GET /a"{{}}/\\x00{second} HTTP/1.1') for second in range(500)]
        rules, config = self.suggested(odd)
        self.assertIn("no limit is suggested", rules)
        self.assertEqual(run_weir("validate", config)[0], 0, rules)

    def test_says_which_file_is_damaged(self):
        packed = gzip.compress("".join(traffic(3, clients=50)).encode())
        path = self.write("half.log.gz", packed[:-9])
        code, said, complaint = self.lab("suggest", path)
        self.assertEqual(code, 0)
        self.assertIn("# Limits by", said)
        self.assertEqual(complaint, f"{path}: the gzip is truncated or damaged; what came before "
                                    "counts\n")

    def test_wants_files_that_can_be_read_twice(self):
        for path in ("-", "/dev/null", "/nowhere"):
            code, said, complaint = self.lab("suggest", path)
            self.assertEqual((code, said), (2, ""))
            self.assertIn("weir-lab suggest: ", complaint)

    def test_wants_a_share_of_clients(self):
        for wrong in ("nan", "-1", "50.1", "x"):
            code, said, complaint = self.lab("suggest", self.write("log", combined(0)),
                                             f"--percent={wrong}")
            self.assertEqual((code != 0, said), (True, ""), wrong)
            self.assertIn("--percent", complaint)


if __name__ == "__main__":
    weir_server.main()
