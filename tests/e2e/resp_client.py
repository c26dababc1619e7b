"""For tests: a weir that listens for Redis clients, and a plain connection to it."""

import re
import socket

from weir_server import DEADLINE_S, ConnectionClosed, Weir


class RespWeir(Weir):
    """A running `weir serve --resp`, on one thread unless its options say otherwise."""

    def __init__(self, *arguments, threads=1, **options):
        super().__init__("--resp", "127.0.0.1:0", "--threads", str(threads), *arguments, **options)
        line = self.wait_for_log("listening on redis://")
        self.resp_port = int(re.search(r"redis://\S+:(\d+)", line)[1])

    def client(self):
        return RespConnection(self.resp_port)


class RespError(Exception):
    """A reply that begins with a minus."""


class RespConnection:
    """A socket that sends commands and reads values: RESP2, and what RESP3 adds."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def ask(self, *words):
        self.send(command(*words))
        return self.read()

    def read(self):
        """The next value; an error is raised."""
        line = self._line()
        kind, rest = line[:1], line[1:]
        if kind == b"-":
            raise RespError(rest.decode())
        if kind == b"+":
            return rest.decode()
        if kind == b"_" or line in (b"$-1", b"*-1"):
            return None
        if kind == b":":
            return int(rest)
        if kind in (b"$", b"="):
            text = self._file.read(int(rest) + 2)[:-2]
            return text[4:] if kind == b"=" else text
        if kind in (b"*", b"~"):
            return [self.read() for _ in range(int(rest))]
        if kind == b"%":
            return {self.read(): self.read() for _ in range(int(rest))}
        raise AssertionError(f"not a value: {line!r}")

    def raw(self, data):
        """The answers until the server closes the connection."""
        self.send(data)
        self.socket.shutdown(socket.SHUT_WR)
        return self.read_to_end()

    def read_to_end(self):
        try:
            return self._file.read()
        except ConnectionResetError:
            return b""

    def _line(self):
        line = self._file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionClosed(began=bool(line))
        return line[:-2]


def command(*words):
    words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)
