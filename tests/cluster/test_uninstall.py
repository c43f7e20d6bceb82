"""Uninstalled: nodes and cluster are as they were, and a node that was away is harmless."""

import snapshot
from bed import NAMESPACE, wait_for


def test_uninstall_leaves_nothing(bed, before):
    staying = sorted(before["files"])
    # The node that is away is the one that joined late.
    away = sorted(set(bed.nodes()) - set(staying)) or [bed.late_node()]
    bed.keep_operator_off(away[0])
    bed.do("stop-node", away[0])
    # The worst case: the cluster doesn't know yet that the node is away, and starts the cleanup there.
    bed.kubectl("cordon", *staying)
    uninstalling = bed.start("helm", "uninstall", "gpu-operator", "-n", NAMESPACE, "--wait", "--timeout", "300s")
    wait_for("the cleanup to be given to the node that is away", lambda: any(
        p.spec.node_name == away[0] for p in bed.core.list_namespaced_pod(
            NAMESPACE, label_selector="app.kubernetes.io/component=gpu-operator-cleanup").items))
    bed.kubectl("uncordon", *staying)
    printed, _ = uninstalling.communicate(timeout=330)
    assert uninstalling.returncode == 0, printed
    bed.kubectl("delete", "namespace", NAMESPACE, "--timeout=60s")
    after = snapshot.take_of(bed, staying)
    for name in staying:
        assert after["files"][name] == before["files"][name], difference(before, after, name)
        assert ours(after["labels"][name]) == ours(before["labels"][name])
        assert after["annotations"][name] == before["annotations"][name]
        assert after["taints"][name] == before["taints"][name]
    assert after["crds"] == before["crds"]
    assert after["cluster"] == before["cluster"]
    bed.do("start-node", away[0])
    cpu_pod = bed.gpu_pod("cpu", 1, "true", away[0])
    cpu_pod["spec"]["containers"][0]["resources"] = {}
    bed.apply(cpu_pod)
    bed.wait_phase("cpu", "Succeeded", 120)
    assert wait_for("the node to be ready", lambda: any(
        c.type == "Ready" and c.status == "True" for c in bed.core.read_node(away[0]).status.conditions))


def ours(labels):
    return {k: v for k, v in labels.items() if "nvidia.com" in k or k.startswith("feature.node.kubernetes.io")}


def difference(before, after, name):
    was, now = set(before["files"][name]), set(after["files"][name])
    return "\n".join([f"gone: {line}" for line in sorted(was - now)] + [f"left: {line}" for line in sorted(now - was)])
