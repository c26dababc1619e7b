"""Limits of requests under way: never more than the limit, and nothing held by who has gone.

The origin here holds each request until the test lets it go, so that the test knows how many
are under way.
"""

import contextlib
import os
import signal
import subprocess
import threading
import unittest

from holding_origin import Holder
from nginx_server import DEADLINE_S, Client, ConnectionClosed, Nginx, field, remaining, request
from nginx_server import wait_until

LIMIT = 4

RULES = f"""
rules:
  - id: held
    match: {{path: "/held*"}}
    key: query:user
    of: concurrency
    limit: {LIMIT}
    on_deny: {{status: 403, body: "{{{{limit}}}} at once"}}
  - id: rate
    group: rate
    match: {{path: "/held*"}}
    key: query:user
    limit: 20
    window: 1h
"""

SERVER = """
    weir on;
    location /held { proxy_pass http://unix:FOLDER/holder:; }
    location = /held/try { try_files /nowhere @origin; }
    location @origin { proxy_pass http://origin; }
    location = /held/auth { auth_request /held/sub; proxy_pass http://origin; }
    location = /held/sub { proxy_pass http://origin; }
    location / { proxy_pass http://origin; }
    location /weir/ { weir off; weir_admin; }
"""

HTTP = """
  server { listen unix:FOLDER/h2 http2;
    location / { weir on; proxy_pass http://unix:FOLDER/holder:; } }
"""


class ConcurrencyTest(unittest.TestCase):
    def start(self, **more):
        nginx = self.enterContext(Nginx(RULES, SERVER, http=HTTP, **more))
        self.origin = Holder(nginx.folder)
        self.addCleanup(self.origin.close)
        return nginx

    def send(self, nginx, count, path="/held?user=ada"):
        clients = [self.enterContext(Client(nginx.port)) for _ in range(count)]
        for client in clients:
            client.send(request(path))
        return clients

    def hold(self, nginx):
        """A client whose request is under way.

        nginx lets go of a request when it has sent the response, so a quick client may be denied
        once more.
        """
        for _ in range(100):
            client = self.enterContext(Client(nginx.port))
            if self.origin.lets_through(client, "/held?user=ada"):
                return client
            self.assertEqual(client.read_reply().status, 403)
        raise AssertionError("no request is let through")

    def fill(self, nginx):
        self.origin.wait_until_held(0)
        return [self.hold(nginx) for _ in range(LIMIT)]

    def test_beyond_the_limit_requests_are_denied_until_one_ends(self):
        nginx = self.start()
        clients = self.fill(nginx)
        denied = nginx.ask("/held?user=ada")
        self.assertEqual((denied.status, denied.text), (403, f"{LIMIT} at once"))
        self.assertEqual(field(denied, "Retry-After"), "1")
        self.assertEqual(field(denied, "X-RateLimit-Limit"), str(LIMIT))
        self.assertEqual(remaining(denied), 0)
        other = self.send(nginx, 1, "/held?user=bob")
        self.origin.wait_until_held(LIMIT + 1)
        self.origin.answer_all()
        for client in clients + other:
            self.assertEqual(client.read_reply().status, 200)
        again = self.fill(nginx)
        self.origin.answer_all()
        left = [remaining(client.read_reply()) for client in again]
        # The denied one is no charge of the other rule. `remaining` is the least of both.
        self.assertEqual(min(left), 0)
        self.assertLess(max(left), LIMIT)

    def test_the_pages_do_not_claim_to_know_what_is_under_way(self):
        nginx = self.start()
        self.fill(nginx)
        self.assertEqual(nginx.ask("/held?user=ada").status, 403)
        explained = nginx.ask("/weir/v1/explain?path=/held%3Fuser%3Dada").json()
        held = next(rule for rule in explained["applies"] if rule["rule"] == "held")
        self.assertEqual((held["would"], held["limit"], explained["would"]),
                         ("unknown", LIMIT, "unknown"))
        self.assertNotIn("algorithm", held)
        denial = nginx.ask("/weir/admin/denials").json()["denials"][0]
        self.assertEqual((denial["rule"], denial["cost"]), ("held", 1))
        self.origin.answer_all()

    def test_clients_that_leave_hold_nothing(self):
        nginx = self.start()
        for _ in range(3):
            for client in self.fill(nginx):
                client.socket.close()
            self.origin.wait_until_held(0)
        streams = [subprocess.Popen(
            ["curl", "-s", "-o", "/dev/null", "--http2-prior-knowledge", "--unix-socket",
             nginx.folder / "h2", "http://localhost/held?user=ada"]) for _ in range(LIMIT)]
        self.origin.wait_until_held(LIMIT)
        self.assertEqual(nginx.ask("/held?user=ada").status, 403)
        for stream in streams:
            stream.kill()
            stream.wait()
        self.origin.wait_until_held(0)
        self.fill(nginx)

    def test_each_request_is_under_way_once(self):
        nginx = self.start()
        for path in ("/held/try", "/held/auth"):
            for _ in range(2 * LIMIT):
                self.assertEqual(nginx.ask(f"{path}?user={path}").status, 200, path)

    def test_a_reload_leaves_alone_what_is_under_way(self):
        nginx = self.start()
        clients = self.fill(nginx)
        nginx.reload()
        self.assertEqual(nginx.ask("/held?user=ada").status, 403)
        self.origin.answer_all()
        for client in clients:
            self.assertEqual(client.read_reply().status, 200)
        wait_until(lambda: len(nginx.workers()) == 2, "the old workers have gone")
        self.fill(nginx)
        self.assertEqual(nginx.ask("/held?user=ada").status, 403)
        self.assertNotIn("[alert]", nginx.log())

    def test_what_a_killed_worker_had_under_way_is_void(self):
        nginx = self.start()
        for number in range(6):
            clients = self.fill(nginx)
            killed = nginx.serving() if number % 2 == 0 else nginx.serving()[:1]
            for worker in killed:
                os.kill(worker, signal.SIGKILL)
            wait_until(lambda: len(nginx.serving()) == 2
                       and not set(killed) & set(nginx.serving()), "there are others")
            self.origin.answer_at_once() if number == 5 else self.origin.answer_all()
            for client in clients:
                with contextlib.suppress(ConnectionClosed, OSError):
                    client.read_reply()
            self.origin.wait_until_held(0)
            nginx.ask("/weir/v1/reset", "POST", "Content-Type: application/json\r\n",
                      b'{"rule":"rate","key":"ada"}')
        self.assertEqual(nginx.ask("/held?user=ada").status, 200)

    @contextlib.contextmanager
    def load(self, nginx, leaves):
        """Clients that ask on and on; those whose turn `leaves` says do not wait for a reply.

        Yields a function that waits for more replies.
        """
        stop = threading.Event()
        statuses = []

        def run(turn):
            while not stop.is_set():
                turn += 1
                with contextlib.suppress(ConnectionClosed, OSError), nginx.connect() as client:
                    client.send(request("/held?user=ada"))
                    if not leaves(turn):
                        statuses.append(client.read_reply().status)

        def wait_for_replies(more):
            goal = len(statuses) + more

            def enough():
                self.origin.answer_all()
                return len(statuses) >= goal
            wait_until(enough, "requests are answered")

        threads = [threading.Thread(target=run, args=(number,)) for number in range(12)]
        for thread in threads:
            thread.start()
        try:
            yield wait_for_replies
        finally:
            stop.set()
            self.origin.answer_at_once()
            for thread in threads:
                thread.join(timeout=DEADLINE_S)
        self.assertLessEqual(set(statuses), {200, 403})
        self.assertIn(403, statuses)

    def endless(self):
        nginx = self.start()
        nginx.write_rules(RULES.replace("limit: 20\n", "limit: 1000000\n"))
        nginx.reload()
        return nginx

    def test_never_more_than_the_limit_are_under_way(self):
        nginx = self.endless()
        with self.load(nginx, leaves=lambda turn: False) as wait_for_replies:
            wait_for_replies(500)
            nginx.reload()
            wait_for_replies(500)
        self.assertEqual(self.origin.most, LIMIT)

    def test_nothing_leaks_with_clients_that_leave_and_workers_that_are_killed(self):
        nginx = self.endless()
        with self.load(nginx, leaves=lambda turn: turn % 3 == 0) as wait_for_replies:
            for _ in range(5):
                wait_for_replies(60)
                worker = nginx.serving()[0]
                os.kill(worker, signal.SIGKILL)
                wait_until(lambda: len(nginx.serving()) == 2 and worker not in nginx.serving(),
                           "there is another")
        self.origin.answer_when_told()
        self.fill(nginx)
        self.assertEqual(nginx.ask("/held?user=ada").status, 403)


if __name__ == "__main__":
    unittest.main()
