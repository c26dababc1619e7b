"""Other rate limiters, installed by the names of their packages and started like our own.

They come from the Go module proxy, crates.io and Maven Central, if the tools are here and the
network lets them, into build/peers; nothing of them is part of Weir. What cannot be installed is
skipped, and said to be.
"""

import contextlib
import os
import pathlib
import re
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
    return path if path.exists() or install(name, [PACKAGES[name]], FOLDER) else None


def install(name, commands, folder):
    """Runs them in the folder. Falsy, and a line on stderr, if one cannot."""
    folder.mkdir(parents=True, exist_ok=True)
    for tool, *arguments in commands:
        found = shutil.which(tool, path=os.pathsep.join(
            (os.environ["PATH"], "/usr/local/go/bin", str(pathlib.Path.home() / ".cargo/bin"))))
        if found is None:
            return skipped(name, f"{tool} is not on this machine")
        print(f"installing {name} with {tool} into {FOLDER}", file=sys.stderr)
        try:
            result = subprocess.run([found, *arguments], capture_output=True, text=True,
                                    cwd=folder, timeout=INSTALL_TIMEOUT_S,
                                    # The newest version may need a newer Go, which Go brings.
                                    env={**os.environ, "GOTOOLCHAIN": "auto",
                                         "GOBIN": str(FOLDER / "bin")})
        except subprocess.TimeoutExpired:
            return skipped(name, f"{tool} was not done within {INSTALL_TIMEOUT_S} s")
        if result.returncode != 0:
            said = (result.stderr + result.stdout).splitlines() or ["?"]
            return skipped(name, f"{tool} could not: {said[-1]}")
    return True


def skipped(name, why):
    print(f"peers: {name} is skipped: {why}", file=sys.stderr)


# ---- what a program limits with in its own process ---------------------------------------

SOURCES = pathlib.Path(__file__).with_name("in_process")
GO_MODULES = ("go.uber.org/ratelimit", "golang.org/x/time")
JARS = (("com.bucket4j", "bucket4j_jdk17-core"), ("io.github.resilience4j",
                                                   "resilience4j-ratelimiter"))
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>weir</groupId><artifactId>in-process</artifactId><version>0</version><dependencies>
{}</dependencies></project>
"""


def in_rust():
    folder = FOLDER / "in_process_rust"
    program = folder / "target/release/in_process"
    copied("rust", folder)
    if not (program.exists() or install("governor, throttlecrab",
                                        [("cargo", "build", "--release")], folder)):
        return None
    locked = (folder / "Cargo.lock").read_text()
    versions = {name: re.search(rf'name = "{name}"\nversion = "([^"]+)"', locked)[1]
                for name in ("governor", "throttlecrab")}
    return [program], versions, program


def in_go():
    folder = FOLDER / "in_process_go"
    program = folder / "in_process"
    copied("go", folder)
    commands = [("go", "mod", "init", "in_process"), ("go", "get", *GO_MODULES),
                ("go", "build", "-o", program)]
    if not (program.exists() or install(" and ".join(GO_MODULES), commands, folder)):
        return None
    required = (folder / "go.mod").read_text()
    versions = {name: re.search(rf"{name} (\S+)", required)[1] for name in GO_MODULES}
    return [program], versions, program


def in_java():
    folder = FOLDER / "in_process_java"
    made = folder / "InProcess.class"
    copied("java", folder)
    (folder / "pom.xml").write_text(POM.format("".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>"
        "<version>LATEST</version></dependency>\n" for group, name in JARS)))
    commands = [("mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars"),
                ("javac", "-cp", "jars/*", "-d", ".", "InProcess.java")]
    if not (made.exists() or install("bucket4j, resilience4j", commands, folder)):
        return None
    versions = {}
    for _, name in JARS:
        jar = next((folder / "jars").glob(f"{name}-[0-9]*.jar")).stem
        versions[re.match("[a-z0-9]+", name)[0]] = jar.removeprefix(f"{name}-")
    return ["java", "-cp", f"{folder}:{folder}/jars/*", "InProcess"], versions, made


def copied(language, folder):
    shutil.copytree(SOURCES / language, folder, dirs_exist_ok=True)


# ---- servers -----------------------------------------------------------------------------


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
            "USE_STATSD": "false", "DISABLE_STATS": "true", "LOG_LEVEL": "error",
            "RUNTIME_ROOT": folder,
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
