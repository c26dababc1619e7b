"""The pages of an nginx: metrics of all workers, blocks by hand, rules that requests change."""

import json
import os
import re
import signal
import unittest

from nginx_server import Load, Nginx, field, request
from weir_server import run_weir, wait_until

RULES = """
rules:
  - id: login
    match: {path: /login}
    key: client
    limit: 5
    window: 1h
"""

SERVER = """
    location / { weir on; proxy_pass http://origin; }
    location /weir/ { weir_admin; }
    location /unbounded/ { client_max_body_size 0; weir_admin; }
    location /real/ { set_real_ip_from 127.0.0.0/8; weir_admin; }
"""


# All else is limited.
LIMITED = """
    weir on;
    location / { proxy_pass http://origin; }
    location /weir/ { weir_admin; location /weir/inner/ { proxy_pass http://origin; } }
    location /noted/ { weir_admin; if ($request_method != GET) { add_header X-Noted 1; } }
    location /limited/ { weir on; weir_admin; }
    location /seen/ { weir_admin; access_log FOLDER/seen.log; }
"""
FOR_ALL = "rules: [{id: all, match: {}, key: client, limit: 2, window: 1h}]\n"


class OperatorTest(unittest.TestCase):
    """Rules and blocks around the pages are not meant for them."""

    def setUp(self):
        self.nginx = self.enterContext(Nginx(FOR_ALL, LIMITED))

    def weir(self, *words, path="/weir"):
        return run_weir(*words, "--server", f"http://127.0.0.1:{self.nginx.port}{path}")

    def test_who_is_blocked_may_lift_the_block(self):
        for path in ("/weir", "/noted"):
            self.assertEqual(self.weir("block", "127.0.0.1", "--for", "1h", path=path)[0], 0)
            self.assertEqual(self.nginx.ask("/").status, 429)
            self.assertEqual(self.nginx.ask(f"{path}/health").status, 200)
            lifted = "127.0.0.1 is no longer blocked by any rule\n"
            self.assertEqual(self.weir("unblock", "127.0.0.1", path=path), (0, lifted, ""))

    def test_what_somebody_asks_about_a_key_brings_it_into_no_access_log(self):
        for _ in range(3):
            self.nginx.ask("/")
        for words, said in ((("explain", "127.0.0.1"), "all: denied now, 0 of 2 left"),
                            (("denials", "--rule", "all", "--key", "127.0.0.1"), "  limit, 0 of 2"),
                            (("unblock", "sk-secret"), ""), (("explain", "sk-secret"), "none of")):
            self.assertIn(said, self.weir(*words, path="/seen")[1])
        code, _, why = self.weir("denials", "--key", "sk-secret", path="/seen")
        self.assertEqual((code, why.splitlines()[0]), (2, "--key requires --rule"))
        seen = self.nginx.folder / "seen.log"
        wait_until(lambda: seen.read_text().count("POST /seen/v1/explain HTTP") == 2, "it is all")
        self.assertNotRegex(seen.read_text(), r"sk-secret|key=|GET \S+127")

    def test_pages_are_limited_if_their_own_location_says_so(self):
        for path, passing in (("/weir/health", 5), ("/noted/health", 5), ("/limited/health", 2)):
            statuses = [self.nginx.ask(path).status for _ in range(5)]
            self.assertEqual(statuses, passing * [200] + (5 - passing) * [429], path)
        self.assertEqual(self.nginx.ask("/weir/inner/").status, 429, "a place of its own")


class AdminTest(unittest.TestCase):
    def setUp(self):
        self.nginx = self.enterContext(Nginx(RULES, SERVER))

    def counts(self):
        reply = self.nginx.ask("/weir/metrics", fields="Accept: text/plain\r\n")
        self.assertEqual(reply.status, 200)
        return {outcome: int(count) for outcome, count in re.findall(
            r'weir_rule_requests_total{rule="login",decision="(\w+)"} (\d+)', reply.text)}

    def test_metrics_are_those_of_all_workers_before_and_after_a_reload(self):
        for _ in range(8):
            self.nginx.ask("/login")
        counts = self.counts()
        self.assertEqual((counts["allowed"], counts["denied"]), (5, 3), counts)
        self.nginx.reload()
        self.nginx.ask("/login")
        counts = self.counts()
        self.assertEqual((counts["allowed"], counts["denied"]), (5, 4))

    def test_a_block_by_hand_holds_in_every_worker(self):
        body = json.dumps({"rule": "login", "key": "127.0.0.9", "for": "1h"}).encode()
        json_field = "Content-Type: application/json\r\n"
        reply = self.nginx.ask("/weir/admin/blocks", "POST", json_field, body)
        self.assertIn(reply.status, (200, 201), reply.text)
        for _ in range(8):  # as many connections find both workers
            denied = self.nginx.ask("/login", client="127.0.0.9")
            self.assertEqual(denied.status, 429)
        self.assertIn(field(denied, "Retry-After"), ("3599", "3600"))
        self.nginx.reload()
        self.assertEqual(self.nginx.ask("/login", client="127.0.0.9").status, 429)
        body = json.dumps({"rule": "login", "key": "127.0.0.9"}).encode()
        self.assertIn(self.nginx.ask("/weir/admin/blocks", "DELETE", json_field, body).status,
                      (200, 204))
        for _ in range(5):
            self.assertEqual(self.nginx.ask("/login", client="127.0.0.9").status, 200)

    def test_the_commands_about_blocks_and_denials_take_its_address(self):
        def weir(*words, path="/weir"):
            return run_weir(*words, "--server", f"http://127.0.0.1:{self.nginx.port}{path}")
        blocked = weir("block", "127.0.8.0/24", "--for", "1h", path="/weir/")
        self.assertEqual(blocked, (0, "127.0.8.0/24 is blocked for 1h, by all rules\n", ""))
        self.assertEqual(self.nginx.ask("/login", client="127.0.8.7").status, 429)
        self.assertIn("127.0.8.0/24", weir("blocks")[1])
        self.assertIn("  login  ", weir("denials")[1])
        self.assertIn("100 %", weir("busiest", "--rule", "login")[1])
        self.assertEqual(weir("unblock", "127.0.8.0/24")[0], 0)
        self.assertEqual(self.nginx.ask("/login", client="127.0.8.7").status, 200)
        self.assertIn("does not answer like weir", weir("blocks", path="/none")[2])

    def test_rules_are_shown_with_the_version_that_a_reload_changes(self):
        first = self.nginx.ask("/weir/admin/rules")
        self.assertEqual(json.loads(first.text)["rules"][0]["id"], "login")
        self.nginx.write_rules(RULES.replace("limit: 5", "limit: 7"))
        self.nginx.reload()
        second = self.nginx.ask("/weir/admin/rules")
        self.assertEqual(json.loads(second.text)["rules"][0]["rule"]["limit"], 7)
        self.assertNotEqual(field(first, "ETag"), field(second, "ETag"))

    def change(self, method, rule=None):
        body = b"" if rule is None else json.dumps(rule).encode()
        return self.nginx.ask("/weir/admin/rules/login", method,
                              "Content-Type: application/json\r\n", body)

    def test_a_change_by_request_holds_in_every_worker_until_a_reload(self):
        rule = {"id": "login", "match": {"path": "/login"}, "key": "client", "limit": 0,
                "window": "1h"}
        changed = self.change("PUT", rule)
        self.assertEqual(changed.status, 200, changed.text)
        for _ in range(8):  # as many connections find both workers
            self.assertEqual(self.nginx.ask("/login").status, 429)
        self.assertEqual(self.nginx.ask("/login").status, 429)
        os.kill(self.nginx.serving()[0], signal.SIGKILL)  # one that comes later follows, too
        for _ in range(8):
            self.assertEqual(self.nginx.ask("/login").status, 429)
        self.assertEqual({line[3] for line in self.nginx.access_log() if line[0] == "/login"},
                         {"login"})
        self.nginx.reload()
        self.assertEqual(self.nginx.ask("/login").status, 200)

    def test_a_long_body_is_read_from_where_nginx_keeps_it(self):
        rule = {"id": "login", "match": {"path": "/login"}, "key": "client", "limit": 0,
                "window": "1h"}
        body = json.dumps(rule).encode()
        much = 1_000_000
        for size in (9_000, 17_000, much):
            long = body[:-1].ljust(size - 1) + body[-1:]
            reply = self.nginx.ask("/weir/admin/rules/login", "PUT",
                                   "Content-Type: application/json\r\n", long)
            self.assertEqual(reply.status, 200, reply.text)
        chunk = b"%x\r\n" % much + body[:-1].ljust(much - 1) + body[-1:] + b"\r\n0\r\n\r\n"
        with self.nginx.connect() as connection:
            reply = connection.ask(b"PUT /weir/admin/rules/login HTTP/1.1\r\nHost: localhost\r\n"
                                   b"Content-Type: application/json\r\n"
                                   b"Transfer-Encoding: chunked\r\n\r\n" + chunk)
        self.assertEqual(reply.status, 200, reply.text)
        self.assertEqual(self.nginx.ask("/login").status, 429)
        reply = self.nginx.ask("/unbounded/admin/rules/login", "PUT",
                               "Content-Type: application/json\r\n", body.ljust((1 << 20) + 1))
        self.assertEqual(reply.status, 413)

    def test_a_rule_that_looks_at_more_than_others_did_holds_for_the_next_request(self):
        nginx = self.enterContext(Nginx("rules:\n  - {id: any, match: {}, key: client, "
                                        "limit: 1000, window: 1h}\n", SERVER))
        for id_, match in (("path", {"path": "/shut"}), ("host", {"host": "localhost"}),
                           ("header", {"header": [{"name": "X-Shut"}]})):
            rule = {"id": id_, "group": id_, "match": match, "key": "client", "limit": 0,
                    "window": "1h"}
            changed = nginx.ask(f"/weir/admin/rules/{id_}", "PUT",
                                "Content-Type: application/json\r\n", json.dumps(rule).encode())
            self.assertLess(changed.status, 300, changed.text)
            for _ in range(8):  # as many connections find both workers
                self.assertEqual(nginx.ask("/shut", fields="X-Shut: 1\r\n").status, 429, id_)
            nginx.ask(f"/weir/admin/rules/{id_}", "DELETE")

    def test_changes_under_load_fail_no_request(self):
        rule = {"id": "login", "match": {"path": "/login"}, "limit": 1000, "window": "1h"}
        with Load(self.nginx, ["/login", "/other"]) as load:
            for number in range(20):
                self.assertEqual(self.change("PUT", rule | {"limit": 1000 + number}).status, 200)
                load.wait_for_replies(10)
        self.assertEqual(load.lost, [])
        self.assertLessEqual({status for _, status in load.statuses}, {200, 429})
        self.assertEqual(self.nginx.stop(), 0)

    def test_what_is_not_for_everybody(self):
        self.assertEqual(self.nginx.ask("/weir/check", "POST", body=b"{}").status, 404)
        far = "X-Real-IP: 192.0.2.1\r\n"
        self.assertEqual(self.nginx.ask("/real/admin/blocks", fields=far).status, 403)
        self.assertEqual(self.nginx.ask("/real/health", fields=far).status, 200)
        with self.nginx.connect() as connection:
            connection.send(request("/weir/health", "HEAD"))
            head = connection.socket.recv(4096)
        self.assertRegex(head, rb"^HTTP/1.1 200 (.|\s)*\r\nContent-Length: [1-9]\d+\r\n")
        self.assertTrue(head.endswith(b"\r\n\r\n"), head)


if __name__ == "__main__":
    unittest.main()
