"""For tests: Redis servers alone, behind sentinels or in a cluster, and a proxy to them.

All on loopback, each in a temporary folder of its own and on a port that was free. They
are stopped when their `with` ends, and by the kernel if the test is killed.
"""

import asyncio
import collections
import contextlib
import enum
import functools
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

import weir_server
from certificates import Authority
from resp_client import RespConnection, RespError
from weir_server import DEADLINE_S, ConnectionClosed, wait_until


BUS = 10_000  # so much higher is the port on which nodes of a cluster talk to each other


def free_port():
    """A port that nobody listens on, and neither on the one for a cluster's bus.

    Both are below those that the system gives to connections, from 32,768.
    """
    while True:
        with socket.socket() as bus, contextlib.suppress(OSError):
            port = weir_server.free_port()
            bus.bind(("127.0.0.1", port + BUS))
            if port + BUS < 32_768:
                return port


class Tls:
    """What servers need for TLS, and clients to trust them. A context manager."""

    def __init__(self):
        self._authority = Authority()
        self._certificate, self._key = self._authority.issue("redis")
        self.trust = f"?ca_file={self._authority.certificate}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._authority.__exit__()

    def options(self, port):
        return ("--tls-port", str(port), "--tls-cert-file", self._certificate,
                "--tls-key-file", self._key, "--tls-ca-cert-file", self._authority.certificate,
                "--tls-auth-clients", "no", "--tls-replication", "yes")


class Redis:
    """A redis-server that keeps nothing; `options` as on its command line."""

    def __init__(self, *options, config=None):
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}"
        self._folder = tempfile.TemporaryDirectory(prefix="weir-redis-")
        # The kernel ends it with us, however we end.
        self._command = ["setpriv", "--pdeathsig", "KILL",
                         shutil.which("redis-server") or "redis-server"]
        if config is not None:  # a sentinel's, which it writes to
            path = pathlib.Path(self._folder.name, "redis.conf")
            path.write_text(config, encoding="utf-8")
            self._command += [str(path), "--sentinel"]
        else:
            self._command += ["--save", "", "--appendonly", "no"]
        self._command += ["--port", str(self.port), "--bind", "127.0.0.1",
                          "--dir", self._folder.name, *options]
        self.process = None
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self._folder.cleanup()

    def start(self):
        """As it is at its beginning: whatever it knew is gone."""
        self.process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        wait_until(self._answers, "redis-server answers")

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def ask(self, *words):
        with RespConnection(self.port) as connection:
            return connection.ask(*words)

    def await_replica(self):
        """Until it has all of now. WAIT looks no further than its own connection has written."""
        with RespConnection(self.port) as connection:
            connection.ask("SET", "written", "now")
            assert connection.ask("WAIT", "1", "10000") == 1, "the replica hears nothing"

    def is_master(self):
        """False, too, while it becomes one: then it drops its connections."""
        with contextlib.suppress(OSError, ConnectionClosed):
            return self.ask("ROLE")[0] == b"master"
        return False

    def info(self, field):
        for line in self.ask("INFO", "everything").decode().splitlines():
            if line.startswith(field + ":"):
                return line.partition(":")[2]
        raise AssertionError(f"no {field} in INFO")

    def cpu_seconds(self):
        return float(self.info("used_cpu_user")) + float(self.info("used_cpu_sys"))

    def _answers(self):
        assert self.process.poll() is None, "redis-server has ended"
        with contextlib.suppress(OSError, ConnectionClosed):
            try:
                return self.ask("PING") == "PONG"
            except RespError:
                return True
        return False


class Sentinels:
    """A master, a replica of it, and three sentinels that agree on both.

    With `tls` all speak it, and everybody reaches the master through `proxies`.
    """

    NAME = "fleet"

    def __init__(self, tls=None):
        self._stack = contextlib.ExitStack()
        self.proxies = []
        with self._stack:
            port = free_port() if tls else None
            self.master = self._start(tls, port)
            master_port = self._proxy(port) if tls else self.master.port
            self.masters = [self.master]
            self.replica = self._start(tls, None, "--replicaof", "127.0.0.1", str(master_port),
                                       "--repl-diskless-sync-delay", "0")
            config = (f"sentinel monitor {self.NAME} 127.0.0.1 {master_port} 2\n"
                      f"sentinel down-after-milliseconds {self.NAME} 500\n"
                      f"sentinel failover-timeout {self.NAME} 3000\n")
            ports = [free_port() if tls else None for _ in range(3)]
            self.sentinels = [self._start(tls, port, config=config) for port in ports]
            hosts = ",".join(f"127.0.0.1:{port or one.port}"
                             for one, port in zip(self.sentinels, ports))
            self.url = (f"rediss-sentinel://{hosts}/{self.NAME}{tls.trust}" if tls else
                        f"redis-sentinel://{hosts}/{self.NAME}")
            wait_until(lambda: all(self._is_ready(one) for one in self.sentinels),
                       "the sentinels know each other and the replica")
            self._stack = self._stack.pop_all()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stack.close()

    def _start(self, tls, port, *options, **more):
        if tls:
            options += tls.options(port or free_port())
        return self._stack.enter_context(Redis(*options, **more))

    def _proxy(self, port):
        self.proxies.append(self._stack.enter_context(Proxy(port)))
        return self.proxies[-1].port

    def _is_ready(self, sentinel):
        reply = sentinel.ask("SENTINEL", "MASTER", self.NAME)
        state = dict(zip(reply[::2], reply[1::2]))
        return (state[b"num-slaves"], state[b"num-other-sentinels"]) == (b"1", b"2") and \
            self.replica.info("master_link_status") == "up"


class Cluster:
    """Three masters that share the slots, each with a replica.

    With `tls` all speak it, and each node is reached through one of `proxies`.
    """

    SLOTS = 16384

    def __init__(self, tls=None):
        self._stack = contextlib.ExitStack()
        self.proxies = []
        with self._stack:
            self._ports = []  # of the nodes' bus, less BUS
            self.nodes = [self._start(tls) for _ in range(6)]
            self.masters, self.replicas = self.nodes[:3], self.nodes[3:]
            hosts = ",".join(f"127.0.0.1:{one.port}" for one in self.proxies or self.masters)
            self.url = f"rediss-cluster://{hosts}{tls.trust}" if tls else f"redis-cluster://{hosts}"
            self._join()
            self._stack = self._stack.pop_all()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stack.close()

    def _start(self, tls):
        options = ["--cluster-enabled", "yes", "--cluster-node-timeout", "1000",
                   "--repl-diskless-sync-delay", "0"]
        port = free_port()
        if tls:
            self.proxies.append(self._stack.enter_context(Proxy(port)))
            options += tls.options(port)
            options += ["--tls-cluster", "yes",
                        "--cluster-announce-tls-port", str(self.proxies[-1].port)]
        node = self._stack.enter_context(Redis(*options))
        self._ports.append(port if tls else node.port)
        return node

    def _join(self):
        first = self.nodes[0]
        for number, node in enumerate(self.nodes):
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            if node is not first:
                node.ask("CLUSTER", "MEET", "127.0.0.1", self._ports[0])
        bounds = [self.SLOTS * part // 3 for part in range(4)]
        for part, master in enumerate(self.masters):
            master.ask("CLUSTER", "ADDSLOTS", *range(bounds[part], bounds[part + 1]))
        wait_until(lambda: all(self._field(node, "cluster_known_nodes") == "6"
                               for node in self.nodes), "all know all")
        for master, replica in zip(self.masters, self.replicas):
            wait_until(functools.partial(self._replicate, replica, master), "it has a replica")
        wait_until(self.is_whole, "the cluster is whole")

    def is_whole(self):
        return all(self._field(node, "cluster_state") == "ok" for node in self.alive()) and \
            all(node.info("master_link_status") == "up" for node in self.alive()
                if node.info("role") == "slave")

    def alive(self):
        return [node for node in self.nodes if node.process.poll() is None]

    def migrate(self, slot, source, target):
        """Moves a slot and its keys as redis-cli does, while it is in use."""
        name = {node: node.ask("CLUSTER", "MYID").decode() for node in (source, target)}
        target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", name[source])
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", name[target])
        while keys := source.ask("CLUSTER", "GETKEYSINSLOT", slot, 100):
            source.ask("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)
        for node in (target, source):
            node.ask("CLUSTER", "SETSLOT", slot, "NODE", name[target])

    @staticmethod
    def _field(node, name):
        lines = node.ask("CLUSTER", "INFO").decode().split()
        return dict(line.split(":") for line in lines)[name]

    @staticmethod
    def _replicate(replica, master):
        try:
            return replica.ask("CLUSTER", "REPLICATE", master.ask("CLUSTER", "MYID")) == "OK"
        except RespError:
            return False  # it does not know the master yet


class Behaviour(enum.Enum):
    PASS = "bytes go through, each way after the delay"
    HOLD = "a partition: bytes wait on the way, and go on when it is over"
    CUT = "connections are closed, and new ones at once"
    MUTE = "connections are taken and never answered"
    GARBAGE = "every question is answered with noise"


class Proxy:
    """Stands between a client and the server on `port`, and behaves as it is told.

    `watch` is told of each connection's bytes: asked(connection, data) when they come from
    the client, answered(connection, data) when they go to it.
    """

    NOISE = b"HTTP/1.1 400 Bad Request\r\n\r\n\x00\xff$-7\r\n*99999999999\r\n"

    def __init__(self, port, watch=None):
        self._server_port = port
        self._watch = watch
        self._behaviour = Behaviour.PASS
        self._delay_s = 0
        self._pipes = set()
        self._loop = asyncio.new_event_loop()
        listening = socket.create_server(("127.0.0.1", 0))
        self.port = listening.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}"
        self._server = self._loop.run_until_complete(
            self._loop.create_server(lambda: _Pipe(self), sock=listening))
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.behave(Behaviour.CUT)
        self._loop.call_soon_threadsafe(self._server.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(DEADLINE_S)
        self._loop.close()

    def behave(self, behaviour, delay_s=0):
        """From when this returns."""
        done = threading.Event()
        self._loop.call_soon_threadsafe(self._change, behaviour, delay_s, done)
        assert done.wait(DEADLINE_S)

    def _change(self, behaviour, delay_s, done):
        before, self._behaviour, self._delay_s = self._behaviour, behaviour, delay_s
        for pipe in list(self._pipes):
            if before in (Behaviour.MUTE, Behaviour.GARBAGE):
                pipe.changed(Behaviour.CUT)  # questions have been lost on it
            else:
                pipe.changed(behaviour)
        done.set()


class _Pipe(asyncio.Protocol):
    """A client's connection, and ours to the server, which is made when it is needed."""

    def __init__(self, proxy):
        self._proxy = proxy
        self._client = None
        self._server = None
        self._waiting = []  # (to whom, bytes), in order
        self._delayed = {"server": collections.deque(), "client": collections.deque()}

    def connection_made(self, transport):
        self._client = transport
        self._proxy._pipes.add(self)
        self.changed(self._proxy._behaviour)

    def connection_lost(self, _):
        self._proxy._pipes.discard(self)
        if self._server is not None:
            self._server.close()

    def data_received(self, data):
        behaviour = self._proxy._behaviour
        if self._proxy._watch is not None:
            self._proxy._watch.asked(self, data)
        if behaviour is Behaviour.GARBAGE:
            self._client.write(Proxy.NOISE)
        elif behaviour is not Behaviour.MUTE:
            self._carry("server", data)

    def changed(self, behaviour):
        if behaviour is Behaviour.CUT:
            self._client.abort()
        elif behaviour is Behaviour.PASS:
            if self._server is None:
                self._proxy._loop.create_task(self._connect())
            self._flush()

    async def _connect(self):
        loop = self._proxy._loop
        try:
            self._server, _ = await loop.create_connection(
                lambda: _Answers(self), "127.0.0.1", self._proxy._server_port)
        except OSError:
            self._client.abort()
            return
        self._flush()

    def _carry(self, side, data):
        """Bytes arrive in the order they were sent, also when the delay shrinks."""
        if self._proxy._behaviour is Behaviour.MUTE:
            return
        delayed = self._delayed[side]
        if not self._proxy._delay_s and not delayed:
            return self._arrive(side, data)
        loop = self._proxy._loop
        due = loop.time() + self._proxy._delay_s
        if delayed:
            due = max(due, delayed[-1][0])
        delayed.append((due, data))
        loop.call_at(due, self._arrive_first, side)

    def _arrive_first(self, side):
        self._arrive(side, self._delayed[side].popleft()[1])

    def _arrive(self, side, data):
        self._waiting.append((side, data))
        self._flush()

    def _flush(self):
        if self._proxy._behaviour is not Behaviour.PASS or self._server is None:
            return
        for side, data in self._waiting:
            if side == "client" and self._proxy._watch is not None:
                self._proxy._watch.answered(self, data)
            (self._server if side == "server" else self._client).write(data)
        self._waiting.clear()


class _Answers(asyncio.Protocol):
    def __init__(self, pipe):
        self._pipe = pipe

    def data_received(self, data):
        self._pipe._carry("client", data)

    def connection_lost(self, _):
        self._pipe._client.abort()
