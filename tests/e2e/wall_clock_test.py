"""The date of the machine is set while weir runs: libfaketime stands in for the administrator."""

import glob
import json
import pathlib
import tempfile
import time
import unittest

from token_test import CONFIG, SECRET, token
from weir_server import Weir, main, post, wait_until

SLACK_S = 8  # the machine may be busy


class WallClock(unittest.TestCase):
    def test_a_token_ends_when_the_wall_clock_steps_past_its_end(self):
        library = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), None)
        if library is None:
            self.skipTest("needs Debian's package faketime")
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="weir-e2e-clock-"))
        secret = pathlib.Path(folder, "secret")
        secret.write_bytes(SECRET)
        offset = pathlib.Path(folder, "offset")
        offset.write_text("+0\n", encoding="ascii")
        environment = {"LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": str(offset),
                       "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        weir = self.enterContext(
            Weir(config=CONFIG.replace("SECRET_FILE", str(secret)), environment=environment))
        bearer = token(plan="gold", sub="1", exp=int(time.time()) + 1800)
        with weir.connect() as connection:
            def rules():
                described = {"path": "/", "headers": {"Authorization": f"Bearer {bearer}"}}
                reply = connection.ask(post("/v1/explain", json.dumps(described).encode()))
                return [rule["rule"] for rule in reply.json()["applies"]]
            left = connection.check(key="a", limit=9, window=60)
            self.assertIn("gold", rules())

            new = pathlib.Path(folder, "new")
            new.write_text("+1h\n", encoding="ascii")
            new.rename(offset)
            stepped = time.monotonic()
            wait_until(lambda: "gold" not in rules(), "the token has ended")
            self.assertLess(time.monotonic() - stepped, 2 + SLACK_S)
            again = connection.check(key="a", limit=9, window=60)
            self.assertEqual((left["remaining"], again["remaining"]), (8, 7))


if __name__ == "__main__":
    main()
