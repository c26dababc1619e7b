"""Other rate limiters under the load that Weir gets: servers through the protocol both speak,
libraries in a process of their own, limits of proxies inside those.

Each server has one CPU; Envoy's reference service shares its own with the Redis it needs. Figures
of libraries are CPU time of the process. Packages are the newest; a row says which, and of when.
"""

import contextlib
import datetime
import gzip
import json
import pathlib
import re
import tempfile

import clients
import harness
import peers
import servers
from clients import figures, told
from results import Row
from suites import grpc, library, nginx, resp, wasm

LOAD = ("8 connections x 32 streams", ("-c", 8, "-m", 32))


def run(bench):
    return [row for measure in (envoy_ratelimit, gubernator, throttlecrab, in_process, in_node,
                                in_proxies)
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


def in_process(bench):
    """Ours as `./dev bench library` measures it; theirs by programs like it."""
    rows = []
    for made in filter(None, (find() for find in (peers.in_rust, peers.in_go, peers.in_java))):
        command, versions, program = made
        runs = bench.alternate(f"in process: {', '.join(versions)}", {
            "weir": lambda: library.measure(bench, "token_bucket/100000"),
            "peer": lambda: harness.run_json(bench.on_all_cpus(command))}, rounds=3)
        ours = harness.median([run["hit"]["cpu_time"] - run["keys"]["cpu_time"]
                               for run in runs["weir"]])
        for name, version in versions.items():
            theirs = harness.median([run[name] - run["loop"] for run in runs["peer"]])
            rows.append(Row("`Limiter::hit`, token_bucket, 100,000 keys", f"{ours:.0f} ns",
                            f"{name} {version}, {newest_on(program)}: {theirs:.0f} ns",
                            f"{theirs / ours:.1f}", "", None, runs))
    return rows


def newest_on(path):
    """The day on which the newest version was asked for."""
    return f"newest on {datetime.date.fromtimestamp(path.stat().st_mtime)}"


def in_node(bench):
    cache = wasm.npm_cache()
    runs = bench.alternate("in node", {"all": lambda: wasm.measure(bench, cache)}, 3)["all"]
    rows = []
    for peer in (name for name, _ in wasm.PEERS if name in runs[0]):
        package = cache / "node_modules" / peer / "package.json"
        version = json.loads(package.read_text())["version"]
        row = wasm.compared(runs, peer, None, *wasm.ROUNDS[0])
        row.yardstick = row.yardstick.replace(
            f"{peer}'s", f"{peer} {version}, {newest_on(package)}, its")
        rows.append(row)
    return rows


# ---- inside proxies ----------------------------------------------------------------------

HAPROXY = """
global
  nbthread 1
  maxconn 4096
defaults
  mode http
  timeout client 1m
  timeout connect 1m
  timeout server 1m
frontend limited
  bind 127.0.0.1:{port}
  {limit}
  http-request return status 200 content-type "text/plain" string "ok"
backend keys
  stick-table type string len 32 size 200k expire 1m store http_req_rate(1m)
"""
STICK_TABLE = """http-request track-sc0 url_param(k) table keys
  http-request deny deny_status 429 if {{ sc_http_req_rate(0,keys) gt 1000000 }}"""


@contextlib.contextmanager
def haproxy(bench, limit):
    port = harness.free_port()
    with tempfile.NamedTemporaryFile("w", suffix=".cfg") as config:
        config.write(HAPROXY.format(port=port, limit=limit.format()))
        config.flush()
        command = [harness.require("haproxy"), "-db", "-f", config.name]
        with servers.started(bench.on_server_cpu(command), port) as server:
            yield server


def in_proxies(bench):
    """Microseconds of the proxy's CPU that a limit for each of 100,000 keys adds to a request."""
    ours = nginx.with_module(bench)
    with contextlib.ExitStack() as stack:
        found = {
            "nginx": nginx.running(bench, nginx.Contender()),
            "module": nginx.running(bench, nginx.Contender(**ours, rules=nginx.RULES_BY_KEY)),
            "limit_req": nginx.running(bench, nginx.Contender(
                http="limit_req_zone $arg_k zone=z:32m rate=1000000r/s;",
                place="limit_req zone=z burst=1000000 nodelay;")),
            "haproxy": haproxy(bench, ""),
            "stick table": haproxy(bench, STICK_TABLE)}
        measures = {name: lambda server=stack.enter_context(server): clients.weir_bench(
            bench, server, bench.seconds, *nginx.GETS_BY_KEY) for name, server in found.items()}
        runs = nginx.warm_alternate(bench, "inside proxies", measures)
    times = nginx.microseconds(runs)
    module = times["module"] - times["nginx"]
    rows = []
    for name, other in (("limit_req", "nginx"), ("stick table", "haproxy")):
        more = times[name] - times[other]
        rows.append(Row("a limit by key inside nginx, a request more than without",
                        f"{module:+.1f} µs", f"{name} of {version_of(other)}: {more:+.1f} µs", "",
                        "", None, {each: runs[each] for each in ("module", name, other)}))
    return rows


def version_of(package):
    """As Debian has it, with the day of its last change."""
    names = {"nginx": "nginx-light", "haproxy": "haproxy"}
    version = harness.run(["dpkg-query", "-W", "-f", "${Version}", names[package]])
    changed = pathlib.Path("/usr/share/doc", names[package], "changelog.Debian.gz")
    day = re.search(r"^ -- .*  (.*) [0-9:]{8}", gzip.decompress(changed.read_bytes()).decode(),
                    re.MULTILINE) if changed.exists() else None
    return f"{package} {version}" + (f" of {day[1]}" if day else "")


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
