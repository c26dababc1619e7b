"""Delay instead of denial: requests beyond the rate wait their turn, a bounded number of them.

No test asserts that something was quick; that something was not too early is sure on any machine.
"""

import os
import re
import select
import signal
import subprocess
import time
import unittest

from nginx_server import DEADLINE_S, Client, Nginx, field, remaining, request, sharing, wait_until

WAITING = 3
TURNS = 8

RULES = f"""
rules:
  - id: spaced
    match: {{path: /spaced}}
    key: query:user
    algorithm: token_bucket
    limit: 20
    window: 1s
    burst: 1
    on_deny: {{delay_up_to: 1s}}
  - id: slow
    match: {{path: "/slow*"}}
    key: query:user
    algorithm: token_bucket
    limit: 6
    window: 1h
    burst: 2
    on_deny: {{delay_up_to: 1h, waiting_max: {WAITING}, body: "later"}}
  - id: turns
    match: {{path: /turns}}
    key: query:user
    algorithm: token_bucket
    limit: {TURNS}
    window: 4s
    burst: 1
    on_deny: {{delay_up_to: 4s}}
  - id: short
    match: {{path: /short}}
    algorithm: token_bucket
    limit: 1
    window: 1s
    burst: 1
    on_deny: {{delay_up_to: 1s}}
"""

SERVER = """
    weir on;
    location / { proxy_pass http://origin; }
    location = /slow/dry { weir dry_run; proxy_pass http://origin; }
    location /weir/ { weir off; weir_admin; }
    location = /turns { }
    location = /status { weir off; access_log off; stub_status; }
"""

HTTP = """
  server { listen unix:FOLDER/h2 http2; location / { weir on; proxy_pass http://origin; } }
  log_format waits '$uri $status $weir_decision $weir_delay $weir_time';
"""


class DelayTest(unittest.TestCase):
    probes = 0

    def start(self, **more):
        server = "access_log FOLDER/waits.log waits;" + SERVER
        return self.enterContext(Nginx(RULES, server, http=HTTP, **more))

    @staticmethod
    def waits(nginx, path):
        """What the log says of requests for `path`: (status, decision, wait, turn), in seconds."""
        lines = (line.split(" ") for line in
                 (nginx.folder / "waits.log").read_text(encoding="utf-8").splitlines())
        waits = []
        for uri, status, decision, delay, time_us in lines:
            if uri == path:
                wait = 0.0 if delay == "-" else float(delay)
                waits.append((status, decision, wait, int(time_us) / 1e6 + wait))
        return waits

    def send(self, nginx, path):
        client = self.enterContext(Client(nginx.port))
        client.send(request(path))
        return client

    def wait_until_full(self, nginx, user):
        """Clients of `user` that wait: as many as may."""
        for _ in range(2):
            self.assertEqual(nginx.ask(f"/slow?user={user}").status, 200)
        waiting = [self.send(nginx, f"/slow?user={user}") for _ in range(WAITING)]
        self.check_that_all_wait(nginx)
        return waiting

    def check_that_all_wait(self, nginx):
        wait_until(lambda: self.in_progress(nginx) == WAITING, "they wait")
        wait_until(lambda: self.is_denied(nginx), "all places are taken")

    def is_denied(self, nginx):
        """Whether one more has no place to wait, of any client. If it has one, it leaves."""
        self.probes += 1
        path = f"/slow?user=probe-{self.probes}"
        for _ in range(2):
            self.assertEqual(nginx.ask(path).status, 200)
        with Client(nginx.port) as client:
            client.send(request(path))
            # A denial comes at once. How many are in progress says nothing: others may leave.
            if not select.select([client.socket], [], [], 1)[0]:
                return False
            return client.read_reply().status == 429

    def wait_until_free(self, nginx):
        wait_until(lambda: not self.is_denied(nginx), "a place is free")

    @staticmethod
    def in_progress(nginx):
        """Requests that nginx works on, the one that asks aside."""
        return int(re.search(r"Writing: (\d+)", nginx.ask("/status").text)[1]) - 1

    def test_requests_beyond_the_rate_wait_their_turn(self):
        nginx = self.start()
        begin = time.monotonic()
        clients = [self.send(nginx, "/spaced?user=ada") for _ in range(10)]
        replies = [client.read_reply() for client in clients]
        self.assertEqual([reply.status for reply in replies], 10 * [200])
        self.assertGreaterEqual(time.monotonic() - begin, 9 / 20)
        wait_until(lambda: len(self.waits(nginx, "/spaced")) == 10, "all are logged")
        waits = self.waits(nginx, "/spaced")
        for _, decision, wait, _ in waits:
            self.assertEqual(decision, "delayed" if wait > 0 else "allowed")
            self.assertLessEqual(wait, 1.0)
        turns = sorted(turn for *_, turn in waits)
        for earlier, later in zip(turns, turns[1:]):
            self.assertGreaterEqual(later - earlier, 1 / 20 - 0.002)

    def test_a_wait_beyond_the_bound_is_a_denial_that_charges_nothing(self):
        nginx = self.start()
        clients = [self.send(nginx, "/short") for _ in range(12)]
        statuses = [client.read_reply().status for client in clients]
        self.assertIn(429, statuses)
        self.assertGreaterEqual(statuses.count(200), 2)
        wait_until(lambda: len(self.waits(nginx, "/short")) == 12, "all are logged")
        for status, decision, wait, _ in self.waits(nginx, "/short"):
            if status == "429":
                self.assertEqual((decision, wait), ("denied", 0.0))

    def test_no_more_wait_than_may_and_who_leaves_makes_room(self):
        nginx = self.start()
        waiting = self.wait_until_full(nginx, "ada")
        denied = nginx.ask("/slow?user=ada")
        self.assertEqual((denied.status, denied.text), (429, "later"))
        self.assertGreater(int(field(denied, "Retry-After")), 600)
        self.assertEqual(remaining(denied), 0)
        # The places are those of the rule, whatever the key; who need not wait takes none.
        for left in "10":
            reply = nginx.ask("/slow?user=bob")
            self.assertEqual((reply.status, field(reply, "X-RateLimit-Remaining")), (200, left))
        self.assertEqual(nginx.ask("/slow?user=bob").status, 429)
        waiting.pop().socket.close()
        self.wait_until_free(nginx)

    def test_streams_of_http_2_wait_and_leave_likewise(self):
        nginx = self.start()
        for _ in range(2):
            nginx.ask("/slow?user=h2")
        streams = [subprocess.Popen(
            ["curl", "-s", "-o", "/dev/null", "--http2-prior-knowledge", "--unix-socket",
             nginx.folder / "h2", "http://localhost/slow?user=h2"]) for _ in range(WAITING)]
        self.check_that_all_wait(nginx)
        for stream in streams:
            stream.kill()
            stream.wait()
        self.wait_until_free(nginx)

    def test_a_killed_worker_leaves_no_place_taken(self):
        nginx = self.start()
        self.wait_until_full(nginx, "ada")
        for worker in nginx.serving():
            os.kill(worker, signal.SIGKILL)
            wait_until(lambda worker=worker: worker not in nginx.workers(), "it is gone")
        wait_until(lambda: len(nginx.serving()) == 2, "there are others")
        self.wait_until_free(nginx)

    def test_who_waits_outlives_a_reload_and_a_graceful_stop(self):
        nginx = self.start()

        def send(user):
            before = len(self.waits(nginx, "/turns"))
            clients = [self.send(nginx, f"/turns?user={user}") for _ in range(TURNS)]
            wait_until(lambda: len(self.waits(nginx, "/turns")) - before
                       + self.in_progress(nginx) >= TURNS, "nginx has them all")
            return clients

        (nginx.folder / "html" / "turns").write_text("my turn")
        clients = send("ada")
        nginx.reload()
        for client in clients:
            self.assertEqual(client.read_reply().status, 200)
        clients = send("bob")
        self.assertEqual(nginx.stop(), 0)
        for client in clients:
            self.assertEqual(client.read_reply().status, 200)
        self.assertNotIn("[alert]", nginx.log())

    def test_turns_are_those_of_all_nginx_of_a_redis(self):
        two = sharing(self, 2, RULES, "access_log FOLDER/waits.log waits;" + SERVER, http=HTTP)
        begin = time.monotonic()
        clients = [self.send(nginx, "/spaced?user=ada") for _ in range(5) for nginx in two]
        self.assertEqual([client.read_reply().status for client in clients], 10 * [200])
        self.assertGreaterEqual(time.monotonic() - begin, 9 / 20)

    def test_a_dry_run_waits_for_nobody(self):
        nginx = self.start()
        for _ in range(6):
            self.assertEqual(nginx.ask("/slow/dry?user=ada").status, 200)

    def test_a_pipeline_waits_in_its_order(self):
        nginx = self.start()
        with Client(nginx.port) as client:
            client.socket.settimeout(DEADLINE_S)
            client.send(b"".join(request(f"/spaced?user=pipe&n={n}") for n in range(6)))
            self.assertEqual([client.read_reply().text for _ in range(6)],
                             [f"/spaced?user=pipe&n={n}" for n in range(6)])


if __name__ == "__main__":
    unittest.main()
