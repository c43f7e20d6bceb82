# SPDX-License-Identifier: Apache-2.0
"""`ready` never stands for longer than a second after the API server showed what contradicts it. Real API
server and DaemonSet controller; the test plays the kubelets. In each round they stand still while pods, nodes
and operands come and go at random; then they go on, and `ready` must not be said before all of it is.

Rounds: $GANTRY_INTERLEAVINGS (default 10); the first round's seed: $GANTRY_SEED (default 1).
"""

import contextlib
import json
import os
import random
import threading
import time

from control_plane import Refused, wait
from test_operator import NODE_FEATURES, POLICIES, SETS, SPACE, new_node, operator, plane  # noqa: F401

PODS = f"/api/v1/namespaces/{SPACE}/pods"
ROUNDS = int(os.environ.get("GANTRY_INTERLEAVINGS", "10"))
SEED = int(os.environ.get("GANTRY_SEED", "1"))
MAY_STAND = 1.0


def is_ready(pod) -> bool:
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod.get("status", {}).get("conditions", []))


class Kubelets:
    """All nodes': a pod that is there becomes ready, and a node with a device plugin offers its GPUs."""

    def __init__(self, plane):
        self.plane, self.stands, self.ended = plane, threading.Lock(), threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.ended.wait(0.03):
            # What was listed may be gone or changed by now.
            with self.stands, contextlib.suppress(Refused):
                for pod in self.plane.get(PODS)["items"]:
                    if not is_ready(pod):
                        self.set_ready(pod["metadata"]["name"], "True")
                for node in self.plane.get("/api/v1/nodes")["items"]:
                    if "nvidia.com/gpu" not in node["status"].get("capacity", {}):
                        self.offer(node["metadata"]["name"], "8")

    def set_ready(self, pod, status):
        self.plane.patch(f"{PODS}/{pod}/status", {"status": {
            "phase": "Running", "conditions": [{"type": "Ready", "status": status, "lastTransitionTime": time.strftime(
                "%Y-%m-%dT%H:%M:%SZ", time.gmtime())}]}})

    def offer(self, node, gpus):
        self.plane.patch(f"/api/v1/nodes/{node}/status", {"status": {
            "capacity": {"nvidia.com/gpu": gpus}, "allocatable": {"nvidia.com/gpu": gpus},
            "conditions": [{"type": "Ready", "status": "True"}]}})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()


class Cluster:
    def __init__(self, plane, seed):
        self.plane, self.dice, self.made = plane, random.Random(seed), 0

    def any(self, path):
        return self.dice.choice(self.plane.get(path)["items"])["metadata"]["name"]

    def any_ready_pod(self):
        """None of a roll-out that may be taken back."""
        return self.dice.choice([pod["metadata"]["name"] for pod in self.plane.get(PODS)["items"] if is_ready(pod)])

    def any_operand(self):
        """One that has pods."""
        return self.dice.choice([each["metadata"]["name"] for each in self.plane.get(SETS)["items"]
                                 if each.get("status", {}).get("desiredNumberScheduled")])

    def join(self):
        self.made += 1
        name = f"joined{self.made}"
        new_node(self.plane, name)
        self.open(name)

    def open(self, name):
        """Takes the taint not-ready away that a node has from its first moment."""
        self.plane.patch(f"/api/v1/nodes/{name}/status",
                         {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
        self.plane.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": None}})

    # What may happen, each of which contradicts `ready` until the kubelets go on.

    def a_pod_fails(self, kubelets):
        kubelets.set_ready(self.any_ready_pod(), "False")

    def a_pod_goes(self, _kubelets):
        self.plane.call("DELETE", f"{PODS}/{self.any_ready_pod()}?gracePeriodSeconds=0")

    def a_node_joins(self, _kubelets):
        self.join()

    def a_node_offers_nothing(self, kubelets):
        kubelets.offer(self.any("/api/v1/nodes"), None)

    def an_operand_goes(self, _kubelets):
        self.plane.call("DELETE", f"{SETS}/{self.any_operand()}")

    def the_policy_changes(self, _kubelets):
        self.plane.patch(f"{POLICIES}/cluster-policy", {"spec": {"daemonsets": {"annotations": {
            "round": str(self.dice.random())}}}})

    def a_node_is_found_broken(self, _kubelets):
        node = self.any("/api/v1/nodes")
        self.plane.patch(f"{NODE_FEATURES}/{node}", {"spec": {"labels": {"nvidia.com/gpu.validation": "broken"}}})

    CONTRADICTIONS = [a_pod_fails, a_pod_goes, a_node_joins, a_node_offers_nothing, an_operand_goes,
                      the_policy_changes, a_node_is_found_broken]

    # What may happen besides, and is right again soon or at once.

    def an_operand_is_edited(self):
        self.plane.patch(f"{SETS}/{self.any_operand()}", {"spec": {"template": {"metadata": {"annotations": {
            "by-hand": str(self.dice.random())}}}}})

    def a_node_leaves(self):
        nodes = self.plane.get("/api/v1/nodes")["items"]
        if len(nodes) > 2:
            name = self.dice.choice(nodes)["metadata"]["name"]
            self.plane.call("DELETE", f"/api/v1/nodes/{name}")
            for pod in self.plane.get(PODS)["items"]:  # as the garbage collector of pods does
                if f'"{name}"' in json.dumps(pod["spec"]["affinity"]):
                    self.plane.call("DELETE", f"{PODS}/{pod['metadata']['name']}?gracePeriodSeconds=0")

    DISTURBANCES = [an_operand_is_edited, a_node_leaves]

    def mend(self):
        for feature in self.plane.get(NODE_FEATURES)["items"]:
            if feature["spec"]["labels"].get("nvidia.com/gpu.validation") == "broken":
                self.plane.patch(f"{NODE_FEATURES}/{feature['metadata']['name']}",
                                 {"spec": {"labels": {"nvidia.com/gpu.validation": "ready"}}})


def state(plane) -> str:
    return plane.get(f"{POLICIES}/cluster-policy").get("status", {}).get("state", "")


def unready(plane) -> list[str]:
    """Pods of operands that are there."""
    there = {each["metadata"]["uid"] for each in plane.get(SETS)["items"]}
    return [pod["metadata"]["name"] for pod in plane.get(PODS)["items"]
            if not is_ready(pod) and pod["metadata"]["ownerReferences"][0]["uid"] in there]


def wait_ready(plane, told):
    try:
        # A DaemonSet that is made again while its controller still waits for pods of the one before, which it knows
        # by the same name, gets none until that wait is given up, after five minutes, and the operator asks it to look again.
        wait(lambda: state(plane) == "ready", "ready", 400)
    except AssertionError as late:
        said = [plane.get(f"{POLICIES}/cluster-policy")["status"]["conditions"]]
        said += [(each["metadata"]["name"], each["status"]) for each in plane.get(SETS)["items"]]
        said += [f"{pod['metadata']['name']} is not ready" for pod in plane.get(PODS)["items"] if not is_ready(pod)]
        raise AssertionError(f"{told}: {said}") from late


def test_ready_is_never_said_of_what_is_not(plane, operator):  # noqa: F811
    cluster, longest = Cluster(plane, SEED), 0.0
    with Kubelets(plane) as kubelets:
        for name in ("node1", "node2"):
            cluster.open(name)
        cluster.join()
        wait_ready(plane, "at first")
        for turn in range(ROUNDS):
            longest = max(longest, play(cluster, kubelets, SEED + turn))
    print(f"{ROUNDS} rounds: ready stood for {longest:.2f} s at most")


def play(cluster, kubelets, seed) -> float:
    """One round; for how many seconds `ready` stood though it was not so."""
    plane, dice = cluster.plane, cluster.dice
    dice.seed(seed)
    before = dice.sample(Cluster.DISTURBANCES, dice.randint(0, 1))
    chosen = dice.sample(Cluster.CONTRADICTIONS, dice.randint(1, 3))
    told = f"seed {seed}: {', '.join(each.__name__ for each in before + chosen)}"
    with kubelets.stands:
        for each in before:
            each(cluster)
        chosen[0](cluster, kubelets)
        shown = time.monotonic()
        for each in chosen[1:]:
            time.sleep(dice.random() * 0.3)
            # What it would have changed may be gone, or just be made anew.
            with contextlib.suppress(Refused, IndexError):
                each(cluster, kubelets)
        while state(plane) == "ready":
            assert time.monotonic() - shown < MAY_STAND, f"{told}: still ready"
            time.sleep(0.01)
        stood = time.monotonic() - shown
        # Nor does it come back while nothing is mended.
        while time.monotonic() - shown < stood + 0.5:
            assert state(plane) != "ready", f"{told}: {unready(plane)}"
            time.sleep(0.01)
    cluster.mend()
    wait_ready(plane, told)
    # The kubelets only mend: what is not ready now was not ready when it was said.
    assert not unready(plane), told
    return stood
