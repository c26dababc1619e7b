"""SIGHUP: the file's new rules on every core, or the old ones and a reason."""

import datetime
import signal
import unittest
import zoneinfo

import weir_server
from fleet import is_shared
from redis_world import Redis
from weir_server import Crowd, Weir, get


def rules(limit, extra=""):
    return f"rules:\n  - {{id: api, limit: {limit}, window: 365d}}\n{extra}"


def seconds_until_nine(now):
    nine = now.replace(hour=9, minute=0, second=0, microsecond=0)
    if nine <= now:
        nine += datetime.timedelta(days=1)
    return nine.timestamp() - now.timestamp()


class Reload(unittest.TestCase):
    def reload(self, weir, config, until):
        """The lines that it logs, up to the one with `until`."""
        weir.write_config(config)
        before = weir.log_length()
        weir.signal(signal.SIGHUP)
        weir.wait_for_log(until, after=before)
        return "".join(weir.log().splitlines(keepends=True)[before:])

    def limits_seen(self, weir):
        """The limit that each of several connections, on all cores, sees."""
        limits = set()
        for i in range(16):
            limits.add(weir.check(key=f"probe-{i}", rule="api")["limit"])
        return limits

    def test_new_rules_are_in_force_on_every_core_and_no_request_fails(self):
        with Weir("--threads", "2", config=rules(1000)) as weir:
            with Crowd(weir.port, key="crowd", rule="api") as crowd:
                for limit in range(1001, 1021):
                    self.reload(weir, rules(limit), "reloaded: 1 rule")
                    crowd.wait_for_replies(50)
            self.assertEqual(crowd.failures, [])
            self.assertEqual(self.limits_seen(weir), {1020})

    def test_counters_survive(self):
        with Weir(config=rules(5)) as weir:
            self.assertEqual(weir.check(key="a", rule="api")["remaining"], 4)
            self.reload(weir, rules(100), "changed api")
            self.assertEqual(weir.check(key="a", rule="api")["remaining"], 98)

    def test_another_limit_next_to_it_leaves_a_limit_what_was_counted(self):
        one = "rules: [{id: api, limit: 400, window: 365d%s}]\n"
        several = one % ", more_limits: [{limit: 390, window: 300d}]"
        turned = ("rules: [{id: api, limit: 390, window: 300d, "
                  "more_limits: [{limit: 400, window: 365d}]}]\n")
        with Redis() as redis, Weir("--redis", redis.url, "--redis-deadline", "2s",
                                    config=one % "") as weir:
            weir_server.wait_until(lambda: is_shared(weir, 1), "Redis decides")
            left = 400
            for config in (several, one % "", turned, one % ""):
                left -= 10
                self.assertEqual(weir.check(key="a", rule="api", cost=10)["allowed"], True)
                self.reload(weir, config, "reloaded")
            self.assertEqual(weir.check(key="a", rule="api", cost=left + 1)["allowed"], False)
            self.assertEqual(weir.check(key="a", rule="api", cost=0)["remaining"], left)

    def test_another_zone_hour_or_anchor_gives_no_fresh_quota(self):
        months = "rules: [{id: api, limit: 2, window: month%s}]\n"
        with Weir(config=months % "") as weir:
            self.assertEqual(weir.check(key="a", rule="api", cost=2)["remaining"], 0)
            self.reload(weir, months % ', zone: Asia/Tokyo, resets_at: "09:00", anchor: 31',
                        "changed api")
            self.assertFalse(weir.check(key="a", rule="api")["allowed"])
            self.reload(weir, months.replace("month%s", "week"), "changed api")
            self.assertEqual(weir.check(key="a", rule="api")["remaining"], 1)

    def test_a_denial_names_the_end_of_the_calendars_window(self):
        zone = zoneinfo.ZoneInfo("America/New_York")
        rule = f"{{id: api, limit: 1, window: day, zone: {zone}, resets_at: '09:00'}}"
        with Weir(config=f"rules: [{rule}]\n") as weir:
            weir.check(key="a", rule="api")
            latest = seconds_until_nine(datetime.datetime.now(zone))
            retry_after = weir.check(key="a", rule="api")["retry_after"]
            soonest = seconds_until_nine(datetime.datetime.now(zone))
            self.assertLessEqual(soonest - 1, retry_after)
            self.assertLessEqual(retry_after, latest + 1)

    def test_a_broken_file_leaves_the_rules_and_shows_in_the_metrics(self):
        with Weir("--threads", "2", config=rules(5)) as weir:
            self.assertEqual(weir.metric("weir_config_last_reload_successful"), 1)
            with Crowd(weir.port, key="crowd", rule="api") as crowd:
                said = self.reload(weir, rules("many", "thraeds: 2\n"), "not reloaded")
                crowd.wait_for_replies(100)
            self.assertEqual(crowd.failures, [])
            self.assertIn(f"{weir.config_path}:2:22: ", said)
            self.assertIn("did you mean 'threads'?", said)
            self.assertEqual(self.limits_seen(weir), {5})
            self.assertEqual(weir.metric("weir_config_last_reload_successful"), 0)

            self.reload(weir, rules(7), "reloaded: 1 rule")
            self.assertEqual(self.limits_seen(weir), {7})
            self.assertEqual(weir.metric("weir_config_last_reload_successful"), 1)

    def ask_as_a_proxy(self, weir):
        request = get("/auth", "X-Forwarded-For: 192.0.2.9\r\nX-Forwarded-Uri: /\r\n"
                               "X-Forwarded-Method: GET\r\nX-Forwarded-Host: a\r\n")
        with weir.connect() as connection:
            return connection.ask(request)

    def test_trusted_proxies_stay_until_a_restart(self):
        rule = ("rules: [{id: all, limit: 0, window: 1m, match: {}, key: client,"
                " on_deny: {content_type: text/plain, body: '{{client}}'}}]\n")
        with Weir(config=rule) as weir:
            self.assertEqual(self.ask_as_a_proxy(weir).text, "192.0.2.9")
            said = self.reload(weir, rule + "trusted_proxies: [198.51.100.0/24]\n",
                               "trusted_proxies")
            self.assertIn("trusted_proxies has changed and needs a restart; it stays as it was",
                          said)
            self.assertEqual(self.ask_as_a_proxy(weir).text, "192.0.2.9")
        with Weir(config=rule + "trusted_proxies: [198.51.100.0/24]\n") as weir:
            self.assertEqual(self.ask_as_a_proxy(weir).status, 400)  # a stranger to this one

    def test_without_a_file_there_is_nothing_to_do(self):
        with Weir() as weir:
            weir.signal(signal.SIGHUP)
            weir.wait_for_log("no configuration file to reload")
            self.assertTrue(weir.check(key="a", limit=1, window=60)["allowed"])


if __name__ == "__main__":
    weir_server.main()
