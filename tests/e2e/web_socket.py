"""For tests: a WebSocket client on a plain socket, which answers pings unless it is told not to."""

import base64
import json
import struct

from weir_server import Connection, ConnectionClosed

KEY = base64.b64encode(b"the sample nonce").decode()
UPGRADE = ("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
           f"Sec-WebSocket-Key: {KEY}\r\n")

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


def upgrade_request(fields="", path="/console/live"):
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{UPGRADE}{fields}\r\n".encode()


def client_frame(opcode, payload=b"", first=0x80):
    """Masked, as a client's frames are; the mask is zeros, so that the payload is readable."""
    assert len(payload) < 126
    return bytes((first | opcode, 0x80 | len(payload))) + bytes(4) + payload


class Refused(Exception):
    def __init__(self, status):
        super().__init__(f"refused with {status}")
        self.status = status


class Closed(Exception):
    def __init__(self, code):
        super().__init__(f"closed with {code}")
        self.code = code


class WebSocket:
    """A console that listens. A context manager."""

    def __init__(self, port, fields="", context=None):
        self._connection = Connection(port, context)
        self.socket = self._connection.socket
        self._pending = b""
        try:
            self._shake_hands(fields)
        except BaseException:
            self.socket.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, opcode, payload=b"", first=0x80):
        self.socket.sendall(client_frame(opcode, payload, first))

    def message(self):
        """The next picture, as JSON. A node younger than a second has none: it says that its time
        is 0. Raises Closed when a close frame comes."""
        while True:
            opcode, payload = self.frame()
            if opcode == TEXT and (message := json.loads(payload))["t"]:
                return message
            if opcode == PING:
                self.send(PONG, payload)
            if opcode == CLOSE:
                raise Closed(struct.unpack(">H", payload[:2])[0] if payload else None)

    def message_that(self, condition):
        """The next one of which it is so."""
        while True:
            message = self.message()
            if condition(message):
                return message

    def frame(self):
        head = self._take(2)
        size = head[1]
        assert head[0] & 0x80 and size < 128, "a server's frames are whole and not masked"
        if size == 126:
            size = struct.unpack(">H", self._take(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", self._take(8))[0]
        return head[0] & 15, self._take(size)

    def close_code(self):
        """That of the server, when it has closed; None if it says none."""
        try:
            while True:
                self.message()
        except Closed as closed:
            return closed.code

    def _shake_hands(self, fields):
        self.socket.sendall(upgrade_request(fields))
        while b"\r\n\r\n" not in self._pending:
            self._fill()
        head, _, self._pending = self._pending.partition(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        if status != 101:
            raise Refused(status)

    def _take(self, size):
        while len(self._pending) < size:
            self._fill()
        taken, self._pending = self._pending[:size], self._pending[size:]
        return taken

    def _fill(self):
        chunk = self.socket.recv(65536)
        if not chunk:
            raise ConnectionClosed(began=bool(self._pending))
        self._pending += chunk
