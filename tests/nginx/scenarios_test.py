"""The scenarios of tests/scenarios, asked of nginx as far as its clock does not matter."""

import time
import unittest

import yaml
from nginx_server import ROOT, Client, Nginx, field

SERVER = """
    weir on;
    set_real_ip_from 127.0.0.0/8;
    location / { proxy_pass http://origin; }
"""
# Those of these algorithms would give units back while the test runs; nginx knows no others.
ALGORITHMS = (None, "fixed_window", "sliding_window")
SHORT = ("ms", "s")  # how windows end that may pass while the test runs


def reachable(rules, has_costs):
    """Each rule that says not what it matches gets the path /ID and the header X-Key."""
    for rule in rules:
        if "match" in rule or "descriptor" in rule:
            continue
        rule |= {"match": {"path": "/" + rule["id"]}, "group": rule["id"], "key": "header:X-Key"}
        if "tiers" in rule:
            rule["tier"] = "header:X-Tier"
        if has_costs:
            rule["cost"] = "header:X-Cost"
    return rules


def limits_of(rule):
    yield rule
    for more in ("more_limits", "tiers", "overrides"):
        yield from rule.get(more, [])


def scenarios_of(path):
    """Those of a file. One that names a configuration has its rules and settings."""
    for scenario in yaml.safe_load(path.read_text(encoding="utf-8"))["scenarios"]:
        if "config" in scenario:
            text = (path.parent / scenario["config"]).read_text(encoding="utf-8")
            scenario["settings"] = yaml.safe_load(text)
            scenario["rules"] = scenario["settings"].pop("rules")
        yield scenario


def can_play(scenario):
    only = scenario.get("only", "nginx")
    limits = [limit for rule in scenario["rules"] for limit in limits_of(rule)]
    return ("nginx" in ([only] if isinstance(only, str) else only)
            and all(limit.get("algorithm") in ALGORITHMS for limit in limits)
            and not any(limit["window"].endswith(SHORT) for limit in limits)
            and all(rule.get("enabled", True) and not rule.get("overdraft")
                    for rule in scenario["rules"])
            and all(can_say(step) for step in scenario["steps"]))


def can_say(step):
    return "at" not in step and ("request" in step or ("hit" in step and step.get("cost", 1) > 0))


def ask(nginx, step, rules):
    fields = step.get("headers", [])
    fields = [fields] if isinstance(fields, str) else list(fields)
    fields.append("X-Real-IP: " + step.get("client", "192.0.2.1"))
    target, host = step.get("request"), step.get("host", "localhost")
    if target is None:
        target = "/" + step.get("rule", rules[0]["id"])
        fields += [f"X-Key: {step['hit']}", f"X-Tier: {step.get('tier', '')}",
                   f"X-Cost: {step.get('cost', 1)}"]
    head = [f"{step.get('method', 'GET')} {target} HTTP/1.1", f"Host: {host}", "Content-Length: 0"]
    with Client(nginx.port) as client:
        return client.ask("\r\n".join(head + fields + ["", ""]).encode())


def said(reply, parts):
    left, retry = field(reply, "X-RateLimit-Remaining"), field(reply, "Retry-After")
    return {"left": "none" if left is None else int(left), "status": reply.status,
            "body": reply.text, "allowed": reply.status == 200, "never": retry is None,
            "has": [part for part in parts if part in reply.head + "\r\n"]}


def expected(step):
    told = {key: step[key] for key in ("left", "status", "body", "has") if key in step}
    denied = step.get("denied")
    if denied not in (None, True):  # when to retry, the clock says
        told["never"] = denied == "never"
    return told | {"allowed": denied is None}


class ScenariosTest(unittest.TestCase):
    def play(self, scenario):
        """What differs from what the scenario expects."""
        has_costs = any(step.get("cost", 1) != 1 for step in scenario["steps"])
        rules = reachable(scenario["rules"], has_costs)
        config = yaml.safe_dump(scenario.get("settings", {}) | {"rules": rules})
        with Nginx(config, SERVER, workers=1) as nginx:
            for step in scenario["steps"]:
                for _ in range(step.get("times", 1)):
                    wanted = expected(step)
                    actual = said(ask(nginx, step, rules), step.get("has", []))
                    if wanted != {key: actual[key] for key in wanted}:
                        return step, wanted, actual
        return None

    def test_all(self):
        played = 0
        for path in sorted((ROOT / "tests/scenarios").glob("*.yaml")):
            for scenario in filter(can_play, scenarios_of(path)):
                played += 1
                with self.subTest(scenario["name"]):
                    minute = time.time() // 60
                    differs = self.play(scenario)
                    if differs and time.time() // 60 != minute:  # new windows have begun
                        differs = self.play(scenario)
                    self.assertIsNone(differs)
        self.assertGreater(played, 20)


if __name__ == "__main__":
    unittest.main()
