"""Each request is charged once, whatever nginx does with it before it is answered."""

import unittest

from nginx_server import Nginx, field, remaining, wait_until

RULES = """
rules:
  - id: all
    limit: 1000
    window: 1h
  - id: one
    limit: 1
    window: 1h
"""

SERVER = """
    weir on;
    weir_rules all;
    weir_key $arg_key;

    location / { }
    location /try { try_files /missing /also_missing @named; }
    location @named { proxy_pass http://origin; }
    location /tried { try_files /missing /index/page.txt; }
    location /missing { error_page 404 /index/page.txt; }
    location /missing_named { error_page 404 = @named; return 404; }
    location /rewritten { rewrite ^ /last last; }
    location /last { proxy_pass http://origin; }
    location /accel { proxy_pass http://accel; }
    location /protected { internal; alias FOLDER/html/index; }
    location /auth { auth_request /subrequest; proxy_pass http://origin; }
    location /subrequest { proxy_pass http://origin; }
    location /mirrored { mirror /subrequest; proxy_pass http://origin; }
    location /any {
      satisfy any;
      allow all;
      auth_basic x;
      auth_basic_user_file FOLDER/html/page.txt;
      proxy_pass http://origin;
    }
    location /forbidden { deny all; error_page 403 = @named; }
    location /off { weir off; try_files /missing @named; }
    location /returned { return 200 "rewrite"; }
    location /denied { weir_rules one; error_page 429 /too_many; proxy_pass http://origin; }
    location /denied_named { weir_rules one; error_page 429 = @too_many; proxy_pass http://origin; }
    location /too_many { proxy_pass http://origin; }
    location @too_many { proxy_pass http://origin; }
"""

HTTP = """
  upstream accel { server unix:FOLDER/accel; }
  server { listen unix:FOLDER/accel; access_log off;
    add_header X-Accel-Redirect /protected/page.txt; return 200; }
"""


class RedirectTest(unittest.TestCase):
    def setUp(self):
        self.nginx = self.enterContext(Nginx(RULES, SERVER, http=HTTP))
        html = self.nginx.folder / "html"
        (html / "index").mkdir()
        (html / "index" / "index.html").write_text("index")
        (html / "index" / "page.txt").write_text("page")
        (html / "page.txt").write_text("page")

    def charges(self, path):
        """By how much one request lowers what remains, and its reply."""
        key = f"?key={path}"
        before = remaining(self.nginx.ask("/page.txt" + key))
        reply = self.nginx.ask(path + key)
        after = remaining(self.nginx.ask("/page.txt" + key))
        return before - after - 1, reply

    def test_each_is_charged_once(self):
        for path, status in (("/page.txt", 200), ("/index/", 200), ("/try", 200), ("/tried", 200),
                             ("/missing", 404), ("/rewritten", 200), ("/accel", 200),
                             ("/auth", 200), ("/mirrored", 200), ("/any", 200),
                             ("/forbidden", 200), ("/nowhere", 404), ("/off", 200),
                             ("/missing_named", 200)):
            with self.subTest(path):
                charged, reply = self.charges(path)
                self.assertEqual(reply.status, status)
                self.assertEqual(charged, 1)
                self.assertEqual(reply.head.count("RateLimit-Policy:"), 1, reply.head)

    def test_what_is_answered_while_nginx_rewrites_is_never_charged(self):
        charged, reply = self.charges("/returned")
        self.assertEqual((charged, reply.status), (0, 200))

    def test_a_denial_stays_one_on_its_way_to_the_page_about_it(self):
        for path, status in (("/denied", 429), ("/denied_named", 200)):
            first, second, third = (self.nginx.ask(path + "?key=" + path) for _ in range(3))
            self.assertEqual(first.status, 200)
            for denied in (second, third):
                self.assertEqual(denied.status, status)
                self.assertEqual(remaining(denied), 0)
                self.assertIsNotNone(field(denied, "Retry-After"))
                self.assertEqual(denied.head.count("Retry-After:"), 1)
        self.assertEqual(self.charges("/denied_named")[0], 0)
        wait_until(lambda: any(line[2] == "denied" for line in self.nginx.access_log()), "logged")

    def test_variables_outlive_redirects(self):
        self.nginx.ask("/try?key=logged")
        wait_until(lambda: self.nginx.access_log(), "it is logged")
        self.assertEqual(self.nginx.access_log()[-1][2:4], ["allowed", "all"])


if __name__ == "__main__":
    unittest.main()
