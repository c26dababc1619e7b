"""Requests that two readers may read differently: each must be refused, and end its connection."""

from scene import Attack, get, post
from weir_server import ConnectionClosed

REFUSED = (400, 501, 505)
SMUGGLED = get("/health")
HEAD_MAX, TARGET_MAX, BODY_MAX = 32 << 10, 16 << 10, 1 << 20


def with_fields(*fields, body="", method="POST", version="HTTP/1.1"):
    lines = [f"{method} /check {version}", "Host: a", *fields, "", body]
    return "\r\n".join(lines).encode("latin-1")


def lengths():
    for value in ("5, 6", "+5", "-1", "0x5", "5 5", "", "5a", "\xb2", "1e1", "5;", "\"5\"",
                  "18446744073709551616", "99999999999999999999999", f"{'0' * 30}5x"):
        yield f"Content-Length: {value}", with_fields(f"Content-Length: {value}", body="01234")
    yield "two lengths", with_fields("Content-Length: 5", "Content-Length: 6", body="01234")
    yield "a length and a space", with_fields("Content-Length : 5", body="01234")
    yield "a length and a tab", with_fields("Content-Length\t: 5", body="01234")
    yield "a folded length", with_fields("Content-Length:", " 5", body="01234")
    yield "a length in two lines", with_fields("Content-Length: 5", " 0", body="01234")


def encodings():
    chunks = "0\r\n\r\n"
    for value in ("xchunked", "chunked, identity", "identity, chunked", "identity", "gzip",
                  "chunked, chunked", "chunked;q=1", "chunked x", "\"chunked\"", "\x0bchunked",
                  "chunked\x00", "", ",", "gzip, chunked"):
        yield f"Transfer-Encoding: {value!r}", with_fields(
            f"Transfer-Encoding: {value}", body=chunks)
    yield "length and chunks", with_fields("Content-Length: 5", "Transfer-Encoding: chunked",
                                           body=chunks)
    yield "chunks and length", with_fields("Transfer-Encoding: chunked", "Content-Length: 5",
                                           body=chunks)
    yield "chunks twice", with_fields("Transfer-Encoding: chunked", "Transfer-Encoding: chunked",
                                      body=chunks)
    yield "chunks and identity", with_fields("Transfer-Encoding: chunked",
                                             "Transfer-Encoding: identity", body=chunks)
    yield "chunks in HTTP/1.0", with_fields("Transfer-Encoding: chunked", body=chunks,
                                            version="HTTP/1.0")
    yield "chunks and a space", with_fields("Transfer-Encoding : chunked", body=chunks)
    yield "folded chunks", with_fields("Transfer-Encoding:", " chunked", body=chunks)
    yield "chunks folded in", with_fields("X: y", " Transfer-Encoding: chunked", body=chunks)
    yield "chunks behind a bare CR", with_fields("X: y\rTransfer-Encoding: chunked", body=chunks)


def bad_chunks():
    for size in ("0x5", "-5", "+5", "g", "", " 5", "FFFFFFFFFFFFFFFF1", "5\x00",
                 "5,5", "5\n", "\n5"):
        yield f"a chunk of {size!r}", with_fields(
            "Transfer-Encoding: chunked", body=f"{size}\r\n01234\r\n0\r\n\r\n")
    for name, chunks in {
            "a chunk that goes on": "5\r\n0123456\r\n0\r\n\r\n",
            "a chunk without an end": "5\r\n012340\r\n\r\n",
            "a chunk that ends in LF": "5\r\n01234\n0\r\n\r\n",
            "a last chunk that ends in LF": "0\n\n",
            "an extension with a bare CR": "5;a\rb\r\n01234\r\n0\r\n\r\n",
            "a folded trailer": "0\r\nX: y\r\n z\r\n\r\n",
            "a trailer without a colon": "0\r\nnonsense\r\n\r\n"}.items():
        yield name, with_fields("Transfer-Encoding: chunked", body=chunks)


def heads():
    host = "Host: a\r\n\r\n"
    for line in ("GET  /health HTTP/1.1", "GET /health  HTTP/1.1", " GET /health HTTP/1.1",
                 "GET /health HTTP/1.1 ", "GET /health", "GET", "GET /health http/1.1",
                 "GET /health HTTP/1.10", "GET /health HTTP/01.1", "GET /health HTTP/3.0",
                 "GET /health HTTP/0.9", "GET\t/health\tHTTP/1.1", "G@T /health HTTP/1.1",
                 "GET /he\x00alth HTTP/1.1", "GET /he\x7falth HTTP/1.1", "GET /health\x0bHTTP/1.1",
                 "GET /health HTTP/1.1\rX: y"):
        yield f"the line {line!r}", f"{line}\r\n{host}".encode("latin-1")
    for field in ("no colon", ": no name", "X : y", "X\x00: y", "X: \x00y", "(X): y", "X\x80: y",
                  "X: y\rZ: z", " X: y", "\tX: y", "X: y\r\n\tz", "X:\r\n z", "X\r: y", "X: \x7f"):
        yield f"the field {field!r}", f"GET /health HTTP/1.1\r\n{field}\r\n{host}".encode("latin-1")
    yield "no Host", b"GET /health HTTP/1.1\r\n\r\n"
    yield "two Hosts", b"GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"
    yield "a Host twice", b"GET /health HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"


def smuggle(scene):
    """Behind each of them goes another request, which must not be answered."""
    tried = 0
    for name, data in (*lengths(), *encodings(), *bad_chunks(), *heads()):
        tried += 1
        status = fate(scene, data + SMUGGLED)
        scene.claim(status in REFUSED or status == 413, f"{name}: {status}")
    scene.note(f"{tried} heads and bodies")


def fate(scene, data):
    """The status of a refusal that ends the connection; else what happened."""
    with scene.connect() as connection:
        try:
            reply = connection.ask(data)
        except ConnectionClosed:
            return "closed without a word"
        try:
            second = connection.read_reply()
            return f"{reply.status}, then {second.status} to what was smuggled"
        except ConnectionClosed:
            return reply.status


def too_large(scene):
    """Heads, targets and bodies beyond their bounds have a status of their own."""
    cases = [
        (431, get("/health", f"X: {'y' * HEAD_MAX}\r\n")),
        (431, get("/health", "".join(f"X-{n}: y\r\n" for n in range(HEAD_MAX // 6)))),
        (414, get("/health?" + "x" * TARGET_MAX)),
        (413, with_fields(f"Content-Length: {BODY_MAX + 1}")),
        (413, with_fields("Transfer-Encoding: chunked", body=f"{BODY_MAX + 1:x}\r\n")),
    ]
    for expected, data in cases:
        status = scene.status_of(data)
        scene.claim(status == expected, f"{data[:40]!r}: {status}, not {expected}")
    for name, endless in (("extensions", "1;" + "x" * 20_000),
                          ("trailers", "0\r\n" + "X: y\r\n" * 9000)):
        status = fate(scene, with_fields("Transfer-Encoding: chunked", body=endless))
        scene.claim(status in (400, 413, 431), f"{name} without end: {status}")


def strange_json(scene):
    """Bodies that are hard to read, each refused."""
    deep = b"[" * 500_000
    cases = [deep, b'{"a":' * 100_000, b'{"key":"' + b"\\u0000" * 100_000 + b'"}',
             b'{"key":"a","limit":' + b"9" * 500_000 + b',"window":60}',
             b'{"key":"a","limit":1e308,"window":60}', b'{"key":"a","limit":5,"window":1e-400}',
             b'{"key":"a","limit":-9223372036854775809,"window":60}',
             b'{"key":"a","key":"b","limit":5,"window":60}',
             b'{"key":"\\ud800","limit":5,"window":60}', b'\xef\xbb\xbf\xef\xbb\xbf{}',
             b'{"checks":' + b"[" * 10_000 + b"]" * 10_000 + b"}",
             b'{"checks":[' + b",".join([b"{}"] * 100_000) + b"]}", b'{"":""}' * 10_000,
             b'"' * 100_000, b"{" + b",".join(b'"k%d":1' % n for n in range(50_000)) + b"}"]
    bodies = b"".join(post("/v1/check", body) for body in cases)
    for body in cases:
        status = scene.status_of(post("/v1/check", body))
        scene.claim(status == 400, f"{body[:30]!r}: {status}, not 400")
    with scene.connect() as connection:
        while scene.goes_on():
            connection.send(bodies)
            for _ in cases:
                connection.read_reply()


ATTACKS = [
    Attack("smuggled requests", smuggle),
    Attack("heads, targets and bodies beyond their bounds", too_large),
    Attack("JSON bombs", strange_json),
]
