"""Ports of loopback that nobody listens on, for programs under test that cannot choose one."""

import contextlib
import random
import socket

given = set()  # to this process: perhaps nobody listens on them yet


def free_port():
    return free_ports(1)


def free_ports(count):
    """The first of so many in a row, below those that the system gives to connections."""
    while True:
        ports = range(first := random.randrange(20_000, 30_000), first + count)
        if not given.isdisjoint(ports):
            continue
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            for port in ports:
                stack.enter_context(socket.socket()).bind(("127.0.0.1", port))
            given.update(ports)
            return first
