"""examples/llm in the gateway: streams of three vendors, of which some are cut, are charged what
was reported. With WEIR_TESTS=long 10,000 streams."""

import collections
import json
import os
import re
import socket
import struct
import subprocess
import sys
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor

from gateway_test import NGINX_LOADS_IT, Gateway
from weir_server import ROOT, Connection, main, post, wait_until

sys.path.insert(0, str(ROOT / "examples" / "llm"))

import origin

# What a million tokens cost, in millionths of a dollar: of input, of what was cached, of output.
PRICE = r'model: "([a-z0-9.-]+)\*", input: ([\d.]+), cached_input: ([\d.]+),.* output: ([\d.]+)}'
EXAMPLE = (ROOT / "examples" / "llm" / "rules.yaml").read_text(encoding="utf-8")
RULES = re.sub("window: (1m|month)", "window: 366d", EXAMPLE)  # none ends meanwhile
PRICES = {model: [round(1e6 * float(price)) for price in prices]
          for model, *prices in re.findall(PRICE, EXAMPLE)}
STREAMS = 10_000 if os.environ.get("WEIR_TESTS") == "long" else 600
KEYS, AT_ONCE = 20, 16
LIMIT = 1_000_000_000
PROMPT = "say it cached"
STALLED = PROMPT + " stall"
# The path, the body of a prompt, and of a stream that is cut how many tokens of output were
# reported; None: nothing was.
VENDORS = (
    ("/v1/chat/completions", lambda prompt, words: {
        "model": "gpt-5-mini-2025-08-07", "messages": [{"content": prompt}],
        "max_completion_tokens": words, "stream": True,
        "stream_options": {"include_usage": True}}, None),
    ("/v1/responses", lambda prompt, words: {
        "model": "gpt-5", "input": prompt, "max_output_tokens": words, "stream": True}, None),
    ("/v1/messages", lambda prompt, words: {
        "model": "claude-sonnet-4-5", "messages": [{"content": prompt}], "max_tokens": words,
        "stream": True}, 1),
    ("/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", lambda prompt, words: {
        "contents": [{"parts": [{"text": prompt}]}],
        "generationConfig": {"maxOutputTokens": words}}, origin.WORDS_BEFORE_STALL),
)
MODELS = ("gpt-5-mini", "gpt-5", "claude-sonnet-", "gemini-2.5-flash")  # as PRICES has them
HEADERS = ("Authorization: Bearer {}", "X-Api-Key: {}", "X-Goog-Api-Key: {}")

COUNTERS = (0, 0, 1, 2)  # of VENDORS, by their headers


def header_of(path, key):
    """What the vendor of a path takes its key from."""
    number = 1 if path.startswith("/v1/messages") else 2 if path.startswith("/v1beta/") else 0
    return HEADERS[number].format(key) + "\r\n"


class Llm(Gateway):
    def __init__(self, rules):
        super().__init__(rules)
        self.origin.RequestHandlerClass = origin.Origin
        self.origin.pace, self.origin.stops = 0, threading.Event()
        self._undo.callback(self.origin.stops.set)

    def ask_model(self, path, key, body, others=""):
        return self.ask(post(path, json.dumps(body).encode(), header_of(path, key) + others))

    def left(self, key):
        """Tokens and millionths of a dollar, of each vendor. An error costs none of them."""
        left = []
        for path in ("/v1/nothing", "/v1/messages/nothing", "/v1beta/nothing"):
            reply = self.ask_model(path, key, {})
            assert reply.status == 404, reply.head
            left.append(tuple(int(number) for number in re.findall(
                r'-(?:tokens|dollars)(?:.1)?";r=(\d+)', reply.head)))
        return left


def read_until(client, enough):
    seen = b""
    while not enough(seen):
        more = client.recv(1 << 16)
        assert more, seen
        seen += more
    return seen


def cost_of(number, prompt, output):
    cached = prompt.split().count("cached")
    tokens = (len(prompt.split()) - cached, cached, output)
    prices = PRICES[MODELS[number % len(VENDORS)]]
    dollars = sum(count * price for count, price in zip(tokens, prices, strict=True))
    return sum(tokens), -(-dollars // 10**6)


def stream(gateway, number):
    """One stream: its tokens and millionths of a dollar, by what its client was told."""
    path, body_of, reported = VENDORS[number % len(VENDORS)]
    is_cut, words = number % 10 == 9, 5 + number % 7
    body = body_of(STALLED if is_cut else PROMPT, words)
    with Connection(gateway.port) as connection:
        client = connection.socket
        connection.send(post(path, json.dumps(body).encode(),
                             header_of(path, f"k{number // len(VENDORS) % KEYS}")))
        if not is_cut:
            seen = read_until(client, lambda seen: seen.endswith(b"\r\n0\r\n\r\n"))
            assert seen.count(b"word ") == words, seen
            return cost_of(number, PROMPT, words)
        read_until(client, lambda seen: seen.count(b"word ") == origin.WORDS_BEFORE_STALL)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if reported is None:
            return cost_of(number, "", words)
        return cost_of(number, STALLED, reported)


@unittest.skipUnless(NGINX_LOADS_IT, "there is no nginx module here")
class LlmTest(unittest.TestCase):
    def test_the_commands_in_the_example_do_as_it_says(self):
        commands = re.findall(r"^#   (curl(?:.*\\\n#)*.*)", EXAMPLE, re.MULTILINE)
        with Llm(RULES) as gateway:
            said = [subprocess.run(
                command.replace("\\\n#", "").replace(":3000", f":{gateway.port}"), shell=True,
                check=True, capture_output=True, text=True).stdout for command in commands]
        self.assertEqual([text.count('"word "') for text in said], [40, 0])
        self.assertEqual(said[1], '{"error":{"message":"tokens: 1000"}}')

    def test_who_has_said_what_a_call_may_cost_holds_that_meanwhile(self):
        with Llm(RULES) as gateway:
            for path, body_of, _ in VENDORS:
                key = path[-9:]
                with Connection(gateway.port) as connection:
                    body = json.dumps(body_of(STALLED, 700)).encode()
                    connection.send(post(path, body, header_of(path, key)))
                    read_until(connection.socket, lambda seen: b"200 OK" in seen)
                    said = [gateway.ask_model(path, key, body_of(PROMPT, words)).status
                            for words in (301, 301)]
                    self.assertEqual(said, 2 * [429], path)

    def test_streams_are_charged_what_was_reported_even_if_they_are_cut(self):
        rules = re.sub(r"    more_limits: .*\n", "", RULES)
        rules = re.sub(r"(?m)^    limit: \d+", f"    limit: {LIMIT}", rules)
        with Llm(rules) as gateway:
            with ThreadPoolExecutor(AT_ONCE) as pool:
                costs = list(pool.map(lambda number: stream(gateway, number), range(STREAMS)))
            due = collections.Counter()
            for number, (tokens, dollars) in enumerate(costs):
                key = f"k{number // len(VENDORS) % KEYS}"
                due[key, COUNTERS[number % len(VENDORS)], "tokens"] += tokens
                due[key, COUNTERS[number % len(VENDORS)], "dollars"] += dollars
            for number in range(KEYS):  # nginx notes a moment later that a client has left
                key = f"k{number}"
                spent = [(LIMIT - due[key, counter, "tokens"], LIMIT - due[key, counter, "dollars"])
                         for counter in range(3)]
                wait_until(lambda key=key, spent=spent: gateway.left(key) == spent,
                           f"{key} has left {spent}")

    def test_dollars_are_limited_next_to_tokens(self):
        rules = RULES.replace("limit: 1000\n", "limit: 1000000\n")
        cent = rules.replace("limit: 50000000", "limit: 10000")
        with Llm(cent.replace("reserve: 10000", "reserve: 1")) as gateway:
            def ask(model, words):
                path, body_of, _ = VENDORS[0]
                body = body_of(PROMPT, words) | {"model": model, "stream": False}
                return gateway.ask_model(path, "a", body)

            for words, left in ((500, 10_000 - 5_003), (490, 10_000 - 5_003 - 4_903)):
                self.assertEqual(ask("gpt-5", words).status, 200)
                # nginx may see the end of an answer a moment after its client has all of it
                wait_until(lambda left=left: gateway.left("a")[0][1] == left, f"{left} are left")
            denied = ask("gpt-5", 10)
            self.assertEqual(denied.status, 429)
            self.assertIn("the dollars of this month are spent", denied.text)
            self.assertEqual(ask("gpt-5-mini", 10).status, 200)

    def test_a_model_without_a_price_costs_as_the_dearest_and_the_log_says_so_once(self):
        with Llm(RULES) as gateway:
            path, body_of, _ = VENDORS[0]
            body = body_of(PROMPT, 100) | {"model": "new-model", "stream": False}
            for _ in range(3):
                self.assertEqual(gateway.ask_model(path, "a", body).status, 200)
            wait_until(lambda: gateway.left("a")[0][1] == 50_000_000 - 3 * (1500 + 2 * 3 + 1),
                       "it is charged")
            said = gateway.log().count('"prices" has no model "new-model"')
            self.assertIn(said, range(1, 3))  # once a worker

    def test_requests_and_tokens_are_limited_together(self):
        with Llm(RULES) as gateway:
            def ask(key, words):
                path, body_of, _ = VENDORS[2]
                return gateway.ask_model(path, key, body_of(PROMPT, words) | {"stream": False})

            self.assertEqual([ask("a", 497).status for _ in range(2)], [200, 200])
            # nginx may see the end of an answer a moment after its client has all of it
            wait_until(lambda: ask("a", 1).status == 429, "a has spent its tokens")
            denied = ask("a", 1)
            self.assertIn("tokens: 1000", denied.text)
            statuses = [ask("b", 1).status for _ in range(61)]
            self.assertEqual(statuses, 60 * [200] + [429])
            self.assertIn("requests a minute: 60", ask("b", 1).text)

    def test_no_header_that_a_client_invents_opens_a_counter(self):
        rules = re.sub(r"(?m)^    limit: 60$", "    limit: 4", RULES)
        with Llm(rules) as gateway:
            for path, body_of, _ in VENDORS[1:]:
                def ask(key, others, path=path, body_of=body_of):
                    return gateway.ask_model(path, key, body_of(PROMPT, 1) | {"stream": False},
                                             others).status

                own = header_of(path, "")[:5]
                invented = [header.format(f"x{number}") + "\r\n" for number in range(3)
                            for header in HEADERS if not header.startswith(own)]
                statuses = [ask("a", others) for others in ["", *invented]]
                self.assertEqual(statuses, 4 * [200] + 3 * [429], path)
                self.assertEqual(ask("b", ""), 200, path)

    def test_who_leaves_the_header_out_is_counted_by_address(self):
        rules = re.sub(r"(?m)^    limit: 60$", "    limit: 4", RULES)
        with Llm(rules) as gateway:
            for path, body_of, _ in VENDORS[1:]:
                body = json.dumps(body_of(PROMPT, 1) | {"stream": False}).encode()
                statuses = [gateway.ask(post(path, body, f"X-Other: {i}\r\n")).status
                            for i in range(6)]
                self.assertEqual(statuses, 4 * [200] + 2 * [429], path)

    def test_no_other_spelling_of_a_key_opens_a_counter(self):
        rules = re.sub(r"(?m)^    limit: 60$", "    limit: 4", RULES)
        with Llm(rules) as gateway:
            path, body_of, _ = VENDORS[1]
            body = json.dumps(body_of(PROMPT, 1) | {"stream": False}).encode()
            statuses = [gateway.ask(post(path, body, f"{spelling}\r\n")).status for spelling in (
                "Authorization: Bearer k1", "authorization: bearer k1", "Authorization: BEARER  k1",
                "Authorization:Bearer\tk1", "Authorization: bEARER k1",
                "Authorization: Bearer k1 x", "Authorization: Bearer k2")]
            self.assertEqual(statuses, 4 * [200] + 2 * [429] + [200])


if __name__ == "__main__":
    main()
