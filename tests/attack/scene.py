"""Where an attack happens: a server on a core of its own, an innocent client next to it.

The server may use SERVER_BYTES_MAX of address space, and connections BUFFERED_MAX of it. The
attackers and the innocent client share another core. If this user may say so, the server and
the client go ahead of all else that runs there. So a latency is the server's and not that of a
busy machine.
"""

import collections
import contextlib
import copy
import dataclasses
import multiprocessing
import os
import pathlib
import re
import resource
import select
import sys
import threading
import time
from typing import Callable

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from resp_client import RespConnection, command  # noqa: E402 (after the line above)
from weir_server import Connection, Weir, check_request, get, post  # noqa: E402

FORK = multiprocessing.get_context("fork")
SERVER_BYTES_MAX = 4 << 30
BUFFERED_MAX = 64 << 20
INNOCENT_RATE = 200  # requests a second
ATTACK_MAX_S = 120
SHOWN_MAX = 4  # kinds of refusals in a row
# In the names of counters.
REFUSALS = "refused|shed|flooded|stalled|evictions|freed|failed|failures"


@dataclasses.dataclass(frozen=True)
class Size:
    seconds: float  # how long a flood goes on
    alone_s: float  # how long the innocent client is alone before the attack, and after it
    share: float  # of the numbers that an attack names
    judges_time: bool  # latency, and what takes the server seconds


FULL = Size(seconds=5, alone_s=0.2, share=1, judges_time=True)
QUICK = Size(seconds=0.2, alone_s=0.03, share=0.04, judges_time=False)


@dataclasses.dataclass(frozen=True)
class Attack:
    """A row of the table."""

    name: str
    act: Callable  # act(scene)
    arguments: tuple = ()  # of the server
    config: str = None
    max_keys: int = 4096
    files: int = None  # that the server may open


class Scene:
    """What an attack sees: the server, how much to do, and where to complain."""

    def __init__(self, weir, size):
        self.weir = weir
        self.size = size
        self.complaints = []
        self.notes = []
        self.begin()

    def begin(self):
        self.ends = time.monotonic() + self.size.seconds

    @property
    def port(self):
        return self.weir.port

    def goes_on(self):
        return time.monotonic() < self.ends

    def moment(self, seconds):
        """The same scene, over after some seconds."""
        moment = copy.copy(self)
        moment.ends = time.monotonic() + seconds
        return moment

    def some(self, number, at_least=1):
        """That many, or fewer in a short run."""
        return max(at_least, int(number * self.size.share))

    def claim(self, holds, otherwise):
        if not holds:
            self.complaints.append(otherwise)

    def claim_in_time(self, holds, otherwise):
        """What a short run on a busy machine may be too short for."""
        if self.size.judges_time:
            self.claim(holds, otherwise)

    def note(self, text):
        self.notes.append(text)

    def connect(self, port=None):
        return Connection(port or self.port)

    def status_of(self, data):
        """That of the first reply, on a connection of its own."""
        with self.connect() as connection:
            return connection.ask(data).status


@dataclasses.dataclass
class Outcome:
    """What an attack did."""

    peak_mib: float
    over_start_mib: float
    p50_ms: float
    p99_ms: float
    max_ms: float
    refused: str
    complaints: list
    notes: list


def measure(attack, size):
    """Lets an attack loose on a server of its own."""
    cores = sorted(os.sched_getaffinity(0))
    prefix = ["nice", "-n", "-10", "taskset", "-c", cores[0]]
    prefix += ["prlimit", f"--as={SERVER_BYTES_MAX}"]
    prefix += [f"--nofile={attack.files}"] if attack.files else []
    with Weir("--threads", 1, "--max-keys", attack.max_keys, "--max-buffered", BUFFERED_MAX,
              *attack.arguments, config=attack.config, prefix=prefix) as weir:
        os.sched_setaffinity(0, {cores[-1]})
        try:
            return attacked(weir, attack.act, size)
        finally:
            os.sched_setaffinity(0, set(cores))


def attacked(weir, act, size):
    before = counters(weir)
    start_mib = weir.rss_kib() / 1024
    with Innocent(weir.port) as innocent:
        pass_time(size.alone_s)
        complaints, notes = in_a_process(act, Scene(weir, size))
        pass_time(size.alone_s)
    refused = refusals(before, counters(weir))
    complaints += innocent.complaints + list(aftermath(weir))
    peak_mib = peak_kib(weir) / 1024 if weir.process.poll() is None else 0
    return Outcome(peak_mib=peak_mib, over_start_mib=peak_mib - start_mib,
                   p50_ms=innocent.quantile(0.5), p99_ms=innocent.quantile(0.99),
                   max_ms=innocent.quantile(1), refused=refused,
                   complaints=complaints, notes=notes)


def in_a_process(act, scene):
    """The complaints and notes of an attack, whose sockets all close when it ends."""
    ours, theirs = FORK.Pipe()
    attacker = FORK.Process(target=attack_and_tell, args=(act, scene, theirs))
    attacker.start()
    theirs.close()
    try:
        if not ours.poll(ATTACK_MAX_S):
            return [f"the attack took more than {ATTACK_MAX_S} s"], []
        return ours.recv()
    except EOFError:
        return ["the attack itself broke off"], []
    finally:
        attacker.kill()
        attacker.join()


def attack_and_tell(act, scene, results):
    os.nice(5)
    scene.begin()
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_files_max(), open_files_max()))
    try:
        act(scene)
    except Exception as error:  # whatever it is, the attack did not end as it should
        scene.complaints.append(repr(error))
    results.send((scene.complaints, scene.notes))


class Innocent:
    """A client that asks INNOCENT_RATE times a second, in a process of its own.

    Its latency counts from when a request was due, so that a server that stands still is
    charged for all the requests that it holds up.
    """

    def __init__(self, port):
        self.complaints = []
        self._latencies = []
        self._ours, theirs = FORK.Pipe()
        self._process = FORK.Process(target=self._run, args=(port, theirs))
        self._process.start()
        theirs.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._ours.send("stop")
        try:
            self._latencies, failures = self._ours.recv()
            if failures:
                self.complaints.append(f"the innocent client failed: {failures[0]}")
        except EOFError:
            self.complaints.append("the innocent client broke off")
        self._process.join()

    def quantile(self, share):
        """In milliseconds."""
        ordered = sorted(self._latencies) or [0]
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    @staticmethod
    def _run(port, results):
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        latencies, failures = [], []
        request = check_request(key="innocent", limit=10**12, window=3600)
        try:
            with Connection(port) as connection:
                connection.ask(request)
                due = time.monotonic()
                # To the microsecond, as select() waits; poll() rounds to milliseconds.
                while not select.select([results], [], [], max(0, due - time.monotonic()))[0]:
                    reply = connection.ask(request)
                    latencies.append(time.monotonic() - due)
                    if reply.status != 200 or not reply.json()["allowed"]:
                        failures.append(reply.text)
                    due += 1 / INNOCENT_RATE
        except Exception as error:  # whatever it is, the parent has to know
            failures.append(repr(error))
        results.send((latencies, failures))


def aftermath(weir):
    """The server's faults once the attack is over."""
    if weir.process.poll() is not None:
        yield f"the server has ended with {weir.process.returncode}: {weir.log()[-300:]}"
        return
    try:
        with weir.connect() as connection:
            answers = [connection.check(key="after", limit=2, window=3600) for _ in range(3)]
            if [answer["allowed"] for answer in answers] != [True, True, False]:
                yield f"it answers wrongly afterwards: {answers}"
            if connection.ask(get("/health")).status != 200:
                yield "it is not healthy afterwards"
        if "listening on redis://" in weir.log():
            with RespConnection(weir.port_of("redis")) as redis:
                redis.send(command("PING"))
                if redis.socket.recv(16)[:5] not in (b"+PONG", b"-NOAU"):
                    yield "the Redis door does not answer afterwards"
    except Exception as error:  # any way in which it does not answer
        yield f"it does not answer afterwards: {error!r}"


def peak_kib(weir):
    status = pathlib.Path(f"/proc/{weir.process.pid}/status").read_text(encoding="ascii")
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1])


def counters(weir):
    """The counts of refusals in /metrics: {what: how many}."""
    try:
        with weir.connect() as connection:
            text = connection.ask(get("/metrics", "Accept: text/plain\r\n")).text
    except Exception:  # aftermath() says that it does not answer
        return {}
    found = re.findall(r"^(weir_\w+_total(?:\{[^}\n]*\})?) (\S+)$", text, re.MULTILINE)
    counted = collections.Counter()
    for name, number in found:
        if what := refusal(name):
            counted[what] += float(number)
    return counted


def refusal(name):
    """What a counter of refusals counts; None for another one."""
    if status := re.search(r'^weir_http_requests_total.*="([45]xx)"', name):
        return f"status {status[1]}"
    if name.startswith("weir_decisions_total"):
        return "denials" if '"denied"' in name else None
    word = re.match(rf"weir_(\w*(?:{REFUSALS})\w*)_total", name)
    return word[1].replace("_", " ") if word else None


def refusals(before, after):
    """What grew, the most first."""
    grown = {name: number - before.get(name, 0) for name, number in after.items()}
    most = sorted((name for name in grown if grown[name] > 0), key=lambda name: -grown[name])
    return ", ".join(f"{grown[name]:,.0f} {name}" for name in most[:SHOWN_MAX]) or "nothing"


def pass_time(seconds):
    """An attack lasts for a while, and nothing announces that it has lasted."""
    threading.Event().wait(seconds)


def open_files_max():
    return resource.getrlimit(resource.RLIMIT_NOFILE)[1]
