"""The console at sizes that nobody plans for, and with what hostile or broken peers send. Leaves
screenshots in build/console."""

import contextlib
import glob
import json
import os
import resource
import select
import socket
import threading
import unittest

import browser
from browser import PageTest
from redis_world import Redis
from weir_server import Weir, get
from web_socket import Refused, WebSocket

IS_LONG = os.environ.get("WEIR_TESTS") == "long"
CONSOLES = 1_000
MEMBERS = 127  # and the real one
EVIL = ("<img src=x onerror=alert(1)>\u202e\u2067" + "evil\u0000" * 300)[:1000]
OPEN = "rules: [{id: open, limit: 5, window: 1m}]"
# Messages go to each console each second.
MESSAGE_MAX = 64 << 10
CONSOLE_BYTES_MAX = 64 << 10


def packed(number):
    """As base/packed.h."""
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7f | 0x80])
        number >>= 7
    return out + bytes([number])


def text(said):
    return packed(len(said)) + said


class Wire:
    """Between a page and a server; cuts what the server sends in the middle of a frame."""

    def __init__(self, port):
        self.target = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.left = None  # bytes that still pass; None: all
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self.carry, args=(client,), daemon=True).start()

    def carry(self, client):
        with contextlib.suppress(OSError), client, \
                socket.create_connection(("127.0.0.1", self.target)) as server:
            while True:
                for ready in select.select([client, server], [], [])[0]:
                    data = ready.recv(65536)
                    if not data:
                        return
                    if ready is server and self.left is not None:
                        data, self.left = data[:self.left], max(0, self.left - len(data))
                    (client if ready is server else server).sendall(data)


class BadInput(PageTest):
    allowed = ("",)

    def look(self, name):
        """As people see it, large and small: nothing is wider than the screen, or its card."""
        for width in (1440, 390):
            self.page.width(width, 900)
            self.page.screenshot(f"{name}-{width}")
            self.fits(width, name)
        self.page.width(0)

    def test_a_key_with_markup_and_marks_of_direction(self):
        page = self.page
        with Weir("--threads", "1", "--show-keys", config=OPEN) as server:
            for _ in range(8):
                server.check(key=EVIL, rule="open")
            for tab in ("overview", "denials", "keys"):
                if not page.all(f"#tab-{tab}"):
                    continue
                page.open(server.url, tab)
                page.wait(lambda _: "<img src=x" in page.run("return document.body.innerText"),
                          f"{tab} shows it")
                self.assertEqual(page.all("main img"), [], "as text")
                self.assertNotIn("\u202e", page.run("return document.body.innerText"))
                self.look(f"evil-key-{tab}")

    def test_a_node_whose_clock_is_an_hour_off(self):
        library = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), None)
        if library is None:
            self.skipTest("needs Debian's package faketime")
        late = {"LD_PRELOAD": library, "FAKETIME": "-1h", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        page = self.page
        with Redis() as redis, \
                Weir("--redis", redis.url, "--node-name", "late", environment=late) as one, \
                Weir("--redis", redis.url, "--node-name", "right") as other:
            for url in (one.url, other.url):
                page.open(url, "fleet")
                page.find("#fleet .lead", "2 nodes")
                card = page.find("#fleet .node.warn", "other clock").text
                self.assertIn("late", card)
                self.assertRegex(card, "It finds its clock (59 min 5|1 h).* behind Redis's")
                came = page.run("return performance.now()")
                page.wait(lambda _, came=came: page.run("return performance.now()") > came + 4000,
                          "so long old figures may look fresh")
                page.wait(lambda _: len(page.all("#fleet .node.good")) == 1, "the other is well")
                page.wait(lambda _: not page.find("body").get_attribute("class"), "none is old")
                page.wait(lambda _: all(each.text in ("0 s ago", "1 s ago") for each in
                                        page.all("#fleet dl > :last-child dd")), "both were heard")

    def test_a_feed_that_stops_in_the_middle_of_a_frame(self):
        page = self.page
        with Weir("--threads", "1", config=OPEN) as server:
            wire = Wire(server.port)
            page.open(wire.url, "fleet")
            page.find("#fleet .node.good")
            wire.left = 100  # of the next frame
            page.find("#old", "Old figures, as of")
            wire.left = None
            page.gone("#old")
            page.find("#status", "Live")
            wire.listener.close()

    @unittest.skipUnless(IS_LONG, "only ./dev test --long")
    def test_a_thousand_consoles(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(
            resource.RLIMIT_NOFILE)[1]))
        with Weir("--threads", "2", config=OPEN) as server, contextlib.ExitStack() as stack:
            before = resident(server)
            consoles = [stack.enter_context(WebSocket(server.port)) for _ in range(CONSOLES)]
            with self.assertRaises(Refused) as refused:
                WebSocket(server.port)
            self.assertEqual(str(refused.exception), "refused with 503")
            for _ in range(5):
                for console in consoles:
                    console.message()
            each = (resident(server) - before) / CONSOLES
            print(f"{CONSOLES} consoles: {each / 1024:.1f} KiB each")
            self.assertLess(each, CONSOLE_BYTES_MAX)
            self.assertTrue(server.check(key="x", rule="open")["allowed"])

    def test_a_fleet_of_128(self):
        page = self.page
        with Redis() as redis, \
                Weir("--threads", "1", "--redis", redis.url, "--node-name", "real") as server:
            done = threading.Event()
            crowd = threading.Thread(target=pretend, args=(redis, done))
            crowd.start()
            try:
                with WebSocket(server.port) as console:
                    said = console.message_that(lambda said: sum(
                        "title" in node for node in said["nodes"]) == MEMBERS)  # but the forger
                    size = len(json.dumps(said, separators=(",", ":")))
                print(f"{MEMBERS + 1} nodes: a message has {size} bytes")
                self.assertLess(size, MESSAGE_MAX)
                self.assertEqual(said["fleet"]["nodes"], MEMBERS + 1)
                page.open(server.url, "fleet")
                page.find("#fleet .lead", f"{MEMBERS + 1} nodes")
                page.wait(lambda _: len(page.all("#fleet tbody tr")) == 50, "a page of them")
                first = page.find("#fleet tbody tr")
                self.assertIn("degraded", first.text)
                self.assertIn("its disk is full", first.text)
                self.look("fleet-128")
                page.type("#fleet input[type=search]", "real")
                page.wait(lambda _: len(page.all("#fleet tbody tr")) == 1, "that one")
                links = page.run("""return [...document.querySelectorAll("main a")]
                  .map((each) => each.protocol).filter((each) => !/^https?:$/.test(each))""")
                self.assertEqual(links, [])
            finally:
                done.set()
                crowd.join()


def resident(server):
    with open(f"/proc/{server.process.pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def pretend(redis, done):
    """Members that write what nodes write; number 7 is degraded, and number 8 forges a link."""
    names = [f"{number:016x}" for number in range(MEMBERS)]
    while not done.wait(0.3):
        now = int(redis.ask("TIME")[0])
        redis.ask("ZADD", "weir:{fleet}:nodes", *(word for name in names for word in (now, name)))
        second = f"weir:{{fleet}}:traffic:{now - 1}"
        redis.ask("HSET", second, *(word for name in names for word in (
            name, b"2" + packed(100) + packed(7) + packed(0) + packed(7) + b"\0\0")))
        redis.ask("EXPIRE", second, 20)
        redis.ask("HSET", "weir:{fleet}:about", *(word for number, name in enumerate(names)
                                                  for word in (name, about(now, number))))


def about(now, number):
    address = b"javascript:alert(1)" if number == 8 else b"http://10.0.0.%d:8080" % number
    return (b"%d 1" % now + text(b"member-%d" % number) + text(address) + text(b"0.1.0") +
            text(b"leased") + packed(5) + packed(52_428_800) + packed(400) +
            text(b"its disk is full" if number == 7 else b"") + packed(60))


if __name__ == "__main__":
    browser.main()
