#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real Kubernetes on this machine: control plane, nodes, fake GPUs, as many beds side by side as
you like.

The words are the interface that tests and benchmarks rely on; README.md beside this file describes
them.
"""

import argparse
import json
import os
import pathlib
import signal
import sys
import time

import audit
import beds
import build
import components
import dump
import machine
import oci
import paths
import process
from node import FAKEGPU, SERVICES
from paths import BedError, say

RESTART_S = 60
STOP_S = 2  # a stopping API server waits a minute for its watches, with its port closed


def kubectl_command(bed: beds.Bed) -> list[str]:
    return [str(build.kubernetes(bed.kubernetes) / "bin/kubectl"), f"--kubeconfig={bed.kubeconfig}"]


def replace_by(command: list[str], environment: dict[str, str] | None = None) -> None:
    """Becomes another program, so that its output, its signals and its exit status are its own."""
    sys.stdout.flush()
    os.execvpe(command[0], command, os.environ | (environment or {}))


def build_(options) -> None:
    version = options.kubernetes
    beds.build_all(version)
    build.module(components.PROMETHEUS)
    for toolkit in components.NVIDIA_TOOLKITS:
        build.module(toolkit)
    print(f"{paths.cache()}")


def up(options) -> None:
    started = time.monotonic()
    # A polite end takes the half-made bed down; after an impolite one the next `up` does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    request = beds.Request(
        options.kubernetes, options.nodes, options.kwok, options.gpus or "", options.kubelet_args
    )
    bed = beds.up(request, options.name, options.owner)
    say(f"bed {bed.id} is up after {time.monotonic() - started:.1f} s")
    print(f"KUBECONFIG={bed.kubeconfig}")


def down(options) -> None:
    with paths.locked(paths.beds() / ".lock", "another bed command"):
        chosen = beds.all_beds() if options.all else [beds.choose(options.name)]
        for bed in chosen:
            bed.down()
            say(f"bed {bed.id} is down")


def list_(options) -> None:
    for bed in beds.all_beds():
        nodes = ",".join(
            node.name + ("" if machine.running(node.folder) else " (off)") for node in bed.nodes()
        )
        print(f"{bed.id}\t{bed.left_behind() or 'up'}\t{nodes}\tKUBECONFIG={bed.kubeconfig}")


def kubectl(options) -> None:
    replace_by([*kubectl_command(beds.choose(options.name)), *options.arguments])


def helm(options) -> None:
    bed = beds.choose(options.name)
    program = build.module(components.CLIENTS) / "bin" / options.word
    replace_by([str(program), *options.arguments], {"KUBECONFIG": str(bed.kubeconfig)})


def path(options) -> None:
    for component in (components.CLIENTS, components.RUNC, components.PROMETHEUS):
        program = build.module(component) / "bin" / options.program
        if program.exists():
            print(program)
            return
    raise BedError(f"path {options.program}: not a program of the bed's clients, runc or Prometheus")


def exec_(options) -> None:
    node = beds.choose(options.name).node(options.node)
    # The caller's own variables say nothing about the node.
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    environment = [
        "env",
        "-i",
        f"PATH={path}",
        "HOME=/root",
        f"TERM={os.environ.get('TERM', 'dumb')}",
    ]
    replace_by(node.enter([*environment, *(options.arguments or ["bash"])]))


def gpu(options) -> None:
    node = beds.choose(options.name).node(options.node)
    replace_by(
        [sys.executable, str(FAKEGPU), "control", "--root", str(node.root()), *options.arguments]
    )


def _image_name(archive: pathlib.Path, otherwise: str) -> str:
    name = oci.reference_of(archive)
    if not name:
        raise BedError(f"load {archive}: the archive doesn't name its image; {otherwise}")
    return name


def load(options) -> None:
    bed = beds.choose(options.name)
    name = options.ref or _image_name(options.archive, "give --ref REF")
    for node in bed.nodes() if options.node == "all" else [bed.node(options.node)]:
        if options.node != "all" or machine.running(node.folder):
            node.load(options.archive, name)


def stop_node(options) -> None:
    beds.choose(options.name).node(options.node).stop()


def start_node(options) -> None:
    bed = beds.choose(options.name)
    node = bed.node(options.node)
    node.start(bed.plane)
    if not options.no_wait:
        bed.wait_ready(node)


def add_node(options) -> None:
    bed = beds.choose(options.name)
    state = bed.state()
    request = beds.Request(
        bed.kubernetes,
        gpus="" if options.no_gpus else options.gpus or state["gpus"],
        kubelet_args=options.kubelet_args,
        taints=tuple(options.taint),
        labels=tuple(options.label),
    )
    images = {_image_name(archive, "load it later, with --ref REF"): archive for archive in options.load}
    with paths.locked(bed.folder / ".lock"):
        node = bed.add_node(request, images)
    if not options.no_wait:
        bed.wait_ready(node)
    print(node.name)


def restart(options) -> None:
    bed = beds.choose(options.name)
    service = {"apiserver": "kube-apiserver"}.get(options.service, options.service)
    places = []
    if service in SERVICES:
        for node in [bed.node(options.node)] if options.node else bed.nodes():
            places.append((node.running(), node.root() / "run"))
    else:
        first = machine.running(bed.plane.folder)
        if first is None:
            raise BedError(f"restart {service}: the control plane does not run")
        places.append((first, bed.plane.folder / "pids"))
    for first, pids in places:
        _restart_in(first, pids / f"{service}.pid", service, options.signal)
    if service == "kube-apiserver":
        api = bed.api()
        process.wait_for("API server", RESTART_S, api.ready)


def _restart_in(first: process.Process, pid_file: pathlib.Path, service: str, number: str) -> None:
    def pid() -> str:
        try:
            return pid_file.read_text().strip()
        except FileNotFoundError:
            return ""

    before = process.wait_for(f"{service} to run", RESTART_S, pid)
    process.run(machine.enter(first, ["kill", f"-{number}", before]), f"stop {service}")
    deadline = time.monotonic() + STOP_S
    while pid() == before and time.monotonic() < deadline:
        time.sleep(0.02)
    if pid() == before:
        process.run(machine.enter(first, ["kill", "-KILL", before]), f"kill {service}")
    process.wait_for(f"{service} to run again", RESTART_S, lambda: pid() not in ("", before))


def audit_(options) -> None:
    log = audit.Audit(beds.choose(options.name).plane.audit_log)
    fields = options.by.split(",")
    for field in fields:
        if field not in audit.FIELDS:
            raise BedError(f"--by {field}: want some of {', '.join(audit.FIELDS)}")
    rows = log.count(fields)
    if options.reset:
        log.reset()
    elif options.json:
        print(json.dumps(rows, indent=1))
    else:
        for row in rows:
            print(row["count"], *(row[field] for field in fields), sep="\t")


def dump_(options) -> None:
    bed = beds.choose(options.name)
    dump.dump(bed, kubectl_command(bed), options.folder)


def words() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bed", description=__doc__.splitlines()[0])
    subparsers = parser.add_subparsers(metavar="WORD", required=True)

    def word(
        name: str, act, help_: str, node: bool = False, named: bool = True
    ) -> argparse.ArgumentParser:
        sub = subparsers.add_parser(name, help=help_, description=help_)
        if named:
            sub.add_argument(
                "--name", metavar="ID", help="which bed; else $GANTRY_BED; else the newest"
            )
        if node:
            sub.add_argument("node", metavar="NODE", help="node1, node2, ...")
        sub.set_defaults(act=act, word=name)
        return sub

    def kubernetes(sub) -> None:
        sub.add_argument(
            "--kubernetes",
            metavar="VERSION",
            default=components.KUBERNETES,
            help="default: %(default)s",
        )

    def node_options(sub) -> None:
        sub.add_argument("--gpus", metavar="PROFILE.yaml", help="the fake GPUs of each real node")
        sub.add_argument(
            "--kubelet-args", metavar="ARGS", default="", help="more arguments for the kubelet"
        )

    sub = word("build", build_, "build everything into the cache", named=False)
    kubernetes(sub)

    sub = word("up", up, "bring a bed up; the last line is KUBECONFIG=...")
    sub.add_argument("--nodes", type=int, metavar="N", default=1, help="real nodes, default 1")
    sub.add_argument(
        "--kwok", type=int, metavar="N", default=0, help="nodes that kwok plays, default 0"
    )
    node_options(sub)
    kubernetes(sub)
    sub.add_argument(
        "--owner",
        type=int,
        metavar="PID",
        help="remove it by the next `up` once this process is gone",
    )

    sub = word("down", down, "take a bed down; nothing of it stays")
    sub.add_argument("--all", action="store_true", help="all beds")
    word("list", list_, "list beds", named=False)

    # Whatever follows these is not ours to parse: passed_on() takes it off before.
    word("kubectl", kubectl, "kubectl in a bed")
    word("helm", helm, "Helm 4 in a bed")
    word("helm3", helm, "Helm 3 in a bed")
    sub = word("path", path, "where a built program is: helm, helm3, runc, prometheus, promtool", named=False)
    sub.add_argument("program")
    word("exec", exec_, "run a command inside a node, as root", node=True)
    word("gpu", gpu, "drive the fake GPUs of a node", node=True)

    sub = word("load", load, "load an OCI archive into a node", named=True)
    sub.add_argument("node", metavar="NODE|all")
    sub.add_argument("archive", type=pathlib.Path)
    sub.add_argument(
        "--ref", metavar="REF", help="the image's name; default: the one in the archive"
    )

    word(
        "stop-node",
        stop_node,
        "cut a node's power: /run and /dev are lost, its disk stays",
        node=True,
    )
    sub = word("start-node", start_node, "power a node on, and wait until it is Ready", node=True)
    sub.add_argument("--no-wait", action="store_true", help="return at once")

    sub = word("add-node", add_node, "let one more node join; prints its name")
    node_options(sub)
    sub.add_argument("--no-gpus", action="store_true", help="without the bed's profile")
    sub.add_argument(
        "--taint", metavar="K=V:E", action="append", default=[], help="register with this taint"
    )
    sub.add_argument(
        "--label", metavar="K=V", action="append", default=[], help="register with this label"
    )
    sub.add_argument(
        "--load",
        metavar="ARCHIVE",
        type=pathlib.Path,
        action="append",
        default=[],
        help="an OCI archive that is loaded before the node joins",
    )
    sub.add_argument("--no-wait", action="store_true", help="return before it is Ready")

    sub = word("restart", restart, "end a service, which is started again at once")
    services = [
        "apiserver",
        "kube-controller-manager",
        "kube-scheduler",
        "etcd",
        "coredns",
        *SERVICES,
    ]
    sub.add_argument("service", choices=services)
    sub.add_argument("node", metavar="NODE", nargs="?", help="default: all nodes")
    sub.add_argument("--signal", default="TERM", help="default: TERM, after 2 s KILL")

    sub = word("audit", audit_, "count API requests, by user agent and verb")
    sub.add_argument(
        "--by", metavar="FIELDS", default="agent,verb", help=f"some of {','.join(audit.FIELDS)}"
    )
    sub.add_argument("--json", action="store_true")
    sub.add_argument("--reset", action="store_true", help="count from now on")

    sub = word("dump", dump_, "write objects, logs and node state to a folder")
    sub.add_argument("folder", type=pathlib.Path)
    return parser


def passed_on(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Splits a command line into what is the bed's and what is another program's."""
    operands = {"kubectl": 0, "helm": 0, "helm3": 0, "exec": 1, "gpu": 1}
    if not arguments or arguments[0] not in operands:
        return arguments, []
    end = 1
    if arguments[end:] and arguments[end] == "--name":
        end += 2
    elif arguments[end:] and arguments[end].startswith("--name="):
        end += 1
    end += operands[arguments[0]]
    return arguments[:end], arguments[end:]


def main() -> int:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `bed audit | head` is no error
    ours, theirs = passed_on(sys.argv[1:])
    options = words().parse_args(ours)
    options.arguments = theirs
    try:
        options.act(options)
    except (BedError, OSError) as error:
        say(f"bed: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
