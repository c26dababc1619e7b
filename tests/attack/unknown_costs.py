"""Requests whose cost only the response says, sent at once: the rule's `reserve` bounds how
many pass (docs/reference/nginx-directives.md)."""

import contextlib
import http.server
import select
import threading

import hosts
from gateway_test import Gateway, Origin
from nginx_server import Nginx
from scene import Attack
from weir_server import DEADLINE_S, Connection, get

LIMIT, RESERVE, COST = 100, 30, 40
PASSING = LIMIT // RESERVE
RULES = f"""
rules:
  - id: work
    match: {{path: /work}}
    limit: {LIMIT}
    window: 366d
    cost: response:X-Cost
    reserve: {RESERVE}
"""


class Worker(Origin):
    """Says what the work has cost when it is done."""

    def do_GET(self):
        self.server.asked.append(self.path)
        self.server.is_done.wait(DEADLINE_S)
        self.send_response(200)
        self.send_header("X-Cost", str(COST))
        self.send_header("Content-Length", "0")
        self.end_headers()


@contextlib.contextmanager
def nginx():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Worker) as origin:
        origin.asked, origin.daemon_threads = [], True
        threading.Thread(target=origin.serve_forever, daemon=True).start()
        passes = f"weir on; proxy_pass http://127.0.0.1:{origin.server_port};"
        try:
            with Nginx(RULES, f"location / {{ {passes} }}") as running:
                yield running.port, origin
        finally:
            origin.shutdown()


@contextlib.contextmanager
def gateway():
    with Gateway(RULES) as running:
        running.origin.RequestHandlerClass = Worker
        yield running.port, running.origin


def work_of_unknown_cost(host):
    def act(stage):
        if lacking := hosts.lacks(host.__name__):
            return stage.note(f"without {lacking}")
        requests = stage.some(100, at_least=4 * PASSING)
        with host() as (port, origin), contextlib.ExitStack() as stack:
            origin.is_done = threading.Event()
            waiting = [stack.enter_context(Connection(port)).socket for _ in range(requests)]
            for client in waiting:
                client.sendall(get("/work"))
            while len(waiting) > PASSING:  # the others are denied while nobody knows a cost
                denied, _, _ = select.select(waiting, [], [], DEADLINE_S)
                if not denied:
                    break
                waiting = [client for client in waiting if client not in denied]
            stage.claim(len(waiting) <= PASSING, f"{len(waiting)} of {requests} passed at once")
            origin.is_done.set()
            for client in waiting:
                client.recv(1)
            units = COST * len(origin.asked)
            stage.claim(units <= PASSING * COST, f"{units} units of {LIMIT} were spent")
            return stage.note(f"{len(origin.asked)} of {requests} requests reached the origin")
    return act


ATTACKS = [
    Attack("work of unknown cost at once, at nginx", work_of_unknown_cost(nginx)),
    Attack("work of unknown cost at once, at the gateway", work_of_unknown_cost(gateway)),
]
