#!/usr/bin/python3
"""One file behind all doors: one counter for a rule and key, also while the rules change."""

import json
import threading
import unittest

from grpc_test import Client, Response
from resp_client import RespConnection, RespWeir
from weir_server import Connection, check_request, get, main, post, wait_until

KEY = "192.0.2.1"


def config(limit):
    return f"""rules:
  - id: login
    limit: {limit}
    window: 365d
    match: {{path: /login}}
    key: client
    descriptor: {{domain: edge, entries: [{{key: remote_address}}]}}
"""


class Http:
    """POST /check, by the rule's name. True if it was allowed."""

    def __init__(self, weir):
        self.connection = Connection(weir.port)

    def __call__(self):
        reply = self.connection.ask(check_request(rule="login", key=KEY))
        assert reply.status == 200, reply.text
        return reply.json()["allowed"]

    def close(self):
        self.connection.socket.close()


class ForwardAuth(Http):
    """The same as a proxy asks, about a request."""

    def __call__(self):
        reply = self.connection.ask(get("/auth", "X-Forwarded-Method: GET\r\n"
                                        "X-Forwarded-Uri: /login\r\nX-Forwarded-Host: h\r\n"
                                        f"X-Forwarded-For: {KEY}\r\n"))
        assert reply.status in (200, 429), reply.text
        return reply.status == 200


class Redis:
    """WEIR.HIT"""

    def __init__(self, weir):
        self.connection = RespConnection(weir.resp_port)

    def __call__(self):
        return self.connection.ask("WEIR.HIT", "login", KEY)[0] == 0

    def close(self):
        self.connection.__exit__()


class Grpc:
    """ShouldRateLimit, by a descriptor."""

    def __init__(self, weir):
        self.client = Client(f"127.0.0.1:{weir.port}")

    def __call__(self):
        answer = self.client.should_rate_limit({"remote_address": KEY})
        assert answer.overall_code in (Response.OK, Response.OVER_LIMIT)
        return answer.overall_code == Response.OK

    def close(self):
        self.client.__exit__()


DOORS = (Http, ForwardAuth, Redis, Grpc)


class Asker(threading.Thread):
    """Asks at one door until told to stop."""

    def __init__(self, door):
        super().__init__(daemon=True)
        self.door = door
        self.allowed = 0
        self.denied = 0
        self.failure = None
        self.stopped = threading.Event()

    def run(self):
        try:
            while not self.stopped.is_set():
                if self.door():
                    self.allowed += 1
                else:
                    self.denied += 1
        except Exception as error:  # whatever it is, the test tells of it
            self.failure = error
        finally:
            self.door.close()

    def asked(self):
        return self.allowed + self.denied


class Doors(unittest.TestCase):
    def test_decide_rightly_while_rules_change_a_hundred_times(self):
        """Each limit is above all requests: one that is denied, lost or counted twice shows."""
        with RespWeir(threads=2, config=config(1_000_000)) as weir:
            askers = [Asker(door(weir)) for door in DOORS]
            for asker in askers:
                asker.start()
            with weir.connect() as admin:
                for i in range(100):
                    seen = [asker.asked() for asker in askers]
                    rule = {"id": "login", "limit": 1_000_001 + i, "window": "365d",
                            "match": {"path": "/login"}, "key": "client",
                            "descriptor": {"domain": "edge",
                                           "entries": [{"key": "remote_address"}]}}
                    body = json.dumps(rule).encode()
                    reply = admin.ask(post("/admin/rules/login", body).replace(b"POST", b"PUT", 1))
                    self.assertEqual(reply.status, 200, reply.text)
                    wait_until(lambda: all(asker.failure or asker.asked() > before
                                           for asker, before in zip(askers, seen)),
                               "each door has answered since the change")
            for asker in askers:
                asker.stopped.set()
            for asker in askers:
                asker.join()
            self.assertEqual([asker.failure for asker in askers], [None] * len(DOORS))
            self.assertEqual(sum(asker.denied for asker in askers), 0)
            answer = weir.check(rule="login", key=KEY, cost=0)
            self.assertEqual(answer["limit"], 1_000_100)
            spent = answer["limit"] - answer["remaining"]
            self.assertEqual(spent, sum(asker.allowed for asker in askers))


if __name__ == "__main__":
    main()
