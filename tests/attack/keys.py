"""Floods of keys against a victim that is over its limit, or blocked, and must stay so.

The windows of a flood are longer than the victim's: a full table drops what ends first.
"""

import itertools
import json
import re

from scene import Attack, get, pass_time, post

MAX_KEYS, MAX_KEYS_MIN = 100_000, 1024
KEYS_OF_A_NETWORK = 65_536  # the /64s of a /48, the addresses of a /16
BLOCKS = 65_700  # more than a node keeps
LIST_MAX = 256  # checks of one request
PIPELINED = 50
VICTIMS = 20
ALGORITHMS = ("sliding_window", "fixed_window", "token_bucket", "sliding_log",
              "exponential_backoff")

RULES = "rules:\n" + "".join(
    f"  - {{id: victims-{name}, limit: 5, window: 24h, algorithm: {name}}}\n"
    for name in ALGORITHMS) + """
  - {id: roomy, limit: 1000000, window: 366d}
  - {id: tight, limit: 1, window: 366d}
"""

NETWORKS = """
rules:
  - {id: victim, limit: 1, window: 24h, match: {path: /login}, key: client}
  - {id: search, limit: 1, window: 366d, match: {path: /search}, key: client}
"""

BLOCKING = """
rules:
  - {id: victim, limit: 1, window: 1s, match: {path: /login}, key: client, on_deny: {block: 1d}}
"""


def flood_of_keys(rule, times):
    """Ten times as many keys as there is room for, each asked about so often."""
    def act(scene):
        victims = [(f"victims-{name}", f"victim-{n}") for name in ALGORITHMS
                   for n in range(VICTIMS)]
        with scene.connect() as connection:
            for _ in range(7):
                checks(connection, victims)
            keys = ((rule, f"flood-{n}") for n in range(10 * scene.some(MAX_KEYS, 4096)))
            while some := list(itertools.islice(keys, LIST_MAX // times * PIPELINED)):
                checks(connection, [key for key in some for _ in range(times)])
            freed = [victim for victim, answer in zip(victims, checks(connection, victims))
                     if answer["allowed"]]
        scene.claim(not freed, f"{len(freed)} of {len(victims)} victims were freed: {freed[:3]}")
    return act


def checks(connection, pairs):
    """The answers to checks of (rule, key), in lists of as many as one request may hold."""
    lists = [pairs[n:n + LIST_MAX] for n in range(0, len(pairs), LIST_MAX)]
    connection.send(b"".join(post("/v1/check", json.dumps({"checks": [
        {"rule": rule, "key": key} for rule, key in some]}).encode()) for some in lists))
    return [answer for _ in lists for answer in connection.read_reply().json()["results"]]


def flood_of_a_network(address):
    """Clients of one network, each driven over its limit."""
    def act(scene):
        count = scene.some(KEYS_OF_A_NETWORK, 10 * MAX_KEYS_MIN)
        with scene.connect() as connection:
            asked(connection, ["203.0.113.7"] * 3)
            asked(connection, [address(n) for n in range(count) for _ in range(2)], "/search")
            scene.claim(asked(connection, ["203.0.113.7"]) == [429], "the victim was freed")
    return act


def flood_of_blocks(scene):
    """More blocks than a node keeps, each of a day, as the victim's."""
    count = BLOCKS if scene.size.judges_time else scene.some(BLOCKS)
    with scene.connect() as connection:
        asked(connection, ["203.0.113.7"] * 3)
        asked(connection, [f"2001:db8:{n >> 16:x}:{n & 0xffff:x}::1" for n in range(count)
                           for _ in range(2)])
        pass_time(2.1 if scene.size.judges_time else 0)  # its window of a second is over
        scene.claim(asked(connection, ["203.0.113.7"]) == [429], "the victim's block was lifted")


def asked(connection, clients, path="/login"):
    """The statuses of a request for each of the clients."""
    statuses = []
    clients = iter(clients)
    while some := list(itertools.islice(clients, PIPELINED)):
        connection.send(b"".join(get("/auth", "X-Forwarded-Method: POST\r\n"
                                     f"X-Forwarded-Uri: {path}\r\nX-Forwarded-Host: a\r\n"
                                     f"X-Forwarded-For: {client}\r\n") for client in some))
        replies = b""
        while replies.count(b"\r\n\r\n") < len(some):
            came = connection.socket.recv(1 << 20)
            assert came, "the server has closed the connection"
            replies += came
        statuses += map(int, re.findall(rb"HTTP/1\.1 (\d+)", replies))
    return statuses


def of_a_48(number):
    return f"2001:db8:7:{number:x}::1"


def of_a_16(number):
    return f"198.18.{number >> 8}.{number & 0xff}"


ATTACKS = [
    Attack("ten times max-keys, allowed", flood_of_keys("roomy", 1), config=RULES,
           max_keys=MAX_KEYS),
    Attack("ten times max-keys, denied", flood_of_keys("tight", 2), config=RULES,
           max_keys=MAX_KEYS),
    Attack("denied clients of one /48", flood_of_a_network(of_a_48), config=NETWORKS,
           max_keys=MAX_KEYS_MIN),
    Attack("denied clients of one /16", flood_of_a_network(of_a_16), config=NETWORKS,
           max_keys=MAX_KEYS_MIN),
    Attack("65,700 blocks of a day", flood_of_blocks, config=BLOCKING, max_keys=MAX_KEYS),
]
