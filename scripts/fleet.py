#!/usr/bin/python3
"""Runs a fleet on loopback until Ctrl-C: a Redis, three nodes, and nginx in front of them.

    ./dev fleet [--port 8080] [arguments of weir serve]

A part that is killed is named and left dead until Enter, or SIGHUP, starts it again.
nginx answers on the port, the nodes on the three after it. The configuration of nginx is
deploy/fleet/nginx.conf with these addresses, and that of the nodes deploy/fleet/weir.yaml
unless the arguments have another --config.
"""

import argparse
import contextlib
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
WEIR = os.environ.get("WEIR_BINARY", str(ROOT / "build" / "release" / "weir"))
NODES = 3
START_MAX_S = 10
STOP_MAX_S = 10
LOOK_EVERY_S = 0.05


class Failed(Exception):
    """The fleet cannot run."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8080, help="where nginx answers [8080]")
    arguments, for_nodes = parser.parse_known_args()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    try:
        run(arguments.port, for_nodes)
    except Failed as why:
        sys.exit(f"fleet: {why}")


def stop(*_):
    raise SystemExit(0)


def run(port, for_nodes):
    with tempfile.TemporaryDirectory(prefix="weir-fleet-") as folder, \
            contextlib.ExitStack() as stack:
        if not any(word.startswith("--config") for word in for_nodes):
            for_nodes = ["--config", ROOT / "deploy" / "fleet" / "weir.yaml", *for_nodes]
        redis = pathlib.Path(folder, "redis.sock")
        parts = [Part(stack, "redis", ["redis-server", "--port", 0, "--unixsocket", redis,
                                       "--save", "", "--dir", folder, "--loglevel", "warning"])]
        for number in range(1, NODES + 1):
            parts.append(Part(stack, f"node {number}", [
                WEIR, "serve", "--http", f"127.0.0.1:{port + number}", "--threads", 1,
                "--redis", f"unix://{redis}", *for_nodes]))
        for number in range(1, NODES + 1):  # nginx leaves those alone that refuse at first
            wait_until_listening(port + number, parts)
        config = pathlib.Path(folder, "nginx.conf")
        config.write_text(nginx_config(port), encoding="utf-8")
        parts.append(Part(stack, "nginx", [
            "nginx", "-c", config, "-p", folder, "-e", "stderr",
            "-g", f"daemon off; pid {folder}/nginx.pid;"]))
        wait_until_listening(port, parts)
        announce(port, parts)
        watch(parts)


def watch(parts):
    """Says which parts end, and starts them again when somebody asks for it."""
    asked = []
    signal.signal(signal.SIGHUP, lambda *_: asked.append("by signal"))
    inputs = [sys.stdin]
    while True:
        for part in parts:
            part.say_if_it_ends()
        if select.select(inputs, [], [], LOOK_EVERY_S)[0]:
            if sys.stdin.readline():
                asked.append("by Enter")
            else:
                inputs = []  # nobody types there
        if asked:
            asked.clear()
            for part in parts:
                part.revive()


def nginx_config(port):
    text = (ROOT / "deploy" / "fleet" / "nginx.conf").read_text(encoding="utf-8")
    text = text.replace("listen 8080", f"listen 127.0.0.1:{port}")
    for number in range(1, NODES + 1):
        text = text.replace(f"node{number}:8080", f"127.0.0.1:{port + number}")
    return text


class Part:
    """A program of the fleet, which may end and begin again."""

    def __init__(self, stack, name, command):
        self.name = name
        program = shutil.which(str(command[0]), path=os.environ["PATH"] + ":/usr/sbin")
        if program is None:
            raise Failed(f"{command[0]} is not there")
        self._command = [program, *map(str, command[1:])]
        self._is_dead = False
        self.start()
        stack.callback(lambda: end(self.process))

    def start(self):
        # A group of its own: Ctrl-C is ours to hear, and the order of stopping ours to choose.
        self.process = subprocess.Popen(self._command, start_new_session=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def say_if_it_ends(self):
        if not self._is_dead and self.process.poll() is not None:
            self._is_dead = True
            print(f"{self.name} has ended with {self.process.returncode}; the others go on. "
                  f"Enter starts it again, as does kill -HUP {os.getpid()}.", flush=True)

    def revive(self):
        if self._is_dead:
            self._is_dead = False
            self.start()
            print(f"{self.name} is process {self.process.pid} now.", flush=True)


def end(process):
    process.terminate()
    try:
        process.wait(STOP_MAX_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def check(parts):
    for part in parts:
        if part.process.poll() is not None:
            raise Failed(f"{part.name} has ended with {part.process.returncode}")


def wait_until_listening(port, parts):
    give_up = time.monotonic() + START_MAX_S
    while time.monotonic() < give_up:
        check(parts)
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(LOOK_EVERY_S)  # check:allow(sleep): nobody tells when a port is open
    raise Failed(f"nobody listens on port {port}")


def announce(port, parts):
    nodes = ", ".join(f"http://127.0.0.1:{port + number}" for number in range(1, NODES + 1))
    body = '{"key":"user_123","limit":100,"window":60}'
    print(f"The fleet answers at http://127.0.0.1:{port}, its nodes at {nodes}. Try:\n"
          f"  curl -d '{body}' 127.0.0.1:{port}/check\n"
          f"  curl 127.0.0.1:{port + 1}/health\n"
          f"Kill a part and watch the others: "
          f"{', '.join(f'{part.name} is process {part.process.pid}' for part in parts)}.\n"
          f"Ctrl-C stops all of it.", flush=True)


if __name__ == "__main__":
    main()
