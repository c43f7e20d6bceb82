"""What the operator costs on thousands of nodes that kwok plays: memory, CPU seconds, requests, delays.

The operator runs in a pod of a real node; requests and delays are read from the API server's audit
log, so that nothing is asked of the API server while it is measured.
"""

import datetime
import json
import os
import pathlib
import random
import subprocess
import time

from bed import CHART, NAMESPACE, Bed, wait_for

FEATURE = "feature.node.kubernetes.io/pci-10de.present"
PRESENT = "nvidia.com/gpu.present"
AGENT = "(gpu-operator)"  # how its User-Agent ends
WRITES = ("create", "update", "patch", "delete")
START_SPAN = 170  # seconds after its start in which the operator's CPU time counts
NEW_NODES = 100
# Node features, toolkit, validator, device plugin, GPU feature discovery, node status exporter, DCGM's exporter. The last
# is NVIDIA's image, which the real node is kept from.
OPERANDS = 7
VALUES = ("driver.enabled=false", "nodeStatusExporter.enabled=true", "dcgmExporter.repository=nvcr.io/nvidia/k8s",
          "dcgmExporter.image=dcgm-exporter", "dcgmExporter.version=latest")
TICKS = os.sysconf("SC_CLK_TCK")


class AuditLog:
    """The operator's requests in the order of their completion, from now on."""

    def __init__(self, bed):
        beds = pathlib.Path(os.environ.get("GANTRY_BED_DIR", "/tmp/gantry-beds"))
        self.path = beds / bed.name / "control-plane" / "audit.log"
        self.skip()

    def skip(self):
        self.offset = self.path.stat().st_size

    def events(self):
        with open(self.path, "rb") as log:
            log.seek(self.offset)
            lines = log.read().splitlines()
        for line in lines:
            try:
                event = json.loads(line)
            except ValueError:  # the last line is being written
                continue
            if event["stage"] == "ResponseComplete":
                yield event

    def of_operator(self):
        return [e for e in self.events() if e.get("userAgent", "").endswith(AGENT)]


def seconds(event):
    return datetime.datetime.fromisoformat(event["stageTimestamp"].replace("Z", "+00:00")).timestamp()


def target(event):
    where = event.get("objectRef") or {}
    return where.get("resource"), where.get("name")


def is_node_patch(event):
    return event["verb"] == "patch" and target(event)[0] == "nodes"


def is_upkeep(event):
    return event["verb"] == "watch" or target(event)[0] == "leases"


class Operator:
    """The operator's process, as the kernel counts it."""

    def __init__(self, bed, node):
        self.bed, self.node = bed, node
        self.pid = wait_for("the operator's process", self._find, 90)

    def _find(self):
        return self.bed.exec(self.node, "pgrep", "-of", "^([^ ]*/)?gpu-operator( |$)", check=False).strip()

    def cpu_seconds(self):
        fields = self.bed.exec(self.node, "cat", f"/proc/{self.pid}/stat").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def peak_mb(self):
        status = self.bed.exec(self.node, "cat", f"/proc/{self.pid}/status")
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6

    def kill(self):
        self.bed.exec(self.node, "kill", "-9", self.pid)
        old = self.pid
        self.pid = wait_for("the operator's next process", lambda: (p := self._find()) != old and p, 90)


def unlabelled(bed):
    listed = bed.core.list_node(label_selector=f"{FEATURE}=true,!{PRESENT}", limit=1)
    return len(listed.items)


def pods_running(bed):
    sets = bed.apps.list_namespaced_daemon_set(NAMESPACE).items
    return sum(s.status.number_available or 0 for s in sets)


def measure(nodes, gpus, config_maps, program, image, figure, note):
    """One cluster of so many nodes with the GPUs of a profile; figures are named scale<nodes>_*."""
    name = f"scale{nodes}"
    note(f"starting a cluster of {nodes} kwok nodes")
    bed = Bed(f"bench-{os.getpid()}-{nodes}", nodes=1, gpus=gpus, arguments=("--kwok", str(nodes)))
    try:
        [real] = [n for n in bed.nodes() if not n.startswith("kwok")]
        bed.do("load", real, str(image))
        for number in range(config_maps):
            bed.core.create_namespaced_config_map("default", {"metadata": {"name": f"foreign-{number}"}, "data": {"a": "b"}})
        bare = float(subprocess.run([str(program), bed.kubeconfig, "type=kwok", f"{FEATURE}=true"], text=True,
                                    capture_output=True, check=True).stdout)
        note(f"{nodes} bare patches took {bare:.1f} s")
        audit = AuditLog(bed)
        bed.kubectl("label", "node", real, "nvidia.com/gpu.deploy.dcgm-exporter=false")
        bed.helm("install", "gpu-operator", str(CHART), "-n", NAMESPACE, "--create-namespace", "--set",
                 ",".join((*VALUES, f"operator.nodeSelector.kubernetes\\.io/hostname={real}")))
        operator = Operator(bed, real)
        started = time.monotonic()
        note("the operator runs")
        wait_for("all nodes to be labelled", lambda: not unlabelled(bed), 600, every=2)
        chosen = random.Random(1).sample(range(1, nodes + 1), 20)
        for number in chosen:
            bed.core.patch_node(f"kwok{number}", {"metadata": {"labels": {PRESENT: None}}})
        wait_for("labels taken away by hand to come back", lambda: not unlabelled(bed), 60, every=1)
        time.sleep(max(0.0, started + START_SPAN - time.monotonic()))
        ours = audit.of_operator()
        figure(f"{name}_cpu", operator.cpu_seconds(), "s")
        figure(f"{name}_requests", len(ours), "requests")
        patches = [e for e in ours if is_node_patch(e)]
        figure(f"{name}_node_writes", len(patches), "patches")
        first = {}
        for event in patches:
            first.setdefault(target(event)[1], seconds(event))
        # The real node has no GPU before its own worker has said so.
        done = max(when for node, when in first.items() if node != real)
        figure(f"{name}_labelled", (done - seconds(ours[0])) / bare, "ratio")
        note(f"waiting for {OPERANDS * nodes} pods to run")
        wait_for("all operands to run", lambda: pods_running(bed) >= OPERANDS * nodes, 3600, every=5)
        figure(f"{name}_pods", pods_running(bed), "pods")
        figure(f"{name}_rss", operator.peak_mb(), "MB")
        steady(bed, audit, name, figure, note)
        new_nodes(bed, audit, name, figure, note)
        restart(bed, audit, operator, name, figure, note)
    finally:
        bed.down()


def steady(bed, audit, name, figure, note):
    wait_for("the policy to be ready", bed.policy_ready, 300, every=2)
    time.sleep(30)
    audit.skip()
    note("300 s in which nothing changes")
    time.sleep(300)
    asked = [e for e in audit.of_operator() if not is_upkeep(e)]
    figure(f"{name}_steady_requests", len(asked), "requests")


def new_nodes(bed, audit, name, figure, note):
    note(f"{NEW_NODES} nodes join")
    audit.skip()
    resources = {"cpu": "32", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": "8"}
    names = [f"kwok-new-{number}" for number in range(NEW_NODES)]
    for node in names:
        bed.core.create_node({
            "metadata": {"name": node, "annotations": {"kwok.x-k8s.io/node": "fake"},
                         "labels": {"kubernetes.io/os": "linux", "type": "kwok", FEATURE: "true"}},
            "status": {"capacity": resources, "allocatable": resources}})
        time.sleep(0.1)
    wait_for("the new nodes to be labelled", lambda: not unlabelled(bed), 60)
    time.sleep(2)
    labelled = {}
    for event in audit.of_operator():
        if is_node_patch(event):
            labelled.setdefault(target(event)[1], seconds(event))
    # A create request has no name in the log; nodes were created in the order of their names.
    starts = sorted(seconds(e) for e in audit.events() if e["verb"] == "create" and target(e)[0] == "nodes")
    delays = sorted(labelled[node] - start for node, start in zip(names, starts, strict=True))
    figure(f"{name}_new_node_labelled_p99", delays[int(0.99 * len(delays)) - 1], "s")


def restart(bed, audit, operator, name, figure, note):
    note("the operator is killed and starts again")
    wait_for("the policy to be ready", bed.policy_ready, 300, every=2)
    time.sleep(30)
    audit.skip()
    operator.kill()
    time.sleep(45)
    writes = [e for e in audit.of_operator() if e["verb"] in WRITES and not is_upkeep(e)]
    figure(f"{name}_restart_writes", len(writes), "writes")
    figure(f"{name}_restart_rss", operator.peak_mb(), "MB")
