"""Many connections that are fed at once, without waiting for any of them."""

import dataclasses
import errno
import itertools
import select
import socket
import time

from scene import pass_time

CONNECT_TRIES = 200  # the queue of a listening socket is short
RECEIVE_BYTES = 4096  # what the kernel takes for a peer that reads nothing


@dataclasses.dataclass
class Tally:
    sent: int = 0
    received: int = 0
    closed: int = 0  # by the server
    heard: bytes = b""  # the beginning of what came


class Member:
    def __init__(self, socket_, pieces):
        self.socket = socket_
        self.pieces = iter(pieces)
        self.pending = memoryview(b"")

    def send(self):
        """Bytes that the kernel took; None when there is nothing more to send."""
        if not self.pending:
            piece = next(self.pieces, None)
            if piece is None:
                return None
            self.pending = memoryview(piece)
        taken = self.socket.send(self.pending)
        self.pending = self.pending[taken:]
        return taken


def connect(port, small=False):
    """A connection that never blocks. `small`: the kernel holds little of what comes."""
    member = socket.socket()
    if small:
        member.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
    for _ in range(CONNECT_TRIES):
        try:
            member.connect(("127.0.0.1", port))
            break
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.ECONNRESET):
                raise
            pass_time(0.01)
    member.setblocking(False)
    return member


def flood(scene, count, pieces, port=None, reads=True, again=False):
    """Feeds `count` connections with what `pieces(number)` yields, until the attack ends.

    Without `reads` nothing is taken of what the server answers. With `again` a connection
    that the server closes is made again.
    """
    tally = Tally()
    port = port or scene.port
    with select.epoll() as loop:
        members = {}

        def join(number):
            member = Member(connect(port, small=not reads), pieces(number))
            members[member.socket.fileno()] = (number, member)
            loop.register(member.socket, select.EPOLLOUT | (select.EPOLLIN if reads else 0))

        for number in range(count):
            if not scene.goes_on():
                break
            join(number)
        while scene.goes_on() and members:
            for file, events in loop.poll(0.05):
                number, member = members[file]
                if not served(loop, member, events, reads, tally):
                    tally.closed += 1
                    del members[file]
                    member.socket.close()
                    if again and scene.goes_on():
                        join(number)
        for _, member in members.values():
            member.socket.close()
    return tally


def served(loop, member, events, reads, tally):
    """Sends and reads what is possible. False if the server has closed the connection."""
    try:
        if events & select.EPOLLOUT:
            taken = member.send()
            if taken is None:
                loop.modify(member.socket, select.EPOLLIN if reads else 0)
            else:
                tally.sent += taken
        if events & select.EPOLLIN:
            came = member.socket.recv(65536)
            tally.received += len(came)
            if len(tally.heard) < 4096:
                tally.heard += came[:4096]
            return bool(came)
        return not events & (select.EPOLLHUP | select.EPOLLERR)
    except BlockingIOError:
        return True
    except OSError:
        return False


def endless(piece):
    return lambda _number: itertools.repeat(piece)


def once(piece):
    return lambda _number: [piece]


def drip(scene, count, head, byte, every_s):
    """Connections that send a head and then a byte now and then: how many were cut off."""
    members = [connect(scene.port) for _ in range(count)]
    for member in members:
        member.send(head)
    while scene.goes_on() and members:
        round_ends = time.monotonic() + every_s
        for member in list(members):
            if not is_awaited(member, byte):
                members.remove(member)
                member.close()
        pass_time(max(0, min(round_ends, scene.ends) - time.monotonic()))
    for member in members:
        member.close()
    return count - len(members)


def is_awaited(member, byte):
    """Sends a byte; False once the server has answered, or has closed the connection."""
    try:
        member.send(byte)
        return member.recv(4096) is None
    except BlockingIOError:
        return True
    except OSError:
        return False
