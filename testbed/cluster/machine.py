# SPDX-License-Identifier: Apache-2.0
"""Starts, enters and ends a machine: the process tree in namespaces of its own that init.py is
the first of.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys

import process
from paths import SOURCE, BedError

RECORD = "machine.json"
END_S = 10


def start(
    folder: pathlib.Path, spec: dict, attach_network, keep_fds: tuple[int, ...] = ()
) -> process.Process:
    """Starts a machine whose files are in `folder`. attach_network(pid) is called before any of
    its services run.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spec.json").write_text(json.dumps(spec, indent=1))
    launcher = subprocess.Popen(
        [sys.executable, "-I", str(SOURCE / "init.py"), str(folder / "spec.json")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        pass_fds=keep_fds,
        env=_environment(),
    )
    answer = launcher.stdout.readline()
    launcher.stdout.close()
    launcher.wait()
    first = process.find(int(answer)) if answer.strip() else None
    if first is None:
        raise BedError(f"start {folder.name}: no namespaces; is this root?")
    process.write(folder / RECORD, first)
    attach_network(first.pid)
    launcher.stdin.write("go\n")
    launcher.stdin.close()
    return first


def _environment() -> dict[str, str]:
    """What a machine's processes inherit: nothing of the caller's but what says where things
    are cached.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(("GANTRY_", "FAKEGPU_", "XDG_CACHE"))
    }
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return {"PATH": path, "HOME": os.environ.get("HOME", "/root")} | kept


def running(folder: pathlib.Path) -> process.Process | None:
    """The machine's first process, if it lives."""
    first = process.read(folder / RECORD)
    return first if first and first.alive() else None


def enter(first: process.Process, command: list[str]) -> list[str]:
    """The command line that runs a command inside a machine."""
    scope = ["--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd"]
    return ["nsenter", "--target", str(first.pid), *scope, "--", *command]


def in_network(pid: int, commands: list[str], what: str) -> None:
    """Runs `ip` commands in the network of a machine."""
    batch = ["nsenter", "--target", str(pid), "--net", "ip", "-batch", "-"]
    process.run(batch, what, input="\n".join(commands) + "\n")


def end(folder: pathlib.Path) -> None:
    """Ends a machine as a power cut would. Its namespaces go with it."""
    first = process.read(folder / RECORD)
    if first:
        first.kill()
        process.wait_for(f"end of {folder.name}", END_S, lambda: not first.alive(), every=0.01)
    (folder / RECORD).unlink(missing_ok=True)


def _cgroup_trees() -> list[pathlib.Path]:
    """Version 2 has one tree, version 1 one for each controller."""
    top = pathlib.Path("/sys/fs/cgroup")
    if (top / "cgroup.controllers").exists():
        return [top]
    return [tree for tree in top.iterdir() if tree.is_mount()]


def make_cgroup(name: str) -> None:
    """Makes a folder of its own in each cgroup tree: two kubelets in one would end each other's
    pods as orphans.
    """
    for tree in _cgroup_trees():
        (tree / name).mkdir(exist_ok=True)
        for file in ("cpuset.cpus", "cpuset.mems"):
            # In version 1 a new folder has no processors, and takes no process until it has.
            with contextlib.suppress(FileNotFoundError):
                (tree / name / file).write_text((tree / file).read_text())


def remove_cgroup(name: str) -> None:
    """Removes what is under that name once its processes, which were killed, are out of it."""
    trees = [tree / name for tree in _cgroup_trees()]

    def removed() -> bool:
        for tree in trees:
            # The deepest first; one that still has a process is there again in the next round.
            for folder in sorted((p for p in tree.rglob("*") if p.is_dir()), reverse=True):
                with contextlib.suppress(OSError):
                    folder.rmdir()
            with contextlib.suppress(OSError):
                tree.rmdir()
        return not any(tree.exists() for tree in trees)

    process.wait_for(f"end of cgroup {name}", END_S, removed)
