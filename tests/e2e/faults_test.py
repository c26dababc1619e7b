"""The table of faults.py as tests: nothing fails, nothing hangs, each mode keeps its promise.

WEIR_TESTS=long (./dev test --long) loads the nodes harder and longer.
"""

import concurrent.futures
import os
import threading
import unittest

import faults
import weir_server
from redis_world import Behaviour, Proxy, Redis
from resp_client import RespConnection, command

IS_LONG = os.environ.get("WEIR_TESTS") == "long"
SIZE = faults.LONG if IS_LONG else faults.SHORT
# Each loads its own two nodes with a fifth of a core, and mostly waits.
FAULTS_AT_ONCE = 1 if IS_LONG else 3


class ProxyTest(unittest.TestCase):
    has_come = threading.Event()

    def asked(self, _, __):
        self.has_come.set()

    def answered(self, _, __):
        pass

    def test_keeps_the_order_of_bytes_when_its_delay_shrinks(self):
        with Redis() as redis, Proxy(redis.port, self) as proxy, \
                RespConnection(proxy.port) as connection:
            connection.ask("PING")
            self.has_come.clear()
            proxy.behave(Behaviour.PASS, delay_s=0.2)
            connection.send(command("ECHO", "first"))
            self.assertTrue(self.has_come.wait(weir_server.DEADLINE_S))
            proxy.behave(Behaviour.PASS)
            connection.send(command("ECHO", "second"))
            self.assertEqual([connection.read(), connection.read()], [b"first", b"second"])


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pool = concurrent.futures.ThreadPoolExecutor(FAULTS_AT_ONCE)
        cls.measured = {name: cls.pool.submit(faults.measure, name, SIZE) for name in NAMES}

    @classmethod
    def tearDownClass(cls):
        cls.pool.shutdown(cancel_futures=True)

    def check(self, fault):
        try:
            rows = self.measured[fault].result()
        except faults.Skipped as why:
            self.skipTest(str(why))
        for row in rows:
            print("\n" + " | ".join(row.cells()), end="", flush=True)
            with self.subTest(row.mode, on_failure=row.on_failure):
                self.assertEqual(list(row.broken_promises()), [])
                self.assertGreater(row.checks, 0)
        print()


def test_of(fault):
    return lambda self: self.check(fault)


NAMES = tuple({**faults.FAULTS, **(faults.LONG_FAULTS if IS_LONG else {})})
for number, name in enumerate(NAMES):
    setattr(Faults, f"test_{number:02}_{'_'.join(name.split())}", test_of(name))


if __name__ == "__main__":
    weir_server.main()
