"""The console's server side: its files, who is let in, and what consoles get each second."""

import contextlib
import gzip
import http.client
import json
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import unittest

import weir_server
from certificates import Authority
from fleet import Fleet
from redis_world import Redis
from weir_server import DEADLINE_S, ConnectionClosed, Weir, get, post, sending, wait_until
from web_socket import Refused, WebSocket, upgrade_request

TOKEN = "a-token-for-the-tests"
ORIGIN = "Origin: http://localhost\r\n"
CROWD = 300


def sign_in(weir):
    """The field Cookie of a browser that has signed in."""
    with weir.connect() as connection:
        connection.send(post("/console/session", json.dumps({"token": TOKEN}).encode(),
                             f"X-Weir-Console: 1\r\n{ORIGIN}"))
        head = connection.socket.recv(65536).decode("latin-1")
    return "Cookie: " + re.search(r"Set-Cookie: ([^;]+);", head)[1] + "\r\n"


class Files(unittest.TestCase):
    def test_the_page_and_all_that_it_loads_are_there(self):
        with Weir() as weir:
            page, head = fetch(weir, "/", Accept="text/html")
            self.assertIn("text/html", head["Content-Type"])
            names = re.findall(r"(?:src|href)=\"?(/console/[\w.-]+)", page.decode())
            self.assertGreaterEqual(len(names), 2, page)
            for name in names:
                plain, head = fetch(weir, name)
                self.assertIn("immutable", head["Cache-Control"])
                packed, head = fetch(weir, name, Accept_Encoding="gzip")
                if head["Content-Encoding"] == "gzip":
                    packed = gzip.decompress(packed)
                self.assertEqual(packed, plain)

def fetch(weir, path, **fields):
    client = http.client.HTTPConnection("127.0.0.1", weir.port, timeout=DEADLINE_S)
    with contextlib.closing(client):
        client.request("GET", path, headers={name.replace("_", "-"): value
                                             for name, value in fields.items()})
        reply = client.getresponse()
        assert reply.status == 200, reply.status
        return reply.read(), reply.headers


class Live(unittest.TestCase):
    def test_what_happens_is_shown_within_seconds(self):
        with Weir("--threads", "2", config="rules: [{id: login, limit: 5, window: 1m}]") as weir, \
                WebSocket(weir.port) as console:
            first = console.message()
            for _ in range(20):
                weir.check(key="a", rule="login")
            busy = console.message_that(lambda said: said["rules"])
            self.assertGreater(busy["t"], first["t"])
            self.assertEqual(busy["rules"][0]["rule"], "login")
            self.assertAlmostEqual(busy["fleet"].pop("t"), busy["t"], delta=0.9)
            self.assertEqual(busy["fleet"], {"nodes": 1, "alone": True, **{
                name: busy["here"][name]
                for name in ("requests", "denied", "deny_rate", "burst_ratio")}})
            with weir.connect() as connection:
                history = connection.ask(get("/console/history")).json()["points"]
            self.assertEqual(sum(second["denied"] for second in history), 15)

    def test_all_cores_send_the_same_message(self):
        with Weir("--threads", "4") as weir, contextlib.ExitStack() as stack:
            consoles = [stack.enter_context(WebSocket(weir.port)) for _ in range(16)]
            said = [{message["t"]: message for message in (console.message() for _ in range(4))}
                    for console in consoles]
            shared = set(said[0]).intersection(*said[1:])
            self.assertTrue(shared, "they have a second in common")
            for second in shared:
                self.assertTrue(all(one[second] == said[0][second] for one in said))

    def test_a_change_of_the_rules_says_who_unless_it_is_for_everybody(self):
        for console, who in (("on", "by 127.0.0.1: "), ("public", "by request: ")):
            with Weir("--console", console) as weir, WebSocket(weir.port) as listener, \
                    weir.connect() as connection:
                body = json.dumps({"id": "new", "limit": 5, "window": "1m"}).encode()
                connection.ask(post("/admin/rules/new", body).replace(b"POST", b"PUT", 1))
                events = listener.message_that(lambda said: len(said["events"]) > 1)["events"]
                self.assertEqual((events[1]["id"], events[1]["kind"]), (2, "rules"))
                self.assertTrue(events[1]["text"].startswith(who), events)
                history = connection.ask(get("/admin/history")).json()["history"]
                self.assertEqual(history[0]["who"], "127.0.0.1")

    def test_reloads_are_events_and_those_that_fail(self):
        config = "rules: [{id: login, limit: %s, window: 1m}]"
        with Weir(config=config % 5) as weir, WebSocket(weir.port) as console:
            for text, kind, about in ((config % 9, "reload", "login"),
                                      (config % "lots", "reload_failed", "refused"),
                                      (config % 9, "reload", "nothing")):
                pathlib.Path(weir.config_path).write_text(text, encoding="utf-8")
                weir.process.send_signal(signal.SIGHUP)
                event = console.message_that(lambda said, kind=kind, about=about: any(
                    one["kind"] == kind and about in one["text"] for one in said["events"]))
                self.assertTrue(event)
                console.message_that(lambda said, is_refused=kind == "reload_failed": any(
                    "refused" in node.get("degraded", "") for node in said["nodes"]) == is_refused)

    def test_over_tls(self):
        with Authority() as authority:
            certificate, key = authority.issue("server")
            context = ssl.create_default_context(cafile=authority.certificate)
            with Weir("--http-tls", "127.0.0.1:0", "--tls-certificate", certificate,
                      "--tls-key", key) as weir, \
                    WebSocket(weir.port_of("https"), "Origin: https://localhost\r\n",
                              context) as console:
                self.assertLess(console.message()["t"], console.message()["t"])

    def test_clients_of_http2_poll(self):
        with Weir() as weir:
            def ask(path):
                done = subprocess.run(["nghttp", "-v", weir.url + path], capture_output=True,
                                      text=True, timeout=DEADLINE_S, check=True)
                return done.stdout
            refused = ask("/console/live")
            self.assertIn(":status: 426", refused)
            self.assertIn("sec-websocket-version: 13", refused)
            self.assertNotIn(" upgrade: websocket", refused)
            wait_until(lambda: '"here":{' in ask("/console/live.json"), "a second has passed")

    def test_a_stop_says_goodbye(self):
        with Weir("--threads", "2") as weir, contextlib.ExitStack() as stack:
            consoles = [stack.enter_context(WebSocket(weir.port)) for _ in range(8)]
            for console in consoles:
                console.message()
            weir.signal(signal.SIGTERM)
            self.assertEqual([console.close_code() for console in consoles], [1001] * 8)
            self.assertEqual(weir.wait(), 0)
            self.assertNotIn("cut off", weir.log())


class FleetLive(unittest.TestCase):
    def test_nodes_show_one_sum(self):
        with Redis() as redis, Fleet([redis.url] * 3) as fleet, contextlib.ExitStack() as stack:
            fleet.wait_until_shared()
            consoles = [stack.enter_context(WebSocket(node.port)) for node in fleet.nodes]
            for console in consoles:
                console.message_that(lambda said: said["fleet"]["nodes"] == 3)
            for node in fleet.nodes:
                for _ in range(10):
                    node.check(key="a", limit=1000, window=60, mode="local")
            sums = [watch_until(console, 30) for console in consoles]
            self.assertEqual(sums, [30] * 3)
            said = consoles[0].message()
            self.assertEqual(len(said["nodes"]), 3)
            self.assertEqual(sum(node["here"] for node in said["nodes"]), 1)
            self.assertEqual((said["redis"]["state"], said["redis"]["mode"]), ("up", "strict"))

    def test_a_node_says_how_many_leases_it_has_requested(self):
        with Redis() as redis, Fleet([redis.url]) as fleet:
            fleet.wait_until_shared()
            node = fleet.nodes[0]
            with WebSocket(node.port) as console:
                console.message_that(lambda said: said["nodes"][0].get("leases") == 0)

                def has_leased(said):
                    node.check(key="a", limit=1000, window=60, mode="leased")
                    return said["nodes"][0]["leases"] > 0

                console.message_that(has_leased)

    def test_each_node_knows_how_the_others_are_and_where(self):
        with Redis() as redis, \
                Weir("--redis", redis.url, "--node-name", "web-1", "--mode", "leased") as one, \
                Weir("--redis", redis.url, "--node-name", "web-1", "--advertise",
                     "https://weir.example:8443") as other, \
                Weir("--redis", redis.url, "--console", "off"), \
                WebSocket(other.port) as console:
            said = console.message_that(lambda said: sum(
                "mode" in node and "redis_ms" in node for node in said["nodes"]) == 3)
            nodes = sorted(said["nodes"], key=lambda node: (node["title"] != "web-1",
                                                            not node["here"]))
            self.assertEqual([node["title"] for node in nodes],
                             ["web-1", "web-1", socket.gethostname()])
            self.assertEqual([node.get("address") for node in nodes],
                             ["https://weir.example:8443", one.url, None])
            self.assertEqual([node["mode"] for node in nodes], ["strict", "leased", "strict"])
            self.assertEqual({node["degraded"] for node in nodes}, {""})
            self.assertEqual({node["leases"] for node in nodes}, {0})
            self.assertTrue(all(node["memory"] > 1 << 20 for node in nodes))

    def test_an_outage_leaves_no_peak_and_no_hole(self):
        """82 requests a second stay 82 when Redis goes and comes back, on both nodes."""
        with Redis() as redis, Fleet([redis.url] * 2, config=OPEN) as fleet, \
                steady_load(fleet.nodes[0]):
            fleet.wait_until_shared()
            with WebSocket(fleet.nodes[0].port) as console:
                console.message_that(lambda said: said["fleet"]["nodes"] == 2)
                lost = console.message_that(lambda said: said["fleet"]["requests"] > 20)["t"]
                redis.kill()
                console.message_that(lambda said: said["fleet"]["alone"])
                redis.start()
                back = console.message_that(lambda said: said["fleet"]["nodes"] == 2)["t"]
                console.message_that(lambda said: said["t"] > back + 4)
            for node in fleet.nodes:
                self.check_seconds(history_of(node), lost)

    def check_seconds(self, seconds, lost):
        times = [second["t"] for second in seconds]
        self.assertEqual(times, sorted(times))
        self.assertLess(max(second["requests"] for second in seconds), 1.5 * LOAD_MAX, seconds)
        steps = [after - before for before, after in zip(times, times[1:]) if before > lost]
        self.assertTrue(all(0.5 < step < 1.5 for step in steps), steps)


OPEN = "rules: [{id: open, limit: 1000000, window: 1h, mode: local}]"
LOAD_MAX = 50  # requests a second


def steady_load(node):
    """At most so many requests in any second: it catches up on nothing."""
    return sending(node, 1 / LOAD_MAX, lambda client: client.check(key="a", rule="open"))


def history_of(node):
    with node.connect() as connection:
        return connection.ask(get("/console/history")).json()["points"]


def watch_until(console, requests):
    """What the console's seconds add up to, once that is as much."""
    seen = {}
    while sum(seen.values()) < requests:
        said = console.message()
        seen[said["fleet"]["t"]] = said["fleet"]["requests"]
    return sum(seen.values())


class Rights(unittest.TestCase):
    def test_a_session_gets_in_until_it_is_signed_out(self):
        with Weir(environment={"WEIR_ADMIN_TOKEN": TOKEN}) as weir:
            with self.assertRaises(Refused) as refused:
                WebSocket(weir.port, ORIGIN)
            self.assertEqual(refused.exception.status, 401)
            cookie = sign_in(weir)
            with WebSocket(weir.port, cookie + ORIGIN) as console, weir.connect() as connection:
                console.message()
                page = cookie + "X-Weir-Console: 1\r\n"
                self.assertEqual(connection.ask(get("/admin/stats", page)).status, 200)
                connection.send(b"DELETE" + get("/console/session", page)[3:])
                self.assertEqual(console.close_code(), 1008)
            with weir.connect() as connection:
                self.assertEqual(connection.ask(get("/admin/stats", page)).status, 401)
            self.assertNotIn(TOKEN, weir.log())

    def test_sessions_are_known_to_all_cores_and_forgotten_at_a_restart(self):
        environment = {"WEIR_ADMIN_TOKEN": TOKEN}
        with Weir("--threads", "4", environment=environment) as weir:
            page = sign_in(weir) + "X-Weir-Console: 1\r\n"
            for _ in range(32):
                with weir.connect() as connection:
                    self.assertEqual(connection.ask(get("/admin/stats", page)).status, 200)
        with Weir(environment=environment) as again, again.connect() as connection:
            self.assertEqual(connection.ask(get("/admin/stats", page)).status, 401)

class Hostile(unittest.TestCase):
    def test_who_never_reads_is_dropped_and_others_get_their_seconds(self):
        with Weir("--threads", "1") as weir, WebSocket(weir.port) as silent, \
                WebSocket(weir.port) as console:
            wait_until(lambda: weir.metric("weir_consoles") == 2, "both listen")
            console.message_that(lambda _: weir.metric("weir_consoles") == 1)
            self.assertEqual(weir.metric("weir_consoles_dropped_total"), 1)
            console.message()
            with contextlib.suppress(ConnectionResetError), self.assertRaises(ConnectionClosed):
                while True:
                    silent.frame()

    def test_a_flood_of_upgrades_leaves_with_its_connections(self):
        with Weir("--threads", "2") as weir, contextlib.ExitStack() as stack:
            crowd = [stack.enter_context(WebSocket(weir.port)) for _ in range(CROWD)]
            for console in crowd:
                console.message()
            self.assertEqual(weir.metric("weir_consoles"), CROWD)
            for _ in range(CROWD):
                with weir.connect() as connection:
                    connection.send(upgrade_request())  # and goes at once
            weir.check(key="a", limit=1, window=60)
            stack.close()
            wait_until(lambda: weir.metric("weir_consoles") == 0, "all places are free")


if __name__ == "__main__":
    weir_server.main()
