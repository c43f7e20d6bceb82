"""What fails in production is caused as users cause it, and `gantry doctor` names it in one line; once it is put right,
nothing is wrong any more.

Others are where their cause is at home: pods that ask in vain in test_doctor, an unhealthy GPU in test_health, memory
of a shared GPU in test_sharing, drivers in containers and their upgrades in test_driver_upgrade, a node that is away in
test_node_away; and what looks like a failure and is none in test_install and test_late_node.
"""

import contextlib

import pytest

import images
from bed import TEST_IMAGE, wait_for
from findings import notes, nothing_wrong, says

import build  # the test bed's, whose folder `images` has put into the path
import components

DOCUMENT = "/var/run/cdi/k8s.device-plugin.nvidia.com-gpu.json"
# As one that DCGM has told that it lost the driver.
EXPORTER = b"""#!/bin/bash
echo "no connection to DCGM: it lost the driver" >&2
exit 1
"""


@contextlib.contextmanager
def labelled(bed, node, *labels):
    """Labels of a node, each as key=value, that go again or get back to the operator's."""
    bed.kubectl("label", "--overwrite", "node", node, *labels)
    try:
        yield
    finally:
        bed.kubectl("label", "node", node, *(label.partition("=")[0] + "-" for label in labels))


@contextlib.contextmanager
def changed(bed, section, fields):
    """Fields of the policy that are not set otherwise."""
    bed.patch_policy({section: fields})
    try:
        yield
    finally:
        bed.patch_policy({section: dict.fromkeys(fields)})


def test_an_exporter_that_crashes(bed):
    images.load(bed, ["localhost/dcgm-exporter:1"], {"dcgm-exporter": EXPORTER})
    with changed(bed, "dcgmExporter", {"repository": "localhost", "image": "dcgm-exporter", "version": "1"}):
        says(bed, "ExporterCrashing", "DaemonSet nvidia-dcgm-exporter", "pods with GPUs are not affected", timeout=60)
    nothing_wrong(bed)


def test_gpus_that_are_open_to_all(bed):
    variable = {"name": "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED", "value": "true"}
    with changed(bed, "toolkit", {"env": [variable]}):
        notes(bed, "GpusOpenToAll", "ClusterPolicy cluster-policy", variable["name"])
    nothing_wrong(bed)


@pytest.mark.parametrize(("code", "name", "image", "labels"), [
    ("CertManagerTwice", "cert-manager", "cert-manager-controller", {}),
    ("NfdTwice", "nfd-master", "node-feature-discovery", {"role": "master"}),
], ids=["cert-manager", "nfd"])
def test_two_installations_of(bed, code, name, image, labels):
    """The second one by another release, in another namespace."""
    image = f"localhost/{image}:1"
    for node in bed.nodes():
        bed.exec(node, "ctr", "--namespace=k8s.io", "images", "tag", "--force", TEST_IMAGE, image)
    spaces = [f"{name}-{i}" for i in (1, 2)]
    pod = {"terminationGracePeriodSeconds": 0, "containers": [
        {"name": name, "image": image, "imagePullPolicy": "Never", "command": ["sleep", "infinity"]}]}
    for space in spaces:
        bed.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}},
                  {"apiVersion": "apps/v1", "kind": "Deployment",
                   "metadata": {"name": name, "namespace": space, "labels": labels},
                   "spec": {"selector": {"matchLabels": {"app": name}},
                            "template": {"metadata": {"labels": {"app": name}}, "spec": pod}}})
    try:
        says(bed, code, ", ".join(f"Deployment {space}/{name}" for space in spaces))
        bed.kubectl("-n", spaces[1], "delete", "deployment", name)
        nothing_wrong(bed)
    finally:
        bed.kubectl("delete", "namespace", *spaces, "--ignore-not-found", "--wait=false")


def test_a_mig_layout_that_does_not_come(bed, node):
    """Nobody acts on it; then a MIG manager that is not ours, whose labels are written here, waits for a pod, and fails."""
    bed.apply(bed.gpu_pod("holder", 1, node=node))
    bed.wait_phase("holder", "Running")
    state = "nvidia.com/mig.config.state"
    with changed(bed, "migManager", {"enabled": False}), labelled(bed, node, "nvidia.com/mig.config=all-1g.10gb"):
        # A node of the last three minutes is given time.
        says(bed, "MigNotManaged", f"node {node}", "all-1g.10gb", timeout=200)
        with labelled(bed, node, f"{state}=pending"):
            notes(bed, "MigChangeWaits", f"node {node}", "default/holder")
            bed.delete_pods("holder")
            bed.kubectl("label", "--overwrite", "node", node, f"{state}=failed")
            says(bed, "MigChangeFailed", f"node {node}", "all-1g.10gb")
    nothing_wrong(bed)


def test_a_runtime_without_its_handler(bed, node):
    """Somebody writes the container runtime's configuration anew on a node where the toolkit does not look after it."""
    with labelled(bed, node, "nvidia.com/gpu.deploy.container-toolkit=false"):
        wait_for("the toolkit to go", lambda: not bed.pods("nvidia-container-toolkit-daemonset", node=node), 30)
        bed.exec(node, "rm", "/etc/containerd/conf.d/99-nvidia.toml")
        bed.do("restart", "containerd", node)
        bed.apply(bed.gpu_pod("no-handler", 1, "nvidia-smi -L", node, runtimeClassName="nvidia"))
        says(bed, "RuntimeHandlerMissing", "pod default/no-handler", timeout=60)
    # The toolkit is back, and puts it right.
    bed.wait_phase("no-handler", "Succeeded", 90)
    bed.delete_pods("no-handler")
    nothing_wrong(bed)


def test_a_node_with_the_hook_program_of_nvidias_toolkit(bed, node):
    """Its container toolkit is exchanged: there is no program, then NVIDIA's oldest and newest, then Gantry's again."""
    hook = "/usr/local/nvidia/toolkit/nvidia-cdi-hook"
    with labelled(bed, node, "nvidia.com/gpu.deploy.container-toolkit=false"):
        wait_for("the toolkit to go", lambda: not bed.pods("nvidia-container-toolkit-daemonset", node=node), 30)
        bed.exec(node, "rm", hook)
        wait_for("GPUs to go", lambda: bed.allocatable(node) == 0, 30)
        says(bed, "ToolkitNotInstalled", f"node {node}", timeout=60)
        for module in components.NVIDIA_TOOLKITS:
            bed.copy(node, build.module(module) / "bin" / "nvidia-cdi-hook", hook)
            wait_for("its GPUs", lambda: bed.allocatable(node) == 8, 60)
            bed.apply(bed.gpu_pod("theirs", 1, "nvidia-smi -L", node))
            bed.wait_phase("theirs", "Succeeded", 60)
            bed.delete_pods("theirs")
            bed.exec(node, "rm", hook)
    wait_for("Gantry's hook", lambda: "create-container" in bed.exec(node, "cat", DOCUMENT), 90)
    wait_for("its GPUs", lambda: bed.allocatable(node) == 8, 60)
    bed.apply(bed.gpu_pod("ours", 1, "nvidia-smi -L", node))
    bed.wait_phase("ours", "Succeeded")
    bed.delete_pods("ours")
    nothing_wrong(bed)


def test_a_container_runtime_that_does_not_start(bed, node):
    """Somebody's edit of its configuration is no TOML."""
    config = "/etc/containerd/config.toml"
    bed.exec(node, "sh", "-c", f"cp {config} {config}.good && echo '[plugins' >> {config}"
             " && kill $(cat /run/containerd.pid)")
    try:
        says(bed, "RuntimeDown", f"node {node}", timeout=90)
    finally:
        bed.exec(node, "mv", f"{config}.good", config)
    nothing_wrong(bed)


def test_a_driver_that_goes_away(bed, node):
    """What waits for the driver then is not told beside it."""
    library = "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"
    bed.exec(node, "mv", library, f"{library}.away")
    try:
        [plugin] = bed.pods("nvidia-device-plugin-daemonset", node=node)
        bed.kubectl("-n", plugin.metadata.namespace, "delete", "pod", plugin.metadata.name, "--now")
        wait_for("GPUs to go", lambda: bed.allocatable(node) == 0, 30)
        says(bed, "LibraryMissing", f"node {node}")
    finally:
        bed.exec(node, "mv", f"{library}.away", library)
    wait_for("its GPUs", lambda: bed.allocatable(node) == 8, 60)
    nothing_wrong(bed)
