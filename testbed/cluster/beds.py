# SPDX-License-Identifier: Apache-2.0
"""Beds as wholes: brought up, found, added to, taken down; and what killed runs left, removed.

A bed is one folder. What runs for it are its machines, each recorded by pid and start time; all
that a machine holds goes with it (init.py). So a bed is gone when its machines are ended, its
cgroups removed, and its folder.
"""

import concurrent.futures
import datetime
import json
import os
import pathlib
import re
import secrets
import shutil
import sys

import base
import build
import components
import control_plane
import machine
import paths
import process
from api import Api
from control_plane import ControlPlane
from node import FAKEGPU, Node, Settings
from paths import BedError, say

UP_S = 120
MAX_NODES = 64
_STARTING, _UP = "starting", "up"


class Bed:
    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.id = folder.name
        self.plane = ControlPlane(folder)
        self.kubeconfig = folder / "kubeconfig"

    # --- state
    # -------------------------------------------------------------------------------------------

    def state(self) -> dict:
        try:
            return json.loads((self.folder / "bed.json").read_text())
        except (FileNotFoundError, ValueError):
            return {}

    def _write(self, **changes) -> None:
        making = self.folder / ".bed.json"
        making.write_text(json.dumps(self.state() | changes, indent=1))
        making.replace(self.folder / "bed.json")

    @property
    def kubernetes(self) -> str:
        return self.state()["kubernetes"]

    def nodes(self) -> list[Node]:
        folders = (p for p in self.folder.glob("node*") if (p / "settings.json").exists())
        return [Node(self.folder, p.name) for p in sorted(folders, key=lambda p: int(p.name[4:]))]

    def node(self, name: str) -> Node:
        for node in self.nodes():
            if node.name == name:
                return node
        raise BedError(
            f"bed {self.id} has no node {name!r}; it has {', '.join(n.name for n in self.nodes())}"
        )

    def api(self) -> Api:
        return self.plane.api()

    def left_behind(self) -> str:
        """Why this bed is a leftover of a run that was killed; empty if it is in use."""
        state = self.state()
        if state.get("status") != _UP:
            starter = process.Process(**state["starter"]) if "starter" in state else None
            return "" if starter and starter.alive() else "its start was cut off"
        if machine.running(self.plane.folder) is None:
            return "its control plane is gone"
        if "owner" in state and not process.Process(**state["owner"]).alive():
            return "the process that it was for has ended"
        return ""

    # --- life
    # --------------------------------------------------------------------------------------------

    def bring_up(self, request: "Request") -> None:
        """Brings everything up, or raises; what was started then is taken down by the caller."""
        self.plane.prepare()
        self.plane.start(self.id, request.kubernetes, request.kwok)
        port = int(self.plane.port_file.read_text())
        self.plane.authority.kubeconfig(self.kubeconfig, "admin", f"https://127.0.0.1:{port}")
        for number in range(1, request.nodes + 1):
            self._start_node(number, request)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            loads = [pool.submit(self._load_images, node) for node in self.nodes()]
            api = self.api()
            process.wait_for("API server", UP_S, api.ready)
            say("API server is ready")
            control_plane.create_dns_service(api)
            self._create_kwok_nodes(api, request)
            for node in self.nodes():
                self._wait_up(node, api)
                say(f"{node.name} is Ready")
            # Without it pods are refused; the controllers make it a moment after the namespace.
            account = "/api/v1/namespaces/default/serviceaccounts/default"
            process.wait_for("default service account", UP_S, lambda: api.get(account))
            for load in loads:
                load.result()
        self._write(status=_UP)

    def _wait_up(self, node: Node, api: Api) -> None:
        # The API server goes on believing the last status it was told, so ask for one of this boot.
        boot_id = (node.folder / "boot_id").read_text().strip()

        def ready() -> bool:
            node.running()  # a node whose machine ended will never be
            status = (api.get(f"/api/v1/nodes/{node.name}") or {}).get("status", {})
            return status.get("nodeInfo", {}).get("bootID") == boot_id and api.node_ready(node.name)

        process.wait_for(f"{node.name} to be Ready", UP_S, ready, every=0.1)
        process.wait_for(f"services on {node.name}", UP_S, node.services_answer, every=0.1)

    def _start_node(self, number: int, request: "Request") -> Node:
        node = Node(self.folder, f"node{number}")
        settings = Settings(
            number,
            request.kubernetes,
            request.gpus,
            request.kubelet_args,
            request.taints,
            request.labels,
        )
        node.create(settings, self.plane)
        node.start(self.plane)
        return node

    def _load_images(self, node: Node, more: dict[str, pathlib.Path] | None = None) -> None:
        """Loads the bed's own images and these, by name, and lets the kubelet start."""
        own = {base.PAUSE: base.images() / "pause.tar", base.TEST: base.images() / "test.tar"}
        for name, archive in (own | (more or {})).items():
            node.load(archive, name)
        node.images_loaded()

    def add_node(self, request: "Request", images: dict[str, pathlib.Path]) -> Node:
        """A node that joins later, with these image archives, by name, beside the bed's own."""
        number = max((n.settings.number for n in self.nodes()), default=0) + 1
        if number > MAX_NODES:
            raise BedError(f"add a node: a bed has at most {MAX_NODES} real nodes")
        node = self._start_node(number, request)
        self._load_images(node, images)
        return node

    def wait_ready(self, node: Node) -> None:
        self._wait_up(node, self.api())

    def _create_kwok_nodes(self, api: Api, request: "Request") -> None:
        if request.kwok == 0:
            return
        for number in range(1, request.kwok + 1):
            api.create("/api/v1/nodes", _kwok_node(f"kwok{number}", request.gpu_count))
        names = {f"kwok{number}" for number in range(1, request.kwok + 1)}
        process.wait_for(
            "kwok nodes to be Ready", UP_S, lambda: names <= api.ready_nodes(), every=0.3
        )
        say(f"{request.kwok} kwok nodes are Ready")

    def down(self) -> None:
        nodes = [Node(self.folder, p.name) for p in self.folder.glob("node*") if p.is_dir()]
        for (
            node
        ) in nodes:  # all first, so that none spends its last moments on the death of another
            first = process.read(node.folder / machine.RECORD)
            if first:
                first.kill()
        machine.end(self.plane.folder)
        for node in nodes:
            node.stop()
        for _ in range(3):  # the last writes of dying processes may come after a folder was read
            shutil.rmtree(self.folder, ignore_errors=True)
        if self.folder.exists():
            shutil.rmtree(self.folder)


class Request:
    """What `up` and `add-node` were asked for, checked."""

    def __init__(
        self,
        kubernetes: str,
        nodes: int = 1,
        kwok: int = 0,
        gpus: str = "",
        kubelet_args: str = "",
        taints: tuple[str, ...] = (),
        labels: tuple[str, ...] = (),
    ):
        if not 0 <= nodes <= MAX_NODES or nodes + kwok == 0:
            raise BedError(f"--nodes {nodes}: want 1 to {MAX_NODES}, or 0 with --kwok")
        self.kubernetes = kubernetes
        self.nodes = nodes
        self.kwok = kwok
        self.gpus = ""
        self.gpu_count = 0
        self.kubelet_args = kubelet_args
        self.taints = taints
        self.labels = labels
        if gpus:
            profile = pathlib.Path(gpus).resolve()
            if not profile.is_file():
                raise BedError(f"--gpus {gpus}: no such file")
            self.gpus = str(profile)
            self.gpu_count = _gpu_count(profile)
            if nodes:
                _fetch_driver()


def _gpu_count(profile: pathlib.Path) -> int:
    """How many GPUs a profile describes; a wrong one is refused with its own complaint."""
    check = [sys.executable, FAKEGPU, "check", profile]
    described = process.run(check, f"--gpus {profile}")
    return len(json.loads(described)["gpus"])


def _fetch_driver() -> None:
    """The driver's packages come into the cache now: a node has no network to fetch them by."""
    process.run([sys.executable, FAKEGPU, "driver"], "fetch the driver")


def _kwok_node(name: str, gpus: int) -> dict:
    resources = {"cpu": "32", "memory": "256Gi", "pods": "110"}
    if gpus:
        resources["nvidia.com/gpu"] = str(gpus)
    # kwok fills in the rest of the status, and keeps what is here.
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "type": "kwok",
            },
        },
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "nodeInfo": {
                "kernelVersion": "6.1.0-44-amd64",
                "osImage": "Debian GNU/Linux 12 (bookworm)",
                "containerRuntimeVersion": "containerd://2.4.2",
                "operatingSystem": "linux",
                "architecture": "amd64",
                "kubeletVersion": "fake",
                "kubeProxyVersion": "fake",
                "machineID": "",
                "systemUUID": "",
                "bootID": "",
            },
        },
    }


# --- all beds
# --------------------------------------------------------------------------------------------


def all_beds() -> list[Bed]:
    """Every bed there is, the newest last."""
    folders = [p for p in paths.beds().glob("*") if p.is_dir()] if paths.beds().exists() else []
    return [
        Bed(p)
        for p in sorted(
            folders,
            key=lambda p: p.stat().st_ctime if not (p / "bed.json").exists() else _created(p),
        )
    ]


def _created(folder: pathlib.Path) -> float:
    return Bed(folder).state().get("created", 0)


def choose(name: str | None) -> Bed:
    """The bed of that name; else of $GANTRY_BED; else the newest."""
    name = name or os.environ.get("GANTRY_BED")
    found = [bed for bed in all_beds() if not name or bed.id == name]
    if not found:
        raise BedError(f"no bed {name!r}" if name else "no bed is up; `bed up` brings one up")
    return found[-1]


def remove_leftovers() -> None:
    for bed in all_beds():
        if why := bed.left_behind():
            say(f"removing bed {bed.id}: {why}")
            bed.down()


def up(request: Request, name: str | None, owner_pid: int | None) -> Bed:
    """Brings a bed up from what is in the cache, which is built first if need be."""
    if os.geteuid() != 0:
        raise BedError("bring a bed up: needs root")
    if name is not None and not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?", name):
        raise BedError(f"--name {name!r}: want up to 32 of a-z, 0-9 and -")
    owner = process.find(owner_pid) if owner_pid else None
    if owner_pid and owner is None:
        raise BedError(f"--owner {owner_pid}: no such process")
    build_all(request.kubernetes, kwok=request.kwok > 0)
    with paths.locked(paths.beds() / ".lock", "another bed command"):
        remove_leftovers()
        bed = Bed(paths.beds() / (name or secrets.token_hex(3)))
        if bed.folder.exists():
            raise BedError(
                f"bed {bed.id} is there already; `bed down --name {bed.id}` takes it down"
            )
        bed.folder.mkdir(mode=0o755)
        starter = vars(process.find(os.getpid()))
        state = {"status": _STARTING, "starter": starter, "kubernetes": request.kubernetes}
        state |= {"gpus": request.gpus, "created": datetime.datetime.now().timestamp()}
        if owner:
            state["owner"] = vars(owner)
        bed._write(**state)
    try:
        bed.bring_up(request)
    except BaseException:
        say(_last_words(bed))
        bed.down()
        raise
    return bed


def _last_words(bed: Bed) -> str:
    """The ends of the logs of a bed that didn't come up."""
    logs = [
        *bed.plane.folder.glob("*.log"),
        *bed.folder.glob("node*/*.log"),
        *bed.folder.glob("node*/upper/var/log/*.log"),
    ]
    parts = []
    for log in logs:
        if log.name != "audit.log" and (lines := log.read_text(errors="replace").splitlines()[-4:]):
            parts.append(
                f"--- {log.relative_to(bed.folder)}\n" + "\n".join(line[:300] for line in lines)
            )
    return "\n".join(parts)


def build_all(kubernetes: str, kwok: bool = True) -> None:
    """Builds what a bed needs; what is built already costs nothing."""
    base.root_fs()
    base.node_programs(kubernetes)
    base.images()
    build.module(components.ETCD)
    build.module(components.CLIENTS)
    if kwok:
        build.module(components.KWOK)
