#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NVIDIA GPUs for a test node: installs a machine described by a profile, and changes it while programs run.

See README.md beside this file for what becomes visible where.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

from machine import control, driver, image, layout, mig, node, profile

HERE = pathlib.Path(__file__).resolve().parent


def built_library(named: str | None) -> pathlib.Path:
    """The library to install: the one named, else the newest that was built."""
    if named or os.environ.get("FAKEGPU_LIBRARY"):
        return pathlib.Path(named or os.environ["FAKEGPU_LIBRARY"]).resolve()
    builds = HERE.parents[1] / "build"
    found = sorted(builds.glob("*/testbed/fakegpu/libnvidia-ml.so.1"), key=lambda path: path.stat().st_mtime)
    if not found:
        sys.exit(f"fakegpu: no library below {builds}; build the target fakegpu_nvml")
    return found[-1]


def word_check(options) -> None:
    library = layout.Layout(built_library(options.library))
    machine = profile.load(pathlib.Path(options.profile), options.node, set(library.fields["gpu"]))
    image.build(library, machine)  # some values are refused only where they have no room
    print(json.dumps(node.description(machine, options.node), indent=1))


def word_driver(options) -> None:
    print(driver.layer(options.driver_version))


def word_install(options) -> None:
    library = built_library(options.library)
    fields = set(layout.Layout(library).fields["gpu"])
    machine = profile.load(pathlib.Path(options.profile), options.node, fields)
    node.install(pathlib.Path(options.root), machine, options.node, library)


def word_uninstall(options) -> None:
    node.uninstall(pathlib.Path(options.root))


def run_mount(root: pathlib.Path, what: str) -> None:
    """Runs mount.sh in the node's mount namespace; the root must be /proc/PID/root for that."""
    parts = root.parts
    if len(parts) < 4 or parts[1] != "proc" or parts[3] != "root":
        raise control.ControlError(f"{what} the driver: needs --root /proc/PID/root, not {root}")
    # The node's /proc shows the processes of its own PID namespace only, and mount.sh reads /proc/self.
    done = subprocess.run(["nsenter", f"--target={parts[2]}", "--mount", "--pid", "--root", "--wd=/", "sh",
                           "/opt/fakegpu/mount.sh", what], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise control.ControlError(f"{what} the driver: {done.stderr.strip()}")


def act(state: layout.State, options) -> None:
    """Does one control word on the mapped machine."""
    gpus = control.selected(state, options.gpu) if hasattr(options, "gpu") else []
    for position, gpu in gpus:
        match options.word:
            case "set":
                for text in options.values:
                    control.assign(gpu, text)
            case "fail":
                control.fail(gpu, options.code, options.call, options.number)
            case "lose":
                control.fail(gpu, control.GPU_IS_LOST, "")
                if not options.quiet:
                    control.raise_event(state, position, control.XID, control.FALLEN_OFF_THE_BUS)
            case "recover":
                control.recover(gpu)
            case "reset":
                control.reset(position, gpu)
            case "hang":
                control.hang(gpu, options.call, options.number)
            case "unhang":
                control.hang(gpu, "")
            case "xid":
                control.raise_event(state, position, control.XID, options.number, options.gi, options.ci)
            case "mig":
                if options.action != "list":
                    control.change_mig(state, position, gpu, options.action, options.arguments)
                for one in mig.devices(gpu):
                    print(f"{position}:{one['index']} {one['uuid']} {one['profile']} gi={one['gpu_instance']} "
                          f"ci={one['compute_instance']}")
            case "processes":
                control.set_processes(gpu, options.processes)
    if options.word == "driver-unload":
        for gpu in state.gpus():
            mig.after_reload(gpu)
    if options.word in ("driver-load", "driver-unload"):
        state.machine.set("driver_loaded", int(options.word == "driver-load"))


def show(state: layout.State, options) -> None:
    """list: a line a GPU; show --json: everything."""
    values = control.shown(state)
    if options.word == "show" and options.json:
        print(json.dumps(values, indent=1))
        return
    for gpu in values["gpus"]:
        trouble = f" failure={gpu['failure']}" if gpu["failure"] else ""
        trouble += f" hangs={gpu['hanging_call']}" if gpu["hanging_call"] else ""
        bdf = profile.bdf_text(gpu["pci_domain"], gpu["pci_bus"], gpu["pci_slot"])
        print(f"{gpu['index']} {gpu['uuid']} {bdf} minor={gpu['minor']} {gpu['name']}{trouble}")


def word_control(options) -> None:
    root = pathlib.Path(options.root)
    if options.word == "driver-unload":
        run_mount(root, "unload")
    with layout.mapped(node.library_in(root)) as state:
        if options.word in ("list", "show"):
            show(state, options)
        else:
            act(state, options)
    if options.word == "driver-load":
        run_mount(root, "load")


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="fakegpu.py", description=__doc__)
    words = top.add_subparsers(dest="command", required=True)

    check = words.add_parser("check", help="is a profile right; prints the machine")
    check.add_argument("profile")
    check.add_argument("--node", default="node1")
    check.add_argument("--library")
    check.set_defaults(do=word_check)

    layer = words.add_parser("driver", help="fetch the driver's files; prints the folder they lie in as under a root")
    layer.add_argument("driver_version", nargs="?", default=profile.DRIVER_VERSION)
    layer.set_defaults(do=word_driver)

    install = words.add_parser("install", help="put a machine under a root")
    install.add_argument("--root", required=True)
    install.add_argument("--profile", required=True)
    install.add_argument("--node", required=True, help="UUIDs and serials follow from it")
    install.add_argument("--library")
    install.set_defaults(do=word_install)

    uninstall = words.add_parser("uninstall", help="take it out again")
    uninstall.add_argument("--root", required=True)
    uninstall.set_defaults(do=word_uninstall)

    control_word = words.add_parser("control", help="look at a machine or change it")
    control_word.add_argument("--root", required=True, help="the node's root, or /proc/PID/root")
    add_control_words(control_word.add_subparsers(dest="word", required=True))
    control_word.set_defaults(do=word_control)
    return top


def add_control_words(words) -> None:
    def word(name: str, text: str, gpu: bool = True):
        sub = words.add_parser(name, help=text)
        if gpu:
            sub.add_argument("gpu", help="position, UUID, PCI address, or all")
        return sub

    word("list", "a line a GPU", gpu=False)
    word("show", "everything", gpu=False).add_argument("--json", action="store_true")
    word("set", "change values: temperature=83 power=250 memory_used=40GiB ...").add_argument(
        "values", nargs="+", metavar="KEY=VALUE")
    fail = word("fail", "calls answer an error")
    fail.add_argument("--call", default="", help="only calls whose name begins so")
    fail.add_argument("--code", type=int, default=control.UNKNOWN_ERROR, help="nvmlReturn_t; 999: unknown error")
    fail.add_argument("--number", type=int, default=0, help="only this one of the calls that each process makes; 0: all")
    lose = word("lose", "GPU_IS_LOST everywhere, and XID 79")
    lose.add_argument("--quiet", action="store_true", help="without the XID")
    word("recover", "ends fail, lose and hang")
    word("reset", "a GPU reset: pending modes are in force, MIG instances and failures gone")
    hang = word("hang", "calls do not return")
    hang.add_argument("call", nargs="?", default="*")
    hang.add_argument("--number", type=int, default=0, help="as for fail")
    word("unhang", "they return")
    xid = word("xid", "raises an XID event")
    xid.add_argument("number", type=int)
    xid.add_argument("--gi", type=int, help="MIG: confined to this GPU instance")
    xid.add_argument("--ci", type=int, help="and to this compute instance of it")
    word("processes", "PID=MiB[:compute|graphics|mps[:NAME[:GI/CI[:SM]]]] ...; none: no processes").add_argument(
        "processes", nargs="*")
    change = word("mig", "changes MIG, and lists the devices")
    change.add_argument("action", choices=["list", "on", "off", "create", "destroy"])
    change.add_argument("arguments", nargs="*", help="profiles to create (3g.40gb, 1c.3g.40gb), or ids of GPU "
                                                     "instances to destroy; none: all")
    word("driver-unload", "the modules are gone (needs --root /proc/PID/root)", gpu=False)
    word("driver-load", "they are back", gpu=False)


def main() -> None:
    options = parser().parse_args()
    try:
        options.do(options)
    except BrokenPipeError:  # who reads our lines has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (profile.ProfileError, layout.LayoutError, driver.debian.DebianError, control.ControlError, OSError) as error:
        sys.exit(f"fakegpu: {error}")


if __name__ == "__main__":
    main()
