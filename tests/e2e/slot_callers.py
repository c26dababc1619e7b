"""For tests: programs that take slots of nodes, as doors give them, and what they know of them."""

import contextlib
import json
import random
import threading
import time

import grpc

from grpc_client import Slots
from resp_client import RespError
from weir_server import ConnectionClosed, post, wait_until

LIMIT = 40
HOLD_S = 2


def call(node, path, **fields):
    with node.connect() as connection:
        reply = connection.ask(post(path, json.dumps(fields).encode()))
    return reply.status, reply.json()


def acquire(node, key="a", rule="pair", hold="30s"):
    status, said = call(node, "/v1/acquire", rule=rule, key=key, hold=hold)
    assert status == 200, said
    return said


def held(node, rule, key="a"):
    """None: Redis does not answer."""
    said = call(node, "/v1/explain", rule=rule, key=key)[1]["applies"][0]
    return said.get("held", {}).get("units")


class ByHttp:
    def __init__(self, node):
        self.connection = node.connect()

    def acquire(self):
        body = {"rule": "streams", "key": "a", "hold": f"{HOLD_S}s"}
        said = self.connection.ask(post("/v1/acquire", json.dumps(body).encode())).json()
        return said.get("token")

    def release(self, token):
        body = json.dumps({"token": token}).encode()
        return self.connection.ask(post("/v1/release", body)).status == 200


class ByResp:
    def __init__(self, node):
        self.connection = node.client()

    def acquire(self):
        return self.connection.ask("WEIR.ACQUIRE", "streams", "a", f"{HOLD_S}s")[1]

    def release(self, token):
        with contextlib.suppress(RespError):
            return self.connection.ask("WEIR.RELEASE", token) == 1
        return False


class ByGrpc:
    """Its tokens are calls."""

    def __init__(self, node):
        self.connection = Slots(f"127.0.0.1:{node.port}")

    def acquire(self):
        try:
            slot = self.connection.hold("streams", hold=f"{HOLD_S}s")
        except grpc.RpcError as error:
            raise OSError("its node has died") from error
        return slot if slot.is_allowed else slot.end() and None

    def release(self, token):
        return token.end() == grpc.StatusCode.OK


class Log:
    """When streams were certainly under way, as their callers know it."""

    def __init__(self):
        self.lock = threading.Lock()
        self.streams = []  # when each began and ended

    def add(self, began, asked, ended):
        # A token is good from before its answer to `HOLD_S` after it was asked for, at least.
        with self.lock:
            self.streams.append((began, min(ended, asked + HOLD_S)))

    def most_at_once(self, since=0):
        """`since`: without the streams that had ended when so many had."""
        streams = [(began, ended) for began, ended in self.streams[since:] if began < ended]
        changes = [(began, 1) for began, _ in streams] + [(ended, -1) for _, ended in streams]
        count = most = 0
        for _, change in sorted(changes):
            count += change
            most = max(most, count)
        return most


class Caller(threading.Thread):
    """Has up to `most` streams at once by `home`, and ends one by the chance `ends`.

    While it is `calm`, it ends those that have had half their hold.

    It ends so many of them by any of `others`, and the rest where they began. If tokens may end
    before their hold, nobody knows for certain how long one was good that was not released.
    """

    def __init__(self, door, home, others, log, goal, seed, elsewhere=1.0,
                 dies=0.03, may_end=False, most=4, ends=0.7, calm=None):
        super().__init__(daemon=True)
        self.door, self.home, self.others = door, home, others
        self.elsewhere, self.dies, self.may_end = elsewhere, dies, may_end
        self.log, self.goal = log, goal
        self.most, self.ends, self.calm = most, ends, calm or threading.Event()
        self.chance = random.Random(seed)
        self.streams = []  # when it began, when it was asked for, its token, where
        self.failures = 0
        self.late = 0  # releases that came too late, or found nobody

    def run(self):
        with contextlib.ExitStack() as stack:
            home, *others = [self.door(node) for node in (self.home, *self.others)]
            for door in (home, *others):
                stack.enter_context(door.connection)
            self.come_and_go(home, others)

    def come_and_go(self, home, others):
        while not self.goal.is_set():
            try:
                self.take(home)
            except (OSError, ConnectionClosed):  # its node has died
                self.failures += 1
                home = self.chance.choice(others)
            if self.calm.is_set():
                if self.streams and time.monotonic() - self.streams[0][1] > HOLD_S / 2:
                    self.end(others, 0)
            elif self.streams and self.chance.random() < self.ends:
                self.end(others, self.chance.randrange(len(self.streams)))
        while self.streams:
            self.end(others, 0)

    def take(self, door):
        if len(self.streams) == self.most:
            return
        asked = time.monotonic()
        token = door.acquire()
        if token:
            self.streams.append((time.monotonic(), asked, token, door))

    def end(self, others, which):
        began, asked, token, door = self.streams.pop(which)
        if self.chance.random() < self.dies:  # its program dies, and releases nothing
            return self.log.add(began, asked, began if self.may_end else asked + HOLD_S)
        if self.chance.random() < self.elsewhere:
            door = self.chance.choice(others)
        ended = time.monotonic()
        try:
            was_good = door.release(token)
        except (OSError, ConnectionClosed):
            was_good = False
        self.late += not was_good
        self.log.add(began, asked, ended if was_good or not self.may_end else began)


def wait_for_all_slots(log, calm):
    """Until streams that ended meanwhile had all slots at once, for certain."""
    since = len(log.streams)
    calm.set()
    wait_until(lambda: log.most_at_once(since) >= LIMIT, "all slots are in use at once")
    calm.clear()


def wait_for_streams(log, more, seconds=0):
    many, until = len(log.streams) + more, time.monotonic() + seconds
    wait_until(lambda: len(log.streams) >= many and time.monotonic() >= until,
               "streams come and go")
