"""`weir serve` on one core: POST /check against nginx's `return 200`, the same client."""

import clients
import harness
import servers
from results import Row

PIPELINE = 16
# Each comparison asks for so many requests a second, as a multiple of nginx's.
ONE_AT_A_TIME_GOAL = 1.0
PIPELINED_GOAL = 8.0


def run(bench):
    with servers.weir(bench) as weir, servers.nginx(bench) as nginx:
        single = compare(bench, weir, nginx, 1)
        pipelined = compare(bench, weir, nginx, PIPELINE)
        wrk = compare_by_wrk(bench, weir, nginx)
    return [
        row("POST /check, not pipelined", single["weir"],
            "nginx `return 200`, not pipelined", single["nginx"], ONE_AT_A_TIME_GOAL),
        row(f"POST /check, {PIPELINE} pipelined", pipelined["weir"],
            f"nginx `return 200`, {PIPELINE} pipelined", pipelined["nginx"], PIPELINED_GOAL),
        row(f"POST /check, {PIPELINE} pipelined", pipelined["weir"],
            "nginx `return 200`, not pipelined", single["nginx"]),
        row("POST /check, not pipelined, by wrk", wrk["weir"],
            "nginx `return 200`, by wrk", wrk["nginx"]),
    ]


def compare(bench, weir, nginx, pipeline):
    depth = ("--pipeline", pipeline)
    measures = {
        "weir": lambda: clients.weir_bench(bench, weir, bench.seconds, *clients.CHECKS, *depth),
        "nginx": lambda: clients.weir_bench(bench, nginx, bench.seconds, *clients.GETS, *depth),
    }
    return warmed_up(bench, f"http, {pipeline} pipelined", measures)


def compare_by_wrk(bench, weir, nginx):
    measures = {
        "weir": lambda: clients.wrk(bench, weir, bench.seconds, "-s", clients.CHECK_LUA),
        "nginx": lambda: clients.wrk(bench, nginx, bench.seconds),
    }
    return warmed_up(bench, "http by wrk", measures)


def warmed_up(bench, what, measures):
    """The first run of each is thrown away: pages, caches and branches are cold then."""
    for measure in measures.values():
        measure()
    return bench.alternate(what, measures)


def row(what, weir_runs, yardstick, nginx_runs, goal=None):
    weir, nginx = clients.figures(weir_runs), clients.figures(nginx_runs)
    ratio = weir["rate"] / nginx["rate"]
    shown = f"{ratio:.2f}"
    if not (weir["saturated"] and nginx["saturated"]):
        shown += f" ({weir['per_cpu'] / nginx['per_cpu']:.2f} by CPU time)"
    return Row(what, clients.told(weir), f"{yardstick}: {clients.told(nginx)}", shown,
               f"at least {goal}" if goal else "", ratio >= goal if goal else None,
               {"weir": weir_runs, "nginx": nginx_runs})
