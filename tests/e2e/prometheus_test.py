"""What deploy/ has for Prometheus and Grafana: every metric there exists, and a real Prometheus
reads a node and understands every expression."""

import contextlib
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
import urllib.parse
import urllib.request

import yaml

import weir_server
from fleet import Fleet
from redis_world import Redis, free_port
from weir_server import DEADLINE_S, ROOT, Weir, get, wait_until

ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yml"
PROMETHEUS = ROOT / "deploy" / "prometheus" / "prometheus.yml"
DASHBOARD = ROOT / "deploy" / "grafana" / "weir.json"
RULES = "rules: [{id: login, algorithm: adaptive, limit: 5, window: 1m}]"


def alerts():
    return {rule["alert"]: rule["expr"]
            for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]}


def dashboard():
    return json.loads(DASHBOARD.read_text())


def panel_expressions():
    return {f"{panel['title']} {target['refId']}": target["expr"]
            for panel in dashboard()["panels"] for target in panel["targets"]}


def annotations():
    return {one["name"]: one["expr"] for one in dashboard()["annotations"]["list"]}


def filled_in(expression):
    """As Grafana sends it."""
    for name, value in (("$job", "weir"), ("$instance", ".*"), ("$__rate_interval", "1m")):
        expression = expression.replace(name, value)
    return expression


class Prometheus:
    """A real one, which reads these nodes every second. A context manager."""

    def __init__(self, nodes):
        self._folder = tempfile.TemporaryDirectory(prefix="weir-prometheus-")
        folder = pathlib.Path(self._folder.name)
        config = yaml.safe_load(PROMETHEUS.read_text())
        config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
        config["scrape_configs"][0]["static_configs"] = [
            {"targets": [f"127.0.0.1:{node.port}" for node in nodes]}]
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        shutil.copy(ALERTS, folder)
        self._url = f"http://127.0.0.1:{free_port()}"
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "prometheus",
             f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address={self._url.removeprefix('http://')}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        wait_until(self._answers, "Prometheus answers")
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()

    def query(self, expression):
        """The values, by their labels as JSON."""
        found = self._ask("query", query=expression)
        return {json.dumps(one["metric"], sort_keys=True): float(one["value"][1])
                for one in found["result"]}

    def alerts(self):
        return [rule for group in self._ask("rules")["groups"] for rule in group["rules"]]

    def _ask(self, path, **parameters):
        url = f"{self._url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=DEADLINE_S) as reply:
            said = json.load(reply)
        assert said["status"] == "success", said
        return said["data"]

    def _answers(self):
        assert self._process.poll() is None, "prometheus has ended"
        with contextlib.suppress(OSError):
            return bool(self._ask("status/buildinfo"))
        return False


class Deployed(unittest.TestCase):
    def test_every_metric_that_is_named_exists(self):
        with Redis() as redis, Fleet([redis.url], config=RULES) as fleet:
            node = fleet.nodes[0]
            with node.connect() as connection:
                text = connection.ask(get("/metrics", "Accept: text/plain\r\n")).text
        known = set(re.findall(r"^# HELP (\S+)", text, re.MULTILINE))
        for where, expression in {**alerts(), **panel_expressions(), **annotations()}.items():
            named = set(re.findall(r"\bweir_\w+", expression))
            self.assertLessEqual(named, known, where)
            self.assertTrue(named or "up{" in expression, where)
        for variable in dashboard()["templating"]["list"][1:]:
            self.assertIn("weir_build_info", variable["query"]["query"])
        self.assertIn("weir_build_info", known)

    def test_promtool_finds_no_fault(self):
        for kind, path in (("config", PROMETHEUS), ("rules", ALERTS)):
            subprocess.run(["promtool", "check", kind, str(path)], check=True,
                           capture_output=True, timeout=DEADLINE_S)

    def test_panels_do_not_cover_each_other(self):
        places = set()
        for panel in dashboard()["panels"]:
            at = panel["gridPos"]
            own = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                   for y in range(at["y"], at["y"] + at["h"])}
            self.assertFalse(places & own, panel["title"])
            self.assertLessEqual(at["x"] + at["w"], 24)
            places |= own

    def test_a_prometheus_reads_a_node(self):
        with Weir(config=RULES) as node, Prometheus([node]) as prometheus:
            for _ in range(9):
                node.check(key="a", rule="login")
            decided = 'sum(weir_rule_requests_total{rule="login"})'
            wait_until(lambda: prometheus.query(decided) == {"{}": 9}, "it has the decisions")
            self.assertEqual(prometheus.query('up{job="weir"}').popitem()[1], 1)
            denied = 'weir_rule_requests_total{rule="login",decision="denied"}'
            self.assertEqual(prometheus.query(f"sum({denied})"), {"{}": 4})
            for where, expression in {**panel_expressions(), **annotations()}.items():
                with self.subTest(where):
                    prometheus.query(filled_in(expression))
            wait_until(lambda: all(rule["health"] == "ok" for rule in prometheus.alerts()),
                       "it has looked at every alert")
            self.assertEqual({rule["name"] for rule in prometheus.alerts()}, set(alerts()))
            self.assertEqual({rule["state"] for rule in prometheus.alerts()}, {"inactive"})
            node.process.kill()
            wait_until(lambda: state_of(prometheus, "WeirNodeDown") != "inactive", "it is missed")


def state_of(prometheus, name):
    return next(rule["state"] for rule in prometheus.alerts() if rule["name"] == name)


if __name__ == "__main__":
    weir_server.main()
