"""A Redis dies that has just denied a key: no node gives out again what one of them has used up.

The Worker has no Redis.
"""

import contextlib
import functools

import hosts
from redis_world import Redis
from scene import Attack
from weir_server import wait_until

NODES = 3
LIMIT = 500
CALM = 30  # probes in a row, so that each worker of a node has had some
MODES = ("strict", "leased")
RULES = """
rules:
  - {id: probe, match: {path: /probe}, limit: 1000000, window: 366d, on_store_failure: deny}
""" + "".join(f"""
  - {{id: {mode}, match: {{path: /{mode}}}, limit: LIMIT, window: 366d, mode: {mode},
      algorithm: token_bucket, cost: "header:X-Cost"}}
""" for mode in MODES) + """
store: {redis: URL, deadline: 10s}
"""


def has_redis(nodes, status):
    return all(ask(b"/probe") == status for ask in nodes for _ in range(CALM))


def passed(ask, mode, times, cost=1):
    """Units."""
    fields = [(b"X-Cost", b"%d" % cost)]
    return cost * sum(ask(b"/" + mode.encode(), fields) == 200 for _ in range(times))


def used_up_and_cut_off(host, scene):
    if lacking := hosts.lacks(host):
        return scene.note(f"without {lacking}")
    limit = scene.some(LIMIT, at_least=30)
    with Redis() as redis, contextlib.ExitStack() as stack:
        rules = RULES.replace("LIMIT", str(limit)).replace("URL", redis.url)
        nodes = [stack.enter_context(hosts.serving(host, rules)) for _ in range(NODES)]
        wait_until(lambda: has_redis(nodes, 200), "all nodes share")
        together = [passed(nodes[0], mode, limit + 1)
                    + sum(passed(ask, mode, 3) for ask in nodes[1:]) for mode in MODES]
        redis.kill()
        wait_until(lambda: has_redis(nodes, 429), "all nodes are alone")
        # Nodes remember for a second that Redis denied a cost of 1.
        alone = [sum(passed(ask, mode, limit // 2, cost=2) for ask in nodes) for mode in MODES]
    for mode, before, after in zip(MODES, together, alone):
        # In mode leased other nodes may hold units, which they spend when Redis is gone; but for
        # a last one of each, which no cost of 2 can spend.
        spent, single = (before, 0) if mode == "strict" else (before + after, NODES)
        scene.claim(spent + single >= 0.9 * limit, f"only {spent} of {limit} pass in mode {mode}")
        scene.claim(before + after <= limit, f"{before} and then {after} of {limit} in {mode}")
    return scene.note(f"{together} of {limit}, {alone} more without Redis")


ATTACKS = [Attack(f"a Redis that dies after it has denied: {host}",
                  functools.partial(used_up_and_cut_off, host))
           for host in ("server", "nginx", "nginx over HTTP/2", "gateway")]
