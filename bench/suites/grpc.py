"""`weir serve --grpc` on one core: ShouldRateLimit against the same service on grpc++."""

import pathlib
import tempfile

import clients
import servers
from clients import figures, told
from results import Row

PATH = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
# How the load comes, and what is asked for, as a multiple of grpc++'s calls in a second of CPU
# time. Envoy has a connection for each of its threads; one connection is the hardest case.
LOADS = (("8 connections x 32 streams", 8, 32, 8.0), ("1 connection x 100 streams", 1, 100, 7.0))

RULES = """
domain: edge
descriptors:
  - key: remote_address
    descriptors:
      - key: path
        rate_limit: {unit: minute, requests_per_unit: 1000000000}
"""
ENTRIES = (("remote_address", "192.0.2.17"), ("path", "/api/v1/items"))


def run(bench):
    with tempfile.TemporaryDirectory(prefix="weir-bench-grpc-") as folder:
        body = pathlib.Path(folder, "request")
        body.write_bytes(framed(request("edge", ENTRIES)))
        rules = pathlib.Path(folder, "rules.yaml")
        rules.write_text(RULES)
        with servers.weir_grpc(bench, rules) as weir, servers.grpc_yardstick(bench) as yardstick:
            return [compare(bench, load, body, {"weir": weir, "grpc++": yardstick})
                    for load in LOADS]


def compare(bench, load, body, both):
    what, connections, streams, goal = load
    measures = {name: lambda server=server: clients.h2load(
        bench, server, bench.seconds, "-c", connections, "-m", streams, "-d", body,
        "-H", "content-type: application/grpc", "-H", "te: trailers", server.url + PATH)
        for name, server in both.items()}
    for measure in measures.values():  # thrown away: everything is cold
        measure()
    runs = bench.alternate(f"grpc, {what}", measures)
    return row(what, runs["weir"], runs["grpc++"], goal)


def row(what, weir_runs, other_runs, goal):
    """By CPU time: the client is slower than we are, and waiting costs nothing."""
    weir, other = figures(weir_runs), figures(other_runs)
    ratio = weir["per_cpu"] / other["per_cpu"]
    shown = f"{weir['rate'] / other['rate']:.2f} ({ratio:.2f} by CPU time)"
    return Row(f"ShouldRateLimit, {what}", told(weir), f"grpc++: {told(other)}", shown,
               f"at least {goal}", ratio >= goal, {"weir": weir_runs, "grpc++": other_runs})


def request(domain, entries):
    """A RateLimitRequest: field 1 is the domain, field 2 a descriptor of entries (1)."""
    descriptor = b"".join(field(1, field(1, key) + field(2, value)) for key, value in entries)
    return field(1, domain) + field(2, descriptor)


def field(number, value):
    value = value.encode() if isinstance(value, str) else value
    assert len(value) < 128
    return bytes([number << 3 | 2, len(value)]) + value


def framed(message):
    return b"\0" + len(message).to_bytes(4, "big") + message
