"""weir serve: starting, answering, limiting exactly, restarting."""

import asyncio
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import unittest

import weir_server
from weir_server import WEIR, Weir, check_request, get, run_weir

YEAR_S = 365 * 24 * 3600  # a window that does not end while a test runs


async def ask_once(port, request, start):
    """Connects, waits for the start, asks: was it allowed?"""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    start.connected += 1
    if start.connected == start.clients:
        start.event.set()
    await start.event.wait()
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    body = await reader.readexactly(size)
    writer.close()
    return json.loads(body)["allowed"]


class Start:
    def __init__(self, clients):
        self.clients = clients
        self.connected = 0
        self.event = asyncio.Event()


async def ask_all_at_once(port, request, clients):
    start = Start(clients)
    return await asyncio.gather(*(ask_once(port, request, start) for _ in range(clients)))


class Exactness(unittest.TestCase):
    def test_1000_at_once_against_a_limit_of_10_admit_10(self):
        with Weir("--threads", "2") as weir:
            for algorithm in ("fixed_window", "sliding_log", "sliding_window", "token_bucket"):
                request = check_request(key=algorithm, limit=10, window=YEAR_S,
                                        algorithm=algorithm)
                allowed = asyncio.run(ask_all_at_once(weir.port, request, 1000))
                self.assertEqual(sum(allowed), 10, algorithm)

class Starting(unittest.TestCase):
    def fails(self, *arguments, environment=None):
        code, _, said = run_weir("serve", *arguments, environment=environment)
        self.assertEqual(code, 1, said)
        return said

    def test_says_what_it_runs_with(self):
        with Weir("--threads", "2", "--max-keys", "4096", "--precise-keys", "1000") as weir:
            self.assertRegex(weir.log(), r"info weir \d+\.\d+\.\d+\n")
            self.assertRegex(weir.log(), r"memory store: \d+ keys in \d+ bytes\n")
            store = re.search(r"keys in (\d+) bytes", weir.log())
            self.assertGreater(int(store[1]), 596_000)  # 300,000 without precise keys
            self.assertIn("threads: 2", weir.log())
            self.assertIn("no configuration file", weir.log())
            self.assertNotIn("warn", weir.log())
        with Weir(config="rules:\n  - {id: a, limit: 1, window: 1m}\n") as weir:
            self.assertIn("1 rule from ", weir.log())

    def test_a_port_in_use_is_named(self):
        with Weir() as weir:
            said = self.fails("--http", f"127.0.0.1:{weir.port}")
            self.assertIn(f"127.0.0.1:{weir.port} is in use", said)
            self.assertTrue(weir.check(key="a", limit=1, window=60)["allowed"])

    def test_a_file_that_is_none_is_named_at_once(self):
        with tempfile.TemporaryDirectory() as folder:
            fifo = os.path.join(folder, "fifo")
            os.mkfifo(fifo)
            self.assertIn(f"{fifo}: the file is empty", self.fails("--config", fifo))
            self.assertIn(f"{folder}: cannot be read: Is a directory",
                          self.fails("--config", folder))
            self.assertIn("larger than 1 MiB", self.fails("--config", "/dev/zero"))
            self.assertIn(f"cannot read the state file {folder}: Is a directory",
                          self.fails("--state-file", folder))
            self.assertIn(f"{folder}/no/state", self.fails("--state-file", f"{folder}/no/state"))
            self.assertIn(f"the admin token in {fifo} is empty",
                          self.fails("--admin-token-file", fifo))
            self.assertIn(f"cannot read the admin token from {folder}: Is a directory",
                          self.fails("--admin-token-file", folder))
            self.assertIn("the admin token in /dev/zero is not fit",
                          self.fails("--admin-token-file", "/dev/zero"))

    def test_a_signal_during_the_start_ends_it(self):
        with tempfile.TemporaryDirectory() as folder:
            fifo = os.path.join(folder, "fifo")
            os.mkfifo(fifo)
            writer = os.open(fifo, os.O_RDWR)  # never writes
            process = subprocess.Popen([WEIR, "serve", "--config", fifo, "--http", "127.0.0.1:0"],
                                       stderr=subprocess.DEVNULL)
            try:
                weir_server.wait_until(lambda: self.blocks(process, signal.SIGHUP), "it starts")
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(timeout=weir_server.DEADLINE_S), -signal.SIGTERM)
            finally:
                process.kill()
                process.wait()
                os.close(writer)

    @staticmethod
    def blocks(process, number):
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"SigBlk:\s+(\w+)", status)[1], 16) >> (number - 1) & 1

    def test_warns_when_it_can_be_reached_without_a_token(self):
        with Weir(http="0.0.0.0:0") as weir:
            self.assertIn("warn", weir.log())
            self.assertIn("without an admin token", weir.log())
            self.assertTrue(weir.check(key="a", limit=1, window=60)["allowed"])

    def test_never_logs_the_token(self):
        token = "a-token-nobody-else-knows"
        with Weir(http="0.0.0.0:0", environment={"WEIR_ADMIN_TOKEN": token}) as weir:
            with weir.connect() as connection:
                self.assertEqual(connection.ask(get("/admin/stats")).status, 401)
                allowed = get("/admin/stats", f"Authorization: Bearer {token}\r\n")
                self.assertEqual(connection.ask(allowed).status, 200)
            weir.stop()
            self.assertNotIn(token, weir.log())
            self.assertNotIn("without an admin token", weir.log())
        short = self.fails(environment={"WEIR_ADMIN_TOKEN": "hunter2"})
        self.assertNotIn("hunter2", short)

    def test_serves_ipv6(self):
        try:
            probe = weir_server.socket.create_server(
                ("::1", 0), family=weir_server.socket.AF_INET6)
            probe.close()
        except OSError:
            self.skipTest("this machine has no IPv6 loopback address")
        with Weir(http="[::1]:0") as weir:
            self.assertIn("http://[::1]:", weir.url)
            code, said, _ = run_weir("check", "a", "--limit", "2", "--window", "1m",
                                     "--server", weir.url)
            self.assertEqual(code, 0, said)


class Restarting(unittest.TestCase):
    def test_after_a_kill_the_same_port_serves_again(self):
        with Weir() as weir:
            port = weir.port
            with weir.connect() as connection:
                connection.check(key="a", limit=1, window=60)
                weir.signal(signal.SIGKILL)
                self.assertTrue(connection.is_closed_by_server())
            weir.wait()
        for _ in range(3):
            with Weir(http=f"127.0.0.1:{port}") as weir:
                self.assertTrue(weir.check(key="a", limit=1, window=60)["allowed"])
                self.assertEqual(weir.stop(), 0)

    def test_a_closed_log_is_no_reason_to_stop(self):
        process = subprocess.Popen([WEIR, "serve", "--http", "127.0.0.1:0"],
                                   stderr=subprocess.PIPE, text=True)
        for line in process.stderr:
            if "listening on" in line:
                break
        process.stderr.close()
        process.send_signal(signal.SIGHUP)  # it would like to log something now
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=weir_server.DEADLINE_S), 0)


class UnderSystemd(unittest.TestCase):
    def test_the_manager_hears_when_it_serves_and_when_it_stops(self):
        with tempfile.TemporaryDirectory() as folder, \
                socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            path = os.path.join(folder, "notify.sock")
            manager.bind(path)
            manager.settimeout(weir_server.DEADLINE_S)
            with Weir(environment={"NOTIFY_SOCKET": path}) as weir:
                self.assertEqual(manager.recv(64), b"READY=1")
                weir.signal(signal.SIGTERM)
                self.assertEqual(manager.recv(64), b"STOPPING=1")
                self.assertEqual(weir.wait(), 0)


if __name__ == "__main__":
    weir_server.main()
