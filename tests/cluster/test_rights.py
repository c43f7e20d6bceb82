"""Each operand needs the rights that it has: a copy of its pod without one of them shows what is broken by that."""

import concurrent.futures
import dataclasses
import re
import time
import typing

import kubernetes
import pytest

from bed import NAMESPACE, wait_for

Spec = dict[str, typing.Any]
VALIDATIONS = "/run/nvidia/validations"
NFD = "/etc/kubernetes/node-feature-discovery"
# For the worker to find: a label, a rule about a module, the module, an option of the kernel.
NODE_FILES = f"""release=$(uname -r)
mkdir -p /lib/modules/$release
echo kernel/rights.ko > /lib/modules/$release/modules.builtin
echo CONFIG_NO_HZ=y > /boot/config-$release
echo from-a-file=true > {NFD}/features.d/rights
cat > {NFD}/custom.d/rights << EOF
- name: rights
  labels: {{from-a-rule: "true"}}
  matchFeatures: [{{feature: kernel.enabledmodule, matchExpressions: {{rights: {{op: Exists}}}}}}]
EOF
"""
NO_NODE_FILES = f"""release=$(uname -r)
rm -f /lib/modules/$release/modules.builtin /boot/config-$release {NFD}/custom.d/rights {NFD}/features.d/rights
rmdir /lib/modules/$release 2> /dev/null; true
"""
MPS_ROOT = "/run/nvidia/mps"


def without_mount(path: str) -> typing.Callable[[Spec], None]:
    def take(spec: Spec):
        mounts = spec["containers"][0]["volumeMounts"]
        mounts.remove(next(m for m in mounts if m["mountPath"] == path))
    return take


def read_only(path: str) -> typing.Callable[[Spec], None]:
    def take(spec: Spec):
        mount = next(m for m in spec["containers"][0]["volumeMounts"] if m["mountPath"] == path)
        assert not mount.get("readOnly"), f"{path} is read-only already"
        mount["readOnly"] = True
    return take


def without_host_pids(spec: Spec):
    assert spec.pop("hostPID")


def unprivileged(spec: Spec):
    container = spec["containers"][0]
    assert container.pop("securityContext")["privileged"]
    for mount in container["volumeMounts"]:
        mount.pop("mountPropagation", None)  # to the host is for privileged containers alone


def without_capability(name: str) -> typing.Callable[[Spec], None]:
    def take(spec: Spec):
        spec["containers"][0]["securityContext"]["capabilities"]["add"].remove(name)
    return take


def as_nobody(spec: Spec):
    spec["containers"][0]["securityContext"]["runAsUser"] = 65534


def without_its_account(spec: Spec):
    """The namespace's default account has a token, and may do nothing."""
    assert spec["serviceAccountName"] != "default"
    spec["serviceAccountName"] = spec["serviceAccount"] = "default"


@dataclasses.dataclass(frozen=True)
class Right:
    name: str
    take: typing.Callable[[Spec], None]
    said: str = ""  # without it, and not with it
    lost: str = ""  # or what is said with it, and not without it


@dataclasses.dataclass(frozen=True)
class Operand:
    daemon_set: str
    whole: str  # what a copy with all rights says
    rights: tuple[Right, ...]
    label: str = ""  # nvidia.com/gpu.deploy.<label>, if its own pod has to leave the node
    arguments: tuple[str, ...] = ()
    before: str = ""  # done on the node before each copy, so that it uses its rights
    after: str = ""
    port: int = 0  # of its metrics, which count as said


# The validator's copies take status files away, which all others read: they have a node of their own.
VALIDATOR = Operand(
    "nvidia-operator-validator", "plugin ready", label="operator-validator", rights=(
        Right("write access to the status files", read_only(VALIDATIONS),
              f"write {VALIDATIONS}/.*: Read-only file system"),
        Right("the host's files", without_mount("/host"), "driver not ready.*: NoGpu"),
        Right("write access to /dev/char", read_only("/host-dev-char"), "link /host-dev-char/.*: Read-only"),
        Right("the kubelet's socket", without_mount("/var/lib/kubelet/pod-resources"), "KubeletDoesNotAnswer"),
        Right("its account", without_its_account, "tell the cluster: .* is forbidden"),
        Right("privileges", unprivileged, "driver not ready.*: DriverFails"),
    ))
OTHERS = (
    Operand("nvidia-container-toolkit-daemonset", "the host has the container toolkit", label="container-toolkit",
            before="rm -f /usr/local/nvidia/toolkit/.config/nvidia-container-runtime/config.toml", rights=(
                Right("the host's files", without_mount("/host"), "open /host/var/lib: No such file"),
                Right("write access to the host's files", read_only("/host"), "write /host/.*: Read-only file system"),
                Right("the host's process ids", without_host_pids, "it is in another PID namespace"),
                Right("privileges", unprivileged, "find the program of process .*: Permission denied"),
            )),
    Operand("nvidia-device-plugin-daemonset", "registered with the kubelet", label="device-plugin",
            before="rm -f /var/run/cdi/k8s.device-plugin.*", rights=(
                Right("the status files", without_mount(VALIDATIONS), "waiting for driver-ready"),
                Right("the kubelet's folder", without_mount("/var/lib/kubelet/device-plugins"),
                      "watch /var/lib/kubelet/device-plugins: No such file"),
                Right("write access to the kubelet's folder", read_only("/var/lib/kubelet/device-plugins"),
                      "can't be served: listen on .*: Read-only file system"),
                Right("write access to the CDI documents", read_only("/var/run/cdi"),
                      "no GPU can be offered by CDI: .*: Read-only file system"),
                Right("the host's files", without_mount("/host"), "no GPU can be offered: open libnvidia-ml"),
                Right("root", as_nobody, "Permission denied"),
                Right("its account", without_its_account, "say on the node .* is forbidden"),
            )),
    # Of what needs GPUs that are shared and NVIDIA's program, nothing is shown here.
    Operand("nvidia-device-plugin-mps-control-daemon", "no GPU of this node is shared by MPS",
            before=f"umount {MPS_ROOT}/shm 2> /dev/null; true",
            after=f"umount {MPS_ROOT}/shm 2> /dev/null; rm -rf {MPS_ROOT}", rights=(
                Right("the status files", without_mount(VALIDATIONS), "waiting for driver-ready"),
                Right("write access to its folder", read_only("/mps"), "/mps/.*: Read-only file system"),
                Right("privileges", unprivileged, "mount .*: Operation not permitted"),
            )),
    # It prints labels that it does not publish: they could be wrong.
    Operand("gpu-feature-discovery", "nvidia.com/gpu.count=8",
            arguments=("--oneshot", "--use-node-feature-api=false", "--output-file", ""), rights=(
                Right("the status files", without_mount(VALIDATIONS), "read .*/driver-ready: No such file"),
                Right("the host's files", without_mount("/host"), "find libnvidia-ml.so.1 under /host: in none"),
                Right("the host's /sys", without_mount("/sys"), "nvidia.com/gpu.mode=unknown"),
                Right("privileges", unprivileged, "nvmlInit: DRIVER_NOT_LOADED"),
            )),
    Operand("gpu-feature-discovery", "Succeeded", arguments=("--oneshot",), rights=(
        Right("its account", without_its_account, "labels stay as they are: .* is forbidden"),
    )),
    Operand("nvidia-node-feature-discovery-worker", "Succeeded", arguments=("--oneshot", "--no-publish"),
            before=NODE_FILES, after=NO_NODE_FILES, rights=(
                Right("the host's /sys", without_mount("/host-sys"), "labels stay as they are: read /host-sys"),
                Right("the host's os-release", without_mount("/host-etc/os-release"), lost="system-os_release.ID="),
                Right("the host's /boot", without_mount("/host-boot"), lost="kernel-config.NO_HZ=true"),
                Right("the host's modules", without_mount("/host-lib/modules"), lost="from-a-rule=true"),
                Right("files with labels", without_mount(f"{NFD}/features.d"), lost="from-a-file=true"),
                Right("files with rules", without_mount(f"{NFD}/custom.d"), lost="from-a-rule=true"),
            )),
    Operand("nvidia-node-feature-discovery-worker", "Succeeded", arguments=("--oneshot",), rights=(
        Right("its account", without_its_account, "labels stay as they are: .* is forbidden"),
    )),
    # Not shown: SYS_ADMIN as NVIDIA's driver asks for it (without it the NVIDIA runtime gives no device nodes), and SYSLOG,
    # which a kernel asks for only with kernel.dmesg_restrict.
    Operand("nvidia-dcgm-exporter", "8 GPUs, driver", rights=(
        Right("SYS_ADMIN", without_capability("SYS_ADMIN"), "device nodes that come later|the container ends, and gets /dev/nvidia"),
        Right("the status files", without_mount(VALIDATIONS), "waiting for driver-ready"),
        Right("the host's files", without_mount("/host"), "device nodes that come later are not noticed: /host"),
        Right("the kubelet's socket", without_mount("/var/lib/kubelet/pod-resources"), "no news of pods for metrics: "),
    )),
    # Not shown: privileges, the host's process ids and the kubelet's socket, which only a change needs.
    Operand("nvidia-mig-manager", "Running", rights=(
        Right("the status files", without_mount(VALIDATIONS), "the MIG layout stays as it is: .*driver-ready: No such file"),
        Right("the host's files", without_mount("/host"), "the MIG layout stays as it is: .*libnvidia-ml"),
        Right("its account", without_its_account, "is forbidden"),
    )),
    Operand("nvidia-node-status-exporter", "node_driver_ready{.*} 1$", port=8000, rights=(
        Right("the status files", without_mount(VALIDATIONS), "node_driver_ready{.*} 0$"),
        Right("the host's /sys", without_mount("/host-sys"), "pci_devices_total{.*} 0$"),
    )),
)


def says(pattern, text):
    return re.search(pattern, text, re.MULTILINE) is not None


def said_by(bed, pod, port):
    """The pod's log, its metrics, and how it is; nothing before it runs."""
    phase = bed.phase(pod, NAMESPACE)
    try:
        log = bed.core.read_namespaced_pod_log(pod, NAMESPACE)
        if port:
            log += bed.core.connect_get_namespaced_pod_proxy_with_path(f"{pod}:{port}", NAMESPACE, "metrics")
    except kubernetes.client.ApiException:
        return ""
    return f"{log}\n{phase}"


def said_by_copy(bed, node, operand, until, take=None):
    """What a copy of the operand's pod said until it said that, or for 20 s."""
    spec = bed.api.sanitize_for_serialization(
        bed.apps.read_namespaced_daemon_set(operand.daemon_set, NAMESPACE).spec.template.spec)
    spec.pop("nodeSelector")
    spec |= {"nodeName": node, "restartPolicy": "Never", "terminationGracePeriodSeconds": 4}
    if operand.arguments:
        spec["containers"][0]["args"] = list(operand.arguments)
    if take:
        take(spec)
    if operand.before:
        bed.exec(node, "sh", "-c", operand.before)
    # Without the template's labels, which would make it a pod of the DaemonSet's.
    pod = bed.core.create_namespaced_pod(
        NAMESPACE, {"metadata": {"generateName": f"{operand.daemon_set}-copy-"}, "spec": spec}).metadata.name
    try:
        deadline = time.monotonic() + 20
        while not says(until, text := said_by(bed, pod, operand.port)) and time.monotonic() < deadline:
            time.sleep(0.3)
        if not take:
            time.sleep(2)  # what is wrong with it would be said by then
            text = said_by(bed, pod, operand.port)
        return text
    finally:
        bed.core.delete_namespaced_pod(pod, NAMESPACE)
        wait_for("the copy to go", lambda: pod not in [p.metadata.name for p in bed.pods()])


def what_is_wrong(bed, node, operand):
    whole = said_by_copy(bed, node, operand, operand.whole)
    wrong = [] if says(operand.whole, whole) else [f"{operand.daemon_set} with all rights says:\n{whole}"]
    for right in operand.rights:
        text = said_by_copy(bed, node, operand, right.said or operand.whole, right.take)
        if right.said:
            shown = says(right.said, text) and not says(right.said, whole)
        else:
            shown = says(right.lost, whole) and says(operand.whole, text) and not says(right.lost, text)
        if not shown:
            wrong.append(f"{operand.daemon_set} without {right.name}: {right.said or right.lost!r} does not tell\n"
                         f"{text}\nfrom, with all rights,\n{whole}")
    return wrong


@pytest.fixture(name="exporter")
def fixture_exporter(bed):
    bed.patch_policy({"nodeStatusExporter": {"enabled": True}})
    wait_for("the node status exporter", lambda: len(bed.pods("nvidia-node-status-exporter")) == 2, 30)
    yield
    bed.patch_policy({"nodeStatusExporter": {"enabled": False}})
    wait_for("the node status exporter to go", lambda: not bed.pods("nvidia-node-status-exporter"), 30)


def test_each_right_is_needed(bed, exporter):
    first, second = sorted(bed.nodes())
    places = [(first, VALIDATOR)] + [(second, operand) for operand in OTHERS]
    alone = [(node, operand) for node, operand in places if operand.label]
    labels = {node: bed.labels(node) for node in (first, second)}
    try:
        for node, operand in alone:
            bed.kubectl("label", "node", node, "--overwrite", f"nvidia.com/gpu.deploy.{operand.label}=false")
        for node, operand in alone:
            wait_for("its own pod to go", lambda: not bed.pods(operand.daemon_set, node=node), 30)
        with concurrent.futures.ThreadPoolExecutor(len(places)) as pool:
            wrong = list(pool.map(lambda place: what_is_wrong(bed, *place), places))
    finally:
        for node, operand in places:
            if operand.after:
                bed.exec(node, "sh", "-c", operand.after)
        for node, operand in alone:
            bed.kubectl("label", "node", node, f"nvidia.com/gpu.deploy.{operand.label}-")
    assert not sum(wrong, []), "\n\n".join(sum(wrong, []))
    for node in (first, second):
        wait_for("all GPUs and labels", lambda: bed.allocatable(node) == 8 and bed.labels(node) == labels[node], 60)
    wait_for("the policy to be ready", bed.policy_ready, 60)
