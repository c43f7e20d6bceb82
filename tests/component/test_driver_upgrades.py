# SPDX-License-Identifier: Apache-2.0
"""Drivers are upgraded beside a real API server and the controllers of DaemonSets and disruption budgets. No kubelet
runs (kubelets.py plays them). The operator is that of $GANTRY_BUILD.
"""

import signal
import time

import pytest
from control_plane import ControlPlane, wait
from kubelets import STATE, Kubelets, add_node, state_of, version_of
from test_operator import POLICIES, SPACE, Operator, policy, status  # noqa: F401

NODES = ("a", "b", "c")
IMAGE = {"repository": "registry.local", "image": "driver", "version": "1"}


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    with ControlPlane(tmp_path_factory.mktemp("plane"), "daemonset-controller,disruption-controller") as plane:
        plane.define_resources()
        for space in (SPACE, "users"):
            plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": space}})
        for name in NODES:
            add_node(plane, name)
        with Kubelets(plane) as plane.kubelets:
            yield plane


@pytest.fixture(scope="module")
def operator(plane, build, tmp_path_factory):  # noqa: F811
    plane.call("POST", POLICIES, policy("cluster-policy", driver=IMAGE | {
        "manager": IMAGE | {"image": "manager"},
        "upgradePolicy": {"autoUpgrade": True, "maxUnavailable": 1, "podDeletion": {"timeoutSeconds": 6}}}))
    with Operator(plane, build, tmp_path_factory.mktemp("operator")) as operator:
        wait(lambda: all_are(plane, "upgrade-done"), "every node has its driver", 60)
        yield operator


def node(plane, name):
    return plane.get(f"/api/v1/nodes/{name}")


def all_are(plane, state):
    return all(state_of(node(plane, name)) == state for name in NODES)


def upgrade_to(plane, version):
    plane.patch(f"{POLICIES}/cluster-policy", {"spec": {"driver": {"version": version}}})


def versions(plane):
    pods = plane.get(f"/api/v1/namespaces/{SPACE}/pods?labelSelector=app=nvidia-driver-daemonset")["items"]
    return sorted(version_of(pod) for pod in pods)


def is_cordoned(plane, name):
    return node(plane, name)["spec"].get("unschedulable", False)


def reasons(plane):
    return {n["name"]: n.get("reason", "") for n in status(plane).get("driverUpgrades", {}).get("nodes", [])}


def new_workload(plane, name, on):
    plane.call("POST", "/api/v1/namespaces/users/pods", {
        "metadata": {"name": name, "labels": {"app": name}, "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "set", "uid": "0", "controller": True}]},
        "spec": {"nodeName": on, "containers": [{"name": "c", "image": "i", "resources": {
            "limits": {"nvidia.com/gpu": "1"}}}]}})


def new_claim_workload(plane, name, on, driver):
    """A pod with a device of a DRA driver."""
    claims = "/apis/resource.k8s.io/v1/namespaces/users/resourceclaims"
    plane.call("POST", claims, {"metadata": {"name": name}, "spec": {"devices": {"requests": [
        {"name": "r", "exactly": {"deviceClassName": driver}}]}}})
    plane.patch(f"{claims}/{name}/status", {"status": {"allocation": {"devices": {"results": [
        {"request": "r", "driver": driver, "pool": on, "device": "gpu-0"}]}}}})
    plane.call("POST", "/api/v1/namespaces/users/pods", {
        "metadata": {"name": name, "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "set", "uid": "0", "controller": True}]},
        "spec": {"nodeName": on, "resourceClaims": [{"name": "c", "resourceClaimName": name}],
                 "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "c"}]}}]}})


def test_nodes_with_the_current_driver_are_done(plane, operator):
    for name in NODES:
        marks = node(plane, name)["metadata"]["annotations"]
        assert marks["nvidia.com/gpu-driver-upgrade-enabled"] == "true"
        assert not [key for key in marks if key.startswith("nvidia.com/gpu-operator.driver-upgrade")]
    assert operator.metric("gpu_operator_driver_auto_upgrade_enabled") == 1
    wait(lambda: operator.metric("gpu_operator_nodes_upgrades_done") == 3, "all are counted")


def test_one_node_after_another_and_a_budget_stops_it_with_a_reason(plane, operator):
    new_workload(plane, "train", "a")
    new_workload(plane, "web", "b")
    new_claim_workload(plane, "claims-a-gpu", "a", "gpu.nvidia.com")
    new_claim_workload(plane, "claims-a-nic", "a", "nic.example.com")
    budgets = "/apis/policy/v1/namespaces/users/poddisruptionbudgets"
    plane.call("POST", budgets, {"metadata": {"name": "keep"}, "spec": {
        "minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}})
    wait(lambda: plane.get(f"{budgets}/keep")["status"].get("currentHealthy") == 1, "the budget counts its pod")
    plane.kubelets.most = 0
    upgrade_to(plane, "2")
    wait(lambda: state_of(node(plane, "a")) == "upgrade-done" and "2" in versions(plane), "the first node", 60)
    assert plane.get("/api/v1/namespaces/users/pods/train") is None
    assert plane.get("/api/v1/namespaces/users/pods/claims-a-gpu") is None
    assert plane.get("/api/v1/namespaces/users/pods/claims-a-nic")
    assert not is_cordoned(plane, "a")
    wait(lambda: state_of(node(plane, "b")) == "upgrade-failed", "the budget holds the second", 60)
    assert plane.get("/api/v1/namespaces/users/pods/web") and is_cordoned(plane, "b")
    assert versions(plane) == ["1", "1", "2"]
    told = wait(lambda: "disruption" in (r := reasons(plane)).get("b", "") and "b (failed)" in r.get("c", "") and r,
                "the status says why")
    assert "users/web" in told["b"] and "not empty after 6 s" in told["b"]
    assert operator.metric("gpu_operator_nodes_upgrades_failed") == 1
    assert operator.metric("gpu_operator_nodes_upgrades_pending") == 1
    events = [e for e in plane.get("/api/v1/events")["items"] if e["reason"] == "GPUDriverUpgrade"]
    assert any(e["involvedObject"]["name"] == "b" and e["type"] == "Warning" for e in events)
    assert {e["source"]["component"] for e in events} == {"nvidia-gpu-operator"}
    # kubectl describe node shows those that name the Node's uid or, as the kubelet does, its name.
    evicting = [e["involvedObject"] for e in events if e["message"].startswith("evicting")]
    assert evicting and all(about["uid"] == about["name"] for about in evicting)
    # It stays so until somebody acts.
    time.sleep(2)
    assert state_of(node(plane, "b")) == "upgrade-failed" and state_of(node(plane, "c")) == "upgrade-required"
    plane.call("DELETE", f"{budgets}/keep")
    plane.patch("/api/v1/nodes/b", {"metadata": {"labels": {STATE: None}}})
    wait(lambda: versions(plane) == ["2", "2", "2"] and all_are(plane, "upgrade-done"), "the others", 60)
    assert plane.kubelets.most == 1
    assert not any(is_cordoned(plane, name) for name in NODES)


def test_killed_at_any_time_it_goes_on_and_leaves_others_cordons(plane, operator):
    # It takes its part of what may be unavailable.
    plane.patch(f"{POLICIES}/cluster-policy", {"spec": {"driver": {"upgradePolicy": {"maxUnavailable": 2}}}})
    plane.patch("/api/v1/nodes/c", {"spec": {"unschedulable": True}})
    upgrade_to(plane, "3")
    for _ in range(4):
        time.sleep(0.7)
        operator.stop(signal.SIGKILL)
        operator.start()
    wait(lambda: versions(plane) == ["3", "3", "3"] and all_are(plane, "upgrade-done"), "every node", 90)
    assert [is_cordoned(plane, name) for name in NODES] == [False, False, True]
    plane.patch("/api/v1/nodes/c", {"spec": {"unschedulable": None}})


def test_a_pod_that_does_not_end_holds_no_node_for_ever(plane, operator):
    new_workload(plane, "stuck", "a")
    stuck = "/api/v1/namespaces/users/pods/stuck"
    plane.patch(stuck, {"metadata": {"finalizers": ["example.com/keep"]}})
    plane.call("DELETE", stuck)
    upgrade_to(plane, "3.1")
    wait(lambda: state_of(node(plane, "a")) == "upgrade-failed", "it is given up", 60)
    wait(lambda: "users/stuck, which is being deleted" in reasons(plane).get("a", ""), "the status says why")
    plane.patch(stuck, {"metadata": {"finalizers": None}})
    plane.patch("/api/v1/nodes/a", {"metadata": {"labels": {STATE: None}}})
    wait(lambda: versions(plane) == ["3.1"] * 3 and all_are(plane, "upgrade-done"), "every node", 60)
    assert not any(is_cordoned(plane, name) for name in NODES)


def test_a_policy_that_cant_be_read_is_told_and_nothing_moves(plane, operator):
    failed = operator.metric("gpu_operator_reconciliation_failed_total")
    plane.patch(f"{POLICIES}/cluster-policy", {"spec": {"driver": {"upgradePolicy": {"maxUnavailable": "some"}}}})
    wait(lambda: any(e["reason"] == "ReconcileFailed" and "maxUnavailable" in e["message"]
                     for e in plane.get("/api/v1/events")["items"]), "the mistake is told")
    assert operator.metric("gpu_operator_reconciliation_status") == 0
    assert operator.metric("gpu_operator_reconciliation_failed_total") > failed
    assert all_are(plane, "upgrade-done")
    plane.patch(f"{POLICIES}/cluster-policy", {"spec": {"driver": {"upgradePolicy": {"maxUnavailable": 2}}}})


def test_switched_off_in_the_middle_nothing_is_left(plane, operator):
    plane.kubelets.broken = "4"
    upgrade_to(plane, "4")
    wait(lambda: "4" in versions(plane) and is_cordoned(plane, "a"), "the first node waits for its driver", 60)
    wait(lambda: "a" in reasons(plane), "the status shows it")
    plane.patch(f"{POLICIES}/cluster-policy", {"spec": {"driver": {"upgradePolicy": {"autoUpgrade": False}}}})
    wait(lambda: all_are(plane, None), "no labels")
    for name in NODES:
        wait(lambda: "driver-upgrade" not in str(node(plane, name)["metadata"].get("annotations")), "no annotations")
        assert not is_cordoned(plane, name)
    wait(lambda: "driverUpgrades" not in status(plane), "no status")
    assert operator.metric("gpu_operator_driver_auto_upgrade_enabled") == 0
