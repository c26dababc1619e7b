"""Keys from cookies and Authorization are shown, kept and blocked as digests only, whatever
show_keys says."""

import hashlib
import json
import pathlib
import unittest

from weir_server import Weir, get, main, post, run_weir, wait_until

SECRET, OTHER = "s3cr3t-of-ada", "s3cr3t-of-bob"
CONFIG = """
show_keys: true
state_file: state
rules:
  - {id: session, match: {path: /a}, key: cookie:sid, limit: 1, window: 366d,
     allow: friend, on_deny: {block: 5m}, notify_at: 100%}
  - {id: api, group: api, match: {path: /a}, key: [header:X-App, header:Authorization],
     limit: 1000, window: 366d, notify_at: 1%}
  - {id: token, group: token, match: {path: /a}, key: header:Authorization, limit: 1000,
     window: 366d}
  - {id: open, group: open, match: {path: /a}, key: header:X-App, limit: 1, window: 366d}
"""


def digest(key):
    return "sha256:" + hashlib.sha256(key.encode()).hexdigest()


class SecretKeys(unittest.TestCase):
    def setUp(self):
        self.weir = self.enterContext(Weir(config=CONFIG))

    def visit(self, secret):
        with self.weir.connect() as connection:
            return connection.ask(get("/auth", "X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /a\r\n"
                                      "X-Forwarded-Host: a\r\nX-Forwarded-For: 192.0.2.1\r\n"
                                      f"Cookie: sid={secret}\r\nX-App: plain-{secret[-3:]}\r\n"
                                      f"Authorization: Bearer {secret}\r\n")).status

    def page(self, path):
        with self.weir.connect() as connection:
            return connection.ask(get(path)).text

    def change(self, method, body):
        with self.weir.connect() as connection:
            data = post("/admin/blocks", json.dumps(body).encode(),
                        "Content-Type: application/json\r\n")
            return connection.ask(data.replace(b"POST", method.encode(), 1))

    def test_no_page_and_no_file_has_them(self):
        self.assertEqual([self.visit(SECRET) for _ in range(12)], [200] + 11 * [429])
        busiest = "/admin/busiest?rule="
        for rule in ("session", "api", "token", "open"):
            wait_until(lambda rule=rule: '"key"' in self.page(busiest + rule), "it has samples")
        wait_until(lambda: digest(SECRET)[:64] in self.page("/admin/events"), "it tells of it")
        pages = {path: self.page(path) for path in (
            "/admin/denials", "/admin/blocks", "/admin/events", busiest + "session",
            busiest + "api", busiest + "token", busiest + "open")}
        self.assertIn(digest(SECRET)[:64], pages["/admin/denials"])
        self.assertIn(digest(SECRET)[:64], pages[busiest + "session"])
        self.assertIn(digest(SECRET), pages["/admin/blocks"])
        self.assertIn("sha256:", pages[busiest + "api"])
        self.assertIn(digest(SECRET)[:64], pages[busiest + "token"])  # without the scheme
        self.assertIn("plain-ada", pages[busiest + "open"])  # keys are shown
        state = pathlib.Path(self.weir.config_path).with_name("state")
        wait_until(lambda: state.exists() and digest(SECRET) in state.read_text("latin-1"), "kept")
        pages |= {"file": state.read_text("latin-1"), "log": self.weir.log()}
        for path, text in pages.items():
            self.assertNotIn(SECRET, text, path)

    def test_a_block_holds_for_its_key_alone_and_by_its_text_it_is_lifted(self):
        self.assertEqual([self.visit(SECRET) for _ in range(3)], [200, 429, 429])
        self.assertEqual(self.visit(OTHER), 200)
        for whom in ({"rule": "session", "key": SECRET}, {"key": SECRET},
                     {"rule": "session", "key": digest(SECRET)}):
            self.assertEqual(self.change("DELETE", whom).status, 200, whom)
            self.assertEqual(self.change("DELETE", whom).status, 404, whom)
            self.assertEqual(self.visit(SECRET), 429)  # and blocked again
        self.assertNotIn(SECRET, self.weir.log())

    def test_a_hand_that_names_the_rule_blocks_by_the_digest(self):
        reply = self.change("POST", {"rule": "session", "key": OTHER, "for": "5m"})
        self.assertEqual((reply.status, reply.json()["key"]), (200, digest(OTHER)))
        self.assertEqual([self.visit(OTHER), self.visit(SECRET)], [429, 200])
        self.assertNotIn(OTHER, self.weir.log())

    def test_an_address_or_a_network_stays_itself_and_holds_for_its_clients(self):
        for sid, key, listed in (("ada", "192.0.2.1", "192.0.2.1"),
                                 ("bob", "192.0.2.0/24", "192.0.2.0/24"),
                                 ("cid", "::ffff:192.0.2.1", "192.0.2.1")):
            whom = {"rule": "session", "key": key}
            reply = self.change("POST", whom | {"for": "5m"})
            self.assertEqual((reply.status, reply.json()["key"]), (200, listed))
            self.assertEqual(self.visit(sid), 429, key)
            self.assertIn(f'"{listed}"', self.page("/admin/blocks"))
            self.assertEqual([self.change("DELETE", whom).status for _ in range(2)], [200, 404])
            self.assertEqual(self.visit(sid), 200, key)

    def test_a_secret_that_reads_like_an_address_is_a_digest_and_may_be_let_go(self):
        secret = "203.0.113.7"
        for whom in ({"rule": "session", "key": secret}, {"key": secret}):
            wait_until(lambda: self.visit(secret) == 429, "it is blocked")
            self.assertIn(digest(secret), self.page("/admin/blocks"))
            self.assertEqual(self.change("DELETE", whom).status, 200, whom)
            self.assertNotIn(digest(secret), self.page("/admin/blocks"))

    def test_a_block_says_what_lets_its_key_pass(self):
        reply = self.change("POST", {"rule": "session", "key": "friend", "for": "5m"}).json()
        self.assertEqual((reply["key"], reply.get("passes_because")),
                         (digest("friend"), "the key is on the rule's allow list"))
        self.assertEqual(self.visit("friend"), 200)

    def test_the_command_lets_go_what_it_shows(self):
        self.assertEqual([self.visit(SECRET) for _ in range(2)], [200, 429])
        shown = run_weir("blocks", "--server", self.weir.url)[1].splitlines()[1].split()[2]
        self.assertEqual(shown, digest(SECRET))
        code, said, _ = run_weir("unblock", shown, "--server", self.weir.url)
        self.assertEqual((code, self.page("/admin/blocks").count(digest(SECRET))), (0, 0), said)


if __name__ == "__main__":
    main()
