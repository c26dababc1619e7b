"""For tests: servers of HTTP in the test's own process, on loopback."""

import contextlib
import http.server
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    """Keeps connections, and prints nothing."""

    protocol_version = "HTTP/1.1"

    def read(self):
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self, status=200, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if body:  # a second write to a client that has left would fail
            self.wfile.write(body)

    def log_message(self, *_):
        pass


def listen(handler, **state):
    """A server that has this state, for its handlers and for the test."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    vars(server).update(state)
    return server


@contextlib.contextmanager
def serving(server):
    """It answers until the block ends."""
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
