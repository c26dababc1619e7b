"""Latency at half of what the slower one can do, on one fixed schedule for both."""

import clients
import harness
import servers
from results import Row, rate

QUANTILES = ["p50", "p99", "p99.9"]


def run(bench):
    with servers.weir(bench) as weir, servers.nginx(bench) as nginx:
        peaks = [clients.weir_bench(bench, weir, bench.seconds, *clients.CHECKS),
                 clients.weir_bench(bench, nginx, bench.seconds, *clients.GETS)]
        asked = min(peak["requests_per_s"] for peak in peaks) / 2
        schedule = ("--rate", round(asked))
        samples = bench.alternate(f"http_latency at {rate(asked)}", {
            "weir": lambda: clients.weir_bench(bench, weir, bench.seconds, *clients.CHECKS,
                                               *schedule),
            "nginx": lambda: clients.weir_bench(bench, nginx, bench.seconds, *clients.GETS,
                                                *schedule),
        })
    return [row(quantile, asked, samples) for quantile in QUANTILES]


def row(quantile, asked, samples):
    ms = {name: harness.median([run["latency_ms"][quantile] for run in runs])
          for name, runs in samples.items()}
    errors = {name: sum(run["errors"] for run in runs) for name, runs in samples.items()}
    return Row(f"POST /check at {rate(asked)}, open loop, {quantile}",
               f"{ms['weir']:.3f} ms{told(errors['weir'])}",
               f"nginx `return 200`, same schedule: {ms['nginx']:.3f} ms{told(errors['nginx'])}",
               f"{ms['weir'] / ms['nginx']:.2f}", samples=samples)


def told(errors):
    return f" ({errors} without an answer)" if errors else ""
