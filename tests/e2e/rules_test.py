"""Rules, blocks and the configuration's files, changed while the server runs."""

import contextlib
import json
import os
import pathlib
import unittest

import weir_server
from weir_server import Weir, get, post, wait_until

FILE = """# Ours.
rules:
  # People.
  - id: api
    limit: 1000
    window: 365d
  - {id: other, limit: 5, window: 1m}
"""


def request(method, path, body=None, fields=""):
    text = b"" if body is None else json.dumps(body).encode()
    return post(path, text, fields).replace(b"POST", method.encode(), 1)


def ask(weir, data):
    with weir.connect() as connection:
        return connection.ask(data)


def api(limit):
    return {"id": "api", "limit": limit, "window": "365d"}


class Rules(unittest.TestCase):
    def limit_seen(self, weir):
        """What each of several connections, on all cores, is told; None while they differ."""
        limits = {weir.check(key=f"probe-{i}", rule="api")["limit"] for i in range(8)}
        return limits.pop() if len(limits) == 1 else None

    def test_are_shown_changed_switched_and_removed(self):
        with Weir("--threads", "2", config=FILE) as weir:
            shown = ask(weir, get("/admin/rules/api")).json()
            self.assertEqual(shown["origin"], "file")
            self.assertEqual(shown["rule"], {"id": "api", "limit": 1000, "window": "365d"})

            self.assertEqual(ask(weir, request("PUT", "/admin/rules/api", api(7))).status, 200)
            self.assertEqual(self.limit_seen(weir), 7)
            weir.wait_for_log("by request: changed api: sliding_window 1000 per 365d, now "
                              "sliding_window 7 per 365d")
            self.assertEqual(ask(weir, get("/admin/rules/api")).json()["origin"], "request")

            added = ask(weir, request("PUT", "/admin/rules/new",
                                      {"id": "new", "limit": 1, "window": 60}))
            self.assertEqual(added.status, 201)
            off = ask(weir, request("PATCH", "/admin/rules/other?by=carol&why=bots",
                                    {"enabled": False, "shadow": True}))
            self.assertEqual(off.status, 200)
            weir.wait_for_log('by request: changed other: disabled, shadow on, by "carol" at '
                              '127.0.0.1, because "bots"')
            self.assertFalse(ask(weir, get("/admin/rules/other")).json()["rule"]["enabled"])
            self.assertEqual(ask(weir, request("DELETE", "/admin/rules/other")).status, 200)
            self.assertEqual(ask(weir, get("/admin/rules/other")).status, 404)
            rules = ask(weir, get("/admin/rules")).json()
            self.assertEqual([rule["id"] for rule in rules["rules"]], ["api", "new"])
            self.assertEqual(rules["removed"], ["other"])

    def test_are_in_force_on_every_connection_when_the_answer_says_so(self):
        with Weir("--threads", "2", config=FILE) as weir, contextlib.ExitStack() as stack:
            connections = [stack.enter_context(weir.connect()) for _ in range(16)]
            late = 0
            for limit in range(1, 201):
                changed = connections[0].ask(request("PUT", "/admin/rules/api", api(limit)))
                self.assertEqual(changed.status, 200, changed.text)
                look = connections[limit % 16].check(key="k", rule="api", cost=0)
                late += look["limit"] != limit
            self.assertEqual(late, 0)

    def test_have_a_history_and_go_back_in_it(self):
        with Weir(config=FILE) as weir:
            ask(weir, request("PUT", "/admin/rules/api", api(7)))
            reply = ask(weir, post("/admin/history", b'{"back_to":1}'))
            self.assertEqual(reply.json(), {"version": 3, "back_to": 1})
            wait_until(lambda: self.limit_seen(weir) == 1000, "the first limit is in force")
            self.assertEqual(ask(weir, get("/admin/rules/api")).json()["origin"], "file")
            weir.write_config(FILE.replace("1000", "1001"))
            weir.signal(weir_server.signal.SIGHUP)
            weir.wait_for_log("reloaded: 2 rules")
            history = ask(weir, get("/admin/history")).json()["history"]
            self.assertEqual([(entry["version"], entry["origin"]) for entry in history],
                             [(4, "file"), (3, "request"), (2, "request"), (1, "file")])
            self.assertIn("now sliding_window 1001 per 365d", history[0]["changes"][0])

    def test_are_written_to_the_file_and_comments_stay(self):
        with Weir("--watch", config=FILE) as weir:
            ask(weir, request("PUT", "/admin/rules/other",
                              {"id": "other", "limit": 6, "window": 60}))
            reply = ask(weir, request("PUT", "/admin/rules/api?persist=true", api(7)))
            self.assertEqual(reply.status, 200, reply.text)
            text = pathlib.Path(weir.config_path).read_text(encoding="utf-8")
            self.assertEqual(text, FILE.replace("1000", "7"))
            self.assertEqual(ask(weir, get("/admin/rules/api")).json()["origin"], "file")

            said = weir.log_length()
            weir.write_config(text.replace("# People.", "# Persons."))
            weir.wait_for_log("reloaded: 2 rules", after=said)
            weir.wait_for_log("the change of rule other by request was not in the file", after=said)
            self.assertEqual(weir.log().count("reloaded:"), 1)  # not for what it wrote itself

class Files(unittest.TestCase):
    def test_are_read_when_they_change_however_that_is_done(self):
        with Weir("--watch", config=FILE) as weir:
            folder = pathlib.Path(weir.config_path).parent

            def limit():
                return weir.check(key="a", rule="api")["limit"]

            weir.write_config(FILE.replace("1000", "1001"))
            wait_until(lambda: limit() == 1001, "written in place")
            other = folder / "other"
            other.write_text(FILE.replace("1000", "1002"), encoding="utf-8")
            other.rename(weir.config_path)
            wait_until(lambda: limit() == 1002, "another one renamed over it")

            # As Kubernetes mounts a ConfigMap.
            for number in (1003, 1004):
                (folder / f"..{number}").mkdir()
                (folder / f"..{number}" / "weir.yaml").write_text(
                    FILE.replace("1000", str(number)), encoding="utf-8")
            (folder / "..data").symlink_to("..1003")
            (folder / "link").symlink_to("..data/weir.yaml")
            (folder / "link").rename(weir.config_path)
            wait_until(lambda: limit() == 1003, "it is a link now")
            (folder / "..new").symlink_to("..1004")
            (folder / "..new").rename(folder / "..data")
            wait_until(lambda: limit() == 1004, "the link leads elsewhere")

            weir.write_config("rules: {}")
            weir.wait_for_log("not reloaded: the 2 rules in force stay")
            self.assertEqual(limit(), 1004)
            weir.write_config(FILE.replace("1000", "1004"))
            weir.wait_for_log("says again what is in force")
            self.assertEqual(ask(weir, get("/health")).json()["config"], "ok")


class Blocks(unittest.TestCase):
    def test_outlive_the_server(self):
        with Weir(config=FILE) as weir:  # for its folder
            state = os.path.join(os.path.dirname(weir.config_path), "state")
            with Weir("--state-file", state, config=FILE) as first:
                for key in ("a", "b"):
                    self.assertEqual(ask(first, post("/admin/blocks", json.dumps(
                        {"rule": "api", "key": key, "for": "1h"}).encode())).status, 200)
                self.assertFalse(first.check(key="a", rule="api")["allowed"])
                ask(first, request("DELETE", "/admin/blocks", {"rule": "api", "key": "b"}))
                self.assertEqual(first.stop(), 0)
            self.assertEqual(os.stat(state).st_mode & 0o777, 0o600)
            with Weir("--state-file", state, config=FILE) as second:
                self.assertFalse(second.check(key="a", rule="api")["allowed"])
                self.assertTrue(second.check(key="b", rule="api")["allowed"])
                # Written without being stopped, too.
                ask(second, request("DELETE", "/admin/blocks", {"rule": "api", "key": "a"}))
                lifted = b"\x02\x03api\x01"  # block_bytes.h
                wait_until(lambda: pathlib.Path(state).read_bytes().count(lifted) == 2,
                           "it is written")
                second.process.kill()
                second.wait()
            pathlib.Path(state).write_bytes(pathlib.Path(state).read_bytes()[:-1])
            with Weir("--state-file", state, config=FILE) as third:
                third.wait_for_log("is damaged: starting without its blocks")
                self.assertTrue(third.check(key="a", rule="api")["allowed"])
            self.assertTrue(os.path.exists(state + ".broken"))


if __name__ == "__main__":
    weir_server.main()
