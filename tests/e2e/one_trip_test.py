#!/usr/bin/python3
"""A request with many parts asks Redis for all of them before it waits for any.

Redis is 40 ms away, there and back, and a check has 75 ms. So whatever needs a second trip
is decided by this node alone.
"""

import collections
import contextlib
import json
import os
import tempfile
import unittest

from fleet import is_shared
from grpc_test import Client, grpc_target
from redis_world import Behaviour, Proxy, Redis
from resp_client import RespWeir, command
from weir_server import main, post, wait_until

DELAY_S = 0.02  # each way
LIMIT = 1000
# Nothing is earned back while a test runs.
CONFIG = f"rules: [{{id: r, limit: {LIMIT}, window: 8784h}}]"
ENVOY_CONFIG = f"""
domain: edge
descriptors:
  - key: k
    rate_limit: {{unit: year, requests_per_unit: {LIMIT}}}
"""
# A busy machine may take the 35 ms that are left of the deadline for itself; not each time.
TRIES = 20


def value_end(data, at):
    """Where the Redis value that begins there ends; None if not all of it is there."""
    line_end = data.find(b"\r\n", at)
    if line_end < 0:
        return None
    kind, rest, end = data[at:at + 1], data[at + 1:line_end], line_end + 2
    if kind in b"$=":
        end += max(0, int(rest) + 2)
        return end if end <= len(data) else None
    values = {b"*": 1, b"~": 1, b">": 1, b"%": 2}.get(kind)
    for _ in range(values * int(rest) if values else 0):
        end = value_end(data, end)
        if end is None:
            return None
    return end


class Trips:
    """Counts the trips that charges take through a proxy.

    A charge that leaves when another's answer has come in begins a trip: it may have waited
    for that answer. How long anything takes does not matter. The beats of nodes don't count.
    """

    def __init__(self):
        self.count = 0
        self.calls = 0
        self._may_have_waited = True
        self._out = collections.defaultdict(collections.deque)  # whether they are charges
        self._questions = collections.defaultdict(bytes)
        self._answers = collections.defaultdict(bytes)

    def begin(self):
        self.count = self.calls = 0
        self._may_have_waited = True

    def is_idle(self):
        return not any(True in out for out in self._out.values())

    def asked(self, connection, data):
        for question in self._values(self._questions, connection, data):
            is_charge = b"\r\nEVAL" in question[:20] and b"{fleet}" not in question
            self._out[connection].append(is_charge)
            if not is_charge:
                continue
            self.calls += 1
            self.count += self._may_have_waited
            self._may_have_waited = False

    def answered(self, connection, data):
        for answer in self._values(self._answers, connection, data):
            if answer[:1] != b">" and self._out[connection].popleft():
                self._may_have_waited = True

    @staticmethod
    def _values(streams, connection, data):
        stream, at = streams[connection] + data, 0
        while at < len(stream) and (end := value_end(stream, at)) is not None:
            yield stream[at:end]
            at = end
        streams[connection] = stream[at:]


class World:
    """A node that is far from its Redis, and one that is near."""

    def __init__(self):
        self._stack = contextlib.ExitStack()
        with self._stack:
            folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="weir-trip-"))
            envoy_config = os.path.join(folder, "edge.yaml")
            with open(envoy_config, "w", encoding="utf-8") as file:
                file.write(ENVOY_CONFIG)
            redis = self._stack.enter_context(Redis())
            self.trips = Trips()
            self.proxy = self._stack.enter_context(Proxy(redis.port, self.trips))
            node = lambda *arguments: self._stack.enter_context(RespWeir(
                "--mode", "strict", "--grpc", "127.0.0.1:0", "--envoy-config", envoy_config,
                *arguments, config=CONFIG))
            self.far = node("--redis", self.proxy.url, "--redis-deadline", "75ms")
            self.near = node("--redis", redis.url, "--redis-deadline", "2s")
            wait_until(lambda: all(is_shared(one, 2) for one in (self.far, self.near)),
                       "both nodes share")
            self._stack = self._stack.pop_all()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stack.close()


def ask_http(node, keys):
    checks = [{"rule": "r", "key": key} for key in keys]
    with node.connect() as connection:
        reply = connection.ask(post("/v1/check", json.dumps({"checks": checks}).encode()))
    return [result["remaining"] for result in reply.json()["results"]]


def ask_grpc(node, keys):
    with Client(grpc_target(node)) as client:
        answer = client.should_rate_limit(*({"k": key} for key in keys))
    return [status.limit_remaining for status in answer.statuses]


def ask_resp(node, keys):
    words = [word for key in keys for word in ("r", key, 1)]
    with node.client() as client:
        return [answer[2] for answer in client.ask("WEIR.MHIT", "EACH", *words)]


def ask_transaction(node, keys):
    said = [command("MULTI"), *(command("WEIR.HIT", "r", key) for key in keys), command("EXEC")]
    with node.client() as client:
        client.send(b"".join(said))
        return [answer[2] for answer in [client.read() for _ in said][-1]]


def ask_atomic_transaction(node, keys):
    said = [command("MULTI"), command("WEIR.ATOMIC"),
            *(command("WEIR.HIT", "r", key) for key in keys), command("EXEC")]
    with node.client() as client:
        client.send(b"".join(said))
        return [answer[2] for answer in [client.read() for _ in said][-1][1:]]


class OneTrip(unittest.TestCase):
    def expect_one_trip(self, ask, parts):
        with World() as world:
            ask(world.near, ["a key that comes first"])  # Redis learns the script
            world.proxy.behave(Behaviour.PASS, DELAY_S)
            for attempt in range(TRIES):
                keys = [f"{attempt}-{part}" for part in range(parts)]
                wait_until(lambda: is_shared(world.far, 2) and world.trips.is_idle(),
                           "it is connected, and waits for nothing")
                alone = world.far.metric("weir_store_fallbacks_total")
                world.trips.begin()
                left = ask(world.far, keys)
                alone = world.far.metric("weir_store_fallbacks_total") - alone
                if alone == 0:
                    break
                # A node charges to Redis afterwards what it admits alone, in a trip more.
                print(f"\n{alone:.0f} of {parts} parts were decided alone, as time ran out")
            self.assertEqual(alone, 0, "each time some were decided by this node alone")
            self.assertEqual(world.trips.count, 1, "trips, one after another")
            self.assertEqual(left, [LIMIT - 1] * parts)
            self.assertEqual(ask(world.near, keys), [LIMIT - 2] * parts, "Redis has counted all")
            print(f"\n{parts} parts in one trip; calls: {world.trips.calls}, tries: {attempt + 1}")

    def test_a_list_of_256_checks(self):
        self.expect_one_trip(ask_http, 256)

    def test_256_descriptors_of_envoy(self):
        self.expect_one_trip(ask_grpc, 256)

    def test_16_keys_of_one_redis_command(self):
        self.expect_one_trip(ask_resp, 16)

    def test_100_checks_of_a_transaction(self):
        self.expect_one_trip(ask_transaction, 100)

    def test_16_checks_that_are_charged_all_or_not_at_all(self):
        self.expect_one_trip(ask_atomic_transaction, 16)


class TripsTest(unittest.TestCase):
    """The trips that count, and those that do not."""

    CHARGE = command("EVALSHA", "5ca1ab1e", 1, "weir:{a}", "", "x")
    BEAT = command("EVAL", "return 1", 1, "weir:{fleet}:nodes", "me")
    ANSWER = b"*3\r\n:1\r\n:640\r\n$2\r\n\r\n\r\n"

    def test_calls_that_wait_for_nothing_are_one_trip(self):
        trips = Trips()
        trips.asked("one", self.BEAT + self.CHARGE)
        trips.asked("one", self.CHARGE[:9])
        trips.answered("one", b":1\r\n" + self.ANSWER[:7])
        trips.asked("one", self.CHARGE[9:])
        self.assertEqual((trips.calls, trips.count, trips.is_idle()), (2, 1, False))
        trips.answered("one", self.ANSWER[7:] + b">1\r\n+news\r\n" + self.ANSWER)
        self.assertTrue(trips.is_idle())

    def test_a_call_that_follows_an_answer_is_another_trip(self):
        trips = Trips()
        for _ in range(3):
            trips.asked("one", self.CHARGE)
            trips.answered("one", self.ANSWER)
        self.assertEqual(trips.count, 3)


if __name__ == "__main__":
    main()
