"""Instructions a request, by callgrind: of the library, of each door, and the least there can be.

Rows of bench/counted are of one thread and of bytes in memory; those of `weir serve` are of the
whole process, without the kernel. Each row has its figure of the run before, whichever that was.
"""

import contextlib
import json
import pathlib
import socket
import subprocess
import sys
import tempfile

import clients
import counting
import harness
import servers
from results import Row
from suites import nginx

ROOT = pathlib.Path(__file__).resolve().parents[2]
FLOOR = "floor: a sliding window by hand"
CLOCK = "SystemClock::now"
# What each row should come to. Those of bench/counted read a clock that counts; what the machine's
# takes, which moves with the load, is a row of its own.
LIBRARY_GOALS = {"hit, fixed_window": 350, "hit, sliding_window": 350, "hit, token_bucket": 350,
                 "hit, sliding_window, 10^9 a minute": 500}
SERVE_GOALS = {"hit, fixed_window": 300, "hit, sliding_window": 300, "hit, token_bucket": 300}
FEW, MANY = 1_600, 17_600
# Until all are answered, however long that takes here.
LOAD = ("--keys", "64", "--duration", f"{harness.RUN_TIMEOUT_S}s", "--json")


def run(bench):
    before = figures_before()
    rows = []
    for kind, goals, program in (
            ("installed library", LIBRARY_GOALS, installed_library()),
            ("installed library, optimized with the program", {}, installed_library("-flto")),
            ("serve's build", SERVE_GOALS, bench.weir.parent / "bench/counted/counted")):
        print(f"instructions: {kind}", file=sys.stderr)
        rows += rows_of(kind, goals, program)
    for number, door in enumerate(doors(bench), 1):
        print(f"instructions: {door[0]}, door {number} of {len(doors(bench))}", file=sys.stderr)
        rows.append(door_row(bench, *door))
    rows += nginx_rows(bench)
    for row in rows:
        row.yardstick = ", ".join(filter(None, [row.yardstick, before.get(row.what)]))
    return rows


def figures_before():
    path = ROOT / "bench" / "results" / "latest.json"
    suite = json.loads(path.read_text()).get("instructions", {"rows": []})
    return {row["what"]: f"before: {row['figure']}" for row in suite["rows"]}


# ---- bench/counted ----------------------------------------------------------------------


def installed_library(*options):
    """bench/counted's rows of the library, linked with what `cmake --install` puts there."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-installed-"))
    harness.run(["cmake", "--install", ROOT / "build/release", "--prefix", folder,
                 "--component", "libweir-dev"])
    (folder / "no_doors.cc").write_text(
        '#include "counted.h"\nstd::vector<weir::counted::Row> weir::counted::door_rows() '
        "{ return {}; }\n")
    sources = [ROOT / "bench/counted" / f"{name}.cc" for name in ("counted", "floor",
                                                                  "library_rows")]
    library = next(folder.rglob("libweir.a"))
    harness.run(list(map(str, [
        "g++", "-O2", "-std=c++20", "-mcx16", "-DXXH_INLINE_ALL", *options,
        f"-I{folder}/include", f"-I{ROOT}/bench/counted", *sources, folder / "no_doors.cc", library,
        "-pthread", "-o", folder / "counted"])))
    return folder / "counted"


def rows_of(kind, goals, program):
    counts = {**counting.count_rows(program), **counting.count_rows(program, [CLOCK])}
    totals = {name: total for name, (total, _) in counts.items()}
    remembering = {name: costs for name, *costs in counting.remembering(totals)}
    rows = []
    for name, (total, functions) in counts.items():
        goal = goals.get(name)
        judged = (f"{total / totals[FLOOR]:.1f} floors" if name.startswith("hit,") else "",
                  f"at most {goal}" if goal else "", total <= goal if goal else None)
        if name in remembering:
            more, most = remembering[name]
            judged = f"{more:+.1%} for it", f"at most {most:+.0%}", more <= most
        rows.append(Row(f"{kind}: {name}", shown(total), "", *judged,
                        {"functions": dearest(functions)}))
    return rows


def dearest(functions):
    return {name: round(cost) for name, cost in functions.items() if cost >= 1}


def shown(instructions):
    return f"{instructions:,.0f} instructions"


# ---- weir serve -------------------------------------------------------------------------


def doors(bench):
    """(what, the goal, options of `weir serve`, what asks a server so many times)"""
    check = ("http", "--server", "URL", *clients.CHECKS)
    return [
        ("CL.THROTTLE x 32", 1_500, ("--resp",),
         ("resp", "--server", "PLACE", "--pipeline", "32", "--", *THROTTLE)),
        ("POST /check x 16", 4_000, ("--http",), (*check, "--pipeline", "16")),
        ("POST /check, one at a time", 4_600, ("--http",), check),
        ("GET /auth x 16", 5_500, ("--http", "--config"), ("AUTH",)),
        ("ShouldRateLimit, 8 x 32 streams", 12_000, ("--grpc",),
         ("grpc", "--server", "PLACE", "--connections", "8", "--pipeline", "32")),
        ("strict CL.THROTTLE x 32, the node's part", 2_800, ("--resp", "--redis"),
         ("resp", "--server", "PLACE", "--pipeline", "32", "--", *THROTTLE)),
        ("POST /check, one at a time, by TLS", None, ("--http-tls",), ("TLS",)),
    ]


# What a door leaves to others, which is shown apart.
LIBRARIES = ("nghttp2", "protobuf", "libssl", "libcrypto")
THROTTLE = ("CL.THROTTLE", clients.KEY, "999999", "1000000", "60")


def door_row(bench, what, goal, options, client):
    few, many = (served(bench, options, client, number) for number in (FEW, MANY))
    figure, functions = counting.difference(few, many, MANY - FEW)
    shares = [(library, sum(cost for function, cost in functions.items() if library in function))
              for library in LIBRARIES]
    return Row(f"weir serve: {what}", shown(figure),
               ", ".join(f"of {library} {cost:,.0f}" for library, cost in shares if cost > 100), "",
               f"at most {goal:,}" if goal else "", figure <= goal if goal else None,
               {"functions": dearest(functions)})


def served(bench, options, client, requests):
    port = harness.free_port()
    place = f"127.0.0.1:{port}"
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        command = [*counting.CALLGRIND, f"--callgrind-out-file={folder}/out", bench.weir, "serve",
                   "--threads", "1"]
        if options[0] not in ("--http", "--http-tls"):
            command += ["--http", "127.0.0.1:0"]
        command += [options[0], place]
        if "--grpc" in options:
            (folder / "rules.yaml").write_text(RULES)
            command += ["--envoy-config", folder / "rules.yaml"]
        if "--config" in options:
            (folder / "rules.yaml").write_text(nginx.RULES)
            command += ["--config", folder / "rules.yaml"]
        if "--redis" in options:
            redis = stack.enter_context(servers.redis(bench))
            command += ["--redis", f"redis://127.0.0.1:{redis.port}", "--mode", "strict",
                        "--redis-deadline", "10s"]
        if "--http-tls" in options:
            command += tls_options(folder)
        with servers.started(command, port, counting.pinned_environment()) as server:
            ask(bench, client, place, requests)
            server.process.terminate()
            server.process.wait(servers.STOP_TIMEOUT_S)
        return counting.read_costs(folder / "out")[1]


RULES = """
domain: edge
descriptors:
  - key: remote_address
    rate_limit: {unit: minute, requests_per_unit: 1000000}
"""


AUTH = (b"GET /auth HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nX-Forwarded-Method: GET\r\n"
        b"X-Forwarded-Host: example.com\r\nX-Forwarded-Uri: /api/v1/items\r\n"
        b"X-Forwarded-For: 10.20.0.1\r\n\r\n")


def ask_auth(place, requests, at_a_time=16):
    """As a proxy says it, which weir-bench cannot."""
    with socket.create_connection(place.split(":"), harness.RUN_TIMEOUT_S) as connection:
        for _ in range(requests // at_a_time):
            connection.sendall(AUTH * at_a_time)
            replies = b""
            while replies.count(b"\r\n\r\n") < at_a_time:
                replies += connection.recv(1 << 16)
            if any(replies.count(part) != at_a_time for part in (b"1.1 200 OK", b"\nRateLimit:")):
                raise SystemExit(f"a request was not allowed:\n{replies.decode()}")


def ask(bench, client, place, requests):
    if client == ("AUTH",):
        ask_auth(place, requests)
        return
    if client == ("TLS",):
        body = '{"key":"k","limit":1000000,"window":60}'
        done = subprocess.run(["curl", "-sk", "--http1.1", "-o", "/dev/null", "-d", body,
                               f"https://{place}/check?[1-{requests}]"],
                              timeout=counting.TIMEOUT_S, check=False)
        if done.returncode != 0:
            raise SystemExit(f"curl failed with {done.returncode}")
        return
    words = [{"URL": f"http://{place}", "PLACE": place}.get(word, word) for word in client]
    at = words.index("--server") + 2
    connections = () if "--connections" in words else ("--connections", 1)
    answered = harness.run_json(list(map(str, [bench.weir_bench, *words[:at], *LOAD, *connections,
                                               "--requests", requests, *words[at:]])))
    if answered["allowed"] != requests:
        raise SystemExit(f"{answered['allowed']} of {requests} requests were allowed")


def tls_options(folder):
    harness.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                 "-nodes", "-keyout", f"{folder}/key", "-out", f"{folder}/certificate", "-days",
                 "1", "-subj", "/CN=localhost"])
    return ["--tls-certificate", folder / "certificate", "--tls-key", folder / "key"]


# ---- inside nginx -----------------------------------------------------------------------


def nginx_rows(bench):
    with nginx.weir_with_rules(bench) as weir:
        contenders = nginx.contenders(bench, weir)
        base = nginx.instructions_of(bench, "nothing", contenders["nothing"])
        return [Row(f"inside nginx: {what}, more than without", f"{more:+,.0f} instructions", "",
                    "", f"at most +{goal:,}", more <= goal)
                for what, name, goal in (("allowed, five fields", "the module", 2_800),
                                         ("denied from a block", "the module, denied from a block",
                                          1_300))
                for more in [nginx.instructions_of(bench, name, contenders[name]) - base]]
