"""For tests: what takes a node's webhooks."""

import http.server
import json
import threading

from weir_server import DEADLINE_S


class WebhookReceiver:
    """Hands each request to take(), which says the status of the answer. A context manager."""

    def __init__(self, context=None):
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(receiver.take(self.path, self.headers, json.loads(body)))
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join(timeout=DEADLINE_S)
        self._server.server_close()

    def take(self, path, headers, event):
        raise NotImplementedError
