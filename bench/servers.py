"""Servers under test: started on a free port of loopback, pinned, stopped at the end."""

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

import harness

STOP_TIMEOUT_S = 10
FLEET = pathlib.Path(__file__).resolve().parent.parent / "scripts" / "fleet.py"

# As fast as nginx gets: one worker, no log, no file, no body to read, connections kept.
NGINX_CONFIG = """
{head}
daemon off;
master_process {master};
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 4096; multi_accept on; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 1h;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  {http}
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    {server}
    location / {{ {place} }}
  }}
}}
"""


def nginx_config(folder, port, place, master="on", head="", http="", server=""):
    return NGINX_CONFIG.format(folder=folder, port=port, place=place, master=master, head=head,
                               http=http, server=server)


class Server:
    """A running server: where it listens, and how much CPU it has used."""

    def __init__(self, process, port):
        self.process = process
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    def cpu_seconds(self):
        ticks = sum(cpu_ticks(pid) for pid in family(self.process.pid))
        return ticks / os.sysconf("SC_CLK_TCK")


def family(pid):
    """`pid` and its children: nginx works in a child."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *map(int, children)]


def cpu_ticks(pid):
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    fields = stat.rpartition(")")[2].split()  # the name before may contain anything
    return int(fields[11]) + int(fields[12])  # utime and stime, fields 14 and 15


@contextlib.contextmanager
def started(command, port, environment=None):
    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, env=environment)
    try:
        harness.wait_until_listening(port, process)
        yield Server(process, port)
    finally:
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def weir(bench, max_keys=1 << 20):
    port = harness.free_port()
    command = [bench.weir, "serve", "--http", f"127.0.0.1:{port}", "--threads", "1",
               "--max-keys", max_keys]
    with started(bench.on_server_cpu(command), port) as server:
        yield server


@contextlib.contextmanager
def weir_resp(bench):
    port = harness.free_port()
    command = [bench.weir, "serve", "--http", "127.0.0.1:0", "--resp", f"127.0.0.1:{port}",
               "--threads", "1"]
    with started(bench.on_server_cpu(command), port) as server:
        yield server


@contextlib.contextmanager
def weir_grpc(bench, rules):
    port = harness.free_port()
    command = [bench.weir, "serve", "--http", "127.0.0.1:0", "--grpc", f"127.0.0.1:{port}",
               "--threads", "1", "--envoy-config", rules]
    with started(bench.on_server_cpu(command), port) as server:
        yield server


@contextlib.contextmanager
def grpc_yardstick(bench):
    port = harness.free_port()
    command = [bench.grpc_yardstick, f"127.0.0.1:{port}"]
    with started(bench.on_server_cpu(command), port) as server:
        yield server


@contextlib.contextmanager
def redis(bench, pinned=None, options=()):
    """redis-server as it is, but that nothing is written to disk. Where it shares a CPU with
    clients it goes first, if that is permitted, as it would on a machine of its own."""
    port = harness.free_port()
    with tempfile.TemporaryDirectory(prefix="weir-bench-redis-") as folder:
        command = [harness.require("redis-server"), "--port", port, "--bind", "127.0.0.1",
                   "--save", "", "--dir", folder, *options]
        if pinned is not None:
            command = harness.going_first(command)
        with started((pinned or bench.on_server_cpu)(command), port) as server:
            yield server


@contextlib.contextmanager
def redis_cluster(bench, masters, pinned):
    """Masters that share the slots, without replicas."""
    with contextlib.ExitStack() as stack:
        nodes, addresses = [], []
        for _ in range(masters):
            bus = harness.free_port()
            options = ["--cluster-enabled", "yes", "--cluster-port", bus]
            nodes.append(stack.enter_context(redis(bench, pinned, options)))
            addresses.append(f"127.0.0.1:{nodes[-1].port}@{bus}")
        harness.run(["redis-cli", "--cluster", "create", *addresses, "--cluster-yes"])
        yield nodes


class Node(Server):
    """A weir that shares its limits: `port` is for Redis clients, `http` for the others."""

    def __init__(self, process, port, http):
        super().__init__(process, port)
        self.http = Server(process, http)

    def metric(self, name):
        return metric(self.http.url + "/metrics", name)


def metric(url, name):
    request = urllib.request.Request(url, headers={"Accept": "text/plain"})
    with urllib.request.urlopen(request, timeout=STOP_TIMEOUT_S) as reply:
        lines = [line.split() for line in reply.read().decode().splitlines()]
    return sum(float(line[1]) for line in lines if line[0].partition("{")[0] == name)


@contextlib.contextmanager
def node(pinned, weir, redis, mode):
    """One of a fleet, which is there when it shares. A busy Redis is waited for: what is
    measured is not how well the node does without."""
    port, http = harness.free_port(), harness.free_port()
    command = [weir, "serve", "--http", f"127.0.0.1:{http}", "--resp", f"127.0.0.1:{port}",
               "--threads", "1", "--redis", f"redis://127.0.0.1:{redis.port}", "--mode", mode,
               "--redis-deadline", "2s"]
    with started(pinned(command), port) as server:
        one = Node(server.process, port, http)
        harness.wait_until(lambda: one.metric("weir_store_up") == 1, "the node shares")
        yield one


@contextlib.contextmanager
def fleet(bench):
    """What ./dev fleet runs."""
    port = harness.free_ports(4)
    command = [sys.executable, FLEET, "--port", port]
    environment = {**os.environ, "WEIR_BINARY": str(bench.weir)}
    with started(bench.on_all_cpus(command), port, environment) as server:
        yield server  # its nginx comes last


@contextlib.contextmanager
def nginx(bench):
    program = harness.require("nginx")
    port = harness.free_port()
    with tempfile.TemporaryDirectory(prefix="weir-bench-nginx-") as folder:
        config = pathlib.Path(folder, "nginx.conf")
        config.write_text(nginx_config(folder, port, 'return 200 "ok";'))
        command = [program, "-p", folder, "-c", config, "-e", f"{folder}/error.log"]
        with started(bench.on_server_cpu(command), port) as server:
            yield server
