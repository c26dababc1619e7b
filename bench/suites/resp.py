"""`weir serve --resp` on one core: CL.THROTTLE against redis-server, the same clients."""

import clients
import harness
import servers
from results import Row

PIPELINE = 32
PING_GOAL = 1.0
SCRIPT_GOAL = 10.0

# So much that nothing is denied: each check writes its key's counter.
CAPACITY = 1_000_000
PERIOD_S = 60
THROTTLE = ("CL.THROTTLE", clients.KEY, CAPACITY - 1, CAPACITY, PERIOD_S)

# What one would write for Redis without Weir: a token bucket as a hash, in Redis's time.
TOKEN_BUCKET = """
local capacity, rate, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local state = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens, at = tonumber(state[1]) or capacity, tonumber(state[2]) or now
tokens = math.min(capacity, tokens + math.max(0, now - at) * rate)
local allowed = tokens >= cost
if allowed then tokens = tokens - cost end
redis.call('HSET', KEYS[1], 'tokens', tokens, 'at', now)
redis.call('PEXPIRE', KEYS[1], math.ceil(capacity / rate * 1000))
return {allowed and 0 or 1, capacity, math.floor(tokens)}
"""


def run(bench):
    with servers.weir_resp(bench) as weir, servers.redis(bench) as redis:
        digest = harness.run(["redis-cli", "-p", str(redis.port), "SCRIPT", "LOAD", TOKEN_BUCKET])
        script = ("EVALSHA", digest.strip(), 1, clients.KEY, CAPACITY, CAPACITY / PERIOD_S, 1)
        commands = {"weir": (weir, THROTTLE), "ping": (redis, ("PING",)), "script": (redis, script)}
        by_redis = compare(bench, "redis-benchmark", clients.redis_benchmark, commands)
        by_weir = compare(bench, "weir-bench", clients.weir_bench_resp, commands)
    rows = []
    for client, runs in (("redis-benchmark", by_redis), ("weir-bench", by_weir)):
        what = f"CL.THROTTLE, {PIPELINE} pipelined, by {client}"
        is_asked_for = client == "redis-benchmark"
        rows += [row(what, runs["weir"], "redis-server PING", runs["ping"], PING_GOAL,
                     is_asked_for),
                 row(what, runs["weir"], "redis-server, token bucket by EVALSHA", runs["script"],
                     SCRIPT_GOAL, is_asked_for)]
    return rows


def compare(bench, what, client, commands):
    measures = {name: lambda server=server, command=command:
                client(bench, server, bench.seconds, PIPELINE, command)
                for name, (server, command) in commands.items()}
    for measure in measures.values():  # thrown away: everything is cold
        measure()
    return bench.alternate(f"resp by {what}", measures)


def row(what, weir_runs, yardstick, other_runs, goal, has_goal):
    weir, other = clients.figures(weir_runs), clients.figures(other_runs)
    # By CPU time: either client is what limits one of the two.
    ratio = weir["per_cpu"] / other["per_cpu"]
    shown = f"{weir['rate'] / other['rate']:.2f} ({ratio:.2f} by CPU time)"
    return Row(what, clients.told(weir), f"{yardstick}: {clients.told(other)}", shown,
               f"at least {goal}" if has_goal else "", ratio >= goal if has_goal else None,
               {"weir": weir_runs, "yardstick": other_runs})
