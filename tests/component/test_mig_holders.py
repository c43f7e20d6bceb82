# SPDX-License-Identifier: Apache-2.0
"""What happens to pods and processes that hold GPUs whose MIG layout is to change: the operator and nvidia-mig-manager
beside a real API server, the controller of disruption budgets, and a kubelet's list of pods. No kubelet ends pods: the
test plays it. The build is $GANTRY_BUILD (default build/release).
"""

import json
import os
import signal
import subprocess
import time

import pytest
from control_plane import ControlPlane
from mig_machine import gpus, wait
from test_mig_manager import H100, Node
from test_operator import POLICIES, SPACE, Operator, policy

PODS = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
RULE = "nvidia.com/gpu-operator.mig-gpu-holders"
STEP = "nvidia.com/gpu-operator.mig-holders-step"
BEFORE, WANTED = ("3g.40gb", "3g.40gb"), ("7g.80gb",)


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    with ControlPlane(tmp_path_factory.mktemp("plane"), "disruption-controller") as plane:
        plane.define_resources()
        plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": SPACE}})
        plane.call("POST", POLICIES, policy("cluster-policy", driver={"enabled": False}))
        yield plane


@pytest.fixture(scope="module")
def operator(plane, build, tmp_path_factory):
    with Operator(plane, build, tmp_path_factory.mktemp("operator")) as operator:
        yield operator


class HeldNode(Node):
    """A node whose GPU is divided in two, and a pod named `train` that can hold one half."""

    def __init__(self, plane, *rest):
        super().__init__(plane, *rest)
        self.plane, self.path = plane, f"/api/v1/nodes/{self.name}"
        self.seen = []  # the states of its layout, as they follow one another
        plane.patch(self.path, {"metadata": {"labels": {
            "kubernetes.io/os": "linux", "feature.node.kubernetes.io/pci-10de.present": "true",
            "nvidia.com/mig.capable": "true"}}})
        plane.patch(f"{self.path}/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
        plane.patch(self.path, {"spec": {"taints": None}})

    def divide(self):
        self.start()
        wait(lambda: self.state() == "success", "the default layout")
        self.ask("all-3g.40gb")
        wait(lambda: self.is_divided(*BEFORE) and self.state() == "success", "the first layout")
        self.half = self.device_at(4)

    def node(self):
        return self.plane.get(self.path)

    def state(self):
        state = self.node()["metadata"]["labels"].get("nvidia.com/mig.config.state", "")
        if self.seen[-1:] != [state]:
            self.seen.append(state)
        return state

    def step(self):
        return json.loads(self.node()["metadata"].get("annotations", {}).get(STEP, "{}"))

    def says(self) -> str:
        """The condition's reason and message; empty: it has none."""
        return next((f"{c['reason']}: {c['message']}" for c in self.node()["status"]["conditions"]
                     if c["type"] == "MIGChangeHeld"), "")

    def withdrawn(self) -> list:
        """Whether each GPU that containers do not get is closed by all programs."""
        path = self.machine.status / ".gpu-owners.json"
        return [one["exclusive"] for one in json.loads(path.read_text())["gpus"].values()] if path.exists() else []

    def new_pod(self, name="train", controller="ReplicaSet"):
        """One that holds the half."""
        owners = [{"apiVersion": "apps/v1", "kind": controller, "name": "set", "uid": "0", "controller": True}]
        pod = self.plane.call("POST", PODS, {
            "metadata": {"name": name, "labels": {"app": self.name}, "ownerReferences": owners if controller else []},
            "spec": {"nodeName": self.name, "tolerations": [{"operator": "Exists"}],
                     "containers": [{"name": "c", "image": "i"}]}})
        self.plane.patch(f"{PODS}/{name}/status", {"status": {
            "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}})
        self.pods((name, self.half[0]))
        return pod["metadata"]["uid"]

    def pod(self, name="train"):
        return self.plane.get(f"{PODS}/{name}")

    def is_ending(self, name="train"):
        return "deletionTimestamp" in self.pod(name)["metadata"]

    def end_pod(self, name="train"):
        self.plane.call("DELETE", f"{PODS}/{name}", {"gracePeriodSeconds": 0})
        self.pods()

    def close(self):
        super().close()
        for pod in self.plane.get(f"{PODS}?fieldSelector=spec.nodeName={self.name}")["items"]:
            self.plane.call("DELETE", f"{PODS}/{pod['metadata']['name']}", {"gracePeriodSeconds": 0})
        self.plane.call("DELETE", self.path)


@pytest.fixture
def here(plane, operator, build, tmp_path, request):
    node = HeldNode(plane, build, tmp_path / "node", f"held-{abs(hash(request.node.nodeid)) % 10**8}", gpus(H100))
    try:
        node.divide()
        yield node
    finally:
        node.close()
    plane.patch(f"{POLICIES}/cluster-policy", {"spec": {"migManager": None}})


def holders(plane, **spec):
    """What the policy says of holders, once the operator has read it."""
    mig_manager(plane, gpuHolders=spec)


def mig_manager(plane, **spec):
    path = f"{POLICIES}/cluster-policy"
    made = plane.patch(path, {"spec": {"migManager": spec}})["metadata"]["generation"]
    wait(lambda: made in [c["observedGeneration"] for c in plane.get(path).get("status", {}).get("conditions", [])],
         "the operator has read the policy")


def refused(plane, **spec) -> str:
    try:
        holders(plane, **spec)
    except Exception as error:  # noqa: BLE001 as the API server words it
        return str(error)
    return ""


def gantry(here, word) -> str:
    return subprocess.run([here.build / "bin/gantry", word], env=os.environ | {"KUBECONFIG": str(here.plane.kubeconfig)},
                          text=True, capture_output=True, timeout=60, check=False).stdout


def gives_up(here) -> str:
    """What it says when it does."""
    wait(lambda: here.state() == "failed", "the deadline")
    return wait(lambda: (said := here.says()).startswith("GivenUp: ") and said, "the condition")


def is_as_before(here):
    return here.is_divided(*BEFORE) and here.withdrawn() == [] and not here.machine.journal.exists()


def is_over(here):
    """The change is made, and nothing says any more that it was held up."""
    return here.state() == "success" and here.is_divided(*WANTED) and not here.says() and not here.step()


def test_by_default_it_fails_at_once_and_is_made_when_the_last_has_ended(here, plane):
    here.new_pod()
    here.reaches("all-7g.80gb", "failed")
    said = wait(here.says, "the condition")
    assert said.startswith("InUse: all-7g.80gb: in use since ") and "pod default/train" in said
    assert "the layout changes when the last of them has ended" in said
    assert is_as_before(here) and not here.is_ending()
    assert "MigChangeFailed" in (found := gantry(here, "doctor")) and "pod default/train" in found
    assert "MIG changes" in (shown := gantry(here, "status")) and "pod default/train" in shown
    here.end_pod()
    wait(lambda: is_over(here), "the layout")


def test_a_wait_ends_in_the_layout_without_a_failure_between(here, plane):
    holders(plane, action="wait", timeoutSeconds=60)
    here.new_pod()
    here.seen.clear()
    here.reaches("all-7g.80gb", "pending")
    said = wait(here.says, "the condition")
    assert said.startswith("Waiting: ") and "the change waits for them, and the change is given up at " in said
    # No pod may take the place of one that ends, and programs that watch the GPU go on.
    wait(lambda: here.withdrawn() == [False], "the GPU to be withdrawn")
    assert "MigChangeWaits" in gantry(here, "doctor")
    assert here.state() == "pending" and not here.is_ending() and here.is_divided(*BEFORE)
    here.end_pod()
    wait(lambda: is_over(here), "the layout")
    assert "failed" not in here.seen, here.seen
    assert here.event("MigConfigHeld")


def test_a_wait_is_given_up_at_its_deadline(here, plane):
    holders(plane, action="wait", timeoutSeconds=3)
    here.new_pod()
    began = time.monotonic()
    here.reaches("all-7g.80gb", "pending")
    assert "after 3 s; the layout changes when the last of them has ended" in gives_up(here)
    assert time.monotonic() - began > 2
    wait(lambda: is_as_before(here), "the GPU to be offered again")
    assert not here.is_ending() and "pod default/train" in wait(lambda: here.event("MigConfigGivenUp"), "the event")
    time.sleep(3)
    assert here.state() == "failed" and is_as_before(here)
    here.end_pod()
    wait(lambda: is_over(here), "the layout")


def test_pods_are_evicted(here, plane):
    holders(plane, action="evict", timeoutSeconds=60)
    here.new_pod()
    here.seen.clear()
    here.ask("all-7g.80gb")
    wait(here.is_ending, "the eviction")
    assert here.withdrawn() == [False], "else the next pod would get it"
    assert not here.node()["spec"].get("unschedulable"), "no cordon is needed"
    assert "the first is default/train" in wait(lambda: here.event("MigConfigRemovesPods"), "the event")
    here.end_pod()
    wait(lambda: is_over(here), "the layout")
    assert "failed" not in here.seen, here.seen


def new_budget(here):
    here.plane.call("POST", BUDGETS, {"metadata": {"name": here.name}, "spec": {
        "minAvailable": 1, "selector": {"matchLabels": {"app": here.name}}}})
    wait(lambda: here.plane.get(f"{BUDGETS}/{here.name}").get("status", {}).get("currentHealthy") == 1,
         "the budget counts its pod")


def test_pods_are_deleted_whatever_their_budget_says(here, plane):
    holders(plane, action="delete", timeoutSeconds=60)
    here.new_pod()
    new_budget(here)
    here.ask("all-7g.80gb")
    wait(here.is_ending, "the deletion")
    here.end_pod()
    wait(lambda: is_over(here), "the layout")


@pytest.mark.parametrize("what, says, ends", [
    ("budget", "disruption budget", False),
    ("does not end", "pod default/train, which is being deleted", True),
    ("bare", "pod default/train has no controller to make it anew, and gpuHolders.force is not set", False),
    ("DaemonSet", "pod default/train is of DaemonSet set, which would make it anew", False)])
def test_an_eviction_that_cannot_be_ends_at_its_deadline_with_the_pods_name(here, plane, what, says, ends):
    holders(plane, action="evict", timeoutSeconds=3)
    here.new_pod(controller={"bare": "", "DaemonSet": "DaemonSet"}.get(what, "ReplicaSet"))
    if what == "budget":
        new_budget(here)
    here.reaches("all-7g.80gb", "pending")
    said = gives_up(here)
    assert says in said and "default/train" in said and "given up at" in said, said
    wait(lambda: is_as_before(here), "the GPU to be offered again")
    assert here.is_ending() == ends
    assert here.plane.get(here.path)["metadata"]["labels"]["nvidia.com/mig.config"] == "all-7g.80gb"


def test_op2833_a_client_that_does_not_end_leaves_nothing_paused(here, plane):
    """Upstream: every operand stays paused, the state pending, the node without GPUs, and nothing tries again."""
    holders(plane, action="evict", timeoutSeconds=3)
    here.new_pod()
    here.ask("all-7g.80gb")
    wait(here.is_ending, "the eviction")
    gives_up(here)
    wait(lambda: is_as_before(here), "the GPU to be offered again")
    labels = here.node()["metadata"]["labels"]
    assert not [key for key, value in labels.items() if "paused" in value], labels
    here.end_pod()
    wait(lambda: is_over(here), "the layout")


def test_op2509_a_wait_without_a_limit_says_who_and_since_when(here, plane):
    """Upstream: nodes wait for weeks, and nothing says for what."""
    holders(plane, action="wait", timeoutSeconds=0)
    here.new_pod()
    here.reaches("all-7g.80gb", "pending")
    said = wait(here.says, "the condition")
    assert "in use since 20" in said and "by pod default/train; the change waits for them, without a time limit" in said
    assert "without a time limit" in gantry(here, "status")


def test_a_bare_pod_is_evicted_if_forced(here, plane):
    holders(plane, action="evict", force=True)
    here.new_pod(controller="")
    here.ask("all-7g.80gb")
    wait(here.is_ending, "the eviction")
    here.end_pod()
    wait(lambda: is_over(here), "the layout")


def test_a_process_outside_of_pods_is_named_and_lives(here, plane):
    holders(plane, action="delete", timeoutSeconds=3)
    with subprocess.Popen(["sleep", "60"]) as process:
        with here.machine.gpu() as gpu:
            here.machine.control.set_processes(gpu, [f"{process.pid}=512:compute:sleep:{here.half[1]}/0"])
        here.reaches("all-7g.80gb", "pending")
        assert f"process {process.pid} (sleep) outside of pods, which is never ended" in gives_up(here)
        assert process.poll() is None
        with here.machine.gpu() as gpu:
            here.machine.control.set_processes(gpu, [])
        process.kill()
    wait(lambda: is_over(here), "the layout")


def test_a_nodes_annotation_counts_before_the_policy(here, plane):
    plane.patch(here.path, {"metadata": {"annotations": {RULE: '{"action": "evict", "timeoutSeconds": 60}'}}})
    here.new_pod()
    here.ask("all-7g.80gb")
    wait(here.is_ending, "the eviction")
    here.end_pod()
    wait(lambda: is_over(here), "the layout")


def test_a_wrong_annotation_is_named_and_the_policy_counts(here, plane):
    plane.patch(here.path, {"metadata": {"annotations": {RULE: "drain"}}})
    mistake = f'annotation {RULE}.action: "drain" is none of fail, wait, evict, delete'
    assert mistake in wait(lambda: here.event("MigGpuHoldersInvalid"), "the event")
    here.new_pod()
    here.reaches("all-7g.80gb", "failed")
    wait(lambda: mistake in here.says(), "the condition")
    # A value that is right begins at once.
    plane.patch(here.path, {"metadata": {"annotations": {RULE: "evict"}}})
    wait(here.is_ending, "the eviction")
    assert here.state() == "pending"


def test_wrong_fields_are_refused_by_name(plane):
    assert "spec.migManager.gpuHolders.action" in refused(plane, action="drain")
    assert "spec.migManager.gpuHolders.timeoutSeconds" in refused(plane, timeoutSeconds=-1)
    assert "spec.migManager.gpuHolders.force" in refused(plane, force="yes")


def test_a_pod_that_is_made_anew_under_its_name_is_not_evicted(here, plane):
    holders(plane, action="evict", timeoutSeconds=60)
    here.new_pod()
    here.ask("all-7g.80gb")
    wait(here.is_ending, "the eviction")
    # The MIG manager's list has it still, as if the kubelet's were late.
    plane.call("DELETE", f"{PODS}/train", {"gracePeriodSeconds": 0})
    here.new_pod()
    time.sleep(7)
    assert not here.is_ending() and here.state() == "pending"
    here.end_pod()
    wait(lambda: is_over(here), "the layout")


def test_killed_while_it_waits_either_program_goes_on(here, plane, operator):
    holders(plane, action="wait", timeoutSeconds=60)
    here.new_pod()
    here.seen.clear()
    here.reaches("all-7g.80gb", "pending")
    wait(lambda: here.withdrawn() == [False], "the GPU to be withdrawn")
    since = here.step()["since"]
    here.end(signal.SIGKILL)
    operator.stop(signal.SIGKILL)
    time.sleep(1)
    operator.start()
    here.start()
    time.sleep(3)
    assert here.state() == "pending" and here.withdrawn() == [False] and here.step()["since"] == since
    here.end_pod()
    wait(lambda: is_over(here), "the layout", 40)
    assert "failed" not in here.seen, here.seen


def test_another_wish_while_it_waits(here, plane):
    holders(plane, action="evict", timeoutSeconds=60)
    here.new_pod(controller="")
    here.reaches("all-7g.80gb", "pending")
    wait(lambda: here.withdrawn() == [False], "the GPU to be withdrawn")
    # This one leaves the pod its half.
    here.reaches("all-balanced")
    wait(lambda: not here.says() and not here.step() and here.withdrawn() == [], "no trace of the first wish")
    here.ask("all-7g.80gb")
    wait(lambda: here.state() == "pending" and here.says(), "the first wish again")
    # Or else the operator writes the default label, which asks for another layout.
    mig_manager(plane, config={"default": ""})
    here.ask(None)
    wait(lambda: not here.says() and not here.step() and here.withdrawn() == [], "no trace without a wish")
    assert not here.is_ending()
