"""For tests: nodes that share a Redis, and loads for them that are timed well.

The loads are those of `weir-bench`, so that what is measured is not Python.
"""

import contextlib
import json
import subprocess

from resp_client import RespWeir
from weir_server import DEADLINE_S, WEIR_BENCH, get, post, wait_until

KEY = "k00000000"  # what `weir-bench` asks about if it has one key
RESP_KEY = "{key}"  # the same, for its RESP commands


class Fleet:
    """A node for each URL in `redis_urls`, all with one configuration."""

    def __init__(self, redis_urls, *arguments, config=None, environments=None):
        self._stack = contextlib.ExitStack()
        environments = environments or [None] * len(redis_urls)
        with self._stack:
            self.nodes = [
                self._stack.enter_context(RespWeir("--redis", url, *arguments, config=config,
                                                   environment=environment))
                for url, environment in zip(redis_urls, environments)]
            self._stack = self._stack.pop_all()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stack.close()

    def wait_until_shared(self):
        """All nodes decide together, and have counted each other."""
        wait_until(lambda: all(is_shared(node, len(self.nodes)) for node in self.nodes),
                   f"all nodes share: {[health(node) for node in self.nodes]}")


def health(node):
    with node.connect() as connection:
        return connection.ask(get("/health")).json()


def metrics(node):
    with node.connect() as connection:
        return connection.ask(get("/metrics")).json()


def is_shared(node, nodes):
    said = health(node)
    return said["redis"] == "connected" and said["nodes"] == nodes


def admin(node, path, **fields):
    with node.connect() as connection:
        reply = connection.ask(post(path, json.dumps(fields).encode()))
    assert reply.status == 200, reply.text
    return reply.json()


class Load:
    """A `weir-bench` under way; its result is that of --json. The end of a block ends it, too."""

    def __init__(self, door, server, *arguments, keys=1, seed=1):
        command = [WEIR_BENCH, door, "--server", server, "--keys", str(keys), "--json",
                   "--seed", str(seed), *map(str, arguments)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                         text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.communicate()

    def result(self):
        said, complaint = self._process.communicate(timeout=2 * DEADLINE_S)
        assert self._process.returncode == 0, complaint
        return json.loads(said)


def http_load(node, *arguments, **options):
    return Load("http", node.url, *arguments, **options)


def resp_load(node, command, *arguments, **options):
    return Load("resp", f"redis://127.0.0.1:{node.resp_port}", *arguments, "--", *command,
                **options)
