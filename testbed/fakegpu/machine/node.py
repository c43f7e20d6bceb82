# SPDX-License-Identifier: Apache-2.0
"""Installs the machine into a node's root file system, and takes it out again."""
import json
import os
import pathlib
import shutil
import stat
import subprocess

from . import driver, image, layout, trees
from .profile import Machine

HOME = "opt/fakegpu"
LIBRARIES = driver.LIBRARIES


def library_in(root: pathlib.Path) -> pathlib.Path:
    """The installed library, its links followed inside the root."""
    link = root / LIBRARIES / "libnvidia-ml.so.1"
    if not link.is_symlink():
        raise layout.LayoutError(f"read {link}: no GPUs are installed under {root}")
    return link.parent / os.readlink(link)


def _make_nodes(root: pathlib.Path, names: list[str]) -> None:
    for name in names:
        path = root / "dev" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        path.chmod(0o666)


def description(machine: Machine, node: str) -> dict:
    """What was installed, for people and tests."""
    return {"node": node, "driver_version": machine.driver_version, "cuda_version": machine.cuda_version,
            "switches": machine.switches,
            "gpus": [{"uuid": gpu.fields["uuid"], "name": gpu.fields["name"], "minor": gpu.fields["minor"],
                      "pci": gpu.bdf, "numa_node": gpu.fields["numa_node"], "serial": gpu.fields["serial"],
                      "memory": gpu.fields["memory_total"]} for gpu in machine.gpus]}


def install(root: pathlib.Path, machine: Machine, node: str, library: pathlib.Path) -> None:
    """Puts driver files, the library with its state, the prepared trees and device nodes under a root."""
    home = root / HOME
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    put = []
    layer = driver.layer(machine.driver_version)
    for source in sorted(layer.rglob("*")):
        if source.is_symlink() or source.is_file():
            name = source.relative_to(layer)
            driver.put(source, root / name)
            put.append(str(name))
    real = f"libnvidia-ml.so.{machine.driver_version}"
    known = layout.Layout(library)
    layout.append(library, root / LIBRARIES / real, image.build(known, machine))
    for link, target in (("libnvidia-ml.so.1", real), ("libnvidia-ml.so", "libnvidia-ml.so.1")):
        path = root / LIBRARIES / link
        path.unlink(missing_ok=True)
        path.symlink_to(target)
        put.append(f"{LIBRARIES}/{link}")
    put.append(f"{LIBRARIES}/{real}")
    trees.proc(machine, home / "proc")
    trees.sys(machine, home / "sys")
    names = trees.device_nodes(machine)
    (home / "nodes").write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    (home / "machine.json").write_text(json.dumps(description(machine, node), indent=1) + "\n", encoding="utf-8")
    (home / "installed").write_text("".join(f"{name}\n" for name in put), encoding="utf-8")
    shutil.copy(pathlib.Path(__file__).with_name("mount.sh"), home / "mount.sh")
    shutil.copy(library.with_name("fakegpu-capabilities"), home / "capabilities")
    _make_nodes(root, names)
    _ldconfig(root)


def _ldconfig(root: pathlib.Path) -> None:
    if (root / "etc/ld.so.conf").exists():
        subprocess.run(["ldconfig", "-r", str(root)], check=False, capture_output=True)


def uninstall(root: pathlib.Path) -> None:
    """Takes out what install put there. The node must not run (its mounts would stay)."""
    home = root / HOME
    if not home.is_dir():
        return
    for name in (home / "installed").read_text(encoding="utf-8").splitlines():
        (root / name).unlink(missing_ok=True)
    for name in (home / "nodes").read_text(encoding="utf-8").splitlines():
        (root / "dev" / name).unlink(missing_ok=True)
    shutil.rmtree(home)
    _ldconfig(root)
