"""Values of headers inside nginx: what variables, tokens and origins see of blanks around them."""

import base64
import hashlib
import hmac
import tempfile
import unittest

from nginx_server import Connection, Nginx, free_port, wait_until
from weir_server import get, main

SECRET = "0123456789abcdef0123456789abcdef"
SECRET_FILE = tempfile.NamedTemporaryFile(prefix="weir-header-test-")
RULES = f"""
jwt: {{secret_file: {SECRET_FILE.name}}}
rules:
  - {{id: named, limit: 3, window: 1h}}
  - {{id: token, match: {{path: /token}}, key: jwt:sub, limit: 3, window: 1h}}
"""
ECHO = "proxy_pass http://unix:FOLDER/echo;"
SERVER = f"""
set $early $http_x;
if ($http_x = "k1") {{ set $early "$http_x!"; }}
location / {{ weir on; proxy_pass http://origin; }}
location /variables {{ weir on; weir_rules named; weir_key "$early:$http_x:$uri";
                       proxy_pass http://origin; }}
location /echo {{ weir on; {ECHO} }}
location /off {{ weir off; {ECHO} }}
location /dry {{ weir dry_run; {ECHO} }}
"""
OTHERS = """
server { listen unix:FOLDER/echo; return 200 "[$http_x]"; }
server { listen 127.0.0.1:%d; location / { proxy_pass http://unix:FOLDER/echo; } }
"""
SPELLINGS = ["k1", "k1\t", "\tk1", "\t\tk1 \t", "k1\t\t", " k1\t \t"]


def token():
    def encoded(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=")
    signed = encoded(b'{"alg":"HS256"}') + b"." + encoded(b'{"sub":"alice"}')
    signature = hmac.new(SECRET.encode(), signed, hashlib.sha256).digest()
    return (signed + b"." + encoded(signature)).decode()


class HeaderTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.without_weir = free_port()
        cls.addClassCleanup(SECRET_FILE.close)
        SECRET_FILE.write(SECRET.encode())
        SECRET_FILE.flush()
        cls.nginx = Nginx(RULES, SERVER, OTHERS % cls.without_weir)
        cls.addClassCleanup(cls.nginx.__exit__, None, None, None)

    def statuses(self, path, values, name="X"):
        return [self.nginx.ask(path, fields=f"{name}:{value}\r\n").status for value in values]

    def test_variables_see_them_alike_also_those_that_were_set_before_the_location_was_known(self):
        self.assertEqual(self.statuses("/variables", SPELLINGS), 3 * [200] + 3 * [429])

    def test_a_token_counts_behind_a_tab(self):
        bearers = [f"{before}Bearer{between}{token()}" for before in ("", "\t", " \t")
                   for between in (" ", "\t")]
        self.assertEqual(self.statuses("/token", bearers, "Authorization"),
                         3 * [200] + 3 * [429])

    def test_the_origin_sees_what_the_rules_saw(self):
        for path in ("/echo", "/off", "/dry"):
            self.assertEqual(self.nginx.ask(path, fields="X:\tk 1\t \r\n").text, "[k 1]", path)

    def test_a_server_without_weir_changes_nothing(self):
        with Connection(self.without_weir) as connection:
            self.assertEqual(connection.ask(get("/", "X:\tk1\t\r\n")).text, "[\tk1\t]")
            self.assertEqual(connection.ask(get("/", "X:k1\x0b\r\n")).text, "[k1\x0b]")

    def test_control_characters_are_refused_where_weir_is_on(self):
        fields = "X:k1\x0b\r\n"
        self.assertEqual(self.nginx.ask("/echo", fields=fields).status, 400)
        wait_until(lambda: 'weir: header "X" has a control character' in self.nginx.log(),
                   "nginx says why")
        for path in ("/off", "/dry"):
            self.assertEqual(self.nginx.ask(path, fields=fields).text, "[k1\x0b]", path)


if __name__ == "__main__":
    main()
