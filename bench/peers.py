"""Other rate limiters, installed by the names of their packages and started like our own.

They come from the Go module proxy and crates.io, if the tools are here and the network
lets them, into build/peers; nothing of them is part of Weir. What cannot be installed is
skipped, and said to be.
"""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import harness
import servers

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "build" / "peers"
INSTALL_TIMEOUT_S = 1200

# Each with the command that brings it.
PACKAGES = {
    "service_cmd": ("go", "install", "github.com/envoyproxy/ratelimit/src/service_cmd@latest"),
    "gubernator": ("go", "install",
                   "github.com/gubernator-io/gubernator/v2/cmd/gubernator@latest"),
    "throttlecrab-server": ("cargo", "install", "--root", str(FOLDER), "throttlecrab-server"),
}


def program(name):
    """Its path; None, and a line on stderr, if it cannot be had."""
    path = FOLDER / "bin" / name
    if path.exists():
        return path
    tool, *arguments = PACKAGES[name]
    found = shutil.which(tool, path=os.pathsep.join(
        (os.environ["PATH"], "/usr/local/go/bin", str(pathlib.Path.home() / ".cargo/bin"))))
    if found is None:
        return skipped(name, f"{tool} is not on this machine")
    print(f"installing {name} with {tool} into {FOLDER}", file=sys.stderr)
    FOLDER.mkdir(parents=True, exist_ok=True)
    try:
        result = subprocess.run([found, *arguments], capture_output=True, text=True,
                                timeout=INSTALL_TIMEOUT_S,
                                env={**os.environ, "GOBIN": str(FOLDER / "bin")})
    except subprocess.TimeoutExpired:
        return skipped(name, f"{tool} was not done within {INSTALL_TIMEOUT_S} s")
    if result.returncode != 0:
        return skipped(name, f"{tool} could not: {(result.stderr.splitlines() or ['?'])[-1]}")
    return path


def skipped(name, why):
    print(f"peers: {name} is skipped: {why}", file=sys.stderr)


@contextlib.contextmanager
def ratelimit(bench, path, rules):
    """Envoy's reference rate limit service, with a Redis of its own on the same CPU."""
    with tempfile.TemporaryDirectory(prefix="weir-bench-ratelimit-") as folder, \
            servers.redis(bench) as redis:
        config = pathlib.Path(folder, "ratelimit", "config")
        config.mkdir(parents=True)
        (config / "edge.yaml").write_text(rules)
        port = harness.free_port()
        settings = {
            "USE_STATSD": "false", "LOG_LEVEL": "error", "RUNTIME_ROOT": folder,
            "RUNTIME_SUBDIRECTORY": "ratelimit", "RUNTIME_WATCH_ROOT": "false",
            "REDIS_SOCKET_TYPE": "tcp", "REDIS_URL": f"127.0.0.1:{redis.port}",
            "HOST": "127.0.0.1", "PORT": str(harness.free_port()),
            "GRPC_HOST": "127.0.0.1", "GRPC_PORT": str(port),
            "DEBUG_HOST": "127.0.0.1", "DEBUG_PORT": str(harness.free_port()),
        }
        command = ["env", *(f"{name}={value}" for name, value in settings.items()), path]
        with servers.started(bench.on_server_cpu(command), port) as server:
            yield server


@contextlib.contextmanager
def gubernator(bench, path):
    port = harness.free_port()
    settings = {
        "GUBER_GRPC_ADDRESS": f"127.0.0.1:{port}",
        "GUBER_HTTP_ADDRESS": f"127.0.0.1:{harness.free_port()}",
        "GUBER_ADVERTISE_ADDRESS": f"127.0.0.1:{port}",
        "GUBER_PEER_DISCOVERY_TYPE": "member-list",
        "GUBER_MEMBERLIST_ADDRESS": f"127.0.0.1:{harness.free_port()}",
        "GUBER_MEMBERLIST_KNOWN_NODES": "127.0.0.1", "GUBER_LOG_LEVEL": "error",
    }
    command = ["env", *(f"{name}={value}" for name, value in settings.items()), path]
    with servers.started(bench.on_server_cpu(command), port) as server:
        yield server


@contextlib.contextmanager
def throttlecrab(bench, path):
    port = harness.free_port()
    command = [path, "--redis", "--redis-host", "127.0.0.1", "--redis-port", port,
               "--log-level", "error"]
    with servers.started(bench.on_server_cpu(command), port) as server:
        yield server
