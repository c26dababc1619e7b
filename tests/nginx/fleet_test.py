"""Several nginx that share a Redis: one limit, one list of blocks, and what happens without it.

With WEIR_TESTS=long a hundred reloads under load instead of five.
"""

import contextlib
import itertools
import json
import os
import re
import signal
import subprocess
import unittest

from nginx_server import DEADLINE_S, Client, Load, Nginx, field, remaining, request, wait_until
from redis_world import Redis

RELOADS = 100 if os.environ.get("WEIR_TESTS") == "long" else 5

LIMIT = 500
CALM = 1_000_000  # so much that counts are pushed seldom

RULES = f"""
rules:
  - {{id: whole, match: {{path: /whole}}, limit: {LIMIT}, window: 1h}}
  - {{id: held, match: {{path: /held}}, limit: 100, window: 1h}}
  - {{id: leased, match: {{path: /leased}}, limit: {LIMIT}, window: 1h, mode: leased}}
  - {{id: async, match: {{path: /async}}, limit: {LIMIT}, window: 1h, mode: async}}
  - {{id: calm, match: {{path: /calm}}, limit: {CALM}, window: 1h, mode: async}}
  - {{id: many, match: {{path: /many}}, limit: {CALM}, window: 1h}}
  - id: login
    match: {{path: /login}}
    key: client
    limit: 1
    window: 1h
    mode: local
    on_deny: {{block: 1h}}
  - {{id: here, match: {{path: /here}}, limit: 4, window: 1h}}
  - {{id: open, match: {{path: /open}}, limit: 0, window: 1h, on_store_failure: allow}}
  - {{id: shut, match: {{path: /shut}}, limit: 900, window: 1h, on_store_failure: deny}}
store: {{redis: '{{url}}', deadline: {{deadline}}}}
"""

SERVER = """
    weir on;
    location / { proxy_pass http://origin; }
    location /held { }
    location /weir/ { weir off; weir_admin; }
    location /status { weir off; stub_status; }
"""

H2 = "server { listen unix:FOLDER/h2 http2; location / { weir on; proxy_pass http://origin; } }"

JSON = "Content-Type: application/json\r\n"

# A test machine may be busy: a deadline is no promise that most tests look at.
PATIENT = "10s"


class FleetTest(unittest.TestCase):
    def setUp(self):
        self.redis = self.enterContext(Redis())

    def nginx(self, deadline=PATIENT, **more):
        rules = RULES.replace("{url}", self.redis.url).replace("{deadline}", deadline)
        nginx = self.enterContext(Nginx(rules, SERVER, http=H2, **more))
        nginx.wait_until_shared()
        (nginx.folder / "html" / "held").write_text("held")
        return nginx

    @staticmethod
    def requests_in_progress(nginx):
        """Those that nginx works on, this one aside."""
        return int(re.search(r"Writing: (\d+)", nginx.ask("/status").text)[1]) - 1

    def park(self, nginx, count):
        """Connections whose requests wait for the Redis, which is paused from now on.

        After two seconds of silence nobody waits any more; a busy machine gets another try.
        """
        for _ in range(10):
            clients = [self.enterContext(Client(nginx.port)) for _ in range(count)]
            self.redis.pause()
            for client in clients:
                client.send(request("/held"))
            if self.requests_in_progress(nginx) == count:
                return clients
            self.redis.resume()
            for client in clients:
                client.read_reply()
        raise AssertionError("they never wait all at once")


class TogetherTest(FleetTest):
    """Three nginx with two workers each."""

    def admitted_by_three(self, path):
        """How many requests, and the lines of all logs about them in the order of deciding."""
        nodes = [self.nginx() for _ in range(3)]
        with contextlib.ExitStack() as loads:
            under = [loads.enter_context(Load(nginx, [path], clients=2)) for nginx in nodes]
            for load in under:
                while load.count(path, 429) < 50:
                    load.wait_for_replies(20)
        self.assertEqual([load.lost for load in under], [[], [], []])
        for nginx in nodes:
            self.assertEqual(nginx.stop(), 0)
            self.assertNotIn("[error]", nginx.log())
        lines = [line for nginx in nodes for line in nginx.access_log() if line[0] == path]
        lines.sort(key=lambda line: int(line[9]))
        return sum(load.count(path, 200) for load in under), lines

    def test_strict_admits_exactly_the_limit(self):
        self.assertEqual(self.admitted_by_three("/whole")[0], LIMIT)

    def test_leases_never_exceed_the_limit_and_come_back(self):
        admitted, _ = self.admitted_by_three("/leased")
        self.assertLessEqual(admitted, LIMIT)
        self.assertGreater(admitted, LIMIT // 2)
        last = self.nginx(workers=1)
        statuses = [last.ask("/leased").status for _ in range(LIMIT - admitted + 1)]
        self.assertEqual(statuses, (LIMIT - admitted) * [200] + [429])

    def test_async_exceeds_the_limit_by_what_comes_before_counts_are_exchanged(self):
        admitted, lines = self.admitted_by_three("/async")
        self.assertGreaterEqual(admitted, LIMIT)
        passed = [int(line[9]) for line in lines if line[1] == "200"]
        self.assertLess(passed[-1] - passed[LIMIT - 1], 1_000_000, "microseconds")

    def test_reloads_under_load_lose_no_request_and_admit_the_limit(self):
        nginx = self.nginx()
        with Load(nginx, ["/whole", "/async", "/leased"]) as load:
            for _ in range(RELOADS):
                nginx.reload()
                load.wait_for_replies(20)
            while min(load.count("/whole", 429), load.count("/async", 429)) < 50:
                load.wait_for_replies(20)
        self.assertEqual(load.lost, [])
        self.assertEqual(load.count("/whole", 200), LIMIT)
        self.assertGreaterEqual(load.count("/async", 200), LIMIT)
        self.assertLessEqual(load.count("/leased", 200), LIMIT)
        wait_until(lambda: len(nginx.workers()) == 2, "the old workers have gone")
        self.assertEqual(nginx.stop(), 0)

    def test_reloads_and_killed_workers_under_load_admit_no_more(self):
        nginx = self.nginx()
        with Load(nginx, ["/whole", "/leased"]) as load:
            for number in range(6):
                if number % 2 == 0:
                    nginx.reload()
                else:
                    worker = nginx.serving()[0]
                    os.kill(worker, signal.SIGKILL)
                    wait_until(lambda: worker not in nginx.serving()
                               and len(nginx.serving()) == 2, "there is another")
                load.wait_for_replies(20)
            while min(load.count("/whole", 429), load.count("/leased", 429)) < 50:
                load.wait_for_replies(20)
        # A request that was charged when its worker was killed has no reply.
        admitted = load.count("/whole", 200)
        self.assertLessEqual(admitted, LIMIT)
        self.assertGreaterEqual(admitted, LIMIT - 30)
        # Nobody spends the units that killed workers held leased.
        self.assertLessEqual(load.count("/leased", 200), LIMIT)
        self.assertGreater(load.count("/leased", 200), LIMIT // 4)

    def test_whom_one_blocks_the_other_refuses(self):
        one, two = self.nginx(), self.nginx()
        self.assertEqual(one.ask("/login").status, 200)
        self.assertEqual(one.ask("/login").status, 429)
        who = {"rule": "login", "key": "127.0.0.9"}
        body = json.dumps(who | {"for": "1h"}).encode()
        self.assertEqual(one.ask("/weir/admin/blocks", "POST", JSON, body).status, 200)
        # The rule counts in each nginx by itself: only a block denies the first of a client.
        self.wait_for_blocks(two, 2)
        for client in ("127.0.0.1", "127.0.0.9"):
            for _ in range(6):  # as many connections find both workers
                self.assertEqual(two.ask("/login", client=client).status, 429)
        body = json.dumps(who).encode()
        self.assertEqual(two.ask("/weir/admin/blocks", "DELETE", JSON, body).status, 200)
        self.wait_for_blocks(one, 1)
        self.assertEqual(one.ask("/login", client="127.0.0.9").status, 200)

    def test_a_redis_that_is_replaced_learns_of_blocks_again(self):
        one = self.nginx()
        one.ask("/login")
        self.assertEqual(one.ask("/login").status, 429)
        self.redis.kill()
        self.redis.start()
        self.wait_for_blocks(self.nginx(), 1)

    def test_a_lift_made_while_redis_is_away_holds_in_every_nginx(self):
        one, two = self.nginx(), self.nginx()
        for client in ("127.0.0.30", "127.0.0.31", "127.0.0.32"):
            one.ask("/login", client=client)
            self.assertEqual(one.ask("/login", client=client).status, 429)
            self.wait_for_blocks(two, 1)
            self.redis.kill()
            body = json.dumps({"rule": "login", "key": client}).encode()
            self.assertEqual(two.ask("/weir/admin/blocks", "DELETE", JSON, body).status, 200)
            self.redis.start()
            self.wait_for_blocks(one, 0)
            self.wait_for_blocks(self.nginx(), 0)
            self.wait_for_blocks(two, 0)

    @staticmethod
    def wait_for_blocks(nginx, count):
        wait_until(lambda: len(json.loads(nginx.ask("/weir/admin/blocks").text)["blocks"])
                   == count, "the nginx has heard of the blocks")

    def test_blocks_are_told_by_another_worker_when_one_is_killed_or_a_reload_replaces_all(self):
        one, two = self.nginx(), self.nginx()
        for number, change in enumerate((one.reload, lambda: self.kill_all(one), one.reload)):
            client = f"127.0.0.{20 + number}"
            one.ask("/login", client=client)
            self.assertEqual(one.ask("/login", client=client).status, 429)
            change()
            self.wait_for_blocks(two, number + 1)
            self.assertEqual(two.ask("/login", client=client).status, 429)

    @staticmethod
    def kill_all(nginx):
        for worker in nginx.serving():
            os.kill(worker, signal.SIGKILL)
            wait_until(lambda: worker not in nginx.workers(), "it is gone")
        wait_until(lambda: len(nginx.serving()) == 2, "there are others")

    def test_what_a_killed_worker_has_admitted_is_counted(self):
        nginx = self.nginx(workers=1)
        nginx.ask("/calm")  # is pushed at once; what a push under way has would count twice
        wait_until(lambda: any(b"{fleet}" not in key for key in self.redis.ask("KEYS", "*")),
                   "Redis counts it")
        for _ in range(99):
            nginx.ask("/calm")
        worker = nginx.serving()[0]
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: nginx.serving() not in ([], [worker]), "there is another")
        self.wait_until_counted(nginx, "/calm", CALM - 100)

    @staticmethod
    def wait_until_counted(nginx, path, left):
        """Nobody else asks."""
        asked = itertools.count(1)
        wait_until(lambda: remaining(nginx.ask(path)) == left - next(asked), "all is counted")

    def test_what_an_nginx_has_admitted_alone_outlives_a_reload(self):
        nginx = self.nginx(deadline="100ms")
        self.redis.kill()
        for _ in range(20):
            nginx.ask("/many")
        nginx.reload()
        wait_until(lambda: len(nginx.workers()) == 2, "the old workers have gone")
        self.redis.start()
        nginx.wait_until_shared(times=2)  # before another nginx brings a secret of its own
        self.wait_until_counted(self.nginx(workers=1), "/many", CALM - 20)

    def test_one_nginx_is_one_node_through_reloads_and_killed_workers(self):
        one, two = self.nginx(), self.nginx(workers=3)
        one.reload()
        self.kill_all(one)
        two.reload()
        wait_until(lambda: self.live_nodes(one) == self.live_nodes(two) == 2, "two nodes live")
        self.assertEqual(self.redis.ask("ZCARD", "weir:{fleet}:nodes"), 2)

    @staticmethod
    def live_nodes(nginx):
        return json.loads(nginx.ask("/weir/health").text)["nodes"]


class ParkedTest(FleetTest):
    def test_pipelined_requests_keep_their_places(self):
        nginx = self.nginx()
        with Client(nginx.port) as client:
            client.send(6 * request("/here"))
            replies = [client.read_reply() for _ in range(6)]
        self.assertEqual([reply.status for reply in replies], 4 * [200] + 2 * [429])
        self.assertEqual([remaining(reply) for reply in replies[:4]], [3, 2, 1, 0])
        self.assertIsNotNone(field(replies[4], "Retry-After"))
        wait_until(lambda: len(nginx.access_log()) >= 6, "all is logged")
        lines = [line for line in nginx.access_log() if line[0] == "/here"]
        self.assertEqual({line[8] for line in lines}, {"strict"})

    def test_a_page_that_waits_holds_up_nobody(self):
        nginx = self.nginx(workers=1)
        with Client(nginx.port) as client, Client(nginx.port) as leaver:
            self.redis.pause()
            for one in (client, leaver):
                one.send(request("/weir/v1/explain?path=/here"))
            wait_until(lambda: self.requests_in_progress(nginx) == 2, "they wait")
            leaver.socket.close()
            wait_until(lambda: self.requests_in_progress(nginx) == 1, "one has left")
            self.redis.resume()
            self.assertEqual(json.loads(client.read_reply().text)["would"], "allow")
            self.redis.pause()
            client.send(request("/weir/v1/explain?path=/here"))
            wait_until(lambda: self.requests_in_progress(nginx) == 1, "another waits")
            nginx.process.terminate()
            self.assertEqual(nginx.process.wait(timeout=DEADLINE_S), 0)
        self.redis.resume()
        self.assertNotIn("[alert]", nginx.log())

    def test_bodies_come_while_a_request_waits(self):
        nginx = self.nginx()
        with Client(nginx.port) as client:
            self.redis.pause()
            head, body = request("/here", "POST", body=200_000 * b"x").split(b"\r\n\r\n")
            client.send(head + b"\r\n\r\n" + body[:1000])
            wait_until(lambda: self.requests_in_progress(nginx) == 1, "it waits")
            client.send(body[1000:])
            self.redis.resume()
            self.assertEqual(client.read_reply().status, 200)

    @staticmethod
    def curls(nginx, count):
        """Each with a connection of its own: curl 7.88 fails at the second request of one."""
        return [subprocess.Popen(
            ["curl", "-s", "--http2-prior-knowledge", "--unix-socket", nginx.folder / "h2",
             "-o", "/dev/null", "-w", "%{http_code}", "http://localhost/here"],
            stdout=subprocess.PIPE, text=True) for _ in range(count)]

    def test_streams_of_http_2(self):
        nginx = self.nginx()
        said = [curl.communicate(timeout=DEADLINE_S)[0] for curl in self.curls(nginx, 6)]
        self.assertEqual(sorted(said), 4 * ["200"] + 2 * ["429"])

    def is_unharmed(self, nginx, workers):
        """Those that have left are logged, and hold nothing of the workers, which serve others."""
        wait_until(lambda: "499" in {line[1] for line in nginx.access_log()}
                   and self.requests_in_progress(nginx) == 0, "nginx has noticed")
        self.redis.resume()
        wait_until(lambda: nginx.ask("/whole").status == 200, "others are served")
        self.assertEqual(nginx.serving(), workers)
        self.assertEqual(nginx.stop(), 0)
        self.assertNotIn("[alert]", nginx.log())

    def test_clients_that_leave_while_they_wait(self):
        nginx = self.nginx()
        workers = nginx.serving()
        self.redis.pause()
        clients = [Client(nginx.port) for _ in range(8)]
        for client in clients:
            client.send(request("/whole"))
        for client in clients:
            client.socket.close()
        self.is_unharmed(nginx, workers)

    def test_streams_whose_client_leaves_while_they_wait(self):
        nginx = self.nginx()
        workers = nginx.serving()
        self.redis.pause()
        streams = self.curls(nginx, 6)
        wait_until(lambda: self.requests_in_progress(nginx) > 0, "they wait")
        for stream in streams:
            stream.kill()
            stream.communicate(timeout=DEADLINE_S)
        self.is_unharmed(nginx, workers)

    def test_a_reload_loses_none_that_waits(self):
        nginx = self.nginx()
        old = set(nginx.serving())
        clients = self.park(nginx, 6)
        nginx.reload()
        self.redis.resume()
        self.assertEqual([client.read_reply().status for client in clients], 6 * [200])
        wait_until(lambda: not old & set(nginx.workers()), "the old workers have gone")
        wait_until(lambda: remaining(nginx.ask("/held")) < 100 - 6, "the new ones decide")

    def test_quit_loses_none_that_waits(self):
        nginx = self.nginx()
        clients = self.park(nginx, 6)
        nginx.process.send_signal(signal.SIGQUIT)
        wait_until(lambda: not nginx.serving(), "the workers are to end")
        self.redis.resume()
        self.assertEqual([client.read_reply().status for client in clients], 6 * [200])
        self.assertEqual(nginx.process.wait(timeout=DEADLINE_S), 0)
        self.assertNotIn("[alert]", nginx.log())


    def test_a_fast_stop_while_requests_wait(self):
        nginx = self.nginx()
        self.park(nginx, 6)
        nginx.process.terminate()
        self.assertEqual(nginx.process.wait(timeout=DEADLINE_S), 0)
        self.redis.resume()


class OutageTest(FleetTest):
    def falls_back(self, nginx):
        """Rules do what their on_store_failure says, for all workers together."""
        statuses = [nginx.ask("/here").status for _ in range(6)]
        self.assertEqual(statuses, 4 * [200] + 2 * [429])
        self.assertEqual(nginx.ask("/open").status, 200)
        self.assertEqual(nginx.ask("/shut").status, 429)

    def test_nothing_waits_for_a_redis_that_stands_still(self):
        nginx = self.nginx(deadline="100ms")
        self.redis.pause()
        self.falls_back(nginx)  # answered while it still stands
        self.redis.resume()

    def test_a_redis_that_comes_and_goes_under_load_fails_no_request(self):
        nginx = self.nginx(deadline="100ms")
        with Load(nginx, ["/many"]) as load:
            for change in (self.redis.pause, self.redis.resume, self.redis.kill,
                           self.redis.start):
                change()
                load.wait_for_replies(100)
        self.assertEqual(load.lost, [])
        self.assertEqual({status for _, status in load.statuses}, {200})
        self.assertEqual(nginx.stop(), 0)

    def test_a_redis_that_dies_and_comes_back(self):
        nginx = self.nginx(deadline="100ms")
        self.redis.kill()
        self.falls_back(nginx)
        nginx.reload()
        self.assertEqual(nginx.ask("/here").status, 429)
        self.redis.start()
        wait_until(lambda: nginx.ask("/shut").status == 200, "Redis decides again")

    def test_nginx_starts_without_its_redis(self):
        self.redis.kill()
        rules = RULES.replace("{url}", self.redis.url).replace("{deadline}", "100ms")
        nginx = self.enterContext(Nginx(rules, SERVER, http=H2))
        self.falls_back(nginx)
        self.redis.start()
        # A Redis that begins on a busy machine may take longer than the deadline.
        wait_until(lambda: nginx.ask("/shut").status == 200, "Redis decides")
        nginx.wait_until_shared()


if __name__ == "__main__":
    unittest.main()
