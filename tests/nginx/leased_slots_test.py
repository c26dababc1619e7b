"""Requests under way at several nginx that share a Redis: never more than the limit, together."""

import itertools
import os
import pathlib
import signal
import tempfile
import unittest

from holding_origin import Holder
from nginx_server import DEADLINE_S, Client, Nginx, remaining, request, wait_until
from redis_world import Behaviour, Cluster, Redis, Tls

LIMIT = 4

RULES = f"""
rules:
  - id: held
    match: {{path: "/held*"}}
    key: query:user
    of: concurrency
    mode: leased
    limit: {LIMIT}
    on_deny: {{status: 403}}
  - id: rate
    group: rate
    match: {{path: "/held/rated"}}
    key: query:user
    limit: 50
    window: 1h
    mode: local
store: {{redis: '{{url}}', deadline: {{deadline}}}}
"""

SERVER = """
    weir on;
    location /held { proxy_pass http://unix:HOLDER:; }
    location / { proxy_pass http://origin; }
    location /weir/ { weir off; weir_admin; }
"""

# A test machine may be busy: a deadline is no promise that most tests look at.
PATIENT = "10s"
ADA = "/held?user=ada"


class LeasedSlotsTest(unittest.TestCase):
    def setUp(self):
        self.redis = self.enterContext(Redis())
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)
        self.holder = folder / "holder"
        self.origin = Holder(folder)
        self.addCleanup(self.origin.close)

    def start(self, deadline=PATIENT, url=None):
        rules = RULES.replace("{url}", url or self.redis.url).replace("{deadline}", deadline)
        nginx = self.enterContext(Nginx(rules, SERVER.replace("HOLDER", str(self.holder))))
        nginx.wait_until_shared()
        return nginx

    def send(self, nginx, path=ADA):
        client = self.enterContext(Client(nginx.port))
        client.send(request(path))
        return client

    def try_to_hold(self, nginx, path):
        client = self.enterContext(Client(nginx.port))
        if self.origin.lets_through(client, path):
            return client
        self.assertEqual(client.read_reply().status, 403)
        client.socket.close()
        return None

    def hold(self, *nginx, path=ADA):
        """A client whose request is under way. A Redis that is new lends nothing at first, and
        slots may be on their way from another worker."""
        turns = itertools.cycle(nginx)
        held = []
        wait_until(lambda: held.append(self.try_to_hold(next(turns), path)) or held[-1],
                   "a request is let through")
        return held[-1]

    def test_two_nginx_have_one_limit(self):
        both = [self.start(), self.start()]
        clients = [self.hold(*both) for _ in range(LIMIT)]
        for _ in range(5):
            for nginx in both:
                self.assertEqual(nginx.ask(ADA).status, 403)
        other = self.hold(both[0], path="/held?user=bob")
        self.origin.wait_until_held(LIMIT + 1)
        self.origin.answer_all()
        for client in [*clients, other]:
            self.assertEqual(client.read_reply().status, 200)
        lone = [self.hold(both[1]) for _ in range(LIMIT)]
        self.assertEqual(both[0].ask(ADA).status, 403)
        self.assertEqual(self.origin.most, LIMIT + 1, "never more than the limit, and bob's")
        self.origin.answer_all()
        for client in lone:
            self.assertEqual(client.read_reply().status, 200)

    def test_a_denial_by_slots_charges_nothing_else(self):
        nginx = self.start()
        rated = "/held/rated?user=ada"
        first = self.hold(nginx, path=rated)
        for _ in range(LIMIT - 1):
            self.hold(nginx, path=rated)
        for _ in range(5):
            self.assertEqual(nginx.ask(rated).status, 403)
        self.origin.answer_all()
        self.assertEqual(first.read_reply().status, 200)
        last = self.hold(nginx, path=rated)
        self.origin.answer_all()
        self.assertEqual(remaining(last.read_reply()), 50 - LIMIT - 1)

    def test_clients_that_leave_give_their_slots_back(self):
        nginx = self.start()
        for _ in range(3):
            clients = [self.hold(nginx) for _ in range(LIMIT)]
            self.assertEqual(nginx.ask(ADA).status, 403)
            for client in clients:
                client.socket.close()
            self.origin.wait_until_held(0)
        self.assertEqual(self.origin.most, LIMIT)

    def test_a_client_that_leaves_while_redis_is_asked_holds_nothing(self):
        nginx = self.start()
        self.redis.pause()
        for _ in range(2 * LIMIT):
            with Client(nginx.port) as client:
                client.send(request(ADA))
        self.redis.resume()
        clients = [self.hold(nginx) for _ in range(LIMIT)]
        self.origin.answer_all()
        for client in clients:
            self.assertEqual(client.read_reply().status, 200)
        self.assertEqual(self.origin.seen, LIMIT)

    def test_the_slots_of_an_nginx_that_was_killed_are_others_when_its_lease_ends(self):
        one, other = self.start(), self.start()
        for _ in range(LIMIT):
            self.hold(one)
        self.assertEqual(other.ask(ADA).status, 403)
        workers = one.workers()
        one.process.kill()
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
        self.origin.wait_until_held(0)
        for _ in range(LIMIT):
            self.hold(other)
        self.assertEqual(self.origin.most, LIMIT)

    def test_without_redis_requests_are_denied_and_what_is_under_way_goes_on(self):
        nginx = self.start(deadline="200ms")
        clients = [self.hold(nginx) for _ in range(LIMIT)]
        self.redis.kill()
        self.assertEqual(nginx.ask("/held?user=bob").status, 403)
        self.origin.answer_all()
        for client in clients:
            self.assertEqual(client.read_reply().status, 200)
        self.redis.start()
        again = self.hold(nginx)
        self.origin.answer_all()
        self.assertEqual(again.read_reply().status, 200)

    # A cluster lends nothing: only Redis knows the slot, for an hour.
    def test_a_slot_whose_release_redis_did_not_hear_is_free_when_redis_is_back(self):
        cluster = self.enterContext(Cluster(self.enterContext(Tls())))
        nginx = self.start(url=cluster.url)
        clients = [self.hold(nginx) for _ in range(LIMIT)]
        self.assertEqual(nginx.ask(ADA).status, 403)
        for proxy in cluster.proxies:
            proxy.behave(Behaviour.CUT)
        self.origin.answer_all()
        for client in clients:
            self.assertEqual(client.read_reply().status, 200)
        for proxy in cluster.proxies:
            proxy.behave(Behaviour.PASS)
        clients = [self.hold(nginx) for _ in range(LIMIT)]
        self.assertEqual(nginx.ask(ADA).status, 403)
        self.origin.answer_all()
        for client in clients:
            self.assertEqual(client.read_reply().status, 200)
        self.assertEqual(self.origin.most, LIMIT)

    def test_an_nginx_that_stops_releases_its_last_slots(self):
        cluster = self.enterContext(Cluster())
        one, other = self.start(url=cluster.url), self.start(url=cluster.url)
        clients = [self.hold(one) for _ in range(LIMIT)]
        self.assertEqual(other.ask(ADA).status, 403)
        one.process.send_signal(signal.SIGQUIT)
        wait_until(lambda: not one.serving(), "its workers stop")
        self.origin.answer_all()
        for client in clients:
            self.assertEqual(client.read_reply().status, 200)
        self.assertEqual(one.process.wait(timeout=DEADLINE_S), 0)
        for _ in range(LIMIT):
            self.hold(other)

    def test_more_requests_wait_at_once_than_asks_are_kept(self):
        nginx = self.start()
        self.hold(nginx)
        clients = [self.send(nginx, f"/held?user={number}") for number in range(150)]
        self.origin.wait_until_held(151)
        self.origin.answer_all()
        for client in clients:
            self.assertEqual(client.read_reply().status, 200)

    def test_the_pages_say_how_many_slots_are_on_lease(self):
        nginx = self.start()
        for _ in range(LIMIT):
            self.hold(nginx)
        explained = nginx.ask("/weir/v1/explain?path=/held%3Fuser%3Dada").json()
        held = next(rule for rule in explained["applies"] if rule["rule"] == "held")
        self.assertEqual((held["limit"], held["held"]["units"]), (LIMIT, LIMIT))


if __name__ == "__main__":
    unittest.main()
