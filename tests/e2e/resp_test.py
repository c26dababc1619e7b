"""weir serve --resp: access, limits, crowds, and clients that behave badly."""

import contextlib
import os
import socket
import struct
import tempfile
import unittest

import weir_server
from resp_client import RespError, RespWeir, command
from weir_server import run_weir, wait_until

CONFIG = """
listen:
  resp: 127.0.0.1:0
rules:
  - id: login
    limit: 5
    window: 366d
"""
PASSWORD = "open-sesame-please"
TOKEN = "token-of-the-admin"
THROTTLE = command("CL.THROTTLE", "user", 15, 30, 60)


def secret_file(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="ascii") as file:
        file.write(text + "\n")
    return path


class Serving(unittest.TestCase):
    def test_a_reload_changes_the_rules_of_open_connections(self):
        with RespWeir(config=CONFIG) as weir, weir.client() as client:
            self.assertEqual(client.ask("WEIR.HIT", "login", "a")[1], 5)
            weir.write_config(CONFIG.replace("limit: 5", "limit: 7"))
            weir.signal(weir_server.signal.SIGHUP)
            weir.wait_for_log("reloaded: 1 rule")
            wait_until(lambda: client.ask("WEIR.LOOK", "login", "a")[1] == 7, "the limit is 7")

    def test_the_door_is_closed_unless_asked_for(self):
        with weir_server.Weir() as weir:
            self.assertNotIn("redis://", weir.log())

    def test_a_drain_answers_what_has_arrived_and_lets_go(self):
        with RespWeir() as weir, weir.client() as client:
            self.assertEqual(client.ask("PING"), "PONG")
            self.assertEqual(weir.stop(), 0)
            self.assertEqual(client.read_to_end(), b"")


class Access(unittest.TestCase):
    def test_a_password_from_a_file_or_the_environment(self):
        with tempfile.TemporaryDirectory() as folder:
            file = secret_file(folder, "password", PASSWORD)
            for weir in (RespWeir("--resp-password-file", file),
                         RespWeir(environment={"WEIR_RESP_PASSWORD": PASSWORD})):
                with weir, weir.client() as client:
                    with self.assertRaisesRegex(RespError, "NOAUTH"):
                        client.ask("PING")
                    with self.assertRaisesRegex(RespError, "WRONGPASS"):
                        client.ask("AUTH", "guess")
                    self.assertEqual(client.ask("AUTH", PASSWORD), "OK")
                    self.assertEqual(client.ask("PING"), "PONG")

    def test_guesses_cost_time_on_however_many_connections(self):
        with RespWeir(environment={"WEIR_RESP_PASSWORD": PASSWORD}) as weir:
            with contextlib.ExitStack() as stack:
                guessers = [stack.enter_context(weir.client()) for _ in range(30)]
                for guesser in guessers:
                    guesser.send(b"AUTH guess\r\n")
                errors = []
                for guesser in guessers:
                    with self.assertRaises(RespError) as raised:
                        guesser.read()
                    errors.append(str(raised.exception))
            self.assertTrue(any(error.startswith("WRONGPASS") for error in errors), errors)
            self.assertTrue(any("too many wrong passwords" in error for error in errors), errors)

    def test_resets_need_the_admin_token_where_there_is_one(self):
        with RespWeir(config=CONFIG, environment={"WEIR_ADMIN_TOKEN": TOKEN}) as weir:
            with weir.client() as client:
                with self.assertRaisesRegex(RespError, "NOPERM"):
                    client.ask("WEIR.RESET", "login", "alice")
                client.ask("HELLO", 3, "AUTH", "default", TOKEN)
                self.assertEqual(client.ask("WEIR.RESET", "login", "alice"), [0, 5, 5, -1, 0])

    def test_resets_are_refused_beyond_loopback_without_a_token(self):
        with RespWeir(config=CONFIG, http="0.0.0.0:0") as weir, weir.client() as client:
            with self.assertRaisesRegex(RespError, "NOPERM"):
                client.ask("WEIR.RESET", "login", "alice")

    def test_a_password_that_anybody_could_guess_stops_the_start(self):
        code, _, said = run_weir("serve", "--http", "127.0.0.1:0", "--resp", "127.0.0.1:0",
                                 environment={"WEIR_RESP_PASSWORD": "short"})
        self.assertEqual(code, 1)
        self.assertIn("16 or more", said)


class BadClients(unittest.TestCase):
    def test_tls_to_a_plain_port_is_answered_by_nothing_but_errors(self):
        with RespWeir() as weir, weir.client() as client:
            reply = client.raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n" + bytes(500))
            self.assertTrue(reply == b"" or reply.startswith(b"-ERR"))
            with weir.client() as other:
                self.assertEqual(other.ask("PING"), "PONG")

    def test_a_client_that_dies_in_the_middle_of_a_pipeline(self):
        with RespWeir() as weir, weir.client() as other:
            for _ in range(20):
                client = weir.client()
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                         struct.pack("ii", 1, 0))  # close() resets
                client.send(THROTTLE * 5000 + THROTTLE[:-5])
                client.__exit__()
                self.assertEqual(other.ask("PING"), "PONG")
            wait_until(lambda: b"connected_clients:1\r\n" in other.ask("INFO", "clients"),
                       "the dead are gone")


class Crowds(unittest.TestCase):
    def test_1200_connections_share_one_counter(self):
        with RespWeir(threads=2) as weir:
            clients = [weir.client() for _ in range(1200)]
            hit = command("CL.THROTTLE", "shared", 999, 1000, 31622400)
            for client in clients:
                client.send(hit)
            denied = sum(client.read()[0] for client in clients)
            for client in clients:
                client.__exit__()
        self.assertEqual(denied, 200)


if __name__ == "__main__":
    weir_server.main()
