"""What a node and a cluster look like, to compare before an installation with after its removal."""

FOLDERS = ["/etc", "/run", "/usr/local", "/opt", "/var/run/cdi", "/var/lib/nvidia-gpu-operator"]
# What a kubelet, a runtime or the bed itself changes all the time.
NOISE = ("/run/containerd", "/run/netns", "/run/kubelet", "/run/xtables.lock", "/etc/cni/net.d/.", "/run/lock",
         "/run/systemd", "/run/udev", "/run/bed", "/run/fakegpu.pid", "/etc/mtab", "/etc/resolv.conf")
LISTING = r"""
for d in "$@"; do [ -e "$d" ] && find "$d" -xdev \( -type f -o -type l -o -type d -o -type s \) -printf '%y %m %p %l\n'; done
for d in "$@"; do [ -e "$d" ] && find "$d" -xdev -type f -size -2000k -exec sha256sum {} +; done
true
"""


def node_files(bed, node):
    listed = bed.exec(node, "bash", "-c", LISTING, "listing", *FOLDERS)
    return sorted(line for line in listed.splitlines()
                  if not any(word.startswith(NOISE) for word in line.split()))


def take(bed):
    return take_of(bed, bed.nodes())


def take_of(bed, names):
    """The same of some nodes: one that is away cannot be looked into."""
    nodes = {name: node for name, node in bed.nodes().items() if name in names}
    return {
        "files": {name: node_files(bed, name) for name in nodes},
        "labels": {name: dict(n.metadata.labels) for name, n in nodes.items()},
        "annotations": {name: {k for k in n.metadata.annotations or {}} for name, n in nodes.items()},
        "taints": {name: [t.key for t in n.spec.taints or []] for name, n in nodes.items()},
        "crds": sorted(c.metadata.name for c in bed.extensions.list_custom_resource_definition().items),
        "cluster": sorted(bed.kubectl("get", "clusterroles,clusterrolebindings,runtimeclasses,priorityclasses",
                                      "-o", "name").split()),
    }
