"""Stopping: no request that was sent is lost, and nobody can hold up the end."""

import signal
import unittest

import weir_server
from weir_server import Crowd, Weir, check_request, wait_until

REQUEST = check_request(key="slow", limit=10, window=60)


class Drain(unittest.TestCase):
    def test_under_load_no_request_fails(self):
        for stop_signal in (signal.SIGTERM, signal.SIGINT):
            with Weir("--threads", "2") as weir:
                with Crowd(weir.port, clients=8, key="busy", limit=10, window=60) as crowd:
                    weir.signal(stop_signal)
                    crowd.wait_until_all_have_ended()
                self.assertEqual(crowd.failures, [])
                self.assertGreater(crowd.replies, 100)
                self.assertEqual(weir.wait(), 0)
                self.assertNotIn("cut off", weir.log())

    def test_a_request_under_way_is_answered_and_says_it_is_the_last(self):
        with Weir("--threads", "1") as weir, weir.connect() as connection:
            connection.send(REQUEST[:40])
            weir.begin_drain()
            connection.send(REQUEST[40:])
            reply = connection.read_reply()
            self.assertTrue(reply.json()["allowed"])
            self.assertTrue(reply.says_close)
            connection.socket.close()
            self.assertEqual(weir.wait(), 0)

    def test_silent_connections_do_not_hold_it_up(self):
        with Weir("--drain-timeout", "1h") as weir:
            connections = [weir.connect() for _ in range(50)]
            for connection in connections:
                connection.ask(REQUEST)
            weir.signal(signal.SIGTERM)
            for connection in connections:
                self.assertTrue(connection.is_closed_by_server())
                connection.socket.close()
            self.assertEqual(weir.wait(), 0)

    def test_who_does_not_finish_is_cut_off(self):
        with Weir(config="drain_timeout: 100ms\n") as weir, weir.connect() as connection:
            connection.send(REQUEST[:40])
            wait_until(lambda: weir.metric("weir_connections") >= 2, "the server has it")
            weir.signal(signal.SIGTERM)
            self.assertTrue(connection.is_closed_by_server())
            self.assertEqual(weir.wait(), 0)
            self.assertIn("connections cut off: 1", weir.log())

    def test_a_second_signal_stops_at_once(self):
        with Weir("--drain-timeout", "1h") as weir, weir.connect() as connection:
            connection.send(REQUEST[:40])
            wait_until(lambda: weir.metric("weir_connections") >= 2, "the server has it")
            weir.signal(signal.SIGTERM)
            weir.wait_for_log("stopping, ")
            weir.signal(signal.SIGTERM)
            self.assertEqual(weir.wait(), 128 + signal.SIGTERM)


if __name__ == "__main__":
    weir_server.main()
