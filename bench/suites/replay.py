"""Combined access logs that weir-lab replays, against goaccess, which makes a report of them."""

import os
import random
import subprocess
import tempfile
import time

import harness
from results import Row, rate

GOAL = 3
LINES = 2_000_000
CLIENTS = 300_000
SITE = "".join(f"""
  - {{id: {name}, limit: {limit}, window: 1m, match: {{path: "/{name}/*"}}, key: client}}"""
               for name, limit in (("login", 5), ("search", 10), ("api", 100), ("cart", 30),
                                   ("user", 30), ("admin", 30), ("blog", 300), ("static", 1000)))
RULES = {
    "ten rules, three of which ask of each request": f"""rules:{SITE}
  - {{id: all, group: all, limit: 300, window: 1m, match: {{path: "*"}}, key: client}}
  - {{id: net, group: net, limit: 3000, window: 1m, match: {{path: "*"}}, key: client/24/48}}
""",
    "ten rules, one of which asks": f"""rules:{SITE}
  - {{id: img, limit: 1000, window: 1m, match: {{path: "/img/*"}}, key: client}}
  - {{id: rest, limit: 300, window: 1m, match: {{path: "*"}}, key: client}}
""",
}


def run(bench):
    harness.require("goaccess")
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as folder:
        log = os.path.join(folder, "access.log")
        lines = write_log(log, LINES // 10 if bench.quick else LINES)

        def seconds_of(*command):
            before = os.times()
            subprocess.run(bench.on_server_cpu(command), check=True, stdout=subprocess.DEVNULL)
            after = os.times()
            return (after.children_user + after.children_system - before.children_user
                    - before.children_system)

        rows = []
        for number, (what, rules) in enumerate(RULES.items()):
            config = os.path.join(folder, f"{number}.yaml")
            with open(config, "w", encoding="utf-8") as file:
                file.write(rules)
            samples = bench.alternate(what, {
                "weir": lambda: seconds_of(bench.weir_lab, "replay", "--config", config, "--json",
                                           log),
                "goaccess": lambda: seconds_of("goaccess", log, "--log-format=COMBINED",
                                               "--no-progress", "--output",
                                               os.path.join(folder, "report.json"))},
                rounds=min(bench.rounds, 3))
            rows.append(row(what, lines, samples))
        return rows


def row(what, lines, samples):
    weir, other = (harness.median(samples[name]) for name in ("weir", "goaccess"))
    ratio = other / weir
    return Row(f"a combined log of {lines:,} lines, {what}", f"{rate(lines / weir)} of CPU time",
               f"goaccess: {rate(lines / other)}", f"{ratio:.1f}", f"at least {GOAL}",
               ratio >= GOAL, {f"{name}_s": times for name, times in samples.items()})


def write_log(path, count):
    dice = random.Random(1)
    clients = [f"{dice.randint(1, 223)}.{dice.randrange(256)}.{dice.randrange(256)}."
               f"{dice.randint(1, 254)}" for _ in range(CLIENTS)]
    places = ["/"] + [f"/{place}/{number}" for number in range(60) for place in (
        "api", "search", "login", "static", "cart", "user", "img", "blog", "admin")]
    agents = ["Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
              "Chrome/120.0.0.0 Safari/537.36",
              "Mozilla/5.0 (iPhone; CPU iPhone OS 17_1 like Mac OS X) AppleWebKit/605.1.15 "
              "(KHTML, like Gecko) Version/17.1 Mobile/15E148 Safari/604.1", "curl/8.4.0"]
    hits = [f'"GET {dice.choice(places)}{dice.choice(["", "?q=weir"])} HTTP/1.1" '
            f'{dice.choice([200, 200, 304, 404])} {dice.randint(200, 90_000)} '
            f'"https://www.example.com{dice.choice(places)}" "{dice.choice(agents)}"\n'
            for _ in range(20_000)]
    with open(path, "w", encoding="utf-8") as file:
        for second in range(count // 500):  # 500 a second
            date = time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(1_700_000_000 + second))
            file.writelines(f"{clients[int(CLIENTS * dice.random() ** 2)]} - - [{date}] "
                            f"{dice.choice(hits)}" for _ in range(500))
    return count
