"""For tests: an origin that holds requests until the test lets them go."""

import contextlib
import select
import socket
import threading

from nginx_server import DEADLINE_S, request, wait_until


class Holder:
    """An origin that answers when it is told. Knows how many requests it holds, and held."""

    def __init__(self, folder):
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / "holder"))
        (folder / "holder").chmod(0o777)
        self._listener.listen(256)
        self._changed = threading.Condition()
        self._held = set()
        self.most = 0
        self.seen = 0
        self._open = False
        threading.Thread(target=self._accept, daemon=True).start()

    def held(self):
        with self._changed:
            return len(self._held)

    def wait_until_held(self, count):
        with self._changed:
            assert self._changed.wait_for(lambda: len(self._held) == count, timeout=DEADLINE_S), (
                f"{len(self._held)} are under way, not {count}")

    def lets_through(self, client, path):
        """Whether nginx passes this request on. Then it is held; else its reply can be read."""
        before = self.held()
        client.send(request(path))
        wait_until(lambda: self.held() > before
                   or select.select([client.socket], [], [], 0)[0], "it is decided")
        return self.held() > before

    def answer(self):
        """Lets one request go."""
        with self._changed:
            connection = next(iter(self._held))
        self._reply(connection)

    def answer_all(self):
        with self._changed:
            held = list(self._held)
        for connection in held:
            self._reply(connection)

    def answer_at_once(self):
        """All that come from now on."""
        self._open = True
        self.answer_all()

    def answer_when_told(self):
        self._open = False

    def close(self):
        self._listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._hold, args=(connection,), daemon=True).start()

    def _reply(self, connection):
        with contextlib.suppress(OSError):
            # No longer under way from here on: the next may come as soon as nginx has read this.
            self._forget(connection)
            connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\ndone")
            connection.shutdown(socket.SHUT_RDWR)

    def _hold(self, connection):
        with contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                more = connection.recv(65536)
                if not more:
                    raise ConnectionError("nginx has gone")
                head += more
            with self._changed:
                self._held.add(connection)
                self.seen += 1
                self.most = max(self.most, len(self._held))
                self._changed.notify_all()
            if self._open:
                self._reply(connection)
            connection.recv(1)  # until nginx goes
        self._forget(connection)
        connection.close()

    def _forget(self, connection):
        with self._changed:
            self._held.discard(connection)
            self._changed.notify_all()
