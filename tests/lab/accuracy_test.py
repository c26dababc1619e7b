"""weir-lab accuracy: it counts a log as a recount in Python does, and draws the same twice."""

import json
import random

from lab import FORMAT, LabTest, exact

import weir_server

MINUTE_US = 60_000_000


def traffic(seed):
    """(us, client), sorted, of clients that come in bursts."""
    dice = random.Random(seed)
    requests = []
    for client in range(40):
        for _ in range(dice.randint(1, 12)):
            start = dice.randrange(10 * MINUTE_US)
            requests += [(start + dice.randrange(9_000_000), f"192.0.2.{client}")
                         for _ in range(dice.randint(1, 15))]
    return sorted(requests)


def recount(requests, limit):
    """(over the limit, by the two counters only, by the log only); everything counts."""
    over = positives = negatives = 0
    for client in {client for _, client in requests}:
        times = [us + 1_700_000_000_000_000 for us, who in requests if who == client]
        for index, now in enumerate(times):
            is_over = sum(now - MINUTE_US < time for time in times[:index]) >= limit
            start = now - now % MINUTE_US
            before = sum(start - MINUTE_US <= time < start for time in times[:index])
            current = sum(start <= time for time in times[:index])
            fading = -(-before * (start + MINUTE_US - now) // MINUTE_US)
            says_over = fading + current >= limit
            over += is_over
            positives += says_over and not is_over
            negatives += is_over and not says_over
    return over, positives, negatives


class Accuracy(LabTest):
    def rows(self, *arguments):
        lines = self.said("accuracy", "--json", *arguments).splitlines()
        return {(row["traffic"], row["limit"], row["window"]): row
                for row in map(json.loads, lines)}

    def test_a_log_is_counted_as_it_is(self):
        requests = traffic(1)
        log = self.write("access.log", "".join(exact(us, client) for us, client in requests))
        rows = self.rows(log, "--log-format", FORMAT, "--limits", "20")
        over, positives, negatives = recount(requests, 20)
        self.assertGreater(min(over, positives, negatives), 0)
        two = rows[log, 20, "two counters"]
        self.assertEqual((two["requests"], two["sources"]), (len(requests), 40))
        self.assertEqual((two["over"], two["false_positives"], two["false_negatives"]),
                         (over, positives, negatives))

    def test_one_seed_is_one_traffic(self):
        def drawn(seed):
            rows = self.rows("--sources", "300", "--millions", "0.1", "--seed", seed)
            return {key: {**row, "ns": 0} for key, row in rows.items()}

        self.assertEqual(drawn(1), drawn(1))
        self.assertNotEqual(drawn(1), drawn(2))
        self.assertEqual(len(drawn(1)), 4 * 2 * 4, "traffics, limits, windows")

    def test_refuses_what_makes_no_sense(self):
        for arguments, complaint in ((["--window", "367d"], "a window is from 1ms to 366d"),
                                     (["--limits", "1"], "--limits"),
                                     ([self.write("empty.log", "")], "no request in the log")):
            code, _, said = self.lab("accuracy", *arguments)
            self.assertNotEqual(code, 0)
            self.assertIn(complaint, said)


if __name__ == "__main__":
    weir_server.main()
