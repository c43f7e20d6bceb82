# SPDX-License-Identifier: Apache-2.0
"""What the bed is made of: each program, its version and the Go package it is built from."""

import dataclasses
import os

# The tests' own choice of another version: ./do test --kubernetes VERSION.
KUBERNETES = os.environ.get("GANTRY_KUBERNETES", "1.36.3")
HYPERKUBE_COMMANDS = (
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubectl",
    "kubelet",
)


@dataclasses.dataclass(frozen=True)
class GoModule:
    """Programs that are built in one Go module, so that they share what they have in common.

    Programs stand in different modules unless they need the same versions of their dependencies:
    within one, Go takes the highest version that any of them asks for.
    """

    name: str
    requires: dict[str, str]  # module path: version
    programs: dict[str, str]  # name of the program: package
    cgo: bool = False
    tags: str = ""
    stamp: str = ""  # variable that is set to the version, for programs that report it


_CONTAINERD = "github.com/containerd/containerd/v2"
_CNI = "github.com/containernetworking/plugins"
_RUNC = "github.com/opencontainers/runc"
_ETCD = "go.etcd.io/etcd/server/v3"
_KWOK = "sigs.k8s.io/kwok"
_PROMETHEUS = "github.com/prometheus/prometheus"

ETCD = GoModule("etcd", {_ETCD: "3.7.3"}, {"etcd": _ETCD})


def containerd(version: str) -> GoModule:
    """containerd of any version from 1.7 on; its module has another path before 2.0."""
    path = _CONTAINERD if int(version.split(".")[0]) >= 2 else _CONTAINERD.removesuffix("/v2")
    return GoModule(
        "containerd",
        {path: version},
        {
            "containerd": f"{path}/cmd/containerd",
            "containerd-shim-runc-v2": f"{path}/cmd/containerd-shim-runc-v2",
            "ctr": f"{path}/cmd/ctr",
        },
        stamp=f"{path}/version.Version",
    )


CONTAINERD = containerd("2.4.2")
# Which the container toolkit is tried with (./do matrix): the last of each line that is in use.
CONTAINERD_MATRIX = ("1.7.35", "2.0.14", "2.1.9", "2.4.2")
# containerd gives every container a seccomp profile, and a runc without seccomp refuses those.
RUNC = GoModule("runc", {_RUNC: "1.5.2"}, {"runc": _RUNC}, cgo=True, tags="seccomp")
CNI = GoModule(
    "cni",
    {_CNI: "1.9.1"},
    {
        "bridge": f"{_CNI}/plugins/main/bridge",
        "loopback": f"{_CNI}/plugins/main/loopback",
        "host-local": f"{_CNI}/plugins/ipam/host-local",
        "portmap": f"{_CNI}/plugins/meta/portmap",
    },
)
# These three stand on the same release of client-go, which is most of what there is to compile.
CLIENTS = GoModule(
    "clients",
    {
        "helm.sh/helm/v4": "4.3.1",
        "helm.sh/helm/v3": "3.22.0",
        "github.com/coredns/coredns": "1.15.0",
    },
    {
        "helm": "helm.sh/helm/v4/cmd/helm",
        "helm3": "helm.sh/helm/v3/cmd/helm",
        "coredns": "./coredns",
    },
)
KWOK = GoModule("kwok", {_KWOK: "0.8.0"}, {"kwok": f"{_KWOK}/cmd/kwok"})
KWOK_STAGES = ("kustomize/stage/node/fast", "kustomize/stage/pod/fast")


def nvidia_toolkit(version: str) -> GoModule:
    """NVIDIA's own programs, unchanged: what a node has that brings its container toolkit itself."""
    path = "github.com/NVIDIA/nvidia-container-toolkit"
    programs = {name: f"{path}/cmd/{name}" for name in ("nvidia-ctk", "nvidia-cdi-hook")}
    return GoModule(
        "nvidia-toolkit", {path: version}, programs, cgo=True, stamp=f"{path}/internal/info.version"
    )


# Without the discovery of other clouds' targets, whose clients are most of what there is to compile, and without pages.
PROMETHEUS = GoModule(
    "prometheus",
    {_PROMETHEUS: "0.316.0"},  # 3.16.0
    {name: f"{_PROMETHEUS}/cmd/{name}" for name in ("prometheus", "promtool")},
    tags="remove_all_sd,netgo",
)

# The oldest that our documents are for, whose hooks are the fewest, and the newest.
NVIDIA_TOOLKITS = tuple(nvidia_toolkit(version) for version in ("1.17.8", "1.20.0"))

GO_MODULES = (CONTAINERD, RUNC, CNI, ETCD, CLIENTS, KWOK, PROMETHEUS, *NVIDIA_TOOLKITS)

# What a node's root file system holds besides Debian's minimal set.
NODE_PACKAGES = (
    "ca-certificates",
    "conntrack",
    "iproute2",
    "iptables",
    "kmod",
    "libseccomp2",
    "mount",
    "procps",
    "socat",
)
NODE_SUITE = "bookworm"
