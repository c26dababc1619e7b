"""Limits inside nginx: what one request costs, by CPU time and by instructions.

The same nginx with the same content, one worker: without a limit, with limit_req, with our module
off and on, with a counter in Lua, and with auth_request to `weir serve`. Instructions are counted
by cachegrind, which runs nginx as one process: what many requests take more than few. So they do
not depend on the load of the machine, nor on what its processor lets one count.

Then the same in front of an origin, and with a Redis in each mode.
"""

import contextlib
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

import clients
import harness
import servers
from results import Row

MODULES = pathlib.Path("/usr/lib/nginx/modules")
LUA = MODULES / "ngx_http_lua_module.so"

RULES = """
rules:
  - id: all
    match: {}
    key: client
    limit: 5000000
    window: 1m
"""
BLOCKING = RULES.replace("limit: 5000000", "limit: 0") + "    on_deny: {block: 1h}\n"

# For each of 100,000 keys, of which few come often.
RULES_BY_KEY = RULES.replace("key: client", "key: query:k").replace("5000000", "1000000")
GETS_BY_KEY = ("--get", f"/?k={clients.KEY}", "--distribution", "zipf")

# A fixed window of the usual shape: a counter with an end, and two fields.
LUA_COUNTER = """
    access_by_lua_block {
      local limit, window = 5000000, 60
      local counters = ngx.shared.counters
      local key = ngx.var.binary_remote_addr
      local count = counters:incr(key, 1, 0, window)
      if count > limit then return ngx.exit(429) end
      ngx.header["X-RateLimit-Limit"] = limit
      ngx.header["X-RateLimit-Remaining"] = limit - count
    }
"""

# Goals, of a request more than without a limit.
INSTRUCTIONS_MAX = 3_500
INSTRUCTIONS_BLOCKED_MAX = 1_500
MICROSECONDS_MAX = 2.0
OF_LUA_MAX = 0.5
PROXIED_MIN = 0.95       # requests in a second of nginx's CPU time, of those without a limit
SHARED_MICROSECONDS_MAX = 1.0  # leased and async, more than local

FEW, MANY = 200, 2_200


class Contender:
    """One way to limit: what nginx's configuration says in its places."""

    def __init__(self, head="", http="", server="", place="", rules="", content="empty_gif"):
        self.head, self.http, self.server, self.place = head, http, server, place
        self.rules, self.content = rules, content

    def write(self, folder, port, master):
        path = pathlib.Path(folder)
        (path / "rules.yaml").write_text(self.rules)
        text = servers.nginx_config(folder, port, f"{self.place} {self.content};", master,
                                    self.head, self.http, self.server)
        (path / "nginx.conf").write_text(text.replace("FOLDER", str(folder)))
        return [harness.require("nginx"), "-p", folder, "-c", path / "nginx.conf",
                "-e", path / "error.log"]


def with_module(bench):
    module = bench.weir.parent / "nginx" / "ngx_http_weir_module.so"
    return {"head": f"load_module {module};",
            "http": "weir_zone weir 16m; weir_config FOLDER/rules.yaml;", "place": "weir on;"}


def contenders(bench, weir):
    ours = with_module(bench)
    found = {
        "nothing": Contender(),
        "limit_req": Contender(http="limit_req_zone $binary_remote_addr zone=z:10m "
                                    "rate=1000000r/s;",
                               place="limit_req zone=z burst=1000000 nodelay;"),
        "the module, off": Contender(**ours | {"place": ""}, rules=RULES),
        "the module": Contender(**ours, rules=RULES),
        "the module, denied from a block": Contender(**ours, rules=BLOCKING),
        "auth_request to weir serve": Contender(
            http=f"upstream weir {{ server 127.0.0.1:{weir.port}; keepalive 64; }}",
            server="location = /auth { internal; proxy_pass http://weir/auth/nginx; "
                   "proxy_http_version 1.1; proxy_set_header Connection ''; "
                   "proxy_pass_request_body off; proxy_set_header Content-Length ''; "
                   "proxy_set_header X-Original-Method $request_method; "
                   "proxy_set_header X-Original-URI $request_uri; "
                   "proxy_set_header X-Original-Host $http_host; "
                   "proxy_set_header X-Real-IP $remote_addr; }",
            place="auth_request /auth;"),
    }
    if LUA.exists():
        found["a counter in Lua"] = Contender(
            head=f"load_module {MODULES}/ndk_http_module.so; load_module {LUA};",
            http="lua_shared_dict counters 16m;", place=LUA_COUNTER)
    return found


@contextlib.contextmanager
def running(bench, contender, prefix=(), master="on"):
    port = harness.free_port()
    with tempfile.TemporaryDirectory(prefix="weir-bench-nginx-") as folder:
        pathlib.Path(folder).chmod(0o755)
        command = [*prefix, *contender.write(folder, port, master)]
        with servers.started(bench.on_server_cpu(command), port) as server:
            yield server


@contextlib.contextmanager
def weir_with_rules(bench):
    port = harness.free_port()
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as rules:
        rules.write(RULES)
        rules.flush()
        command = [bench.weir, "serve", "--http", f"127.0.0.1:{port}", "--threads", "1",
                   "--config", rules.name]
        with servers.started(bench.on_server_cpu(command), port) as server:
            yield server


def run(bench):
    with weir_with_rules(bench) as weir:
        all_of_them = contenders(bench, weir)
        instructions = {name: instructions_of(bench, name, contender)
                        for name, contender in all_of_them.items()}
        times = cpu_times(bench, all_of_them)
    return [*rows(instructions, times), proxied(bench), *with_redis(bench)]


# ---- instructions ----------------------------------------------------------------------


def instructions_of(bench, name, contender):
    """Each contender's share of nginx alone, a request."""
    print(f"nginx, instructions: {name}", file=sys.stderr)
    counts = {number: counted(bench, contender, number) for number in (FEW, MANY)}
    return (counts[MANY] - counts[FEW]) / (MANY - FEW)


def counted(bench, contender, requests):
    with tempfile.NamedTemporaryFile() as report:
        prefix = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "-q",
                  f"--cachegrind-out-file={report.name}"]
        with running(bench, contender, prefix, master="off") as server:
            ask(server, requests)
            server.process.send_signal(signal.SIGQUIT)
            server.process.wait(servers.STOP_TIMEOUT_S)
        found = re.search(r"^summary: (\d+)", pathlib.Path(report.name).read_text(), re.MULTILINE)
        return int(found[1])


def ask(server, requests):
    """By one connection, one after the other."""
    done = subprocess.run(
        ["curl", "-s", "-o", "/dev/null", f"{server.url}/[1-{requests}]"],
        timeout=harness.RUN_TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise SystemExit(f"curl against {server.url} failed with {done.returncode}")


# ---- CPU time --------------------------------------------------------------------------


def cpu_times(bench, all_of_them):
    """Microseconds of nginx a request; of those that let all pass."""
    with contextlib.ExitStack() as stack:
        measures = {}
        for name, contender in all_of_them.items():
            server = stack.enter_context(running(bench, contender))
            if is_open(server):
                measures[name] = lambda server=server: clients.weir_bench(
                    bench, server, bench.seconds, *clients.GETS)
        return microseconds(warm_alternate(bench, "nginx", measures))


def warm_alternate(bench, what, measures):
    for measure in measures.values():
        measure()
    return bench.alternate(what, measures)


def microseconds(samples):
    return {name: harness.median([run["server_cpu"] / run["requests_per_s"] for run in runs]) * 1e6
            for name, runs in samples.items()}


def is_open(server):
    try:
        with urllib.request.urlopen(server.url, timeout=servers.STOP_TIMEOUT_S):
            return True
    except urllib.error.HTTPError:
        return False


# ---- in front of an origin -------------------------------------------------------------


def proxied(bench):
    with servers.nginx(bench) as origin, contextlib.ExitStack() as stack:
        upstream = f"upstream origin {{ server 127.0.0.1:{origin.port}; keepalive 64; }}\n"
        proxy = ("proxy_http_version 1.1; proxy_set_header Connection ''; "
                 "proxy_pass http://origin")
        ours = with_module(bench)
        ours["http"] += upstream
        found = {"nothing": Contender(http=upstream, content=proxy),
                 "the module": Contender(**ours, rules=RULES, content=proxy)}
        measures = {name: lambda server=stack.enter_context(running(bench, contender)):
                    clients.weir_bench(bench, server, bench.seconds, *clients.GETS)
                    for name, contender in found.items()}
        samples = warm_alternate(bench, "nginx, proxy_pass", measures)
    times = microseconds(samples)
    ratio = times["nothing"] / times["the module"]
    return Row("the module, proxy_pass to nginx", f"{times['the module']:.1f} µs",
               f"without a limit: {times['nothing']:.1f} µs", f"{ratio:.2f}",
               f"at least {PROXIED_MIN}", ratio >= PROXIED_MIN, samples)


# ---- with a Redis ----------------------------------------------------------------------


def with_redis(bench):
    """One nginx for each mode; Redis has the client's CPU, and goes first there."""
    with contextlib.ExitStack() as stack:
        redis = stack.enter_context(servers.redis(bench, bench.on_client_cpu))
        measures = {}
        for mode in ("local", "strict", "leased", "async"):
            server = stack.enter_context(running(bench, sharing(bench, redis, mode)))
            if mode != "local":
                harness.wait_until(lambda: servers.metric(
                    f"{server.url}/weir/metrics", "weir_store_up") == 1, "nginx shares")
            measures[mode] = lambda server=server: counting_trips(
                redis, lambda: clients.weir_bench(bench, server, bench.seconds, *GETS_BY_KEY))
        samples = warm_alternate(bench, "nginx with a Redis", measures)
    times = microseconds(samples)
    table = []
    for mode in ("strict", "leased", "async"):
        more = times[mode] - times["local"]
        figure, goal, met = f"{more:+.1f} µs", "", None
        if mode == "strict":
            shared = harness.median([run["requests"] / run["trips"] for run in samples[mode]])
            figure += f", {shared:.0f} requests a trip"
        else:
            goal = f"at most +{SHARED_MICROSECONDS_MAX:.0f} µs"
            met = more <= SHARED_MICROSECONDS_MAX
        table.append(Row(f"the module, {mode}, keys by Zipf's law, more than local", figure,
                         f"local: {times['local']:.1f} µs", "", goal, met,
                         {mode: samples[mode], "local": samples["local"]}))
    return table


def sharing(bench, redis, mode):
    ours = with_module(bench)
    store = (f"store: {{redis: 'redis://127.0.0.1:{redis.port}', mode: {mode}, deadline: 2s}}\n"
             if mode != "local" else "")
    return Contender(**ours, rules=store + RULES_BY_KEY,
                     server="location /weir/ { weir_admin; }")


def counting_trips(redis, measure):
    """Reads of the Redis: what comes in one read has made one trip."""
    def reads():
        stats = harness.run(["redis-cli", "-p", str(redis.port), "INFO", "stats"])
        return int(re.search(r"total_reads_processed:(\d+)", stats)[1])

    before = reads()
    report = measure()
    return {**report, "trips": max(1, reads() - before)}


# ---- the table -------------------------------------------------------------------------


def rows(instructions, times):
    base = instructions["nothing"]
    table = [Row("nginx without a limit, a request",
                 f"{base:,.0f} instructions, {times['nothing']:.1f} µs")]
    lua = instructions.get("a counter in Lua")
    for name, count in instructions.items():
        if name == "nothing":
            continue
        more = count - base
        figure = f"{more:+,.0f} instructions"
        if name in times:
            figure += f", {times[name] - times['nothing']:+.1f} µs"
        goal, met, ratio = goal_of(name, more, times, lua and lua - base)
        table.append(Row(f"{name}, more than that", figure, "", ratio, goal, met,
                         {"instructions": count, "cpu_us": times.get(name)}))
    return table


def goal_of(name, more, times, lua):
    if name == "the module, denied from a block":
        return (f"at most +{INSTRUCTIONS_BLOCKED_MAX:,}", more <= INSTRUCTIONS_BLOCKED_MAX, "")
    if name != "the module":
        return "", None, ""
    met = more <= INSTRUCTIONS_MAX and times[name] - times["nothing"] <= MICROSECONDS_MAX
    goal = f"at most +{INSTRUCTIONS_MAX:,}, +{MICROSECONDS_MAX:.0f} µs"
    if not lua:
        return goal, met, ""
    return (f"{goal}, {OF_LUA_MAX} of Lua", met and more <= OF_LUA_MAX * lua,
            f"{more / lua:.2f} of Lua's instructions")
