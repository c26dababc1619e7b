"""Frames of HTTP/2 and header blocks of HPACK, made by hand: also those that nobody sends."""

import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = (
    range(10))
END_STREAM, END_HEADERS = 0x1, 0x4
INITIAL_WINDOW_SIZE = 4
FRAME_MAX = 16_384
NEWEST = b"\xbe"  # the newest entry of the dynamic table, as a header


def frame(kind, payload=b"", flags=0, stream=0):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def hello(window=None):
    """What a client begins with."""
    settings = b"" if window is None else struct.pack(">HI", INITIAL_WINDOW_SIZE, window)
    return PREFACE + frame(SETTINGS, settings)


def integer(number, bits, first=0):
    """An integer with a prefix of `bits`, as RFC 7541 has it."""
    most = (1 << bits) - 1
    if number < most:
        return bytes([first | number])
    rest, number = bytes([first | most]), number - most
    while number >= 128:
        rest, number = rest + bytes([number % 128 | 128]), number // 128
    return rest + bytes([number])


def text(value):
    return integer(len(value), 7) + value


def literal(name, value):
    """A header that the dynamic table does not keep."""
    return b"\x00" + text(name) + text(value)


def kept(name, value):
    """A header that becomes the newest entry of the dynamic table."""
    return b"\x40" + text(name) + text(value)


def block(method=b"GET", path=b"/health", rest=b""):
    method = {b"GET": b"\x82", b"POST": b"\x83"}[method]
    return method + b"\x86" + b"\x04" + text(path) + b"\x01" + text(b"localhost") + rest


def request(stream, method=b"GET", path=b"/health", rest=b"", flags=END_STREAM | END_HEADERS):
    return frame(HEADERS, block(method, path, rest), flags, stream)


def reset(stream):
    return frame(RST_STREAM, struct.pack(">I", 8), stream=stream)


def grpc_call(stream, body, path=b"/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"):
    rest = literal(b"content-type", b"application/grpc") + literal(b"te", b"trailers")
    return request(stream, b"POST", path, rest, END_HEADERS) + frame(
        DATA, body, END_STREAM, stream)
