"""Spellings of a header's value and of a cookie's: each host reads as one what its origin may.

header_values.json says what is one: its rules, and of values the status that they get. It holds
them as ISO 8859-1, a character a byte. worker/test/matching.test.mjs asks it of the Worker's parts.
"""

import json
import pathlib
import random

import hosts
from scene import Attack

TABLE = json.loads(pathlib.Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
RULES = "\n".join(TABLE["rules"])
LIMIT = 3
LIMITED = f"""
rules:
  - {{id: header, group: a, match: {{}}, key: "header:X-Api-Key", limit: {LIMIT}, window: 366d}}
  - {{id: cookie, group: b, match: {{}}, key: "cookie:s", limit: {LIMIT}, window: 366d}}
"""
SPELLINGS = 400
REFUSED = (400, 429, None)


def rows():
    for name, status, values in TABLE["sent"]:
        for value in values:
            yield name.encode(), value.encode("latin-1"), status


def blanks(prng):
    return bytes(prng.choices(b" \t", k=prng.randrange(6)))


def odd(prng):
    """Blanks, and perhaps what else some origins trim."""
    spaces = (b"\x0b", b"\x1c", b"\xa0", b"\x85", b"\xc2\xa0", b"\xe3\x80\x80")
    space = prng.choice(spaces) if prng.random() < 0.3 else b""
    return blanks(prng) + space + blanks(prng)


def another(prng):
    """What has no counter yet, for the other rule."""
    return b"%d" % prng.randrange(1 << 60)


def as_header(prng):
    return [(b"X-Api-Key", odd(prng) + b"k1" + odd(prng)), (b"Cookie", b"s=" + another(prng))]


def cookie(prng):
    text = b"".join(prng.choice((b"%c", b"%%%02x", b"%%%02X")) % byte for byte in b"k1")
    if prng.random() < 0.5:
        text = b'"%s"' % b"".join(prng.choice((b"%c", b"\\%03o")) % byte for byte in text)
    return b"s=" + odd(prng) + text + odd(prng)


def as_cookie(prng):
    return [(b"X-Api-Key", another(prng)), (b"Cookie", cookie(prng) + b"; t=" + another(prng))]


def as_two_values(prng):
    """For some origins. So each is counted by the client, whatever the other value is."""
    first = prng.choice((b"s=%s; ", b"s=%s ", b"s=%s,")) % another(prng)
    after = prng.choice((b"; t=", b" t=", b",t=")) + another(prng)
    return [(b"X-Api-Key", another(prng)), (b"Cookie", first + cookie(prng) + after)]


def spelling(host):
    def act(scene):
        """However one key is spelled, it has one counter, or the request is refused."""
        prng = random.Random(1)
        tries = scene.some(SPELLINGS, at_least=30)
        with hosts.serving(host, LIMITED) as ask:
            for fields_of in (as_header, as_cookie, as_two_values):
                statuses = [ask(b"/", fields_of(prng)) for _ in range(tries)]
                passed = sum(status not in REFUSED for status in statuses)
                scene.claim(passed == LIMIT, f"{fields_of.__name__}: {passed} pass, not {LIMIT}")
        scene.note(f"{3 * tries} requests")
    return act


ATTACKS = [Attack(f"spellings of one key: {host}", spelling(host))
           for host in hosts.HOSTS if not hosts.lacks(host)]
