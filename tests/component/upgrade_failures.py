# SPDX-License-Identifier: Apache-2.0
"""A failure is injected at each API call of a roll-out of drivers over 50 nodes with a budget of 5: the operator is
killed before or after the call, or is answered 409, 429 or 500 (whether the API server did it or not). Whatever
happens: never over budget, every node ends as done or failed with a reason, and nothing is left cordoned by us.

Too long for every test run: ./do failures. The operator of $GANTRY_BUILD runs beside a real API server and the
controllers of DaemonSets and disruption budgets. Each distinct call fails in each way once; with
GANTRY_UPGRADE_FAILURES=all every single call does.
"""

import collections
import json
import os
import re
import threading
import time
from urllib.parse import unquote

import pytest
from control_plane import ControlPlane, wait
from faulty_proxy import FAILURES, KILLS, FaultyProxy
from kubelets import STATE, Kubelets, add_node, state_of, version_of
from test_operator import POLICIES, SPACE, Operator, policy, status  # noqa: F401

BUDGET = 5
NODES = [f"n{number:02}" for number in range(50)]
ALL = os.environ.get("GANTRY_UPGRADE_FAILURES") == "all"
# One call of so many of a site fails in a roll-out, if every single call does: an operator that is killed at each of its
# first calls never comes to others.
SPARED = 25
IMAGE = {"repository": "registry.local", "image": "driver", "version": "1"}
STEP = "nvidia.com/gpu-operator.driver-upgrade-step"
USERS = "/api/v1/namespaces/users/pods"
BUDGETS = "/apis/policy/v1/namespaces/users/poddisruptionbudgets"
# What is special about some nodes.
CORDONED = "n11"  # by a user, before
PROTECTED = "n03"  # a disruption budget keeps its pod until somebody helps
SCRATCH = ("n05", "n25", "n45")  # a pod there would lose an emptyDir: it is left to the drain
JOBS = ("n07", "n27", "n47")
GPU_PODS = [name for name in NODES if name not in (*SCRATCH, CORDONED)][::2]
WRITES = ("evict", "delete the driver's pod", "write the driver's DaemonSet")
OFF = {"enabled": False}
OPERANDS = ("toolkit", "devicePlugin", "dcgm", "dcgmExporter", "gfd", "migManager", "nodeStatusExporter")


class Runs:
    """The operator's process, which the proxy may end at any call."""

    def __init__(self, plane, build, folder):  # noqa: F811
        self.plane, self.kills, self.lock = plane, 0, threading.Lock()
        self.proxy = FaultyProxy(plane, self.site_of, self.kill, 0 if ALL else 1)
        self.operator = None
        config = json.loads(plane.kubeconfig.read_text())
        config["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{self.proxy.port}"}
        (folder / "kubeconfig").write_text(json.dumps(config))
        plane_there, plane.kubeconfig = plane.kubeconfig, folder / "kubeconfig"
        try:
            self.operator = Operator(plane, build, folder)
        finally:
            plane.kubeconfig = plane_there

    def kill(self):
        with self.lock:
            self.kills += 1
            self.operator.process.kill()
            self.operator.process.wait()
            self.operator.start()

    def close(self):
        with self.lock:
            self.operator.process.kill()
            self.operator.process.wait()
        self.proxy.close()
        assert self.proxy.error is None

    def site_of(self, call):
        """What the call is for, if it is one of an upgrade's."""
        path, _, query = call.path.partition("?")
        query = unquote(query)
        how = "watch" if call.is_watch else {"GET": "list"}.get(call.verb, call.verb)
        if node := re.fullmatch(r"/api/v1/nodes/(\w+)", path):
            if call.verb == "GET":
                return "get node"
            to = call.body.get("metadata", {}).get("labels", {}).get(STATE)
            return f"patch node to {to}" if to else None
        if path == "/api/v1/nodes" and STATE in query:
            return "list nodes in progress"
        if path.endswith("/eviction"):
            return "evict"
        if call.verb == "DELETE" and "/pods/" in path:
            return "delete the driver's pod"
        if path.endswith("/pods"):
            which = next((word for word in ("spec.nodeName", "validator", "job") if word in query), "driver")
            return f"{how} pods by {which}"
        if path.endswith("/controllerrevisions"):
            return f"{how} revisions"
        if path.endswith("/events") or "/events/" in path:
            return "write event"
        if path.startswith(f"{POLICIES}/") and call.verb != "GET":
            return "write the policy's status"
        if "/daemonsets/nvidia-driver" in path and call.verb != "GET":
            return "write the driver's DaemonSet"
        return None


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    with ControlPlane(tmp_path_factory.mktemp("plane"), "daemonset-controller,disruption-controller",
                      "--kube-api-qps=1000", "--kube-api-burst=2000") as plane:
        plane.define_resources()
        for space in (SPACE, "users"):
            plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": space}})
        for name in NODES:
            add_node(plane, name)
        with Kubelets(plane) as plane.kubelets:
            yield plane


@pytest.fixture(scope="module")
def runs(plane, build, tmp_path_factory):  # noqa: F811
    emptying = {"timeoutSeconds": 12}
    plane.call("POST", POLICIES, policy("cluster-policy", **{name: OFF for name in OPERANDS}, driver=IMAGE | {
        "manager": IMAGE | {"image": "manager"},
        "upgradePolicy": {"autoUpgrade": True, "maxParallelUpgrades": BUDGET, "maxUnavailable": BUDGET,
                          "podDeletion": emptying, "waitForCompletion": {"podSelector": "job=yes"},
                          "drain": emptying | {"enable": True, "deleteEmptyDir": True}}}))
    runs = Runs(plane, build, tmp_path_factory.mktemp("operator"))
    try:
        wait(lambda: states(plane) == {"upgrade-done"}, "every node has its driver", 120)
        plane.patch(f"/api/v1/nodes/{CORDONED}", {"spec": {"unschedulable": True}})
        yield runs
    finally:
        runs.close()


def states(plane):
    nodes = plane.kubelets.nodes
    return {state_of(node) for node in nodes.values()} if len(nodes) == len(NODES) else set()


def cordoned(plane):
    return {name for name, node in plane.kubelets.nodes.items() if node["spec"].get("unschedulable")}


def new_pod(plane, name, node, volumes=(), **labels):
    limits = {} if "job" in labels else {"nvidia.com/gpu": "1"}
    plane.call("POST", USERS, {
        "metadata": {"name": name, "labels": {"app": name} | labels, "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "set", "uid": "0", "controller": True}]},
        "spec": {"nodeName": node, "volumes": list(volumes), "terminationGracePeriodSeconds": 0,
                 "containers": [{"name": "c", "image": "i", "resources": {"limits": limits}}]}})


def new_workloads(plane):
    for node in GPU_PODS:
        new_pod(plane, f"gpu-{node}", node)
    for node in SCRATCH:
        new_pod(plane, f"scratch-{node}", node, [{"name": "v", "emptyDir": {}}])
    for node in JOBS:
        new_pod(plane, f"job-{node}", node, job="yes")
    new_pod(plane, "protected", PROTECTED)
    plane.call("POST", BUDGETS, {"metadata": {"name": "keep"}, "spec": {
        "minAvailable": 1, "selector": {"matchLabels": {"app": "protected"}}}})
    wait(lambda: plane.get(f"{BUDGETS}/keep")["status"].get("currentHealthy") == 1, "the budget counts its pod")


def end_jobs(plane):
    """A job ends once its node waits for it."""
    for node in JOBS:
        if state_of(plane.kubelets.nodes[node]) == "wait-for-jobs-required":
            plane.patch(f"{USERS}/job-{node}/status", {"status": {"phase": "Succeeded"}})


def roll_out(plane, runs, version, choose):
    """Upgrades all nodes while calls fail as `choose` says, and checks what must hold. How long it took."""
    new_workloads(plane)
    runs.proxy.calls, runs.proxy.choose = {}, choose
    plane.kubelets.most = plane.kubelets.most_away = 0
    plane.kubelets.uncordoned = set()
    started = time.monotonic()
    plane.patch(f"{POLICIES}/cluster-policy", {"spec": {"driver": {"version": version}}})
    others = [name for name in NODES if name != PROTECTED]

    def over():
        end_jobs(plane)
        nodes = plane.kubelets.nodes
        assert runs.operator.process.poll() in (None, -9), "the operator ended by itself"
        return (drivers(plane, version) >= set(others) and state_of(nodes[PROTECTED]) == "upgrade-failed"
                and all(state_of(nodes[name]) == "upgrade-done" for name in others))

    while not over():
        assert time.monotonic() - plane.kubelets.changed < 120, {n: state_of(node) for n, node in
                                                                 plane.kubelets.nodes.items()}
        time.sleep(0.1)
    took = time.monotonic() - started
    # Failed, for a reason, and so in the status; nobody else is.
    step = plane.kubelets.nodes[PROTECTED]["metadata"]["annotations"][STEP]
    assert re.fullmatch(r"upgrade-failed \d+ not empty after 12 s: .*users/protected.*", step), step
    shown = wait(lambda: [n for n in status(plane)["driverUpgrades"].get("nodes", []) if n["state"] == "upgrade-failed"
                          and "users/protected" in n["reason"]], "the status says why")
    assert [n["name"] for n in shown] == [PROTECTED]
    assert cordoned(plane) == {CORDONED, PROTECTED}
    # Somebody helps. No other node's changes wake the operator now, and each call of it meets a conflict once.
    met = set()
    runs.proxy.choose = lambda site, ordinal: None if site in met or met.add(site) else "409"
    plane.call("DELETE", f"{BUDGETS}/keep")
    plane.patch(f"/api/v1/nodes/{PROTECTED}", {"metadata": {"labels": {STATE: None}}})
    wait(lambda: drivers(plane, version) == set(NODES) and states(plane) == {"upgrade-done"}, "the last one", 60)
    wait(lambda: "nodes" not in status(plane)["driverUpgrades"], "the status says that all is done")
    assert cordoned(plane) == {CORDONED} and CORDONED not in plane.kubelets.uncordoned
    assert "delete the driver's pod" in met
    for node in plane.kubelets.nodes.values():
        left = [key for key in node["metadata"]["annotations"] if "gpu-operator.driver-upgrade" in key
                or "initial-state" in key or "start-time" in key]
        assert not left, node["metadata"]["name"]
    assert plane.kubelets.most <= BUDGET and plane.kubelets.most_away <= BUDGET
    for pod in plane.get(USERS)["items"]:
        plane.call("DELETE", f"{USERS}/{pod['metadata']['name']}", {"gracePeriodSeconds": 0})
    return took


def drivers(plane, version):
    """Nodes whose driver is of that version."""
    pods = plane.kubelets.pods.values()
    return {pod["spec"].get("nodeName") for pod in pods if version_of(pod) == version}


def test_no_failure_leaves_the_budget_or_a_cordon_behind(plane, runs):
    took = roll_out(plane, runs, "2", lambda site, ordinal: None)
    counted = dict(runs.proxy.calls)
    print(f"\nwithout a failure: {took:.1f} s, {sum(counted.values())} calls")
    assert len(counted) > 20, counted
    # A kill where nothing is written is one at any time, of which there are enough; and what is called once is
    # carried out once.
    pending = {(site, failure) for site in counted for failure in FAILURES if ALL or (
        (failure not in KILLS or site in WRITES or site.startswith("patch node"))
        and (failure != "500 after" or counted[site] > 1))}
    done = collections.Counter()

    def each_once(site, ordinal):
        """Calls that are made often fail now and then; those that are made seldom, at every try."""
        if counted.get(site, 0) >= 20 and ordinal % 3 != 0:
            return None
        failure = next((f for f in FAILURES if (site, f) in pending), None)
        if failure is not None:
            pending.remove((site, failure))
            done[site, failure] += 1
        return failure

    def every_call(failure, first):
        """Over as many roll-outs as calls lie between two failures, each call fails in that way."""
        def choose(site, ordinal):
            if ordinal % SPARED != first:
                return None
            pending.discard((site, failure))
            done[site, failure] += 1
            return failure
        return choose

    turns = [every_call(failure, first) for failure in FAILURES for first in range(SPARED)] if ALL else [each_once] * 2
    for version, choose in enumerate(turns, 3):
        if pending or ALL:
            took = roll_out(plane, runs, str(version), choose)
            print(f"{sum(done.values())} failures, {runs.kills} kills by now: {took:.1f} s")
    for site in sorted(counted):
        print(f"{site}: {counted[site]} calls, {sum(done[site, f] for f in FAILURES)} failures")
    assert not pending
