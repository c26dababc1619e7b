"""Boots the systemd of a tree, and runs a script there."""

import contextlib
import pathlib
import select
import subprocess
import tempfile

from tree import DEADLINE_S, Failed, Skipped, run

BOOT = pathlib.Path(__file__).resolve().with_name("boot.sh")
UNIT = """
[Unit]
SuccessAction=exit-force
FailureAction=exit-force
[Service]
Type=oneshot
ExecStart=/bin/sh -eux /trial.sh
StandardOutput=file:/trial.log
StandardError=inherit
"""


def run_booted(tree, script):
    """What the script says. It has a network of its own; all ends when it ends."""
    log = tree.path / "trial.log"
    (tree.path / "trial.sh").write_text(script, encoding="utf-8")
    (tree.path / "etc" / "systemd" / "system" / "trial.service").write_text(UNIT, encoding="ascii")
    (tree.path / "usr" / "sbin" / "policy-rc.d").unlink()  # here services start
    with own_cgroup() as cgroup:
        try:
            said = run("sh", "-euc", 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"', "sh", cgroup,
                       "unshare", "--mount", "--pid", "--net", "--uts", "--ipc", "--cgroup",
                       "--fork", "--kill-child", BOOT, tree.path, "trial.service")
        except (Failed, subprocess.TimeoutExpired) as why:
            raise Failed(f"{why}\n{log.read_text() if log.exists() else ''}") from None
    if not log.exists():
        raise Failed(f"systemd has not come up: {said}")
    return log.read_text(encoding="utf-8")


@contextlib.contextmanager
def own_cgroup():
    """A cgroup that is the root of all for the systemd of the tree."""
    mounts = [line.split() for line in pathlib.Path("/proc/mounts").read_text().splitlines()]
    places = [mount[1] for mount in mounts if mount[2] == "cgroup2"]
    if not places:
        raise Skipped("cgroups of version 2 are not there")
    try:
        folder = pathlib.Path(tempfile.mkdtemp(dir=places[0], prefix="weir-"))
    except OSError as why:
        raise Skipped(f"cgroups cannot be made here: {why}") from None
    try:
        yield folder
    finally:
        (folder / "cgroup.kill").write_text("1", encoding="ascii")
        wait_until_empty(folder)
        for inner in sorted(folder.rglob("*/"), reverse=True):  # before what they are in
            inner.rmdir()
        folder.rmdir()


def wait_until_empty(cgroup):
    with open(cgroup / "cgroup.events", encoding="ascii") as events:
        changes = select.poll()
        changes.register(events, select.POLLPRI)
        while "populated 1" in events.read():
            if not changes.poll(1000 * DEADLINE_S):
                raise Failed(f"processes in {cgroup} do not end")
            events.seek(0)
