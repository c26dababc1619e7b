#!/usr/bin/python3
"""Runs the example of a gateway on loopback until Ctrl-C: an origin, and nginx with Weir in it.

    ./dev gateway [--port 3000] [arguments of weir gateway]

The gateway answers on the port, the origin (examples/edge/origin.py) on one of the system's
choice; the rules are those of examples/edge/rules.yaml unless the arguments have another --config.
"""

import argparse
import os
import pathlib
import signal
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
WEIR = os.environ.get("WEIR_BINARY", str(ROOT / "build" / "release" / "weir"))
EDGE = ROOT / "examples" / "edge"
sys.path.insert(0, str(EDGE))

import origin


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=3000, help="where the gateway answers [3000]")
    arguments, for_gateway = parser.parse_known_args()
    if not any(word.startswith("--config") for word in for_gateway):
        for_gateway += ["--config", str(EDGE / "rules.yaml")]
    with origin.listen(0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        gateway = subprocess.Popen(
            [WEIR, "gateway", "--origin", f"http://127.0.0.1:{server.server_port}",
             "--http", f"127.0.0.1:{arguments.port}", *for_gateway])
        # A terminal's Ctrl-C reaches the gateway as well, which a second signal would hurry.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: gateway.terminate())
        print(f"Try: for i in $(seq 10); do curl -s -o /dev/null -w '%{{http_code}} ' -X POST "
              f"localhost:{arguments.port}/api/login; done\nCtrl-C stops it.", flush=True)
        sys.exit(gateway.wait())


if __name__ == "__main__":
    main()
