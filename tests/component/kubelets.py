# SPDX-License-Identifier: Apache-2.0
"""The kubelets and the scheduler of a control plane without nodes: pods of DaemonSets are bound, every pod is said to
be ready, and what is deleted ends. A node gets no second driver while the pod of the first is there. A second thread
sees what becomes of Nodes.
"""

import threading
import time

from control_plane import Refused

STATE = "nvidia.com/gpu-driver-upgrade-state"
RESTING = (None, "upgrade-done", "upgrade-required")


def state_of(node):
    return node["metadata"]["labels"].get(STATE)


def version_of(pod):
    """Of the driver that the pod brings, if it does."""
    image = pod["spec"]["containers"][0]["image"]
    return image.removeprefix("registry.local/driver:").split("-")[0] if "/driver:" in image else None


def is_driver(pod):
    return pod["metadata"].get("labels", {}).get("app.kubernetes.io/component") == "nvidia-driver"


def node_of(pod):
    """Where it is, or the one that it is made for."""
    if "nodeName" in pod["spec"]:
        return pod["spec"]["nodeName"]
    terms = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return terms["nodeSelectorTerms"][0]["matchFields"][0]["values"][0]


def add_node(plane, name, system=("ubuntu", "22.04"), **labels):
    """A Node with a GPU, which is Ready."""
    feature = "feature.node.kubernetes.io/"
    plane.call("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": {
        "kubernetes.io/os": "linux", f"{feature}pci-10de.present": "true",
        f"{feature}system-os_release.ID": system[0], f"{feature}system-os_release.VERSION_ID": system[1],
        f"{feature}system-os_release.VERSION_ID.major": system[1].split(".")[0]} | labels}})
    plane.patch(f"/api/v1/nodes/{name}/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    # Those that nodes get before they are Ready, and no controller here takes away.
    plane.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": None}})


class Kubelets:
    """Those of all nodes. `broken` is the driver's version that does not start."""

    def __init__(self, plane):
        self.plane, self.broken, self.ended, self.error = plane, None, threading.Event(), None
        self.changed = time.monotonic()  # when a Node was, last
        self.nodes, self.pods = {}, {}  # as they were seen last, by name and by uid
        self.most = 0  # nodes in an upgrade at once
        self.most_away = 0  # nodes that were cordoned or in an upgrade at once
        self.uncordoned = set()  # nodes that were seen to take pods
        self.threads = [threading.Thread(target=self.run, args=("/api/v1/pods", self.play)),
                        threading.Thread(target=self.run, args=("/api/v1/nodes", self.look))]
        for thread in self.threads:
            thread.start()

    def run(self, path, each):
        try:
            for kind, item in self.plane.watch(path, self.ended):
                each(kind, item)
        except Exception as error:  # told by close()
            self.error = error
            raise

    def look(self, kind, node):
        self.changed = time.monotonic()
        if kind == "DELETED":
            self.nodes.pop(node["metadata"]["name"], None)
            return
        self.nodes[node["metadata"]["name"]] = node
        going = {name for name, seen in self.nodes.items() if state_of(seen) not in RESTING}
        cordoned = {name for name, seen in self.nodes.items() if seen["spec"].get("unschedulable")}
        self.most = max(self.most, len(going))
        self.most_away = max(self.most_away, len(going | cordoned))
        if not node["spec"].get("unschedulable"):
            self.uncordoned.add(node["metadata"]["name"])

    def play(self, kind, pod):
        meta = pod["metadata"]
        if kind == "DELETED":
            self.pods.pop(meta["uid"], None)
            for waiting in [p for p in self.pods.values() if "nodeName" not in p["spec"] and node_of(p) == node_of(pod)]:
                self.play("ADDED", waiting)
            return
        self.pods[meta["uid"]] = pod
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        try:
            if "deletionTimestamp" in meta:
                self.plane.call("DELETE", path, {"gracePeriodSeconds": 0})
            elif "nodeName" not in pod["spec"]:
                node = node_of(pod)
                if not is_driver(pod) or not self.has_driver(node):
                    self.plane.call("POST", f"{path}/binding", {"metadata": {"name": meta["name"]},
                                                                "target": {"kind": "Node", "name": node}})
                    pod["spec"]["nodeName"] = node  # until it is seen
            elif "phase" not in pod["status"] or pod["status"]["phase"] == "Pending":
                self.start(path, pod)
        except Refused:  # somebody else was faster
            pass

    def has_driver(self, node):
        return any(is_driver(pod) and pod["spec"].get("nodeName") == node for pod in self.pods.values())

    def start(self, path, pod):
        if self.broken is not None and version_of(pod) == self.broken:
            return
        self.plane.patch(f"{path}/status", {"status": {
            "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [
                {"name": c["name"], "ready": True, "restartCount": 0, "image": c["image"], "imageID": "",
                 "state": {"running": {}}} for c in pod["spec"]["containers"]]}})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended.set()
        for thread in self.threads:
            thread.join()
        assert self.error is None
