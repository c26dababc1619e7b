"""Requests that try to pass for others: other paths, other users, other sites, the admin."""

import base64
import hashlib
import hmac
import itertools
import json
import os
import pathlib
import random
import re
import tempfile
import time

from scene import Attack, get, pass_time, post
from weir_server import ConnectionClosed

PATHS = """
rules:
  - {id: secret, limit: 0, window: 1h, match: {path: [/secret/door, "/secret/door/*"]}}
"""

SECRET = b"a secret that is known to the issuer only"
FOLDER = tempfile.TemporaryDirectory(prefix="weir-attack-")
SECRET_FILE = os.path.join(FOLDER.name, "secret")
pathlib.Path(SECRET_FILE).write_bytes(SECRET)

TOKENS = f"""
jwt: {{secret_file: {SECRET_FILE}}}
rules:
  - {{id: gold, limit: 1000000, window: 1h, match: {{jwt: [{{claim: plan, value: gold}}]}}}}
  - {{id: others, limit: 0, window: 1h, match: {{}}}}
"""

ADMIN_TOKEN = "an-admin-token-of-30-characters"
ADMIN_FILE = os.path.join(FOLDER.name, "admin-token")
pathlib.Path(ADMIN_FILE).write_text(ADMIN_TOKEN, encoding="ascii")
OWNER = "203.0.113.1"  # a client of the proxy
KNOWN_AFTER_S = 6.1
INVENTED_AT_ONCE = INVENTED_A_SECOND = 100  # guesses of all clients that a proxy names

REPEATED = """
trusted_headers: [X-App]
rules:
  - {id: web, limit: 0, window: 1h, match: {header: [{name: X-App, value: web}]}}
"""


def spellings(prng):
    """The path in one more spelling that an origin may understand."""
    parts = ["secret", "door"]
    for _ in range(prng.randrange(1, 4)):
        at = prng.randrange(len(parts) + 1)
        parts[at:at] = prng.choice(([""], ["."], ["x", ".."], ["x", "y", "..", ".."], ["%2e"],
                                    ["x", "%2e%2E"], ["x", ".%2e"], ["x", "..;y"], [";"]))
    if prng.random() < 0.3:
        parts[-1] += prng.choice((";x", ";x=y;z", "%3bx"))
    path = "/" + "/".join(parts)
    letters = [f"%{ord(c):{prng.choice('xX')}}" if c.isalpha() and prng.random() < 0.3
               and "%" not in path[max(0, n - 2):n] else c for n, c in enumerate(path)]
    path = "".join(letters)
    return "/" + path[1:].replace("/", prng.choice(("/", "/", "//", "%2f", "%2F"))) + prng.choice(
        ("", "", "?x=/", "?", "#x", "?../..", "/.", "/x/.."))


def path_tricks(scene):
    """However it is spelled, the rule of the path denies it, whichever proxy asks."""
    prng = random.Random(1)
    tried = 0
    with scene.connect() as connection:
        while scene.goes_on() or tried < 100:
            path = spellings(prng)
            for question in (as_forwarded(path), as_original(path)):
                status = connection.ask(question).status
                refused = 400  # it has too many readings
                scene.claim(status in (refused, 403, 429), f"{path} passes: {status}")
                tried += 1
            if len(scene.complaints) > 3:
                break
    scene.note(f"{tried} spellings")


def as_forwarded(path, fields=""):
    return get("/auth", f"X-Forwarded-Method: GET\r\nX-Forwarded-Uri: {path}\r\n"
                        f"X-Forwarded-Host: a\r\nX-Forwarded-For: 192.0.2.1\r\n{fields}")


def as_original(path):
    return get("/auth/nginx?allow=200", f"X-Original-Method: GET\r\nX-Original-URI: {path}\r\n"
                              "X-Original-Host: a\r\nX-Real-IP: 192.0.2.1\r\n")


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(claims, head=None, secret=SECRET, algorithm=hashlib.sha256):
    parts = [part if isinstance(part, bytes) else json.dumps(part).encode()
             for part in (head or {"alg": "HS256", "typ": "JWT"}, claims)]
    signed = ".".join(map(base64url, parts))
    return signed + "." + base64url(hmac.new(secret, signed.encode(), algorithm).digest())


def forgeries():
    gold, now = {"plan": "gold"}, int(time.time())
    right = token(gold)
    head, body, signature = right.split(".")
    for name in ("none", "None", "NONE", "nOnE", "", "HS384", "HS512", "RS256", "ES256", "hs256"):
        yield f"alg {name!r}, signed", token(gold, {"alg": name})
        yield f"alg {name!r}, not signed", token(gold, {"alg": name}).rpartition(".")[0] + "."
    for secret in (b"", b"\0" * 32, b"secret", SECRET + b"\n", SECRET[:-1], SECRET_FILE.encode()):
        yield f"by the secret {secret[:8]!r}", token(gold, secret=secret)
    yield "no signature", f"{head}.{body}"
    yield "an empty one", f"{head}.{body}."
    yield "half a signature", right[:-20]
    yield "a longer signature", right + "AA"
    yield "another body", f"{head}.{base64url(json.dumps({**gold, 'a': 1}).encode())}.{signature}"
    yield "four parts", right + ".x"
    yield "SHA-512", token(gold, algorithm=hashlib.sha512)
    yield "expired", token({**gold, "exp": now - 5})
    yield "expired as a fraction", token({**gold, "exp": now - 5.5})
    yield "expired as a text", token({**gold, "exp": str(now + 100)})
    yield "not yet", token({**gold, "nbf": now + 100})
    yield "an end before all time", token({**gold, "exp": -1})
    yield "an end that is none", token({**gold, "exp": None})
    yield "two algorithms", token(gold, b'{"alg":"none","alg":"HS256"}')
    yield "critical extensions", token(gold, {"alg": "HS256", "crit": ["x"], "x": 1})
    yield "a claim in a claim", token({"a": {"plan": "gold"}})
    yield "a claim in capitals", token({"Plan": "gold"})
    yield "padded", ".".join(part + "=" for part in right.split("."))
    yield "the other base64", right.replace("-", "+").replace("_", "/") + "+"
    yield "a list", token(b'[{"plan":"gold"}]')
    yield "deep", token(b'{"plan":' + b"[" * 5000 + b"]" * 5000 + b"}")
    yield "long", token({**gold, "x": "y" * 9000})


def forged_tokens(scene):
    """None of them gets the limit of the token that was issued."""
    with scene.connect() as connection:
        def status_with(bearer):
            return connection.ask(as_forwarded("/", f"Authorization: Bearer {bearer}\r\n")).status
        scene.claim(status_with(token({"plan": "gold"})) == 200, "the right token is not believed")
        tried = list(forgeries())
        for name, forged in tried:
            status = status_with(forged)
            scene.claim(status == 429, f"a token, {name}, is answered with {status}")
        right, other = (f"Authorization: Bearer {value}\r\n"
                        for value in (token({"plan": "gold"}), token({"plan": "free"})))
        for fields in (right + other, other + right):
            scene.claim(scene.status_of(as_forwarded("/", fields)) >= 400,
                        "two tokens count as the right one")
        while scene.goes_on():
            for _, forged in tried:
                status_with(forged)
    scene.note(f"{len(tried)} tokens")


def repeated_headers(scene):
    """A rule about a header holds wherever the header stands, or the request is refused."""
    once, other = "X-App: web\r\n", "X-App: other\r\n"
    for fields in (once, other + once, once + other, other * 5 + once, other + once + other,
                   "x-app: other\r\n" + once, "X-App: \r\n" + once):
        status = scene.status_of(as_forwarded("/", fields))
        scene.claim(status >= 400, f"{fields!r} passes: {status}")
    for name in ("X-Forwarded-Uri", "X-Forwarded-Method", "X-Forwarded-Host"):
        status = scene.status_of(as_forwarded("/", f"{name}: /other\r\n"))
        scene.claim(status == 400, f"{name} twice: {status}, not 400")


def other_sites(scene):
    """A web page of another site does not get at the admin routes of this machine."""
    hosts = ("evil.com", "[::1].evil.com", "127.0.0.1.evil.com", "localhost.evil.com",
             "127.0.0.1@evil.com", "localhost:80.evil.com", "evil.com:8080", "1.2.3.4.5", "[::1]x",
             "0x7f.evil", "127.0.0.1:x")
    for host in hosts:
        request = f"GET /admin/blocks HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
        try:
            status = scene.status_of(request)
        except ConnectionClosed:
            continue
        scene.claim(status in (400, 403), f"Host {host} is let in: {status}")
    for origin in ("http://evil.com", "null", "http://localhost"):
        status = scene.status_of(get("/admin/blocks", f"Origin: {origin}\r\n"))
        scene.claim(status == 403, f"Origin {origin!r} is let in: {status}")


def show_token(word, client=None):
    """Over a proxy on this machine that names a client, or from the machine itself."""
    named = f"X-Forwarded-For: {client}\r\n" if client else ""
    return get("/admin/stats", f"Authorization: Bearer {word}\r\n{named}")


def sign_in(word, client):
    return post("/console/session", json.dumps({"token": word}).encode(),
                f"X-Weir-Console: 1\r\nX-Forwarded-For: {client}\r\n")


def guess_admin_tokens(scene):
    """A guesser who names another client each time locks out nobody, and is bounded."""
    clients = (f"198.18.{n >> 8}.{n & 255}" for n in itertools.count())

    def let_in(*requests):
        for request in requests:
            status = scene.status_of(request)
            scene.claim(status in (200, 204), f"the right token brings {status}: {request[:200]}")

    let_in(show_token(ADMIN_TOKEN), show_token(ADMIN_TOKEN, OWNER))
    begun, pace = time.monotonic(), scene.moment(scene.size.seconds / 2)
    while pace.goes_on():  # ten a second, and ten at once
        for _ in range(10):
            scene.status_of(sign_in("guess", next(clients)))
        for _ in range(10):
            let_in(show_token(ADMIN_TOKEN), show_token(ADMIN_TOKEN, OWNER),
                   sign_in(ADMIN_TOKEN, next(clients)))
            pass_time(0.1)
            scene.status_of(show_token("guess", next(clients)))
    # Who has just sent something right has a place of its own after a pause: login_guard.h.
    pass_time(max(0, KNOWN_AFTER_S - (time.monotonic() - begun)))
    flood = scene.moment(max(scene.size.seconds, 1))
    while flood.goes_on():  # as many as can be
        for _ in range(100):
            scene.status_of(show_token("guess", next(clients)))
        let_in(show_token(ADMIN_TOKEN), show_token(ADMIN_TOKEN, OWNER))
    compared = scene.weir.metric("weir_logins_failed_total")
    allowed = INVENTED_AT_ONCE + INVENTED_A_SECOND * (time.monotonic() - begun)
    scene.claim(0 < compared <= allowed, f"{compared:.0f} of {allowed:.0f} guesses were compared")
    # All clients of the proxy together wait 10 ms at most; longer waits only who has guessed often:
    # ten times, each after 10 ms.
    bounded = any(wait_of(scene, show_token("guess", OWNER)) > 1 for _ in range(20_000))
    scene.claim(bounded and scene.status_of(show_token(ADMIN_TOKEN, OWNER)) == 429,
                "a client is not bounded")


def wait_of(scene, request):
    """The seconds of its reply's Retry-After, or 0."""
    with scene.connect() as connection:
        said = re.search(r"retry-after: *(\d+)", connection.ask(request).head, re.IGNORECASE)
    return int(said[1]) if said else 0


ATTACKS = [
    Attack("path tricks against a rule of limit 0", path_tricks, config=PATHS),
    Attack("forged tokens", forged_tokens, config=TOKENS),
    Attack("repeated headers", repeated_headers, config=REPEATED),
    Attack("web pages of other sites", other_sites),
    Attack("admin tokens guessed behind a proxy", guess_admin_tokens,
           ("--admin-token-file", ADMIN_FILE)),
]
