"""Other rate limiters under the load that Weir gets, through the protocol both speak.

Each server has one CPU; Envoy's reference service shares its own with the Redis it needs.
"""

import pathlib
import tempfile

import clients
import peers
import servers
from clients import figures, told
from results import Row
from suites import grpc, resp

LOAD = ("8 connections x 32 streams", ("-c", 8, "-m", 32))


def run(bench):
    return [row for measure in (envoy_ratelimit, gubernator, throttlecrab)
            for row in measure(bench)]


def envoy_ratelimit(bench):
    path = peers.program("service_cmd")
    if path is None:
        return []
    with tempfile.TemporaryDirectory(prefix="weir-bench-peers-") as folder:
        rules = pathlib.Path(folder, "rules.yaml")
        rules.write_text(grpc.RULES)
        body = pathlib.Path(folder, "request")
        body.write_bytes(grpc.framed(grpc.request("edge", grpc.ENTRIES)))
        with servers.weir_grpc(bench, rules) as weir, \
                peers.ratelimit(bench, path, grpc.RULES) as peer:
            runs = alternate(bench, "envoyproxy/ratelimit", {
                "weir": h2load(bench, weir, grpc.PATH, body),
                "peer": h2load(bench, peer, grpc.PATH, body)})
    return [row("ShouldRateLimit, " + LOAD[0], "envoyproxy/ratelimit with Redis", runs)]


def gubernator(bench):
    path = peers.program("gubernator")
    if path is None:
        return []
    with tempfile.TemporaryDirectory(prefix="weir-bench-peers-") as folder:
        rules = pathlib.Path(folder, "rules.yaml")
        rules.write_text(grpc.RULES)
        ours = pathlib.Path(folder, "ours")
        ours.write_bytes(grpc.framed(grpc.request("edge", grpc.ENTRIES)))
        theirs = pathlib.Path(folder, "theirs")
        theirs.write_bytes(grpc.framed(get_rate_limits("requests_per_min", "192.0.2.17")))
        with servers.weir_grpc(bench, rules) as weir, peers.gubernator(bench, path) as peer:
            runs = alternate(bench, "gubernator", {
                "weir": h2load(bench, weir, grpc.PATH, ours),
                "peer": h2load(bench, peer, "/pb.gubernator.V1/GetRateLimits", theirs)})
    return [row("One limit by gRPC, " + LOAD[0], "gubernator, GetRateLimits", runs)]


def throttlecrab(bench):
    path = peers.program("throttlecrab-server")
    if path is None:
        return []
    command = ("THROTTLE", clients.KEY, 999_999, 1_000_000, 60)
    with servers.weir_resp(bench) as weir, peers.throttlecrab(bench, path) as peer:
        measures = {name: lambda server=server: clients.redis_benchmark(
            bench, server, bench.seconds, resp.PIPELINE, command)
            for name, server in {"weir": weir, "peer": peer}.items()}
        runs = alternate(bench, "throttlecrab", measures)
    return [row(f"THROTTLE, {resp.PIPELINE} pipelined", "throttlecrab-server", runs)]


def alternate(bench, what, measures):
    for measure in measures.values():  # thrown away: everything is cold
        measure()
    return bench.alternate(what, measures)


def h2load(bench, server, path, body):
    return lambda: clients.h2load(
        bench, server, bench.seconds, *LOAD[1], "-d", body, "-H",
        "content-type: application/grpc", "-H", "te: trailers", server.url + path)


def row(what, peer, runs):
    weir, other = figures(runs["weir"]), figures(runs["peer"])
    ratio = weir["rate"] / other["rate"]
    shown = f"{ratio:.1f} ({weir['per_cpu'] / other['per_cpu']:.1f} by CPU time)"
    return Row(what, told(weir), f"{peer}: {told(other)}", shown, "", None,
               {"weir": runs["weir"], "yardstick": runs["peer"]})


def get_rate_limits(name, key):
    """GetRateLimitsReq of one RateLimitReq: name, unique_key, hits, limit, duration in ms."""
    limit = (grpc.field(1, name) + grpc.field(2, key) + varint(3, 1) +
             varint(4, 1_000_000_000) + varint(5, 60_000))
    return grpc.field(1, limit)


def varint(number, value):
    encoded = bytearray([number << 3])
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
