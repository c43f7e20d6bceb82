"""Operator, plugin and toolkit are killed again and again: no label goes, no GPU pod notices."""

import hashlib
import os
import random
import time

from bed import NAMESPACE, NodeWatch, wait_for

ROUNDS = int(os.environ.get("GANTRY_KILL_ROUNDS", "5"))
COMMANDS = {"operator": "gpu-operator", "plugin": "nvidia-device-plugin", "toolkit": "nvidia-toolkit"}


def pid_of(bed, node, command):
    """The pid, inside a node, of the container process that was started as this command."""
    printed = bed.exec(node, "sh", "-c",
                       f"for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/cmdline 2>/dev/null | head -1 | grep -qx "
                       f"'\\(.*/\\)\\?{command}' && echo ${{p#/proc/}}; done; true")
    return printed.split()


def runtime_state(bed, node):
    """The runtime's process and its configuration, byte for byte."""
    pid = bed.exec(node, "sh", "-c", "cat /run/containerd.pid 2>/dev/null || pgrep -x containerd").strip()
    files = bed.exec(node, "sh", "-c", "cat /etc/containerd/config.toml /etc/containerd/conf.d/*.toml")
    return pid, hashlib.sha256(files.encode()).hexdigest()


def longest_pause(bed):
    """Seconds that a kubelet takes to start a container for the sixth time. The bed's wait less from Kubernetes 1.32 on."""
    [version] = {node.status.node_info.kubelet_version for node in bed.nodes().values()}
    return 30 if int(version.split(".")[1]) >= 32 else 200


def test_killed_in_random_order(bed, node):
    bed.apply(bed.gpu_pod("bystander", 1, node=node))
    bed.wait_phase("bystander", "Running")
    order = [name for name in COMMANDS for _ in range(ROUNDS)]
    random.Random(7).shuffle(order)
    before, pause = runtime_state(bed, node), longest_pause(bed)
    with NodeWatch(bed) as watch:
        for name in order:
            victims = [(n, p) for n in sorted(bed.nodes()) for p in pid_of(bed, n, COMMANDS[name])]
            where, pid = next((v for v in victims if v[0] == node), victims[0])
            bed.exec(where, "kill", "-9", pid)
            wait_for(f"{name} to run again", lambda: [
                p for p in pid_of(bed, where, COMMANDS[name]) if p != pid], pause, every=0.1)
            if name == "plugin":
                wait_for("all GPUs to be allocatable again", lambda: len(bed.allocatable_ids(node)) == 8, 10, 0.05)
    assert not [lost for lost in watch.lost if "label" in lost], watch.lost
    pod = bed.core.read_namespaced_pod("bystander", "default")
    assert pod.status.container_statuses[0].restart_count == 0 and pod.status.phase == "Running"
    assert runtime_state(bed, node) == before, "the runtime was restarted or configured anew"
    bed.delete_pods("bystander")


def test_a_drop_in_that_was_edited_or_deleted_is_put_right(bed, node):
    drop_in = "/etc/containerd/conf.d/99-nvidia.toml"
    good = bed.exec(node, "cat", drop_in)
    time.sleep(10)  # what was set in motion before comes to rest: only the drop-in itself can wake the toolkit
    for damage in (f"echo '# edited' >> {drop_in}", f"rm {drop_in}"):
        bed.exec(node, "sh", "-c", damage)
        wait_for("the drop-in to be put right", lambda: bed.exec(
            node, "sh", "-c", f"cat {drop_in} 2>/dev/null; true") == good, 20)
    wait_for("the node to be ready", lambda: bed.pods("nvidia-container-toolkit-daemonset", NAMESPACE, node))
