#!/usr/bin/python3
"""gRPC by Python's own client, with stubs generated from the .proto files; HTTP/2 by curl."""

import atexit
import http.client
import importlib
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import grpc

from weir_server import DEADLINE_S, ROOT, Weir, main

PROTO_ROOT = ROOT / "src" / "proto" / "rls"
FOLDER = tempfile.TemporaryDirectory(prefix="weir-grpc-")  # stubs, and a configuration
atexit.register(FOLDER.cleanup)


def generate_stubs():
    files = [str(path.relative_to(PROTO_ROOT)) for path in PROTO_ROOT.rglob("*.proto")]
    subprocess.run(["protoc", f"-I{PROTO_ROOT}", f"--python_out={FOLDER.name}", *files], check=True)
    # Ours are named as the package `grpc` is, which Python would look into: it shall look
    # into both.
    grpc.__path__.append(str(pathlib.Path(FOLDER.name, "grpc")))
    sys.path.insert(0, FOLDER.name)


generate_stubs()
rls = importlib.import_module("envoy.service.ratelimit.v3.rls_pb2")
health = importlib.import_module("grpc.health.v1.health_pb2")
reflection = importlib.import_module("grpc.reflection.v1.reflection_pb2")
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
