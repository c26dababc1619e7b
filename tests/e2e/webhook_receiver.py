"""For tests: what takes a node's webhooks."""

import http.server
import json

from origin_server import Handler


class WebhookReceiver(http.server.ThreadingHTTPServer):
    """Hands each request to take(), which says the status of the answer."""

    class Handler(Handler):
        def do_POST(self):
            self.answer(self.server.take(self.path, self.headers, json.loads(self.read())))

    def __init__(self, context=None):
        super().__init__(("127.0.0.1", 0), WebhookReceiver.Handler)
        if context is not None:
            self.socket = context.wrap_socket(self.socket, server_side=True)

    def take(self, path, headers, event):
        return 204
