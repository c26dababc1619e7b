"""Breaks the Redis of two nodes under load, and counts what it does:
docs/internals/redis_faults.md.

    tests/e2e/faults.py [--long] [WORD ...]      ./dev faults builds the release first

Prints a table, a row for each fault and mode; with words, only of faults that have one of
them in their name. --long loads harder and longer, and adds faults of Redis over TLS. Each
row comes from two nodes that are asked all the while. Some keys are never over their limit: a
denial is wrong. Others are, one for each on_store_failure: what is admitted beyond the limit is
counted. Exit code 1 if a promise was not kept.
"""

import argparse
import contextlib
import dataclasses
import glob
import sys
import threading
import time
from typing import Callable

sys.dont_write_bytecode = True

from fleet import RESP_KEY, Fleet, is_shared, resp_load  # noqa: E402 (after the line above)
from redis_world import Behaviour, Cluster, Proxy, Redis, Sentinels, Tls  # noqa: E402
from resp_client import RespConnection  # noqa: E402
from weir_server import DEADLINE_S, get, wait_until  # noqa: E402

NODES = 2
MODES = ("strict", "leased", "async")
# Keys that go over their limit: the mode, and what its rule says of an outage.
CASES = tuple((mode, "deny") for mode in MODES) + (
    ("strict", "local"), ("leased", "local"), ("strict", "allow"))
DEADLINE_MS = 20
SYNC_S = 0.1
# A busy machine sends the last requests late, and does not wait for their answers. A check
# that hangs holds up its connection, and with it far more than this share of a load.
UNFINISHED_MAX = 0.05
# What a busy machine may add to what comes in a sync interval and a round trip.
SLACK_S = 0.4
# After that the last node is back, and has pushed what it admitted alone.
BACK_S = 2
LOOK_EVERY_S = 0.02


@dataclasses.dataclass(frozen=True)
class Size:
    rate: int  # requests a second of each load
    before_s: float
    during_s: float
    after_s: float

    @property
    def seconds(self):
        return self.before_s + self.during_s + self.after_s

    @property
    def limit(self):
        """That of the keys that go over it: reached after the fault, if it costs nothing."""
        return int(0.6 * NODES * self.rate * self.seconds)


SHORT = Size(rate=100, before_s=1, during_s=1.2, after_s=2.3)
LONG = Size(rate=300, before_s=5, during_s=10, after_s=15)


@dataclasses.dataclass
class Scene:
    """A Redis that can be broken. `heal` is None for what heals by itself."""

    urls: list  # of each node
    strike: Callable = lambda: None
    heal: Callable = None
    environments: list = None
    forgets: int = 0  # how often it loses all it has counted
    unsure_s: float = 0  # of how long it may lose what it has counted
    during_s: float = 0  # at least so long


@contextlib.contextmanager
def well():
    """What the machine itself does to latency."""
    with Redis() as redis:
        yield Scene([redis.url] * NODES)


@contextlib.contextmanager
def killed():
    with Redis() as redis:
        yield Scene([redis.url] * NODES, redis.kill, redis.start, forgets=1)


@contextlib.contextmanager
def stopped():
    with Redis() as redis:
        yield Scene([redis.url] * NODES, redis.pause, redis.resume, during_s=3)


@contextlib.contextmanager
def failed_over():
    with Sentinels() as sentinels:
        yield Scene([sentinels.url] * NODES, sentinels.master.kill, unsure_s=0.5)


@contextlib.contextmanager
def asked_to_fail_over():
    with Sentinels() as sentinels:
        def strike():
            first = sentinels.sentinels[0]
            since = time.monotonic()
            first.ask("SENTINEL", "FAILOVER", Sentinels.NAME)
            # The sentinels promote the replica, and look after a second whether it worked, or
            # later on a busy machine. Until then the old master takes writes, which are lost.
            wait_until(lambda: first.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", Sentinels.NAME)[1]
                       != str(sentinels.master.port).encode(), "the replica is the master")
            scene.unsure_s = time.monotonic() - since + 0.5
        scene = Scene([sentinels.url] * NODES, strike)
        yield scene


@contextlib.contextmanager
def slots_moved():
    """All slots with keys of one master, while they are in use."""
    with Cluster() as cluster:
        source, target = cluster.masters[:2]

        def strike():
            for slot in {source.ask("CLUSTER", "KEYSLOT", key) for key in source.ask("KEYS", "*")}:
                cluster.migrate(slot, source, target)
        yield Scene([cluster.url] * NODES, strike)


@contextlib.contextmanager
def master_lost():
    with Cluster() as cluster:
        def busiest():
            return max(cluster.masters, key=lambda node: node.ask("DBSIZE"))
        yield Scene([cluster.url] * NODES, lambda: busiest().kill(), unsure_s=0.5)


@contextlib.contextmanager
def read_only():
    with Redis() as redis:
        yield Scene([redis.url] * NODES, lambda: redis.ask("REPLICAOF", "127.0.0.1", 1),
                    lambda: redis.ask("REPLICAOF", "NO", "ONE"))


@contextlib.contextmanager
def out_of_memory():
    with Redis() as redis:
        yield Scene([redis.url] * NODES, lambda: redis.ask("CONFIG", "SET", "maxmemory", 1),
                    lambda: redis.ask("CONFIG", "SET", "maxmemory", 0))


@contextlib.contextmanager
def password_appeared():
    with Redis() as redis:
        def strike():
            redis.ask("CONFIG", "SET", "requirepass", "unheard-of")
            with RespConnection(redis.port) as connection:
                connection.ask("AUTH", "unheard-of")
                connection.ask("CLIENT", "KILL", "SKIPME", "yes")

        def heal():
            with RespConnection(redis.port) as connection:
                connection.ask("AUTH", "unheard-of")
                connection.ask("CONFIG", "SET", "requirepass", "")
        yield Scene([redis.url] * NODES, strike, heal)


def misbehaving(behaviour, delay_s=0, whole_fleet=True):
    """What stands between the first node, or all, and a Redis does something for a while."""
    @contextlib.contextmanager
    def scene():
        with Redis() as redis, Proxy(redis.port) as proxy:
            others = proxy.url if whole_fleet else redis.url
            yield Scene([proxy.url] + [others] * (NODES - 1),
                        lambda: proxy.behave(behaviour, delay_s),
                        lambda: proxy.behave(Behaviour.PASS))
    return scene


@contextlib.contextmanager
def clocks_apart():
    library = next(iter(glob.glob("/usr/lib/*/faketime/libfaketime.so.1")), None)
    if library is None:
        raise Skipped("needs Debian's package faketime")
    ahead = {"LD_PRELOAD": library, "FAKETIME": "+10s", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    with Redis() as redis:
        yield Scene([redis.url] * NODES, environments=[None, ahead])


class Skipped(Exception):
    """The fault cannot be made here."""


FAULTS = {
    "is well": well,
    "killed (-9) and started again": killed,
    "hangs for 3 s (SIGSTOP)": stopped,
    "sentinels: the master is killed": failed_over,
    "sentinels: a failover is asked for": asked_to_fail_over,
    "cluster: slots move": slots_moved,
    "cluster: a master is killed": master_lost,
    "is made read-only": read_only,
    "is out of memory": out_of_memory,
    "wants a password now": password_appeared,
    "answers garbage": misbehaving(Behaviour.GARBAGE),
    "accepts and never answers": misbehaving(Behaviour.MUTE),
    "refuses connections": misbehaving(Behaviour.CUT),
    "partition of one node": misbehaving(Behaviour.HOLD, whole_fleet=False),
    "200 ms away from one node": misbehaving(Behaviour.PASS, delay_s=0.1, whole_fleet=False),
    "clocks of nodes 10 s apart": clocks_apart,
}


def over_tls(make, strike, heal):
    """The same happens to all masters, which everybody reaches through proxies and TLS.

    Sentinels and a cluster that think a master dead promote its replica, also if it is back by
    then: what it took meanwhile is lost.
    """
    @contextlib.contextmanager
    def scene():
        with Tls() as tls, make(tls) as world:
            yield Scene([world.url] * NODES, lambda: strike(world), lambda: heal(world),
                        unsure_s=1.5)
    return scene


def to_masters(action):
    return lambda world: [action(master) for master in world.masters]


def on_the_way(behaviour):
    return lambda world: [proxy.behave(behaviour) for proxy in world.proxies]


# With --long only: what happens, and how it ends.
TLS_FAULTS = {
    "hangs": (to_masters(Redis.pause), to_masters(Redis.resume)),
    "takes no writes": (
        to_masters(lambda one: one.ask("CONFIG", "SET", "min-replicas-to-write", 9)),
        to_masters(lambda one: one.ask("CONFIG", "SET", "min-replicas-to-write", 0))),
    "is out of memory": (to_masters(lambda one: one.ask("CONFIG", "SET", "maxmemory", 1)),
                         to_masters(lambda one: one.ask("CONFIG", "SET", "maxmemory", 0))),
    "answers garbage": (on_the_way(Behaviour.GARBAGE), on_the_way(Behaviour.PASS)),
    "partition": (on_the_way(Behaviour.HOLD), on_the_way(Behaviour.PASS)),
}
LONG_FAULTS = {f"{name}, TLS: {what}": over_tls(make, *how)
               for name, make in (("sentinels", Sentinels), ("cluster", Cluster))
               for what, how in TLS_FAULTS.items()}


@dataclasses.dataclass
class Row:
    """What a fault did to the checks of one mode, by rules of one on_store_failure."""

    fault: str
    mode: str
    on_failure: str
    checks: int
    failed: int  # an error, a lost connection, or a denial without a reason
    unfinished: int  # not sent or not answered when the load ended
    worst_ms: float
    p999_ms: float
    admitted: int  # of the key that goes over its limit
    limit: int
    over_max: int  # what may be admitted beyond it, as the mode promises
    recovery_s: float  # from the end of the fault, or its beginning if it heals by itself

    def broken_promises(self):
        if self.failed:
            yield f"{self.failed} of {self.checks} checks failed"
        if self.unfinished > UNFINISHED_MAX * self.checks:
            yield f"checks hang: {self.unfinished} were not finished, {self.checks} were"
        if self.over_max is not None and self.admitted > self.limit + self.over_max:
            yield (f"{self.admitted} of {self.limit} were admitted; promised are "
                   f"{self.limit + self.over_max} at most")

    def cells(self):
        return (self.fault, self.mode, self.on_failure, f"{self.checks}", f"{self.failed}",
                f"{self.p999_ms:.1f}", f"{self.worst_ms:.1f}",
                f"{self.admitted} of {self.limit}",
                "any" if self.over_max is None else f"{self.limit + self.over_max}",
                f"{self.recovery_s:.2f}")


HEADINGS = ("Redis", "mode", "fails", "checks", "failed", "99.9 %, ms", "slowest, ms",
            "admitted", "promised", "back in, s")


def config(size):
    """For each mode a rule whose keys are never over their limit, and some that get there.

    What a rule admits that denies while Redis is away has been decided together.
    """
    rules = [f"  - {{id: free-{mode}, limit: 1000000000, window: 8784h, mode: {mode}}}"
             for mode in MODES]
    rules += [f"  - {{id: {on_failure}-{mode}, limit: {size.limit}, window: 8784h, mode: {mode}, "
              f"on_store_failure: {on_failure}}}" for mode, on_failure in CASES]
    return "rules:\n" + "\n".join(rules) + "\n"


def measure(fault, size):
    """The rows of a fault, one for each case; all are tried at once."""
    with {**FAULTS, **LONG_FAULTS}[fault]() as scene, \
            Fleet(scene.urls, "--redis-deadline", f"{DEADLINE_MS}ms", "--sync-interval",
                  f"{int(SYNC_S * 1000)}ms", config=config(size),
                  environments=scene.environments) as fleet:
        fleet.wait_until_shared()
        during_s = max(size.during_s, scene.during_s)
        size = dataclasses.replace(size, during_s=during_s)
        loads = {(mode, kind): [start_load(node, mode, kind, size) for node in fleet.nodes]
                 for mode, kind in CASES + tuple((mode, "free") for mode in MODES)}
        # A busy machine is late to begin, and then sends at once what it was to send before.
        wait_until(lambda: all(checks_of(node) > len(loads) * size.rate * size.before_s
                               for node in fleet.nodes), "all loads have begun")
        scene.strike()
        over_since = time.monotonic()
        if scene.heal is not None:
            pass_time(during_s)
            scene.heal()
            over_since = time.monotonic()
        wait_until_shared(fleet)
        recovery_s = time.monotonic() - over_since
        results = {case: [load.result() for load in started] for case, started in loads.items()}
        return [row_of(fault, case, results, size, scene, recovery_s) for case in CASES]


def start_load(node, mode, kind, size):
    return resp_load(node, ("WEIR.HIT", f"{kind}-{mode}", RESP_KEY), "--rate", size.rate,
                     "--duration", f"{size.seconds * 1000:.0f}ms", "--connections", 4,
                     keys=20 if kind == "free" else 1)


def row_of(fault, case, results, size, scene, recovery_s):
    mode, on_failure = case
    free, tight = results[mode, "free"], results[case]
    everything = free + tight
    return Row(
        fault=fault, mode=mode, on_failure=on_failure,
        checks=sum(result["requests"] for result in everything),
        failed=(sum(result["bad_status"] + result["lost"] for result in everything) +
                sum(result["denied"] for result in free)),
        unfinished=sum(result["unanswered"] + result["unsent"] for result in everything),
        worst_ms=max(result["latency_ms"]["max"] for result in everything),
        p999_ms=max(result["latency_ms"]["p99.9"] for result in everything),
        admitted=sum(result["allowed"] for result in tight), limit=size.limit,
        over_max=promised(case, size, scene), recovery_s=recovery_s)


def promised(case, size, scene):
    """The most that may be admitted beyond the limit; None: anything."""
    mode, on_failure = case
    if on_failure == "allow":
        return None
    a_second = NODES * size.rate
    most = scene.forgets * size.limit + scene.unsure_s * a_second
    if mode == "async":
        most += (SYNC_S + SLACK_S) * a_second
    if on_failure == "local":
        most += BACK_S * a_second
    return int(most)


def checks_of(node):
    with node.connect() as connection:
        return connection.ask(get("/admin/stats")).json()["totals"]["requests"]


def wait_until_shared(fleet):
    give_up = time.monotonic() + DEADLINE_S
    while not all(is_shared(node, NODES) for node in fleet.nodes):
        assert time.monotonic() < give_up, "the nodes do not come back"
        pass_time(LOOK_EVERY_S)


def pass_time(seconds):
    """A fault lasts for a while, and looking all the time would be a load of its own."""
    threading.Event().wait(seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", metavar="WORD", help="of the faults to try [all]")
    parser.add_argument("--long", action="store_true", help="load harder and longer")
    arguments = parser.parse_args()
    size = LONG if arguments.long else SHORT
    print("| " + " | ".join(HEADINGS) + " |\n|" + "---|" * len(HEADINGS), flush=True)
    complaints = []
    wanted = [fault for fault in {**FAULTS, **(LONG_FAULTS if arguments.long else {})}
              if not arguments.words or any(word in fault for word in arguments.words)]
    for number, fault in enumerate(wanted, 1):
        print(f"==> {fault}, {number} of {len(wanted)}", file=sys.stderr)
        try:
            rows = measure(fault, size)
        except Skipped as why:
            print(f"skipped: {fault}: {why}", file=sys.stderr)
            continue
        for row in rows:
            print("| " + " | ".join(row.cells()) + " |", flush=True)
            complaints += [f"{fault}, {row.mode}: {what}" for what in row.broken_promises()]
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
