"""The module in Debian's nginx: what requests are answered, what directives and variables do."""

import re
import subprocess
import unittest

from nginx_server import DEADLINE_S, Client, Nginx, field, remaining, request, wait_until

RULES = """
rules:
  - id: login
    match: {path: /api/login, method: POST}
    key: client
    limit: 5
    window: 1m
    on_deny: {block: 5m}
  - id: named
    limit: 3
    window: 1m
    tiers: [{name: gold, limit: 30, window: 1m}]
  - id: odd
    match: {path: /odd}
    limit: 0
    window: 1m
    on_deny: {status: 418}
  - id: quiet
    match: {path: /quiet}
    limit: 1
    window: 1m
  - id: hourly
    match: {path: /hourly}
    algorithm: fixed_window
    limit: 1000
    window: 1h
"""

SERVER = """
    weir on;
    location / { proxy_pass http://origin; }
    location /off { weir off; proxy_pass http://origin; }
    location /named {
      weir_rules named;
      weir_key $arg_key tier=$arg_tier cost=$arg_cost;
      proxy_pass http://origin;
    }
    location /plain { weir_rules named; weir_status 403; proxy_pass http://origin; }
    location /dry { weir dry_run; weir_rules named; proxy_pass http://origin; }
    location /page {
      weir_rules named;
      error_page 429 /too_many.txt;
      proxy_pass http://origin;
    }
    location = /too_many.txt { internal; return 200 "the operator's page"; }
"""

FIVE = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit",
        "RateLimit-Policy")


class ModuleTest(unittest.TestCase):
    def setUp(self):
        self.nginx = self.enterContext(Nginx(RULES, SERVER))

    def test_five_logins_pass_and_then_none_for_five_minutes(self):
        replies = [self.nginx.ask("/api/login", "POST") for _ in range(10)]
        self.assertEqual([reply.status for reply in replies], 5 * [200] + 5 * [429])
        self.assertEqual([remaining(reply) for reply in replies[:5]], [4, 3, 2, 1, 0])
        for reply in replies:
            for name in FIVE:
                self.assertIsNotNone(field(reply, name), reply.head)
        self.assertEqual(field(replies[0], "RateLimit-Policy"), '"login";q=5;w=60')
        self.assertIsNone(field(replies[0], "Retry-After"))
        self.assertIn(field(replies[-1], "Retry-After"), ("299", "300"))
        self.assertEqual(field(replies[-1], "Content-Type"), "application/problem+json")
        self.assertEqual(self.nginx.ask("/api/login", "POST", client="127.0.0.2").status, 200)
        self.assertEqual(self.nginx.ask("/api/login", "GET").status, 200)

    def test_the_file_says_which_header_fields_there_are(self):
        settings = "headers: draft-6\nx_headers: [reset]\nx_reset: epoch\n"
        nginx = self.enterContext(Nginx(settings + RULES, SERVER))
        reply = nginx.ask("/api/login", "POST")
        self.assertEqual([field(reply, name) for name in FIVE[:2] + FIVE[3:]],
                         [None, None, None, "5;w=60"])
        self.assertEqual([field(reply, "RateLimit-" + name) for name in ("Limit", "Remaining")],
                         ["5", "4"])
        self.assertGreater(int(field(reply, "X-RateLimit-Reset")), 1_700_000_000)
        for _ in range(10):
            reset = int(field(nginx.ask("/hourly"), "X-RateLimit-Reset"))
            self.assertEqual(reset % 3600, 0, "the end of the window, neither early nor late")

    def test_nginx_says_whom_to_count_and_how(self):
        def left(query):
            return remaining(self.nginx.ask("/named?" + query))

        self.assertEqual(left("key=ada"), 2)
        self.assertEqual(left("key=ada&cost=2"), 0)
        self.assertEqual(self.nginx.ask("/named?key=ada").status, 429)
        self.assertEqual(left("key=bob"), 2)
        self.assertEqual(left("key=eve&tier=gold"), 29)

    def test_a_place_may_be_off_dry_or_have_another_status(self):
        self.assertIsNone(field(self.nginx.ask("/off"), "RateLimit"))
        for _ in range(3):
            self.assertEqual(self.nginx.ask("/plain").status, 200)
        self.assertEqual(self.nginx.ask("/plain").status, 403)
        dry = self.nginx.ask("/dry")
        self.assertEqual(dry.status, 200)
        self.assertIsNone(field(dry, "RateLimit"))

        def logged():  # another worker may log an earlier request later
            return [line[1:4] for line in self.nginx.access_log() if line[0] == "/dry"]

        wait_until(logged, "it is logged")
        self.assertEqual(logged(), [["200", "denied_dry_run", "named"]])

    def test_the_operator_may_have_a_page_of_his_own(self):
        for _ in range(3):
            self.nginx.ask("/page")
        reply = self.nginx.ask("/page")
        self.assertEqual((reply.status, reply.text), (429, "the operator's page"))
        self.assertEqual(remaining(reply), 0)
        self.assertIsNotNone(field(reply, "Retry-After"))

    def test_logs_say_what_was_decided(self):
        self.nginx.ask("/named?key=ada")
        self.nginx.ask("/")
        for _ in range(3):
            self.nginx.ask("/named?key=ada")
        wait_until(lambda: len(self.nginx.access_log()) >= 5, "all is logged")
        lines = [line for line in self.nginx.access_log() if line[0] == "/named"]
        lines.sort(key=lambda line: int(line[9]))  # workers write in any order
        for line, left in zip(lines[:3], "210"):
            self.assertEqual(line[1:4] + line[5:9], ["200", "allowed", "named", "3", left, "-",
                                                    "local"])
        self.assertEqual(lines[3][2], "denied")
        self.assertRegex(lines[3][7], r"^\d+$")
        hashes = {line[4] for line in lines}
        self.assertEqual(len(hashes), 1)
        self.assertRegex(hashes.pop(), "^[0-9a-f]{16}$")
        nothing = next(line for line in self.nginx.access_log() if line[0] == "/")
        self.assertEqual(nothing[2:9], 7 * ["-"])

    def test_a_header_that_must_not_be_repeated_is_refused(self):
        self.nginx.write_rules(RULES + """
  - id: plan
    match: {path: /plan, jwt: [{claim: plan, value: free}]}
    limit: 9
    window: 1m
jwt: {secret_file: FOLDER/secret}
""".replace("FOLDER", str(self.nginx.folder)))
        (self.nginx.folder / "secret").write_text("0123456789abcdef0123456789abcdef")
        self.nginx.reload()
        twice = 2 * "Authorization: Bearer a\r\n"
        self.assertEqual(self.nginx.ask("/", fields=twice).status, 400)

    def test_a_request_that_names_two_hosts_is_refused(self):
        self.nginx.write_rules(RULES + """
  - id: host
    group: host
    match: {host: victim}
    limit: 1
    window: 1m
""")
        self.nginx.reload()

        def ask(target, host):
            with Client(self.nginx.port) as client:
                return client.ask(f"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()).status

        self.assertEqual([ask("/", "victim:80"), ask("/", "Victim")], [200, 429])
        self.assertEqual(ask("http://other/", "victim"), 400)
        self.assertEqual(ask("http://victim/", "other"), 400)
        self.assertEqual(ask("http://other/", "other:80"), 200)

    def test_a_key_that_nginx_names_is_the_one_that_may_be_missing(self):
        rules = """
rules:
  - {id: keyed, match: {}, key: header:X-Rule, limit: 1, window: 1m, missing: skip}
"""
        server = "location / { weir on; weir_key $http_x_key; proxy_pass http://origin; }"
        nginx = self.enterContext(Nginx(rules, server))

        def twice(fields):
            return [nginx.ask("/", fields=fields).status for _ in range(2)]

        self.assertEqual(twice("X-Key: 1\r\n"), [200, 429])
        self.assertEqual(twice("X-Rule: 1\r\n"), [200, 200])

    def test_pipelines_and_bodies_of_denied_requests_keep_their_places(self):
        with Client(self.nginx.port) as client:
            client.send(4 * request("/plain"))
            self.assertEqual([client.read_reply().status for _ in range(4)], [200, 200, 200, 403])
            denied = client.ask(request("/odd", "POST", body=100_000 * b"x"))
            self.assertEqual(denied.status, 418)
            self.assertEqual(client.ask(request("/quiet")).status, 200)

    def test_http_2(self):
        self.nginx.write_config(http="server { listen unix:FOLDER/h2 http2; location / "
                                     "{ weir on; weir_rules named; proxy_pass http://origin; } }")
        self.nginx.reload()
        heads = []
        for _ in range(4):
            done = subprocess.run(
                ["curl", "-s", "-o", "/dev/null", "-D", "-", "--http2-prior-knowledge",
                 "--unix-socket", self.nginx.folder / "h2", "http://localhost/"],
                capture_output=True, text=True, timeout=DEADLINE_S, check=True)
            heads.append(done.stdout)
        self.assertEqual([head.split()[1] for head in heads], 3 * ["200"] + ["429"])
        self.assertIn("ratelimit: ", heads[3])
        self.assertIn("retry-after: ", heads[3])


class ConfigurationTest(unittest.TestCase):
    def refusal(self, rules=RULES, server=SERVER, **more):
        with Nginx(rules, server, start=False, **more) as nginx:
            code, said = nginx.test()
            self.assertNotEqual(code, 0, said)
            return said

    def test_a_good_one_is_accepted(self):
        with Nginx(RULES, SERVER, start=False) as nginx:
            code, said = nginx.test()
            self.assertEqual(code, 0, said)

    def test_mistakes_in_the_rules_are_named_with_their_places(self):
        said = self.refusal(RULES.replace("limit: 3", "limti: 3"))
        self.assertRegex(said, r"rules\.yaml:10:5: unknown key 'limti'; did you mean 'limit'")
        said = self.refusal(RULES.replace("limit: 3\n", "limit: 3\n    algorithm: sliding_log\n"))
        self.assertRegex(said, r"rules\.yaml:11:16: nginx's workers cannot .*use sliding_window")

    def test_mistakes_in_directives_are_named_with_their_remedies(self):
        self.assertIn("did you mean 'named'?",
                      self.refusal(server="weir on; weir_rules nmaed;"))
        self.assertIn("from 400 to 599", self.refusal(server="weir_status 200;"))
        self.assertIn("invalid value", self.refusal(server="weir perhaps;"))
        self.assertIn("takes a key, tier=VALUE", self.refusal(server="weir_key $uri $args;"))
        self.assertIn("too small", self.refusal(zone="64k"))
        self.assertIn("there already", self.refusal(http="weir_zone other 8m;"))
        self.assertRegex(self.refusal(http='weir_zone "" 8m;'),
                         r"weir_zone needs a name.* in \S+nginx\.conf:\d+")

    def test_the_pages_of_an_nginx_have_a_location_of_their_own(self):
        for twice in ("weir_admin; weir_admin;", "proxy_pass http://origin; weir_admin;"):
            self.assertRegex(self.refusal(server=f"location /weir/ {{ {twice} }}"),
                             r"give it a location of its own, once in \S+nginx\.conf:\d+")

    def test_the_pages_of_an_nginx_are_below_a_prefix(self):
        for name in ("= /weir/metrics", "~ ^/weir", "~* ^/weir", "@weir"):
            self.assertRegex(self.refusal(server=f"location {name} {{ weir_admin; }}"),
                             r'write "location /weir/ \{ weir_admin; \}" in \S+nginx\.conf:\d+')
        with Nginx(RULES, "location ^~ /weir/ { weir_admin; }", start=False) as nginx:
            self.assertEqual(nginx.test()[0], 0)

    def test_weir_on_needs_a_zone_and_rules(self):
        with Nginx(RULES, SERVER, start=False) as nginx:
            path = nginx.folder / "nginx.conf"
            path.write_text(re.sub(r"weir_config \S+;", "", path.read_text()))
            self.assertIn('needs "weir_zone NAME SIZE;" and "weir_config FILE;"', nginx.test()[1])


if __name__ == "__main__":
    unittest.main()
