"""Guesses at nginx by clients that leave at once: a rule counts by the answers of the origin.

`weir serve` and the Worker see no answers, and refuse such rules.
"""

import contextlib
import itertools
import socket
import threading

import frames
import hosts
from gateway_test import GUESSES, Gateway, SlowOrigin
from nginx_server import NO_LINGER, Nginx
from origin_server import listen, serving
from scene import Attack
from weir_server import free_port, get, wait_until

LIMIT = 5  # of GUESSES


def has_reply(seen):
    return bool(seen)


def has_headers(seen):
    """A reply over HTTP/2, behind the frames that come before it."""
    while len(seen) > 9:
        if seen[3] == frames.HEADERS:
            return True
        seen = seen[9 + int.from_bytes(seen[:3], "big"):]
    return False


def says_no_more(client):
    client.shutdown(socket.SHUT_WR)


def resets_connection(client):
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
    client.close()


def resets_stream(client):
    client.sendall(frames.reset(1))


# What a guess is, when it has been answered, and how clients leave.
HTTP1 = (get("/login"), has_reply, (socket.socket.close, says_no_more, resets_connection))
HTTP2 = (frames.hello() + frames.request(1, path=b"/login"), has_headers,
         (socket.socket.close, resets_stream, resets_connection))


def guess(client, protocol, asked, leaves):
    """Leaves as soon as the origin works on it, unless there is an answer before."""
    data, is_answered, _ = protocol
    before, seen = len(asked), bytearray()
    client.sendall(data)
    client.setblocking(False)

    def is_over():
        with contextlib.suppress(BlockingIOError):
            seen.extend(client.recv(1 << 16))
        return len(asked) > before or is_answered(bytes(seen))
    wait_until(is_over, "the guess is at the origin")
    with contextlib.suppress(OSError):  # the answer was the last word
        leaves(client)


@contextlib.contextmanager
def nginx(protocol, origin):
    with serving(listen(origin, asked=[])) as server:
        limited = f"weir on; proxy_pass http://127.0.0.1:{server.server_port};"
        port = free_port()
        with Nginx(GUESSES, f"location / {{ {limited} }}",
                   hosts.HTTP_2_SERVER % (port, limited)) as run:
            if protocol is HTTP1:
                port = run.port
            yield port, server.asked, lambda: len(run.access_log())


@contextlib.contextmanager
def gateway(protocol, origin):
    with Gateway(GUESSES) as run:
        run.origin.RequestHandlerClass = origin
        yield run.port, run.origin.asked, lambda: len(run.statuses())


def guesses_that_leave(host, protocol):
    def act(stage):
        if lacking := hosts.lacks(host.__name__):
            return stage.note(f"without {lacking}")
        origin = type("", (SlowOrigin,), {"thinks": threading.Event(), "status": 401})
        guesses = stage.some(500, at_least=4 * LIMIT)
        with host(protocol, origin) as (port, asked, over), contextlib.ExitStack() as clients:
            for _, leaves in zip(range(guesses), itertools.cycle(protocol[2])):
                client = socket.create_connection(("127.0.0.1", port))
                guess(clients.enter_context(client), protocol, asked, leaves)
            origin.thinks.set()
            wait_until(lambda: over() >= guesses, "all guesses are over")
            reached = f"{len(asked)} of {guesses} guesses reached the origin"
            stage.claim(len(asked) == LIMIT, f"{reached}, and {LIMIT} may")
            return stage.note(reached)
    return act


ATTACKS = [
    Attack("guesses that leave, at nginx", guesses_that_leave(nginx, HTTP1)),
    Attack("guesses that leave, at nginx over HTTP/2", guesses_that_leave(nginx, HTTP2)),
    Attack("guesses that leave, at the gateway", guesses_that_leave(gateway, HTTP1)),
]
