#!/usr/bin/python3
"""gRPC by Python's own client, with stubs generated from the .proto files; HTTP/2 by curl."""

import http.client
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import grpc

from grpc_client import FOLDER, HeldSlot, Slots, message_types
from redis_world import Behaviour, Proxy, Redis
from slot_callers import acquire, held
from weir_server import DEADLINE_S, Weir, main, wait_until

rls = message_types("envoy.service.ratelimit.v3.rls")
health = message_types("grpc.health.v1.health")
reflection = message_types("grpc.reflection.v1.reflection")
Response = rls.RateLimitResponse

# As its users have it: nothing of ours in it.
REFERENCE_YAML = """
domain: edge
descriptors:
  - key: remote_address
    rate_limit: {unit: hour, requests_per_unit: 3}
  - key: path
    value: /login
    descriptors:
      - key: user
        rate_limit: {name: logins, unit: day, requests_per_unit: 2}
  - key: trusted
    rate_limit: {unlimited: true}
"""


class Client:
    """Calls of one channel."""

    def __init__(self, target):
        self.channel = grpc.insecure_channel(target)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()

    def unary(self, path, request, response_type, **options):
        call = self.channel.unary_unary(path, request_serializer=type(request).SerializeToString,
                                        response_deserializer=response_type.FromString)
        return call(request, timeout=DEADLINE_S, wait_for_ready=True, **options)

    def should_rate_limit(self, *descriptors, domain="edge", hits=0, **options):
        request = rls.RateLimitRequest(domain=domain, hits_addend=hits)
        for descriptor in descriptors:
            entries = request.descriptors.add().entries
            for key, value in descriptor.items():
                entries.add(key=key, value=value)
        return self.unary("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
                          request, Response, **options)

    def check_health(self, service=""):
        return self.unary("/grpc.health.v1.Health/Check",
                          health.HealthCheckRequest(service=service),
                          health.HealthCheckResponse).status

    def watch_health(self):
        call = self.channel.unary_stream(
            "/grpc.health.v1.Health/Watch",
            request_serializer=health.HealthCheckRequest.SerializeToString,
            response_deserializer=health.HealthCheckResponse.FromString)
        return call(health.HealthCheckRequest(), timeout=DEADLINE_S)


def start(*arguments, config=None):
    path = pathlib.Path(FOLDER.name, "edge.yaml")
    path.write_text(REFERENCE_YAML, encoding="utf-8")
    return Weir("--grpc", "127.0.0.1:0", "--envoy-config", str(path), "--threads", "1",
                *arguments, config=config)


def grpc_target(server):
    return server.url_of("grpc").partition("://")[2]


class RateLimits(unittest.TestCase):
    def test_the_reference_yaml_is_enforced_at_the_right_request(self):
        with start() as server, Client(grpc_target(server)) as client:
            for remaining in (2, 1, 0):
                answer = client.should_rate_limit({"remote_address": "192.0.2.1"})
                self.assertEqual(answer.overall_code, Response.OK)
                self.assertEqual(answer.statuses[0].limit_remaining, remaining)
            answer = client.should_rate_limit({"remote_address": "192.0.2.1"})
            self.assertEqual(answer.overall_code, Response.OVER_LIMIT)
            status = answer.statuses[0]
            self.assertEqual(status.code, Response.OVER_LIMIT)
            self.assertEqual(status.current_limit.requests_per_unit, 3)
            self.assertEqual(status.current_limit.unit, Response.RateLimit.HOUR)
            self.assertTrue(1 <= status.duration_until_reset.seconds <= 3600)

class SlotsTest(unittest.TestCase):
    """Slots that calls hold. lent_slots_test.py has many of them."""

    RULES = """
rules:
  - {id: pair, of: concurrency, limit: 2}
  - {id: other, limit: 2, window: 1m}
"""

    def begin(self, *arguments):
        self.server = self.enterContext(start("--redis-deadline", "2s", *arguments,
                                              config=self.RULES))
        self.slots = self.enterContext(Slots(grpc_target(self.server)))

    def test_a_call_holds_a_slot_until_it_ends(self):
        self.begin()
        first, second = self.slots.hold("pair"), self.slots.hold("pair")
        self.assertTrue(first.is_allowed and second.is_allowed)
        third = self.slots.hold("pair")
        self.assertFalse(third.is_allowed)
        self.assertEqual((third.said.limit, third.end()), (2, grpc.StatusCode.OK))
        self.assertNotIn("token", acquire(self.server))
        self.assertEqual(first.end(), grpc.StatusCode.OK)
        second.call.cancel()
        wait_until(lambda: held(self.server, "pair") == 0, "both are released")
        last = self.slots.hold("pair", hold="100ms")
        self.assertEqual(last.status(), grpc.StatusCode.DEADLINE_EXCEEDED)

    def test_redis_holds_it_for_all_nodes(self):
        redis = self.enterContext(Redis())
        self.begin("--redis", redis.url)
        node = self.enterContext(Weir("--redis", redis.url, "--redis-deadline", "2s",
                                      config=self.RULES))
        for one in (self.server, node):
            wait_until(lambda one=one: held(one, "pair") == 0, "it shares")
        slots = [self.slots.hold("pair") for _ in range(2)]
        self.assertTrue(all(slot.is_allowed for slot in slots))
        self.assertNotIn("token", acquire(node))
        slots[0].end()
        wait_until(lambda: held(node, "pair") == 1, "it is released")
        self.slots.channel.close()
        wait_until(lambda: held(node, "pair") == 0, "it is released with its connection")

    def test_a_call_that_went_before_its_answer_leaves_no_slot(self):
        redis = self.enterContext(Redis())
        path = self.enterContext(Proxy(redis.port))
        self.begin("--redis", path.url)
        node = self.enterContext(Weir("--redis", redis.url, config=self.RULES))
        wait_until(lambda: held(self.server, "pair") == held(node, "pair") == 0, "they share")
        path.behave(Behaviour.PASS, delay_s=0.4)
        calls = [HeldSlot(self.slots, "pair") for _ in range(2)]
        wait_until(lambda: held(node, "pair") == 2, "Redis holds them")
        for call in calls:
            call.call.cancel()
        path.behave(Behaviour.PASS)
        wait_until(lambda: held(node, "pair") == 0, "they are released")

    def test_a_release_waits_for_a_redis_that_is_away(self):
        redis = self.enterContext(Redis())
        path = self.enterContext(Proxy(redis.port))
        self.begin("--redis", path.url)
        node = self.enterContext(Weir("--redis", redis.url, config=self.RULES))
        wait_until(lambda: held(self.server, "pair") == held(node, "pair") == 0, "they share")
        slot = self.slots.hold("pair")
        path.behave(Behaviour.CUT)
        self.assertEqual(slot.end(), grpc.StatusCode.OK)
        self.assertEqual(held(node, "pair"), 1)
        path.behave(Behaviour.PASS)
        wait_until(lambda: held(node, "pair") == 0, "it is released")

    def test_mistakes_are_named(self):
        self.begin()
        for rule, hold, says in (("pare", "30s", "no rule 'pare'"), ("other", "30s", "concurrency"),
                                 ("pair", "2d", "24h")):
            slot = HeldSlot(self.slots, rule, hold=hold)
            self.assertEqual(slot.status(), grpc.StatusCode.INVALID_ARGUMENT)
            self.assertIn(says, slot.call.details())

    def test_a_drain_ends_it(self):
        self.begin()
        slot = self.slots.hold("pair")
        self.assertTrue(slot.is_allowed)
        self.assertEqual(self.server.stop(), 0)
        self.assertEqual(slot.status(), grpc.StatusCode.UNAVAILABLE)


class OnePort(unittest.TestCase):
    def test_the_http_port_speaks_http_1_and_2_and_grpc(self):
        with start() as server:
            with Client(f"127.0.0.1:{server.port}") as client:
                answer = client.should_rate_limit({"remote_address": "192.0.2.1"})
                self.assertEqual(answer.statuses[0].limit_remaining, 2)
            for options, version in (((), "1.1"), (("--http2-prior-knowledge",), "2")):
                output = curl(*options, "-w", "|%{http_version}", server.url + "/health")
                body, _, spoken = output.rpartition("|")
                self.assertIn('"status":"ok"', body)
                self.assertEqual(spoken, version)

    def test_a_large_page_passes_through_the_window(self):
        with start() as server:
            page = curl("--http2-prior-knowledge", server.url + "/openapi.json")
            self.assertEqual(page, curl(server.url + "/openapi.json"))


class HealthAndReflection(unittest.TestCase):
    def test_a_watch_hears_of_the_drain(self):
        with start() as server, Client(grpc_target(server)) as client:
            watch = client.watch_health()
            self.assertEqual(next(watch).status, health.HealthCheckResponse.SERVING)
            server.begin_drain()
            self.assertEqual(next(watch).status, health.HealthCheckResponse.NOT_SERVING)
            with self.assertRaises(grpc.RpcError) as caught:
                next(watch)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAVAILABLE)
            self.assertEqual(server.wait(), 0)

    def test_reflection_lists_the_services(self):
        with start() as server, Client(grpc_target(server)) as client:
            call = client.channel.stream_stream(
                "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                request_serializer=reflection.ServerReflectionRequest.SerializeToString,
                response_deserializer=reflection.ServerReflectionResponse.FromString)
            request = reflection.ServerReflectionRequest(list_services="")
            answers = list(call(iter([request]), timeout=DEADLINE_S))
            names = [service.name for service in answers[0].list_services_response.service]
            self.assertIn("envoy.service.ratelimit.v3.RateLimitService", names)


class Age(unittest.TestCase):
    def test_an_old_connection_is_closed_in_peace(self):
        with start(config="listen: {http2_age_max: 1s}") as server, \
                Client(grpc_target(server)) as client:
            watch = client.watch_health()
            next(watch)
            with self.assertRaises(grpc.RpcError) as caught:
                list(watch)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAVAILABLE)
            self.assertEqual(client.check_health(), health.HealthCheckResponse.SERVING)


class Drain(unittest.TestCase):
    def test_no_call_is_lost_when_the_server_stops(self):
        with start() as server, Client(grpc_target(server)) as client:
            calls = client.channel.unary_unary(
                "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
                request_serializer=rls.RateLimitRequest.SerializeToString,
                response_deserializer=Response.FromString)
            request = rls.RateLimitRequest(domain="edge")
            request.descriptors.add().entries.add(key="path", value="/")
            under_way = [calls.future(request, timeout=DEADLINE_S, wait_for_ready=True)
                         for _ in range(100)]
            for future in under_way:
                self.assertEqual(future.result().overall_code, Response.OK)
            server.begin_drain()
            self.assertEqual(server.wait(), 0)


class BadBytes(unittest.TestCase):
    def test_http_1_at_the_grpc_port_is_closed_without_a_reply(self):
        with start() as server:
            host, _, port = grpc_target(server).partition(":")
            connection = http.client.HTTPConnection(host, int(port), timeout=DEADLINE_S)
            connection.request("GET", "/health")
            with self.assertRaises((http.client.RemoteDisconnected, ConnectionResetError)):
                connection.getresponse()
            connection.close()
            self.assertEqual(server.check(key="a", limit=1, window=60)["allowed"], True)


def curl(*arguments):
    done = subprocess.run(["curl", "-sS", "--max-time", str(DEADLINE_S), *arguments],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


if __name__ == "__main__":
    main()
