"""Counters, blocks and figures outlive reloads and workers that are killed, and no request is lost.

Some ten reloads and kills; with WEIR_TESTS=long a hundred reloads.
"""

import os
import signal
import unittest

from nginx_server import Load, Nginx, field, remaining, wait_until

RELOADS = 100 if os.environ.get("WEIR_TESTS") == "long" else 10

RULES = """
rules:
  - id: whole
    match: {path: /whole}
    limit: 500
    window: 1h
  - id: login
    match: {path: /login}
    key: client
    limit: 1
    window: 1h
    on_deny: {block: 1h}
  - id: backoff
    match: {path: /backoff}
    algorithm: exponential_backoff
    limit: 10
    window: 1h
"""

SERVER = "weir on; location / { proxy_pass http://origin; }"


class ReloadTest(unittest.TestCase):
    def test_reloads_under_load_lose_no_request_and_admit_the_limit(self):
        with Nginx(RULES, SERVER) as nginx:
            with Load(nginx, ["/whole", "/free"]) as load:
                for number in range(RELOADS):
                    if number % 3 == 1:
                        nginx.write_rules(RULES.replace("limit", "limti", 1))
                        nginx.reload_in_vain()
                    nginx.write_rules(RULES + f"# {number}\n")
                    nginx.reload()
                    load.wait_for_replies(50)
                while load.count("/whole", 429) == 0:
                    load.wait_for_replies(50)
            self.assertEqual(load.lost, [])
            self.assertEqual(load.count("/whole", 200), 500)
            self.assertEqual({status for _, status in load.statuses}, {200, 429})
            wait_until(lambda: len(nginx.workers()) == 2, "the old workers have gone")
            self.assertEqual(nginx.stop(), 0)
            self.assertNotIn("[alert]", nginx.log())

    def test_workers_that_are_killed_under_load_take_no_count_with_them(self):
        with Nginx(RULES, SERVER) as nginx:
            with Load(nginx, ["/whole", "/free", "/backoff"]) as load:
                for number in range(RELOADS):
                    worker = nginx.serving()[number % 2]
                    os.kill(worker, signal.SIGKILL)
                    wait_until(lambda: len(nginx.serving()) == 2
                               and worker not in nginx.serving(), "there is another")
                    load.wait_for_replies(50)
                while load.count("/whole", 429) == 0:
                    load.wait_for_replies(50)
            # A request that was charged when its worker was killed has no reply.
            admitted = load.count("/whole", 200)
            self.assertLessEqual(admitted, 500)
            self.assertGreaterEqual(admitted, 500 - 4 * RELOADS)

    def test_counters_and_blocks_outlive_a_reload_and_all_workers(self):
        with Nginx(RULES, SERVER) as nginx:
            self.assertEqual(remaining(nginx.ask("/whole")), 499)
            self.assertEqual(remaining(nginx.ask("/backoff")), 9)
            self.assertEqual(nginx.ask("/login").status, 200)
            self.assertEqual(nginx.ask("/login").status, 429)
            nginx.reload()
            self.assertEqual(remaining(nginx.ask("/whole")), 498)
            for worker in nginx.serving():
                os.kill(worker, signal.SIGKILL)
                wait_until(lambda: worker not in nginx.workers(), "it is gone")
            wait_until(lambda: len(nginx.serving()) == 2, "there are others")
            self.assertEqual(remaining(nginx.ask("/whole")), 497)
            self.assertEqual(remaining(nginx.ask("/backoff")), 8)
            # The counter would say so as well; a rule that has a greater limit now does not.
            nginx.write_rules(RULES.replace("limit: 1\n", "limit: 9\n"))
            nginx.reload()
            denied = nginx.ask("/login")
            self.assertEqual(denied.status, 429)
            self.assertIn(field(denied, "Retry-After"), map(str, range(3500, 3601)))

    def test_a_zone_of_another_size_begins_anew(self):
        with Nginx(RULES, SERVER) as nginx:
            self.assertEqual(remaining(nginx.ask("/whole")), 499)
            nginx.zone = "5m"
            nginx.write_config()
            nginx.reload()
            self.assertEqual(remaining(nginx.ask("/whole")), 499)

    def test_workers_that_come_and_go_change_nothing_for_others(self):
        with Nginx(RULES, SERVER, workers=1) as nginx:
            self.assertEqual(remaining(nginx.ask("/whole")), 499)
            nginx.write_config(workers=4)
            nginx.reload()
            for left in range(498, 478, -1):
                self.assertEqual(remaining(nginx.ask("/whole")), left)


if __name__ == "__main__":
    unittest.main()
