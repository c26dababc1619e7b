#!/usr/bin/python3
"""Runs the example of a gateway on loopback until Ctrl-C: an origin, and nginx with Weir in it.

    ./dev gateway [--llm] [--port 3000] [arguments of weir gateway]

The gateway answers on the port, the origin on one of the system's choice. Origin and rules are
those of examples/edge, or with --llm of examples/llm, where the origin answers as vendors of
language models do. The arguments may have another --config.
"""

import argparse
import importlib
import os
import pathlib
import signal
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
WEIR = os.environ.get("WEIR_BINARY", str(ROOT / "build" / "release" / "weir"))
EXAMPLES = ROOT / "examples"
TRY = {
    "edge": "for i in $(seq 10); do curl -s -o /dev/null -w '%{{http_code}} ' -X POST "
            "localhost:{port}/api/login; done",
    "llm": "curl -N localhost:{port}/v1/messages -H 'X-Api-Key: k1' -d "
           "'{{\"messages\":[{{\"content\":\"Say it\"}}],\"max_tokens\":40,\"stream\":true}}'",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=3000, help="where the gateway answers [3000]")
    parser.add_argument("--llm", dest="example", action="store_const", const="llm",
                        default="edge", help="in front of language models")
    arguments, for_gateway = parser.parse_known_args()
    folder = EXAMPLES / arguments.example
    if not any(word.startswith("--config") for word in for_gateway):
        for_gateway += ["--config", str(folder / "rules.yaml")]
    sys.path.insert(0, str(folder))
    origin = importlib.import_module("origin")
    with origin.listen(0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        gateway = subprocess.Popen(
            [WEIR, "gateway", "--origin", f"http://127.0.0.1:{server.server_port}",
             "--http", f"127.0.0.1:{arguments.port}", *for_gateway])
        # A terminal's Ctrl-C reaches the gateway as well, which a second signal would hurry.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: gateway.terminate())
        print(f"Try: {TRY[arguments.example].format(port=arguments.port)}\nCtrl-C stops it.",
              flush=True)
        sys.exit(gateway.wait())


if __name__ == "__main__":
    main()
