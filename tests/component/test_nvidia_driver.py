# SPDX-License-Identifier: Apache-2.0
"""NVIDIADrivers beside a real API server and the controllers of DaemonSets and garbage: whose nodes are whose, what is
made for them, what is said of conflicts, and how drivers come to new owners. No kubelet runs (kubelets.py plays them).
The tests follow one another, as those of NVIDIA's end-to-end script do.
"""

import pytest
from control_plane import ControlPlane, Refused, wait
from kubelets import STATE, Kubelets, add_node
from test_operator import POLICIES, SETS, SPACE, Operator, policy, settled  # noqa: F401

DRIVERS = "/apis/nvidia.com/v1alpha1/nvidiadrivers"
PODS = f"/api/v1/namespaces/{SPACE}/pods?labelSelector=app.kubernetes.io/component=nvidia-driver"
OWNER = "nvidia.com/gpu-operator.driver.owner"
IMAGE = {"repository": "registry.local", "image": "driver", "version": "1",
         "manager": {"repository": "registry.local", "image": "manager", "version": "1"}}
SYSTEMS = {"a": ("ubuntu", "22.04"), "b": ("ubuntu", "22.04"), "c": ("rocky", "9.4")}


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    with ControlPlane(tmp_path_factory.mktemp("plane"),
                      "daemonset-controller,garbage-collector-controller,disruption-controller") as plane:
        plane.define_resources()
        wait(lambda: plane.serves(DRIVERS), "NVIDIADrivers are served")
        plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": SPACE}})
        for name, system in SYSTEMS.items():
            add_node(plane, name, system, pool=name)
        with Kubelets(plane) as plane.kubelets:
            yield plane


@pytest.fixture(scope="module")
def operator(plane, build, tmp_path_factory):  # noqa: F811
    plane.call("POST", POLICIES, policy("cluster-policy", driver={"useNvidiaDriverCRD": True}))
    new_driver(plane, "default", default=True)
    with Operator(plane, build, tmp_path_factory.mktemp("operator")) as operator:
        yield operator


def new_driver(plane, name, **spec):
    return plane.call("POST", DRIVERS, {"apiVersion": "nvidia.com/v1alpha1", "kind": "NVIDIADriver",
                                        "metadata": {"name": name}, "spec": IMAGE | spec})


def change(plane, name, **spec):
    plane.patch(f"{DRIVERS}/{name}", {"spec": spec})


def owners(plane):
    return {node["metadata"]["name"]: node["metadata"]["labels"].get(OWNER)
            for node in plane.get("/api/v1/nodes")["items"]}


def all_owned_by(plane, name):
    return set(owners(plane).values()) == {name}


def sets_of(plane, name):
    return [s for s in plane.get(SETS)["items"]
            if any(o["name"] == name and o["kind"] == "NVIDIADriver" for o in s["metadata"]["ownerReferences"])]


def told(plane, name):
    """State, and the reason and message of the condition that carries them."""
    said = plane.get(f"{DRIVERS}/{name}").get("status", {})
    for condition in said.get("conditions", []):
        if condition["type"] in ("Ready", "Error") and condition["status"] == "True":
            return said["state"], condition["reason"], condition["message"]
    return said.get("state"), None, ""


def is_ready(plane, name):
    return told(plane, name)[:2] == ("ready", "Reconciled")


def upgraded(plane):
    return all(node["metadata"]["labels"].get(STATE) == "upgrade-done" for node in plane.get("/api/v1/nodes")["items"])


def images(plane):
    return sorted(pod["spec"]["containers"][0]["image"] for pod in plane.get(PODS)["items"])


@pytest.mark.parametrize(("spec", "named"), [
    ({"default": True, "nodeSelector": {"a": "b"}}, "default NVIDIADriver must not use nodeSelector"),
    ({"driverType": "cpu"}, "spec.driverType"),
    ({"kernelModuleType": "closed"}, "spec.kernelModuleType"),
    ({"verison": "1"}, "spec.verison"),
])
def test_a_wrong_driver_is_refused_by_name(plane, spec, named):
    with pytest.raises(Refused, match=named):
        plane.call("POST", f"{DRIVERS}?dryRun=All&fieldValidation=Strict", {
            "apiVersion": "nvidia.com/v1alpha1", "kind": "NVIDIADriver", "metadata": {"name": "wrong"}, "spec": spec})


def test_what_says_which_driver_it_is_cannot_be_changed(plane):
    new_driver(plane, "fixed", usePrecompiled=False, nodeSelector={"no": "node"})
    for field, value in (("driverType", "vgpu"), ("usePrecompiled", True)):
        with pytest.raises(Refused, match=f"spec.{field}"):
            change(plane, "fixed", **{field: value})
    plane.call("DELETE", f"{DRIVERS}/fixed")


def test_n2_the_default_one_gets_all_nodes_one_daemon_set_a_system(plane, operator):
    wait(lambda: is_ready(plane, "default"), "the driver is ready", 60)
    assert all_owned_by(plane, "default")
    made = {s["metadata"]["labels"]["nvidia.com/node.os-version"]: s for s in sets_of(plane, "default")}
    assert set(made) == {"ubuntu22.04", "rocky9"}
    for system, daemon_set in made.items():
        assert daemon_set["metadata"]["name"].startswith(f"nvidia-gpu-driver-{system}-")
        assert daemon_set["spec"]["template"]["spec"]["nodeSelector"][OWNER] == "default"
        assert plane.get(f"/api/v1/namespaces/{SPACE}/serviceaccounts/nvidia-gpu-driver-default-{system}")
    assert images(plane) == ["registry.local/driver:1-rocky9"] + ["registry.local/driver:1-ubuntu22.04"] * 2
    assert plane.get(f"{SETS}/nvidia-driver-daemonset") is None
    # One write a node for the label and all others.
    writes = [w for w in plane.writes("gpu-operator") if w == "patch nodes/a"]
    assert len(writes) <= 3, writes
    count = settled(plane)
    assert settled(plane) == count


def test_n3_another_default(plane, operator):
    change(plane, "default", default=False, nodeSelector={"no": "node"})
    new_driver(plane, "e2e-default-driver", default=True)
    wait(lambda: all_owned_by(plane, "e2e-default-driver"), "the new default has all nodes")
    plane.call("DELETE", f"{DRIVERS}/default")
    wait(lambda: len(sets_of(plane, "e2e-default-driver")) == 2 and not sets_of(plane, "default"), "its DaemonSets")
    wait(lambda: is_ready(plane, "e2e-default-driver"), "it is ready", 60)


def test_n4_a_driver_without_selector_takes_over(plane, operator):
    new_driver(plane, "e2e-driver")
    wait(lambda: all_owned_by(plane, "e2e-driver"), "it has all nodes")
    wait(lambda: is_ready(plane, "e2e-driver") and is_ready(plane, "e2e-default-driver"), "both are ready", 60)
    assert len(sets_of(plane, "e2e-driver")) == 2 and not sets_of(plane, "e2e-default-driver")


def test_n5_n6_what_is_changed_comes_to_the_nodes_by_upgrades(plane, operator):
    wait(lambda: upgraded(plane), "every node is done", 60)
    change(plane, "e2e-driver", version="2", labels={"team": "ml", "app": "mine"})
    wait(lambda: images(plane) == ["registry.local/driver:2-rocky9"] + ["registry.local/driver:2-ubuntu22.04"] * 2
         and upgraded(plane), "every node has the new driver", 90)
    for daemon_set in sets_of(plane, "e2e-driver"):
        labels = daemon_set["spec"]["template"]["metadata"]["labels"]
        assert labels["team"] == "ml" and labels["app"] == daemon_set["metadata"]["name"]
    wait(lambda: is_ready(plane, "e2e-driver"), "it is ready")


def test_n7_a_conflict_leaves_the_nodes_where_they_are(plane, operator):
    change(plane, "e2e-default-driver", default=False)
    for name in ("e2e-driver", "e2e-default-driver"):
        state, reason, message = wait(lambda: (t := told(plane, name))[0] == "notReady" and t, "the conflict is told")
        assert reason == "ConflictingNodeSelector"
        assert "multiple NVIDIADrivers match the same node a: [e2e-default-driver e2e-driver]" in message
    assert all_owned_by(plane, "e2e-driver") and len(sets_of(plane, "e2e-driver")) == 2
    change(plane, "e2e-default-driver", default=True)
    wait(lambda: is_ready(plane, "e2e-driver") and is_ready(plane, "e2e-default-driver"), "both are well again")
    assert all_owned_by(plane, "e2e-driver")


def test_n8_two_defaults(plane, operator):
    told_before = plane.writes("gpu-operator").count("patch nvidiadrivers/e2e-driver")
    new_driver(plane, "second", default=True)
    for name in ("second", "e2e-default-driver"):
        state, reason, message = wait(lambda: (t := told(plane, name))[0] == "notReady" and t, "it is told")
        assert reason == "ReconcileFailed"
        assert "multiple default NVIDIADrivers found: [e2e-default-driver second]" in message
    assert all_owned_by(plane, "e2e-driver") and is_ready(plane, "e2e-driver")
    plane.call("DELETE", f"{DRIVERS}/second")
    wait(lambda: is_ready(plane, "e2e-default-driver"), "the one that is left is ready")
    assert plane.writes("gpu-operator").count("patch nvidiadrivers/e2e-driver") == told_before, "it was none of its"


def test_a_selector_takes_its_nodes_by_any_label(plane, operator):
    change(plane, "e2e-driver", nodeSelector={"pool": "a"})
    wait(lambda: owners(plane) == {"a": "e2e-driver", "b": "e2e-default-driver", "c": "e2e-default-driver"},
         "the default one has the others")
    wait(lambda: is_ready(plane, "e2e-driver") and is_ready(plane, "e2e-default-driver"), "both are ready", 60)
    assert len(sets_of(plane, "e2e-driver")) == 1 and len(sets_of(plane, "e2e-default-driver")) == 2
    plane.patch("/api/v1/nodes/b", {"metadata": {"labels": {"pool": "a"}}})
    wait(lambda: owners(plane)["b"] == "e2e-driver", "a label moves a node")
    change(plane, "e2e-driver", nodeSelector={"pool": "a", OWNER: "x"})
    wait(lambda: told(plane, "e2e-driver")[1] == "ConflictingNodeSelector", "the operator's own label is refused")
    assert owners(plane)["a"] == "e2e-driver" and len(sets_of(plane, "e2e-driver")) == 1
    change(plane, "e2e-driver", nodeSelector={"pool": "a", OWNER: None})
    wait(lambda: is_ready(plane, "e2e-driver"), "it is well again", 60)


def test_drivers_go_back_to_the_policy_and_no_pod_ends_for_it(plane, operator):
    before = {pod["metadata"]["uid"] for pod in plane.get(PODS)["items"]}
    plane.patch(f"{POLICIES}/cluster-policy", {"spec": {"driver": IMAGE | {"useNvidiaDriverCRD": False}}})
    for name in ("e2e-driver", "e2e-default-driver"):
        wait(lambda: told(plane, name)[0] == "disabled", "it says that it is off")
        assert told(plane, name)[1] == "Reconciled"
        wait(lambda: not sets_of(plane, name), "its DaemonSets go")
    wait(lambda: all_owned_by(plane, None), "no node has an owner")
    wait(lambda: plane.get(f"{SETS}/nvidia-driver-daemonset"), "the policy's DaemonSet")
    assert before <= {pod["metadata"]["uid"] for pod in plane.get(PODS)["items"]}
    # Upgrades exchange them, one node after another.
    plane.patch(f"{POLICIES}/cluster-policy", {"spec": {"driver": {"upgradePolicy": {"autoUpgrade": True}}}})
    wait(lambda: before.isdisjoint(pod["metadata"]["uid"] for pod in plane.get(PODS)["items"]) and upgraded(plane),
         "every node has the policy's driver", 90)
    held = {pod["metadata"]["uid"] for pod in plane.get(PODS)["items"]}
    plane.patch(f"{POLICIES}/cluster-policy", {"spec": {"driver": {
        "useNvidiaDriverCRD": True, "upgradePolicy": {"autoUpgrade": False}}}})
    for name in ("e2e-driver", "e2e-default-driver"):
        change(plane, name, upgradePolicy={"autoUpgrade": False})
    wait(lambda: plane.get(f"{SETS}/nvidia-driver-daemonset") is None, "the policy's DaemonSet goes")
    assert held <= {pod["metadata"]["uid"] for pod in plane.get(PODS)["items"]}
    wait(lambda: told(plane, "e2e-driver")[1] == "DriverNotReady", "the old pods keep the new ones off")
    change(plane, "e2e-driver", upgradePolicy={"autoUpgrade": True})
    change(plane, "e2e-default-driver", upgradePolicy={"autoUpgrade": True})
    wait(lambda: is_ready(plane, "e2e-driver") and is_ready(plane, "e2e-default-driver") and upgraded(plane),
         "every node has its driver again", 120)
    assert held.isdisjoint(pod["metadata"]["uid"] for pod in plane.get(PODS)["items"])


def test_uninstalling_takes_drivers_too(plane, operator):
    operator.stop()
    done = operator.uninstall("--timeout", "60")
    assert done.returncode == 0, done.stderr
    assert plane.get(DRIVERS)["items"], "nobody's chart made them"
    assert all_owned_by(plane, None)
