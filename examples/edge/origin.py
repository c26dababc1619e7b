#!/usr/bin/python3
"""An origin to put a gateway in front of: it answers everything with 200, and says what came."""

import http.server
import json
import sys


class Origin(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.dumps({"method": self.command, "path": self.path,
                           "client": self.headers.get("X-Forwarded-For")}).encode() + b"\n"
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, *_):
        pass  # the gateway logs


def listen(port):
    return http.server.ThreadingHTTPServer(("127.0.0.1", port), Origin)


if __name__ == "__main__":
    listen(int(sys.argv[1])).serve_forever()
