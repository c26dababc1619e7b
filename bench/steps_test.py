#!/usr/bin/python3
"""Mode async keeps its bound under a sixteenfold step, and is not far below it either.

Prints the table of `./dev bench steps`, of fewer seeds. $WEIR_BINARY is the program; ctest sets it.
"""

import os
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True

from suites import steps  # noqa: E402 (after the line above)

WEIR_LAB = pathlib.Path(os.environ.get("WEIR_BINARY", "build/release/weir")).with_name("weir-lab")


class Steps(unittest.TestCase):
    def test_async_is_over_by_what_an_interval_and_a_trip_bring(self):
        *windows, last = steps.rows(WEIR_LAB, seeds=(1, 2))
        for row in windows:
            print(f"{row.what}: {row.figure}, {row.yardstick}")
            self.assertTrue(row.met, row)
        print(f"{last.what} {last.figure}")
        self.assertEqual(len(windows), len(steps.WINDOWS_S))
        # Else the simulator would have nothing to measure.
        for row, window in list(zip(windows, steps.WINDOWS_S))[:3]:
            self.assertGreater(max(row.samples["parts"]), steps.bound(window) / 4, row)

    def test_it_is_below_one_percent_in_windows_of_three_minutes(self):
        self.assertGreater(steps.bound(60), steps.PART)
        self.assertLess(steps.bound(180), steps.PART)
        self.assertLess(steps.over(WEIR_LAB, 180, seed=3), steps.PART)


if __name__ == "__main__":
    unittest.main(verbosity=2)
