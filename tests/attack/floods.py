"""Attacks on memory, and on the turn of others: much to answer, and nobody who reads it."""

import frames
import swarm
from scene import Attack, get, open_files_max, pass_time, post

BIG = get("/openapi.json")
BODY_MAX = 1 << 20
FILES_OF_A_SMALL_SERVER = 600
IDLE = 10_000


def big_replies_unread(scene):
    """8 KB of requests ask for 4 MB of replies."""
    swarm.flood(scene, scene.some(2000), swarm.once(BIG * 130), reads=False)


def windows_of_nothing(scene):
    """Streams whose replies the client's window never lets go."""
    requests = b"".join(frames.request(2 * n + 1, path=b"/openapi.json") for n in range(1000))
    swarm.flood(scene, scene.some(100), swarm.once(frames.hello(window=0) + requests), reads=False)


def big_replies_read(scene):
    """They read, so nothing piles up: but each turn of theirs is long."""
    tally = swarm.flood(scene, scene.some(500), swarm.endless(BIG * 64))
    scene.claim_in_time(tally.received > 0, "nobody was answered")


def checks_pipelined(scene):
    """As many checks as a core can send, in big reads."""
    checks = post("/check", b'{"key":"flood","limit":1000000000,"window":60}') * 500
    swarm.flood(scene, scene.some(200), swarm.endless(checks))


def bodies_withheld(scene):
    """Each connection sends a body but for its last byte."""
    head = f"POST /check HTTP/1.1\r\nHost: a\r\nContent-Length: {BODY_MAX}\r\n\r\n".encode()
    swarm.flood(scene, scene.some(1000), swarm.once(head + b" " * (BODY_MAX - 1)), reads=False)


def streams_of_bodies_withheld(scene):
    """The same in streams of HTTP/2."""
    body = frames.frame(frames.DATA, b" " * 1000, stream=1)
    opened = b"".join(frames.request(2 * n + 1, b"POST", b"/check", flags=frames.END_HEADERS)
                      for n in range(1000))
    bodies = [body[:5] + (2 * n + 1).to_bytes(4, "big") + body[9:] for n in range(1000)]
    swarm.flood(scene, scene.some(100),
                lambda _number: [frames.hello() + opened, *(b"".join(bodies) for _ in range(20))],
                reads=False)


def connections_beyond_the_most(scene):
    """Twice as many connections as the server may open files; those it has are served."""
    members = [swarm.connect(scene.port) for _ in range(2 * FILES_OF_A_SMALL_SERVER)]
    pass_time(scene.size.seconds)
    for member in members:
        member.close()


def connections_come_and_go(scene):
    """One after the other, each closed before it says anything."""
    while scene.goes_on():
        swarm.connect(scene.port).close()


def connections_idle(scene):
    """Ten thousand that never say a word, or what the limit of open files allows."""
    count = min(scene.some(IDLE), open_files_max() - 500)
    members = [swarm.connect(scene.port) for _ in range(count)]
    pass_time(scene.size.seconds)
    scene.note(f"{count} connections")
    scene.claim(scene.weir.metric("weir_connections_open") >= count, "idle clients were cut off")
    for member in members:
        member.close()


def heads_drip(scene):
    """Slow loris: requests whose heads never end."""
    slow(scene, b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ")


def bodies_drip(scene):
    """The same with bodies."""
    slow(scene, b"POST /check HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n")


def slow(scene, head):
    count = scene.some(1000)
    if scene.size.judges_time:
        scene.ends += 15 - scene.size.seconds  # a request has ten
    closed = swarm.drip(scene, count, head, b"x", every_s=0.5)
    scene.note(f"{closed} of {count} closed")
    scene.claim_in_time(closed == count, f"only {closed} of {count} slow clients were cut off")


ATTACKS = [
    Attack("2,000 connections pipeline big replies, read nothing", big_replies_unread),
    Attack("100 HTTP/2 connections x 1,000 streams, window 0", windows_of_nothing),
    Attack("500 connections pipeline big replies, read them", big_replies_read),
    Attack("200 connections pipeline checks without end", checks_pipelined),
    Attack("1,000 bodies of 1 MiB, each without its last byte", bodies_withheld),
    Attack("100,000 streams with bodies that never end", streams_of_bodies_withheld),
    Attack("slow loris: 1,000 heads drip", heads_drip),
    Attack("slow loris: 1,000 bodies drip", bodies_drip),
    Attack("twice the connections that the server may have", connections_beyond_the_most,
           files=FILES_OF_A_SMALL_SERVER),
    Attack("connections come and go", connections_come_and_go),
    Attack("10,000 idle connections", connections_idle),
]
