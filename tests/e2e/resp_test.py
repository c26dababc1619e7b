"""weir serve --resp: access, limits, crowds, and clients that behave badly."""

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
    def test_the_door_is_closed_unless_asked_for(self):
        with weir_server.Weir() as weir:
            self.assertNotIn("redis://", weir.log())

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


if __name__ == "__main__":
    weir_server.main()
