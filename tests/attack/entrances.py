"""Attacks before the first request: handshakes of TLS, and PROXY headers."""

import contextlib
import ssl
import struct

import swarm
from certificates import Authority
from scene import Attack, get, pass_time

AUTHORITY = Authority()
CERTIFICATE, KEY = AUTHORITY.issue("server")
TLS = ("--http-tls", "127.0.0.1:0", "--tls-certificate", CERTIFICATE, "--tls-key", KEY)
BEHIND_A_BALANCER = (*TLS, "--proxy-protocol", "http-tls")
BATCH = 20  # handshakes under way at a time
ANSWER_S = 0.3
SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"  # with which version 2 of a PROXY header begins


def hello():
    """What a client says first."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def handshakes_left(scene):
    """The server signs for each; the client never answers, and comes again."""
    port, first, handshakes = scene.weir.port_of("https"), hello(), 0
    while scene.goes_on():
        batch = [swarm.connect(port) for _ in range(BATCH)]
        for member in batch:
            member.send(first)
        pass_time(0.005)
        for member in batch:
            member.close()
        handshakes += BATCH
    scene.note(f"{handshakes} handshakes")


def hellos_cut_short(scene):
    """Bytes in clear, and hellos of which a part never comes."""
    port, first = scene.weir.port_of("https"), hello()
    pieces = [get("/health"), first[:3], first[:100], b"\x16\x03\x01\xff\xff" + b"x" * 1000,
              b"\x15\x03\x01\x00\x02\x02\x28", bytes(500), b"\x16\x03\x01" * 1000]
    tally = swarm.flood(scene, scene.some(300),
                        lambda number: [pieces[number % len(pieces)]], port=port, again=True)
    scene.note(f"{tally.closed} closed")


def bad_proxy_headers(scene):
    """None of them is taken for a header, and none is let in without one."""
    port = scene.weir.port_of("https")
    v1, tcp4 = b"PROXY TCP4 ", b"192.0.2.1 192.0.2.2 1 2\r\n"
    cases = [get("/health"), hello(), b"PROXY\r\n", b"PROXY TCP4\r\n",
             v1 + b"1.2.3 1.2.3.4 1 2\r\n",
             v1 + b"192.0.2.1 192.0.2.2 1 65536\r\n", v1 + b"192.0.2.1 192.0.2.2 1\r\n",
             v1 + b"::1 ::1 1 2\r\n", b"PROXY TCP6 192.0.2.1 192.0.2.2 1 2\r\n",
             v1 + tcp4[:-2] + b"\n" + get("/health") * 3, v1 + b" " + tcp4,
             b"proxy TCP4 " + tcp4, b"PROXY " + b"x" * 200,
             SIGNATURE + b"\x31\x11\0\x0c" + bytes(12), SIGNATURE + b"\x22\x11\0\x0c" + bytes(12),
             SIGNATURE + b"\x21\x11\0\x01\0", SIGNATURE + b"\x21\x11\xff\xff" + bytes(5000),
             SIGNATURE + struct.pack(">BBH", 0x21, 0x21, 4) + bytes(4)]
    for data in cases:
        tally = swarm.flood(scene.moment(ANSWER_S), 1, swarm.once(data), port=port)
        scene.claim(tally.closed and not tally.heard.startswith(b"HTTP"),
                    f"{data[:30]!r} is let in: {tally.heard[:30]!r}")
    scene.note(f"{len(cases)} headers")


ATTACKS = [
    Attack("TLS handshakes that their clients leave", handshakes_left, TLS),
    Attack("bytes in clear and cut hellos on a port of TLS", hellos_cut_short, TLS),
    Attack("bad PROXY headers", bad_proxy_headers, BEHIND_A_BALANCER),
]
