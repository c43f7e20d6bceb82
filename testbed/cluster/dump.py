# SPDX-License-Identifier: Apache-2.0
"""Writes what somebody who wasn't there needs to know about a bed: objects, logs, state of the
nodes.
"""

import pathlib
import shutil
import subprocess

from beds import Bed
from paths import BedError

_NODE_COMMANDS = {
    "processes": ["ps", "-ef", "--forest"],
    "mounts": ["cat", "/proc/self/mountinfo"],
    "network": ["sh", "-c", "ip address; ip route; iptables-save"],
    "dev": ["ls", "-la", "/dev"],
    "run": ["find", "/run", "-maxdepth", "3"],
    "containers": ["ctr", "--namespace=k8s.io", "containers", "list"],
    "images": ["ctr", "--namespace=k8s.io", "images", "list"],
}


def _capture(command: list[str], path: pathlib.Path) -> str:
    try:
        result = subprocess.run(command, capture_output=True, timeout=60)
        output = result.stdout + result.stderr
    except subprocess.TimeoutExpired:
        output = b"no answer within 60 s\n"
    path.write_bytes(output)
    return output.decode(errors="replace")


def dump(bed: Bed, kubectl: list[str], target: pathlib.Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    if not target.is_dir():
        raise BedError(f"dump to {target}: not a folder")
    objects = target / "objects"
    objects.mkdir(exist_ok=True)
    listed = _capture(
        [*kubectl, "api-resources", "--verbs=list", "-o", "name"], objects / "resources.txt"
    )
    for resource in listed.split():
        if resource.startswith(("secrets", "componentstatuses")) or "metrics.k8s.io" in resource:
            continue
        _capture([*kubectl, "get", resource, "-A", "-o", "yaml"], objects / f"{resource}.yaml")
    _capture([*kubectl, "get", "pods", "-A", "-o", "wide"], target / "pods.txt")
    _capture([*kubectl, "describe", "nodes"], target / "nodes.txt")
    _capture([*kubectl, "get", "events", "-A", "--sort-by=.lastTimestamp"], target / "events.txt")
    plane = target / "control-plane"
    plane.mkdir(exist_ok=True)
    for log in bed.plane.folder.glob("*.log"):
        shutil.copy(log, plane)
    for node in bed.nodes():
        folder = target / node.name
        shutil.copytree(
            node.folder / "upper/var/log", folder, dirs_exist_ok=True, ignore_dangling_symlinks=True
        )
        shutil.copy(node.folder / "init.log", folder)
        try:
            for name, command in _NODE_COMMANDS.items():
                _capture(node.enter(command), folder / f"{name}.txt")
        except BedError as stopped:
            (folder / "stopped.txt").write_text(f"{stopped}\n")
