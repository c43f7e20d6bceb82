# SPDX-License-Identifier: Apache-2.0
"""A real node: containerd, kubelet and kube-proxy in namespaces and a root file system of their
own.

What a pod does to "the host" stays inside it: its /etc, its /usr, its /dev, its network.
"""

import dataclasses
import json
import pathlib
import shlex
import subprocess
import sys
import uuid

import base
import control_plane
import machine
import process
from control_plane import ControlPlane, node_address, pod_range
from paths import SOURCE, BedError

FAKEGPU = SOURCE.parent / "fakegpu" / "fakegpu.py"
CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
IMAGES_LOADED = "/var/lib/images-loaded"
SERVICES = ("containerd", "kubelet", "kube-proxy")

_CONTAINERD_CONFIG = f"""\
version = 3

[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = '{base.PAUSE}'

[plugins.'io.containerd.cri.v1.runtime']
enable_cdi = true
restrict_oom_score_adj = true
"""


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a node was asked to be; kept, so that it is the same when it is started again."""

    number: int
    kubernetes: str
    gpus: str = ""  # path of the profile; none: no fake GPUs
    kubelet_args: str = ""
    taints: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()


class Node:
    def __init__(self, bed: pathlib.Path, name: str):
        self.bed = bed
        self.name = name
        self.folder = bed / name
        self.cgroup = f"gantry-{bed.name}-{name}"

    @property
    def settings(self) -> Settings:
        kept = json.loads((self.folder / "settings.json").read_text())
        return Settings(**{k: tuple(v) if isinstance(v, list) else v for k, v in kept.items()})

    def create(self, settings: Settings, plane: ControlPlane) -> None:
        """Makes the node's disk."""
        for name in ("upper", "work", "root", "containerd", "kubelet"):
            (self.folder / name).mkdir(parents=True)
        self.folder.joinpath("upper").chmod(0o755)
        (self.folder / "settings.json").write_text(json.dumps(dataclasses.asdict(settings)))
        etc = self.folder / "upper/etc"
        kubernetes = etc / "kubernetes"
        for folder in (kubernetes, etc / "cni/net.d", etc / "containerd"):
            folder.mkdir(parents=True)
        address = node_address(settings.number)
        authority = plane.authority
        authority.issue(
            self.name,
            f"system:node:{self.name}",
            "system:nodes",
            (f"DNS:{self.name}", f"IP:{address}"),
        )
        server = f"https://{control_plane.ADDRESS}:{control_plane.PORT}"
        authority.kubeconfig(kubernetes / "kubelet.conf", self.name, server)
        authority.kubeconfig(kubernetes / "kube-proxy.conf", "proxy", server)
        for source, target in (
            ("ca.crt", "ca.crt"),
            (f"{self.name}.crt", "kubelet.crt"),
            (f"{self.name}.key", "kubelet.key"),
        ):
            (kubernetes / target).write_bytes((authority.folder / source).read_bytes())
        (kubernetes / "kubelet.json").write_text(
            json.dumps(self._kubelet_config(settings), indent=1)
        )
        (etc / "cni/net.d/10-bed.conflist").write_text(
            json.dumps(_cni_config(settings.number), indent=1)
        )
        (etc / "containerd/config.toml").write_text(_CONTAINERD_CONFIG)
        hostname = self._hostname()
        (etc / "hostname").write_text(f"{hostname}\n")
        (etc / "hosts").write_text(f"127.0.0.1 localhost\n{address} {hostname} {self.name}\n")
        (etc / "resolv.conf").write_text(f"nameserver {control_plane.DNS_SERVICE}\n")
        (etc / "machine-id").write_text(f"{uuid.uuid4().hex}\n")

    def _hostname(self) -> str:
        return f"{self.bed.name}-{self.name}"

    def _kubelet_config(self, settings: Settings) -> dict:
        minor = int(settings.kubernetes.split(".")[1])
        config = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "authentication": {
                "anonymous": {"enabled": False},
                "x509": {"clientCAFile": "/etc/kubernetes/ca.crt"},
            },
            "authorization": {"mode": "Webhook"},
            "tlsCertFile": "/etc/kubernetes/kubelet.crt",
            "tlsPrivateKeyFile": "/etc/kubernetes/kubelet.key",
            "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{self.cgroup}",
            "failSwapOn": False,
            "clusterDomain": "cluster.local",
            "clusterDNS": [control_plane.DNS_SERVICE],
            "localStorageCapacityIsolation": False,
            # How full the machine's disk is says nothing about the node.
            "evictionHard": {
                "memory.available": "50Mi",
                "nodefs.available": "1%",
                "imagefs.available": "1%",
            },
            "imageGCHighThresholdPercent": 100,
        }
        if minor >= 31:
            config["failCgroupV1"] = False  # the default of later kubelets is to refuse cgroup v1
        if minor >= 32:
            config["crashLoopBackOff"] = {"maxContainerRestartPeriod": "1s"}
            config["featureGates"] = {"KubeletCrashLoopBackOffMax": True}
        if settings.taints:
            config["registerWithTaints"] = [_taint(text) for text in settings.taints]
        return config

    def start(self, plane: ControlPlane) -> None:
        """Powers the node on. It registers itself by and by."""
        settings = self.settings
        control = machine.running(plane.folder)
        if control is None:
            raise BedError(f"start {self.name}: the control plane does not run")
        if machine.running(self.folder):
            raise BedError(f"start {self.name}: it runs")
        machine.make_cgroup(self.cgroup)
        (self.folder / "boot_id").write_text(f"{uuid.uuid4()}\n")
        log = self.folder / "upper/var/log"
        log.mkdir(parents=True, exist_ok=True)
        machine.start(
            self.folder,
            self._spec(settings),
            lambda pid: _attach(pid, control.pid, settings.number),
        )

    def _spec(self, settings: Settings) -> dict:
        kubelet = [
            "kubelet",
            "--config=/etc/kubernetes/kubelet.json",
            "--kubeconfig=/etc/kubernetes/kubelet.conf",
        ]
        kubelet += [
            f"--hostname-override={self.name}",
            f"--node-ip={node_address(settings.number)}",
        ]
        if settings.labels:
            kubelet.append(f"--node-labels={','.join(settings.labels)}")
        kubelet += shlex.split(settings.kubelet_args)
        proxy = [
            "kube-proxy",
            "--kubeconfig=/etc/kubernetes/kube-proxy.conf",
            f"--hostname-override={self.name}",
            "--proxy-mode=iptables",
            "--cluster-cidr=10.244.0.0/16",
            "--metrics-bind-address=127.0.0.1:10249",
            # The limits of connection tracking are the machine's, not the node's: leave them alone.
            "--conntrack-max-per-core=0",
            "--conntrack-min=0",
            "--conntrack-tcp-timeout-established=0s",
            "--conntrack-tcp-timeout-close-wait=0s",
        ]
        server = {"tcp": [control_plane.ADDRESS, control_plane.PORT]}
        services = [
            {"name": "containerd", "argv": ["containerd"]},
            # The kubelet would wait for an API server by itself, but look for it ever less often.
            # No registry serves these images: a pod that came before them would fail to pull.
            {
                "name": "kubelet",
                "argv": kubelet,
                "after": [{"unix": CONTAINERD_SOCKET}, {"file": IMAGES_LOADED}, server],
                "after_at_most_s": 60,
            },
            {"name": "kube-proxy", "argv": proxy, "after": [server], "after_at_most_s": 30},
        ]
        for service in services:
            service["log"] = f"/var/log/{service['name']}.log"
        root = self.folder / "root"
        gpus = []
        if settings.gpus:
            script = [sys.executable, str(FAKEGPU)]
            profile = ["--root", str(root), "--profile", settings.gpus, "--node", self.name]
            gpus = [
                [*script, "install", *profile],
                ["chroot", str(root), "sh", "/opt/fakegpu/mount.sh"],
            ]
        return {
            "hostname": self._hostname(),
            "log": str(self.folder / "init.log"),
            "pids": "/run",
            "services": services,
            "root": {
                "root": str(root),
                "lower": f"{base.node_programs(settings.kubernetes)}:{base.root_fs()}",
                "upper": str(self.folder / "upper"),
                "work": str(self.folder / "work"),
                # containerd's snapshots are overlays themselves, which cannot stand on an overlay.
                "binds": [
                    [str(self.folder / "containerd"), "var/lib/containerd"],
                    [str(self.folder / "kubelet"), "var/lib/kubelet"],
                ],
                "boot_id": str(self.folder / "boot_id"),
                "before_pivot": gpus,
            },
        }

    def stop(self) -> None:
        """Cuts the power: every process of the node dies, /run and /dev are lost, the disk
        stays.
        """
        machine.end(self.folder)
        machine.remove_cgroup(self.cgroup)

    def running(self) -> process.Process:
        first = machine.running(self.folder)
        if first is None:
            raise BedError(f"{self.name} does not run")
        return first

    def root(self) -> pathlib.Path:
        """The node's root file system as the host sees it."""
        return pathlib.Path(f"/proc/{self.running().pid}/root")

    def enter(self, command: list[str]) -> list[str]:
        return machine.enter(self.running(), command)

    def services_answer(self) -> bool:
        """Whether a name is resolved through the service address of DNS: kube-proxy and CoreDNS
        both work.
        """
        question = ["getent", "hosts", "kubernetes.default.svc.cluster.local"]
        command = self.enter(["env", "RES_OPTIONS=timeout:1 attempts:1", *question])
        return subprocess.run(command, capture_output=True).returncode == 0

    def load(self, archive: pathlib.Path, name: str) -> None:
        """Loads an image archive under a name into the images that pods see."""

        def containerd_answers() -> bool:
            return (self.root() / CONTAINERD_SOCKET.lstrip("/")).exists()

        process.wait_for(f"containerd of {self.name}", 30, containerd_answers)
        command = [
            "ctr",
            "--namespace=k8s.io",
            "images",
            "import",
            "--local",
            f"--index-name={name}",
            "-",
        ]
        with open(archive, "rb") as content:
            process.run(self.enter(command), f"load {archive.name} into {self.name}", stdin=content)

    def images_loaded(self) -> None:
        """The node has the images that it begins with; its kubelet may start, on every boot."""
        (self.root() / IMAGES_LOADED.lstrip("/")).touch()


def _attach(pid: int, bridge_pid: int, number: int) -> None:
    """Joins the node's network to the bed's bridge. Both ends go when the node's namespace goes."""
    link, address = f"node{number}", node_address(number)
    bridge = [
        f"link add {link} type veth peer name eth0 netns {pid}",
        f"link set {link} master br0 up",
        f"route replace {pod_range(number)} via {address}",
    ]
    own = [
        "link set lo up",
        f"addr add {address}/16 dev eth0",
        "link set eth0 up",
        f"route add default via {control_plane.ADDRESS}",
    ]
    machine.in_network(bridge_pid, bridge, f"attach node{number}")
    machine.in_network(pid, own, f"address node{number}")


def _cni_config(number: int) -> dict:
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "ranges": [[{"subnet": pod_range(number)}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    portmap = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"cniVersion": "1.0.0", "name": "bed", "plugins": [bridge, portmap]}


def _taint(text: str) -> dict:
    """KEY=VALUE:EFFECT or KEY:EFFECT, as kubectl writes them."""
    key_value, colon, effect = text.rpartition(":")
    key, _, value = key_value.partition("=")
    if not colon or not key or not effect:
        raise BedError(f"taint {text!r}: want KEY=VALUE:EFFECT or KEY:EFFECT")
    return (
        {"key": key, "value": value, "effect": effect} if value else {"key": key, "effect": effect}
    )
