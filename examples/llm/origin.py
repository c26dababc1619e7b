#!/usr/bin/python3
"""An origin that answers as three vendors of language models do: OpenAI, Anthropic and Google.

It knows no language: it says "word" as often as `max_tokens` allows, at most 1,000 times, and a
word is a token. Whatever model a request names, the answer names it, too. It has read the words
"cached" of a prompt from a cache. Streams are those of the vendors' references. Of a prompt with
"stall" in it the stream stops after three words, and goes on with comments until the client leaves.
"""

import http.server
import json
import re
import sys
import threading

WORDS_MAX = 1000
WORDS_BEFORE_STALL = 3
# The names that clients give the number; vendors differ.
LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


def texts_in(value):
    """All texts of a request, wherever they stand."""
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(
            value, list) else ():
        yield from texts_in(inner)


class Asked:
    def __init__(self, path, body):
        self.path, self.body = path, body
        prompt = " ".join(texts_in([body.get(name) for name in
                                    ("messages", "input", "contents", "system")]))
        self.prompt = len(prompt.split())
        self.cached = prompt.split().count("cached")
        limits = [body[name] for name in LIMITS if name in body]
        limits += [body.get("generationConfig", {}).get("maxOutputTokens", 20)]
        self.words = min(WORDS_MAX, limits[0])
        named = re.search(r"/models/([^/:]+)", path)
        self.model = named[1] if named else body.get("model", "parrot")
        self.stalls = "stall" in prompt
        self.streams = body.get("stream", False) or ":stream" in path


def openai_usage(asked, words):
    return {"prompt_tokens": asked.prompt, "completion_tokens": words,
            "prompt_tokens_details": {"cached_tokens": asked.cached},
            "total_tokens": asked.prompt + words}


def chat(asked):
    def chunk(delta, usage=None):
        return None, {"object": "chat.completion.chunk", "model": asked.model, "usage": usage,
                      "choices": [{"index": 0, "delta": delta}] if delta else []}

    if not asked.streams:
        yield None, {"object": "chat.completion", "model": asked.model,
                     "usage": openai_usage(asked, asked.words),
                     "choices": [{"message": {"role": "assistant",
                                              "content": asked.words * "word "}}]}
        return
    for _ in range(asked.words):
        yield chunk({"content": "word "})
    if asked.body.get("stream_options", {}).get("include_usage"):
        yield chunk(None, openai_usage(asked, asked.words))
    yield None, "[DONE]"


def responses(asked):
    def done():
        return {"object": "response", "model": asked.model, "output": [], "usage": {
            "input_tokens": asked.prompt, "output_tokens": asked.words,
            "input_tokens_details": {"cached_tokens": asked.cached},
            "total_tokens": asked.prompt + asked.words}}

    if not asked.streams:
        yield None, done()
        return
    yield "response.created", {"type": "response.created", "response": {"usage": None}}
    for _ in range(asked.words):
        yield "response.output_text.delta", {"type": "response.output_text.delta",
                                             "delta": "word "}
    yield "response.completed", {"type": "response.completed", "response": done()}


def messages(asked):
    usage = {"input_tokens": asked.prompt - asked.cached, "cache_creation_input_tokens": 0,
             "cache_read_input_tokens": asked.cached, "output_tokens": asked.words}
    if not asked.streams:
        yield None, {"type": "message", "model": asked.model, "usage": usage,
                     "content": [{"type": "text", "text": asked.words * "word "}]}
        return
    yield "message_start", {"type": "message_start",
                            "message": {"model": asked.model,
                                        "usage": usage | {"output_tokens": 1}}}
    for _ in range(asked.words):
        yield "content_block_delta", {"type": "content_block_delta", "index": 0,
                                      "delta": {"type": "text_delta", "text": "word "}}
    yield "message_delta", {"type": "message_delta", "usage": {"output_tokens": asked.words}}
    yield "message_stop", {"type": "message_stop"}


def gemini(asked):
    def part(words, said):
        return None, {"candidates": [{"content": {"parts": [{"text": words * "word "}]}}],
                      "modelVersion": asked.model,
                      "usageMetadata": {"promptTokenCount": asked.prompt,
                                        "cachedContentTokenCount": asked.cached,
                                        "candidatesTokenCount": said,
                                        "totalTokenCount": asked.prompt + said}}

    if not asked.streams:
        yield part(asked.words, asked.words)
        return
    for said in range(1, asked.words + 1):
        yield part(1, said)


VENDORS = ((r"/v1/chat/completions", chat), (r"/v1/responses", responses),
           (r"/v1/messages", messages),
           (r"/v1beta/models/[^/:]+:(stream)?[gG]enerateContent", gemini))


class Origin(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        path = self.path.partition("?")[0]
        vendor = next((vendor for form, vendor in VENDORS if re.fullmatch(form, path)), None)
        if vendor is None:
            return self.send_json(404, {"error": {"message": "there is no " + path}})
        asked = Asked(path, body)
        if asked.streams:
            return self.send_events(asked, vendor(asked))
        return self.send_json(200, next(vendor(asked))[1])

    def send_json(self, status, value):
        body = json.dumps(value).encode() + b"\n"
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_events(self, asked, events):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        said = 0
        for name, data in events:
            said += "word" in json.dumps(data)
            text = data if isinstance(data, str) else json.dumps(data)
            self.send_chunk((f"event: {name}\n" if name else "") + f"data: {text}\n\n")
            if self.server.pace:
                self.server.stops.wait(self.server.pace)
            while asked.stalls and said == WORDS_BEFORE_STALL:
                self.send_chunk(": still there\n\n")
                if self.server.stops.wait(0.01):
                    break
        self.wfile.write(b"0\r\n\r\n")

    def send_chunk(self, text):
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def handle(self):
        try:
            super().handle()
        except ConnectionError:
            pass  # the client has left

    def log_message(self, *_):
        pass  # the gateway logs


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def __init__(self, port, pace):
        super().__init__(("127.0.0.1", port), Origin)
        self.pace = pace  # seconds from one event to the next
        self.stops = threading.Event()

    def server_close(self):
        self.stops.set()
        super().server_close()


def listen(port, pace=0.05):
    return Server(port, pace)


if __name__ == "__main__":
    listen(int(sys.argv[1])).serve_forever()
