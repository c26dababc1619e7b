"""Rules that count by the response: which requests are charged, how much, when and how often."""

import os
import signal
import socket
import sys
import threading
import unittest

from nginx_server import (
    DEADLINE_S, NO_LINGER, ROOT, Client, Nginx, field, remaining, request, sharing,
    wait_until,
)

sys.path.insert(0, str(ROOT / "tests" / "attack"))

import frames  # noqa: E402

RULES = """
rules:
  - id: failed
    match: {path: /login}
    key: query:user
    limit: 5
    window: 1h
    count_if: {status: [401, 403]}
  - id: work
    match: {path: "/work*"}
    key: query:user
    limit: 100
    window: 1h
    cost: response:X-Cost
  - id: gone
    match: {path: /gone}
    limit: 5
    window: 1h
    count_if: {status: 499}
  - id: guessed
    match: {path: "/guess*"}
    limit: 20
    window: 1h
    count_if: {status: [401, 403]}
  - id: skipped
    match: {path: /skipped}
    limit: 5
    window: 1h
    count_if: {status: [401, 403], unknown: skip}
  - id: missing
    match: {path: "/missing*"}
    key: path
    limit: 5
    window: 1h
    count_if: {status: 4xx}
"""

BIG = 32 << 20

# The origin answers as the query says.
HTTP = """
  upstream work { server unix:FOLDER/work; }
  server { listen unix:FOLDER/work; access_log off;
    location / { add_header X-Cost $arg_cost always; return 200 "done"; }
    location = /work/hidden { add_header X-Cost 7; add_header X-Shown 1; return 200; }
    location = /login {
      if ($arg_status = 401) { return 401; }
      if ($arg_status = 403) { return 403; }
      return 200;
    }
    location = /big { root FOLDER/html; add_header X-Cost 60; }
  }
  server { listen unix:FOLDER/h2 http2;
    location / { weir on; proxy_pass http://unix:FOLDER/silent:/; }
  }
  proxy_http_version 1.1;
  proxy_buffering off;
"""

SERVER = """
    weir on;
    location / { proxy_pass http://work; }
    location = /work/hidden { proxy_hide_header X-Cost; proxy_pass http://work; }
    location = /work/big { rewrite ^ /big break; proxy_pass http://work; }
    location /missing { try_files /nowhere =404; }
    location = /missing/page { error_page 404 /page.txt; try_files /nowhere =404; }
    location = /missing/masked { error_page 404 = @origin; try_files /nowhere =404; }
    location = /missing/auth { auth_request /missing/subrequest; try_files /nowhere =404; }
    location = /missing/subrequest { return 204; }
    location @origin { proxy_pass http://origin; }
    location /weir/ { weir off; weir_admin; }
    location = /gone { proxy_pass http://unix:FOLDER/silent:/; }
    location = /skipped { proxy_pass http://unix:FOLDER/silent:/; }
    location = /guess {
      proxy_request_buffering off;
      error_page 502 = @masked;
      proxy_pass http://unix:FOLDER/silent:/;
    }
    location = /guess/late { proxy_read_timeout 10ms; proxy_pass http://unix:FOLDER/silent:/; }
    location = /guess/refused { proxy_pass http://unix:FOLDER/nobody:/; }
    location @masked { proxy_pass http://unix:FOLDER/nobody; }
"""


def silent_origin(test, nginx):
    """What accepts the requests for /gone, and leaves the answers to the test."""
    silent = test.enterContext(socket.socket(socket.AF_UNIX))
    path = nginx.folder / "silent"
    silent.bind(str(path))
    path.chmod(0o777)
    silent.listen(16)
    silent.settimeout(DEADLINE_S)
    return silent


def answer(origin, status, fields=""):
    """A request that nobody has read when its origin closes is an error of the origin."""
    head = b""
    while b"\r\n\r\n" not in head:
        more = origin.recv(4096)
        assert more, "nginx has gone"
        head += more
    origin.sendall(f"HTTP/1.0 {status} Odd\r\n{fields}Content-Length: 0\r\n\r\n".encode())
    origin.close()


class ResponseTest(unittest.TestCase):
    def setUp(self):
        self.nginx = self.enterContext(Nginx(RULES, SERVER, http=HTTP))
        (self.nginx.folder / "html" / "page.txt").write_text("page")

    def login(self, status, user="ada"):
        return self.nginx.ask(f"/login?user={user}&status={status}", "POST").status

    def left(self, path):
        return remaining(self.nginx.ask(path))

    def test_failures_count_in_all_workers_and_through_reloads(self):
        for _ in range(5):
            self.assertEqual(self.login(401), 401)
            self.nginx.reload()
        self.assertEqual(self.login(200), 429)

    def test_the_origin_says_what_its_work_has_cost(self):
        self.assertEqual(self.left("/work?user=ada&cost=30"), 100)
        self.assertEqual(self.left("/work?user=ada&cost=0"), 70)
        self.assertEqual(self.left("/work?user=ada"), 70)
        self.assertEqual(self.left("/work?user=ada&cost=1000"), 69)
        denied = self.nginx.ask("/work?user=ada&cost=0")
        self.assertEqual(denied.status, 429)
        self.assertIsNotNone(field(denied, "Retry-After"))
        self.assertEqual(self.left("/work?user=bob&cost=0"), 100)

    def test_a_cost_that_clients_do_not_see_counts_as_well(self):
        first = self.nginx.ask("/work/hidden?user=eve")
        self.assertIsNone(field(first, "X-Cost"))
        self.assertIsNotNone(field(first, "X-Shown"))
        self.assertEqual(self.left("/work/hidden?user=eve"), 93)

    def test_a_slow_reader_does_not_delay_the_count(self):
        (self.nginx.folder / "html" / "big").write_bytes(BIG * b"x")
        with Client(self.nginx.port) as reader:
            reader.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.send(request("/work/big?user=slow"))
            head = reader.socket.recv(64)
            self.assertTrue(head.startswith(b"HTTP/1.1 200"))
            # It has read no more than that, and nginx has most of the body yet to send.
            self.assertEqual(self.left("/work?user=slow&cost=0"), 40)

    def test_each_request_is_charged_once_by_what_its_client_is_told(self):
        for path, status, charged in (("/missing/plain", 404, 1), ("/missing/page", 404, 1),
                                      ("/missing/masked", 200, 0), ("/missing/auth", 404, 1)):
            with self.subTest(path):
                before = self.left(path)  # which is charged itself
                reply = self.nginx.ask(path)
                self.assertEqual(reply.status, status)
                self.assertEqual(remaining(reply), before - charged)
                self.assertEqual(self.left(path), before - 2 * charged)

    def test_who_leaves_before_there_is_a_response_counts_as_499(self):
        silent = silent_origin(self, self.nginx)
        for left in range(5, 0, -1):
            with Client(self.nginx.port) as client:
                client.send(request("/gone"))
                connection, _ = silent.accept()
            # nginx sees that the client has gone, and leaves the origin.
            connection.settimeout(DEADLINE_S)
            while connection.recv(4096):
                pass
            connection.close()
            wait_until(lambda: len([line for line in self.nginx.access_log()
                                    if line[:2] == ["/gone", "499"]]) == 6 - left, "logged")
        self.assertEqual(self.nginx.ask("/gone").status, 429)

    def test_a_killed_worker_reserves_nothing(self):
        silent = silent_origin(self, self.nginx)
        for _ in range(5):
            self.enterContext(Client(self.nginx.port)).send(request("/gone"))
        origins = [silent.accept()[0] for _ in range(5)]
        self.assertEqual(self.nginx.ask("/gone").status, 429)
        before = set(self.nginx.serving())
        for worker in before:
            os.kill(worker, signal.SIGKILL)
        wait_until(lambda: len(self.nginx.serving()) == 2
                   and not before & set(self.nginx.serving()), "there are others")
        for connection in origins:
            connection.close()
        with Client(self.nginx.port) as client:
            client.send(request("/gone"))
            silent.accept()[0].close()
            self.assertEqual(client.read_reply().status, 502)

    def change(self, method, rule, body=""):
        return self.nginx.ask(f"/weir/admin/rules/{rule}", method,
                              "Content-Type: application/json\r\n", body.encode()).status

    def test_rules_that_a_request_changes_count_by_the_response_too(self):
        rule = ('{"id":"failed","match":{"path":"/login"},"key":"query:user","limit":2,'
                '"window":"1h","count_if":{"status":[401]}}')
        self.assertEqual(self.change("PUT", "failed", rule), 200)
        self.assertEqual([self.login(403) for _ in range(5)], 5 * [403])
        self.assertEqual([self.login(401) for _ in range(3)], [401, 401, 429])

    def test_a_rule_that_has_gone_when_the_response_comes_counts_nothing(self):
        silent = silent_origin(self, self.nginx)
        with Client(self.nginx.port) as client:
            client.send(request("/gone"))
            connection, _ = silent.accept()
            self.assertEqual(self.change("DELETE", "gone"), 200)
            for _ in range(10):  # both workers have taken it over
                self.nginx.ask("/login?user=eve&status=200", "POST")
            answer(connection, 499)
            self.assertEqual(client.read_reply().status, 499)
        self.assertEqual(self.login(200), 200)

    def test_many_at_once_count_exactly(self):
        def fail():
            with self.nginx.connect() as connection:
                for _ in range(10):
                    statuses.append(connection.ask(
                        request("/login?user=many&status=401")).status)

        statuses = []
        threads = [threading.Thread(target=fail) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=DEADLINE_S)
        self.assertEqual(len(statuses), 80)
        self.assertEqual(statuses.count(401), 5)
        self.assertEqual(self.login(200, user="many"), 429)


class LeavingTest(unittest.TestCase):
    """A client that does not wait for the response is counted, however it leaves."""

    def setUp(self):
        self.nginx = self.enterContext(Nginx(RULES, SERVER, http=HTTP))
        self.silent = silent_origin(self, self.nginx)

    def reached(self, data, path=None):
        """A client that has sent this, and what its origin has got."""
        if path is None:
            client = Client(self.nginx.port)
        else:
            client = socket.socket(socket.AF_UNIX)
            client.connect(str(self.nginx.folder / path))
        client = self.enterContext(client)
        (client if path else client.socket).sendall(data)
        origin = self.enterContext(self.silent.accept()[0])
        origin.settimeout(DEADLINE_S)
        self.assertTrue(origin.recv(4096).startswith(b"POST /"))
        return client, origin

    def left(self):
        """Units, when nothing is under way."""
        answered = self.enterContext(Client(self.nginx.port))
        answered.send(request("/guess", "POST"))
        answer(self.silent.accept()[0], 200)
        reply = answered.read_reply()
        self.assertEqual(reply.status, 200)
        return remaining(reply)

    def check_that_it_counts(self, way, leave):
        with self.subTest(way):
            before = self.left()
            leave()
            wait_until(lambda: self.left() < before, "it is counted")
            self.assertEqual(self.left(), before - 1)

    def test_clients_that_leave(self):
        def shut(how):
            def leave():
                client, _ = self.reached(request("/guess", "POST"))
                how(client.socket)
            return leave

        def reset(client):
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
            client.close()

        def stop_in_the_body():
            data = request("/guess", "POST", body=1000 * b"x")
            client, _ = self.reached(data[:-1])
            client.socket.close()

        def reset_stream():
            client, _ = self.reached(frames.hello() + frames.request(1, b"POST", b"/guess"), "h2")
            client.sendall(frames.reset(1))

        def close_connection():
            client, _ = self.reached(frames.hello() + frames.request(1, b"POST", b"/guess"), "h2")
            client.close()

        self.check_that_it_counts("closed", shut(lambda client: client.close()))
        self.check_that_it_counts("reset", shut(reset))
        self.check_that_it_counts("half-closed", shut(lambda client: client.shutdown(
            socket.SHUT_WR)))
        self.check_that_it_counts("in the middle of the body", stop_in_the_body)
        self.check_that_it_counts("a stream reset", reset_stream)
        self.check_that_it_counts("HTTP/2 closed", close_connection)

    def test_origins_that_do_not_answer(self):
        def end(last_words, status):
            def leave():
                client, origin = self.reached(request("/guess", "POST"))
                origin.sendall(last_words)
                origin.close()
                self.assertEqual(client.read_reply().status, status)
            return leave

        def never():
            client, _ = self.reached(request("/guess/late", "POST"))
            self.assertEqual(client.read_reply().status, 504)

        self.check_that_it_counts("closes", end(b"", 502))
        self.check_that_it_counts("says half a head", end(b"HTTP/1.1 200 OK\r\nX-A", 502))
        self.check_that_it_counts("says nonsense", end(b"HTTP/1.1 200 OK\r\n\0: 1\r\n\r\n", 502))
        self.check_that_it_counts("is late", never)

    def test_what_no_origin_got_counts_nothing(self):
        before = self.left()
        for _ in range(3):
            self.assertEqual(self.nginx.ask("/guess/refused", "POST").status, 502)
        self.assertEqual(self.left(), before)

    def test_a_rule_may_skip_those_who_leave(self):
        for number in range(1, 9):
            client, _ = self.reached(request("/skipped", "POST"))
            client.socket.close()
            wait_until(lambda number=number: len(self.nginx.access_log()) == number, "it is over")
        self.assertEqual([line[:2] for line in self.nginx.access_log()], 8 * [["/skipped", "499"]])

    def test_of_a_hundred_that_leave_no_more_reach_the_origin_than_may_count(self):
        self.silent.setblocking(False)
        got = []

        def guess_and_leave():
            for _ in range(25):
                with Client(self.nginx.port) as client:
                    client.send(request("/gone"))

        def is_over():
            try:
                got.append(self.enterContext(self.silent.accept()[0]))
            except BlockingIOError:
                return len([line for line in self.nginx.access_log() if line[0] == "/gone"]) >= 100
            return False

        threads = [threading.Thread(target=guess_and_leave) for _ in range(4)]
        for thread in threads:
            thread.start()
        wait_until(is_over, "all have left")
        for thread in threads:
            thread.join(timeout=DEADLINE_S)
        self.assertLessEqual(len(got), 5)


class FleetTest(unittest.TestCase):
    """Two nginx and their Redis: a look sees what the other has charged."""

    def setUp(self):
        self.two = sharing(self, 2, RULES, SERVER, http=HTTP)

    def test_an_nginx_passes_no_more_at_once_than_may_fail(self):
        one = self.two[0]
        silent = silent_origin(self, one)
        clients = [self.enterContext(Client(one.port)) for _ in range(5)]
        for client in clients:
            client.send(request("/gone"))
        origins = [silent.accept()[0] for _ in clients]
        denied = one.ask("/gone")
        self.assertEqual((denied.status, field(denied, "Retry-After")), (429, "1"))
        for origin in origins:
            answer(origin, 200)
        self.assertEqual([client.read_reply().status for client in clients], 5 * [200])
        with Client(one.port) as client:
            client.send(request("/gone"))
            silent.accept()[0].close()
            self.assertEqual(client.read_reply().status, 502)

    def test_failures_and_costs_count_for_all(self):
        def login(nginx, status):
            return nginx.ask(f"/login?user=ada&status={status}", "POST")

        for number in range(5):
            one, other = self.two[number % 2], self.two[1 - number % 2]
            self.assertEqual(login(one, 401).status, 401)
            # The charge is on its way while the client reads.
            wait_until(lambda other=other, left=4 - number:
                       remaining(login(other, 200)) == left, "the other knows")
        self.assertEqual(login(self.two[0], 200).status, 429)
        self.assertEqual(login(self.two[1], 401).status, 429)
        self.assertEqual(self.two[0].ask("/work?user=ada&cost=1000").status, 200)
        wait_until(lambda: self.two[1].ask("/work?user=ada&cost=0").status == 429, "it owes")
        for nginx in self.two:
            self.assertEqual(nginx.stop(), 0)
            self.assertNotIn("[alert]", nginx.log())


if __name__ == "__main__":
    unittest.main()
