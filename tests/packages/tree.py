"""A Debian 12 with nothing else in it, in a folder, and what runs there."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile

MIRROR = os.environ.get("WEIR_DEBIAN_MIRROR", "http://deb.debian.org/debian")
SUITE = "bookworm"
DEADLINE_S = 120
INSTALL_MAX_S = 3600  # hundreds of packages, over a slow line, on a busy machine

# For unshare: processes and mounts that go with their command, however it ends.
OWN_PROCESSES = ("--mount", "--pid", "--fork", "--kill-child", "--mount-proc")


class Failed(Exception):
    """Something does not do what it should."""


class Skipped(Exception):
    """Something cannot be tried on this machine."""


def run(*command, timeout=DEADLINE_S, **options):
    """What the command says on both its outputs."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=timeout, check=False,
                          **options)
    if done.returncode:
        words = " ".join(map(str, command))
        raise Failed(f"{words}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def base_archive(cache):
    """The fresh Debian as a tar file, which the next run finds."""
    archive = cache / f"{SUITE}.tar"
    if archive.exists():
        return archive
    if os.geteuid() != 0:
        raise Skipped("debootstrap wants root")
    downloads = cache / "debootstrap"
    downloads.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix="tree-") as folder:
        os.chmod(folder, 0o755)
        run("unshare", *OWN_PROCESSES, "debootstrap", "--variant=minbase",
            f"--cache-dir={downloads}", SUITE, folder, MIRROR, timeout=INSTALL_MAX_S)
        unfinished = archive.with_suffix(".unfinished")
        run("tar", "-C", folder, "-cf", unfinished, "--exclude=./var/cache/apt/archives/*.deb",
            ".", timeout=INSTALL_MAX_S)
    unfinished.rename(archive)
    return archive


class Tree:
    """A fresh tree; leaving it removes it, and nothing that it started lives on."""

    def __init__(self, cache):
        self._cache = cache / "packages"  # what apt has downloaded, for the next run
        self._cache.mkdir(parents=True, exist_ok=True)
        self._archive = base_archive(cache)
        self._folder = tempfile.TemporaryDirectory(dir=cache, prefix="tree-")
        self.path = pathlib.Path(self._folder.name)

    def __enter__(self):
        with contextlib.ExitStack() as undo:
            undo.callback(self._folder.cleanup)
            os.chmod(self.path, 0o755)
            run("tar", "-C", self.path, "-xf", self._archive)
            shutil.copy("/etc/resolv.conf", self.path / "etc" / "resolv.conf")
            policy = self.path / "usr" / "sbin" / "policy-rc.d"
            policy.write_text("#!/bin/sh\nexit 101\n", encoding="ascii")  # start no services
            policy.chmod(0o755)
            self._share_downloads(self._cache, self.path / "var" / "cache" / "apt" / "archives")
            self.run("apt-get update -qq", timeout=INSTALL_MAX_S)
            undo.pop_all()
        return self

    def __exit__(self, *_):
        self._share_downloads(self.path / "var" / "cache" / "apt" / "archives", self._cache)
        self._folder.cleanup()

    def run(self, script, timeout=DEADLINE_S):
        """Runs a shell script there. It has processes of its own, which end with it."""
        return run(*self._inside(), "sh", "-euc", script, timeout=timeout, env=self._environment())

    def run_alone(self, script):
        """The same, with a network of its own, so that it may listen where it likes."""
        enter = " ".join(self._inside())
        return run("unshare", "--net", "sh", "-euc",
                   f'ip link set lo up; exec {enter} sh -euc "$1"', "sh", script,
                   env=self._environment())

    def install(self, *files, also=()):
        """Installs packages that lie in files, what they depend on, and others of Debian."""
        for file in files:
            shutil.copy(file, self.path / "tmp")
        names = " ".join([*(f"/tmp/{file.name}" for file in files), "curl", *also])
        self.run(f"apt-get install -y -q --no-install-recommends {names}",
                 timeout=INSTALL_MAX_S)

    def _inside(self):
        return ("unshare", *OWN_PROCESSES, f"--root={self.path}")

    @staticmethod
    def _environment():
        return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8",
                "DEBIAN_FRONTEND": "noninteractive"}

    @staticmethod
    def _share_downloads(source, target):
        for file in source.glob("*.deb"):
            if not (target / file.name).exists():
                shutil.copy(file, target)
