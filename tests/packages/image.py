"""The image of deploy/fleet/Dockerfile, made by buildah, which needs no daemon, and the file that
docker compose runs it by."""

import json
import os
import pathlib
import re
import shutil
import tempfile

import yaml

from tree import INSTALL_MAX_S, OWN_PROCESSES, Failed, Skipped, base_archive, run

ROOT = pathlib.Path(__file__).resolve().parents[2]
FLEET = ROOT / "deploy" / "fleet"
BASE = "debian:12-slim"
IMAGE = "weir"
BUILD_MAX_S = 7200  # all of Weir, where the compiler's cache is empty

# In a network of its own, so that the node listens where the image says.
ASK = """
ip link set lo up
%s &
curl -fsS --retry 20 --retry-delay 1 --retry-connrefused -d '{"key":"k","limit":2,"window":60}' \
  http://127.0.0.1:8080/check
curl -fsS http://127.0.0.1:8080/health
"""


class Images:
    """A store of images in a folder of its own, which goes with it."""

    def __init__(self, cache):
        self._folder = tempfile.TemporaryDirectory(dir=cache, prefix="images-")
        folder = pathlib.Path(self._folder.name)
        policy = folder / "policy.json"
        policy.write_text(json.dumps({"default": [{"type": "insecureAcceptAnything"}]}),
                          encoding="ascii")
        # vfs copies, and so needs nothing of the kernel.
        self.command = ["env", f"TMPDIR={folder}", "buildah", "--root", folder / "root",
                        "--runroot", folder / "run", "--storage-driver", "vfs"]
        self.policy = ["--signature-policy", policy]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.run("rm", "--all")  # unmounts
        self._folder.cleanup()

    def run(self, *words, timeout=INSTALL_MAX_S):
        return run(*self.command, *words, timeout=timeout)

    def make_base(self, archive):
        container = self.run("from", "scratch").strip()
        self.run("add", container, archive, "/")
        self.run("commit", *self.policy, "--rm", container, f"docker.io/library/{BASE}")


def try_image(cache):
    for program in ("buildah", "debootstrap", "ip"):
        if shutil.which(program) is None:
            raise Skipped(f"{program} is not there")
    with Images(cache) as images:
        images.make_base(base_archive(cache))
        build(images, cache)
        container = images.run("from", *images.policy, "--pull-never", IMAGE).strip()
        config = json.loads(images.run("inspect", "--type", "image", IMAGE))["Docker"]["config"]
        if config["User"] != "nobody":
            raise Failed(f"the node runs as {config['User']}")
        inside = map(str, [*images.command, "run", "--isolation=chroot", container, "--",
                           *config["Entrypoint"]])
        said = run("unshare", "--net", *OWN_PROCESSES, "sh", "-euc", ASK % " ".join(inside))
        if '"allowed":true' not in said or '"status":"ok"' not in said:
            raise Failed(said)


def build(images, cache):
    """As docker build does, with the downloads and the compiler's cache of this machine."""
    downloads = cache / "packages"
    (downloads / "partial").mkdir(parents=True, exist_ok=True)
    compiled = pathlib.Path(os.environ.get("CCACHE_DIR", pathlib.Path.home() / ".cache" / "ccache"))
    volumes = [f"--volume={downloads}:/var/cache/apt/archives"]
    if compiled.is_dir():
        volumes.append(f"--volume={compiled}:/root/.cache/ccache")
    run("unshare", *OWN_PROCESSES, *images.command,
        "bud", "--isolation=chroot", "--format=docker", *images.policy, "--pull-never", *volumes,
        "--ignorefile", FLEET / "Dockerfile.dockerignore", "-t", IMAGE,
        "-f", FLEET / "Dockerfile", ROOT, timeout=BUILD_MAX_S)


def try_compose():
    for program in ("docker-compose", "podman-compose"):
        if shutil.which(program) is None:
            raise Skipped(f"{program} is not there")
    said = run("docker-compose", "-f", FLEET / "compose.yaml", "config")
    services = yaml.safe_load(said)["services"]
    nodes = [services[f"node{number}"] for number in (1, 2, 3)]
    for node in nodes:
        if node["image"] != IMAGE or node["build"]["dockerfile"] != "deploy/fleet/Dockerfile":
            raise Failed(f"a node is of the image {node['image']}, not {IMAGE}")
    stages = re.findall(r"^FROM (\S+)", (FLEET / "Dockerfile").read_text(encoding="utf-8"), re.M)
    if set(stages) != {BASE}:
        raise Failed(f"the stages are of {stages}, not {BASE}")
    compare_with_podman(services)


def compare_with_podman(services):
    """Debian's podman-compose has no `config`, but says what it would have podman do."""
    said = run("podman-compose", "--podman-path", "true", "--dry-run",
               "-f", FLEET / "compose.yaml", "up").splitlines()
    builds = {line for line in said if line.startswith("true build ")}
    if builds != {f"true build -t {IMAGE} -f ../../deploy/fleet/Dockerfile ../.."}:
        raise Failed(f"podman-compose builds {builds}")
    for name, service in services.items():
        words = [line.split() for line in said if f" create --name=fleet_{name}_1 " in line]
        if len(words) != 1 or service["image"] not in words[0]:
            raise Failed(f"podman-compose does not start {name}: {words}")
