"""examples/llm in the gateway: streams of three vendors, of which some are cut, are charged what
was reported. With WEIR_TESTS=long 10,000 streams."""

import collections
import json
import os
import re
import socket
import struct
import sys
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor

from gateway_test import NGINX_LOADS_IT, Gateway
from weir_server import ROOT, Connection, main, post, wait_until

sys.path.insert(0, str(ROOT / "examples" / "llm"))

import origin

EXAMPLE = (ROOT / "examples" / "llm" / "rules.yaml").read_text(encoding="utf-8")
RULES = EXAMPLE.replace("window: 1m", "window: 366d")  # none ends meanwhile
STREAMS = 10_000 if os.environ.get("WEIR_TESTS") == "long" else 600
KEYS, AT_ONCE = 20, 16
LIMIT = 1_000_000_000
ESTIMATE = int(re.search(r"reserve: (\d+)", RULES)[1])
PROMPT = "say it again"
STALLED = PROMPT + " stall"
# The path, the body of a prompt, and what a stream that is cut has reported.
VENDORS = (
    ("/v1/chat/completions", lambda prompt, words: {
        "messages": [{"content": prompt}], "max_completion_tokens": words, "stream": True,
        "stream_options": {"include_usage": True}}, ESTIMATE),
    ("/v1/responses", lambda prompt, words: {
        "input": prompt, "max_output_tokens": words, "stream": True}, ESTIMATE),
    ("/v1/messages", lambda prompt, words: {
        "messages": [{"content": prompt}], "max_tokens": words, "stream": True},
     len(STALLED.split()) + 1),
    ("/v1beta/models/m:streamGenerateContent?alt=sse", lambda prompt, words: {
        "contents": [{"parts": [{"text": prompt}]}],
        "generationConfig": {"maxOutputTokens": words}},
     len(STALLED.split()) + origin.WORDS_BEFORE_STALL),
)


class Llm(Gateway):
    def __init__(self, rules):
        super().__init__(rules)
        self.origin.RequestHandlerClass = origin.Origin
        self.origin.pace, self.origin.stops = 0, threading.Event()
        self._undo.callback(self.origin.stops.set)

    def ask_model(self, path, key, body):
        return self.ask(post(path, json.dumps(body).encode(), f"Authorization: Bearer {key}\r\n"))

    def tokens_left(self, key):
        """An error costs no tokens."""
        reply = self.ask_model("/v1/nothing", key, {})
        assert reply.status == 404, reply.head
        return int(re.search(r'"llm-tokens(?:-1)?";r=(\d+)', reply.head)[1])


def read_until(client, enough):
    seen = b""
    while not enough(seen):
        more = client.recv(1 << 16)
        assert more, seen
        seen += more
    return seen


def stream(gateway, number):
    """One stream: what it has cost, by what its client was told."""
    path, body_of, reported = VENDORS[number % len(VENDORS)]
    is_cut, words = number % 10 == 9, 5 + number % 7
    body = body_of(STALLED if is_cut else PROMPT, words)
    with Connection(gateway.port) as connection:
        client = connection.socket
        connection.send(post(path, json.dumps(body).encode(),
                             f"Authorization: Bearer k{number % KEYS}\r\n"))
        if not is_cut:
            seen = read_until(client, lambda seen: seen.endswith(b"\r\n0\r\n\r\n"))
            assert seen.count(b"word ") == words, seen
            return len(PROMPT.split()) + words
        read_until(client, lambda seen: seen.count(b"word ") == origin.WORDS_BEFORE_STALL)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return reported


@unittest.skipUnless(NGINX_LOADS_IT, "there is no nginx module here")
class LlmTest(unittest.TestCase):
    def test_streams_are_charged_what_was_reported_even_if_they_are_cut(self):
        rules = re.sub(r"    more_limits: .*\n", "", RULES)
        rules = re.sub(r"(?m)^    limit: \d+$", f"    limit: {LIMIT}", rules)
        with Llm(rules) as gateway:
            with ThreadPoolExecutor(AT_ONCE) as pool:
                costs = list(pool.map(lambda number: stream(gateway, number), range(STREAMS)))
            due = collections.Counter()
            for number, cost in enumerate(costs):
                due[f"k{number % KEYS}"] += cost
            for key, cost in due.items():  # nginx notes a moment later that a client has left
                wait_until(lambda key=key, cost=cost: gateway.tokens_left(key) == LIMIT - cost,
                           f"{key} has spent {cost}")

    def test_requests_and_tokens_are_limited_together(self):
        with Llm(RULES) as gateway:
            def ask(key, words):
                path, body_of, _ = VENDORS[2]
                return gateway.ask_model(path, key, body_of(PROMPT, words) | {"stream": False})

            self.assertEqual([ask("a", 497).status for _ in range(3)], [200, 200, 429])
            denied = ask("a", 1)
            self.assertIn("tokens: 1000", denied.text)
            statuses = [ask("b", 1).status for _ in range(61)]
            self.assertEqual(statuses, 60 * [200] + [429])
            self.assertIn("requests a minute: 60", ask("b", 1).text)


if __name__ == "__main__":
    main()
