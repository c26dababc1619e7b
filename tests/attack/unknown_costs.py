"""Requests whose cost only the response says, sent at once: the rule's `reserve` bounds how
many pass (docs/reference/nginx-directives.md).

`weir serve` and the Worker see no responses, and refuse such rules.
"""

import contextlib
import select
import socket
import threading

import frames
import hosts
from gateway_test import Gateway, Origin
from leavers import has_headers, has_reply
from nginx_server import Nginx
from origin_server import listen, serving
from scene import Attack
from weir_server import DEADLINE_S, free_port, get

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


# What a request is, and when it has been answered.
HTTP1 = (get("/work"), has_reply)
HTTP2 = (frames.hello() + frames.request(1, path=b"/work"), has_headers)


class Worker(Origin):
    """Says what the work has cost when it is done."""

    def do_GET(self):
        self.server.asked.append(self.path)
        self.server.is_done.wait(DEADLINE_S)
        self.answer(200, X_Cost=str(COST))


@contextlib.contextmanager
def nginx(protocol):
    with serving(listen(Worker, asked=[])) as origin:
        passes = f"weir on; proxy_pass http://127.0.0.1:{origin.server_port};"
        port = free_port()
        with Nginx(RULES, f"location / {{ {passes} }}",
                   hosts.HTTP_2_SERVER % (port, passes)) as running:
            yield running.port if protocol is HTTP1 else port, origin


@contextlib.contextmanager
def gateway(_):
    with Gateway(RULES) as running:
        running.origin.RequestHandlerClass = Worker
        yield running.port, running.origin


def answered(waiting, is_answered):
    """Those of the clients, each with what it has read, that have their answer by now."""
    while waiting:
        readable, _, _ = select.select(waiting, [], [], DEADLINE_S)
        for client in readable:
            waiting[client] += client.recv(1 << 16)
        if found := [client for client in readable if is_answered(waiting[client])]:
            return found
        if not readable:
            break
    return []


def work_of_unknown_cost(host, protocol):
    data, is_answered = protocol

    def act(stage):
        if lacking := hosts.lacks(host.__name__):
            return stage.note(f"without {lacking}")
        requests = stage.some(100, at_least=4 * PASSING)
        with host(protocol) as (port, origin), contextlib.ExitStack() as stack:
            origin.is_done = threading.Event()
            waiting = {stack.enter_context(socket.create_connection(("127.0.0.1", port))): b""
                       for _ in range(requests)}
            for client in waiting:
                client.sendall(data)
            while len(waiting) > PASSING:  # the others are denied while nobody knows a cost
                denied = answered(waiting, is_answered)
                if not denied:
                    break
                for client in denied:
                    del waiting[client]
            stage.claim(len(waiting) <= PASSING, f"{len(waiting)} of {requests} passed at once")
            origin.is_done.set()
            while done := answered(waiting, is_answered):
                for client in done:
                    del waiting[client]
            units = COST * len(origin.asked)
            stage.claim(units <= PASSING * COST, f"{units} units of {LIMIT} were spent")
            return stage.note(f"{len(origin.asked)} of {requests} requests reached the origin")
    return act


ATTACKS = [
    Attack("work of unknown cost at once, at nginx", work_of_unknown_cost(nginx, HTTP1)),
    Attack("work of unknown cost at once, at nginx over HTTP/2",
           work_of_unknown_cost(nginx, HTTP2)),
    Attack("work of unknown cost at once, at the gateway", work_of_unknown_cost(gateway, HTTP1)),
]
