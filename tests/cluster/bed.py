"""The test bed as stories use it: a thin layer over `./do bed`, the Kubernetes client and Helm."""

import json
import os
import pathlib
import re
import subprocess
import threading
import time

import kubernetes
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
IMAGE = ROOT / "out" / "gantry.tar"
REFERENCE = "localhost/gantry:0.1.0"
NAMESPACE = "gpu-operator"
TEST_IMAGE = "localhost/test:1"
CHART = ROOT / "deploy" / "chart"


def wait_for(what, probe, timeout=60.0, every=0.2):
    """The first true answer of probe(); fails after timeout seconds, saying what was waited for."""
    deadline = time.monotonic() + timeout
    while True:
        answer = probe()
        if answer:
            return answer
        assert time.monotonic() < deadline, f"waited {timeout:.0f} s for {what}"
        time.sleep(every)


class Bed:
    """One test bed, brought up by this run and ended by it."""

    def __init__(self, name, nodes=2, gpus=None, arguments=()):
        self.name = name
        command = ["up", "--name", name, "--owner", str(os.getpid()), "--nodes", str(nodes)]
        if gpus:
            command += ["--gpus", str(gpus)]
        printed = self.do(*command, *arguments, timeout=1800)
        self.kubeconfig = re.search(r"^KUBECONFIG=(.*)$", printed, re.MULTILINE).group(1)
        self.api = kubernetes.config.new_client_from_config(self.kubeconfig)
        self.core = kubernetes.client.CoreV1Api(self.api)
        self.apps = kubernetes.client.AppsV1Api(self.api)
        self.batch = kubernetes.client.BatchV1Api(self.api)
        self.custom = kubernetes.client.CustomObjectsApi(self.api)
        self.extensions = kubernetes.client.ApiextensionsV1Api(self.api)

    def run(self, *words, timeout=300, text=None):
        return subprocess.run(["./do", "bed", *words], cwd=ROOT, text=True, capture_output=True, input=text,
                              timeout=timeout, env=dict(os.environ, GANTRY_BED=self.name), check=False)

    def start(self, *words):
        """A command that runs beside; its output is read later."""
        return subprocess.Popen(["./do", "bed", *words], cwd=ROOT, text=True, stdout=subprocess.PIPE,
                                env=dict(os.environ, GANTRY_BED=self.name))

    def do(self, *words, timeout=300, check=True, text=None):
        """What a command printed; it must succeed unless check is False."""
        done = self.run(*words, timeout=timeout, text=text)
        assert not check or done.returncode == 0, f"./do bed {' '.join(words)}:\n{done.stdout}{done.stderr}"
        return done.stdout

    def refused(self, *words, text=None):
        """What a command that must fail said."""
        done = self.run(*words, text=text)
        assert done.returncode != 0, f"./do bed {' '.join(words)} was not refused:\n{done.stdout}"
        return done.stderr

    def kubectl(self, *words, text=None, check=True):
        return self.do("kubectl", *words, text=text, check=check)

    def apply(self, *documents):
        return self.kubectl("apply", "-f", "-", text=yaml.safe_dump_all(documents))

    def helm(self, *words, timeout=300, check=True):
        return self.do("helm", *words, timeout=timeout, check=check)

    def exec(self, node, *command, check=True):
        return self.do("exec", node, *command, check=check)

    def copy(self, node, source, target):
        """Puts a file of this machine, executable, into a node."""
        done = subprocess.run(["./do", "bed", "exec", node, "sh", "-c", f"cat > {target} && chmod 755 {target}"],
                              cwd=ROOT, stdin=open(source, "rb"), capture_output=True, timeout=60, check=False,
                              env=dict(os.environ, GANTRY_BED=self.name))
        assert done.returncode == 0, done.stderr

    def gpu(self, node, *words):
        return self.do("gpu", node, *words)

    def gpus(self, node):
        """What the fake machine of a node holds, as its control tool tells it."""
        return json.loads(self.gpu(node, "show", "--json"))["gpus"]

    def nodes(self):
        return {n.metadata.name: n for n in self.core.list_node().items}

    def late_node(self):
        """A node that joins now, tainted from its first moment; its name."""
        known = set(self.nodes())
        self.do("add-node", "--taint", "nvidia.com/gpu=present:NoSchedule", "--load", str(IMAGE), timeout=120)
        return wait_for("the new node", lambda: next(iter(set(self.nodes()) - known), None))

    def allocatable(self, node, resource="nvidia.com/gpu"):
        return int((self.core.read_node(node).status.allocatable or {}).get(resource, "0"))

    def labels(self, node):
        return self.core.read_node(node).metadata.labels

    def pods(self, app=None, namespace=NAMESPACE, node=None):
        selector = {"label_selector": f"app={app}"} if app else {}
        items = self.core.list_namespaced_pod(namespace, **selector).items
        return [p for p in items if node is None or p.spec.node_name == node]

    def running_pod(self, app, namespace="default"):
        """The one pod of an app, once it runs and no other is there that does not end; else None."""
        going_on = [p for p in self.pods(app, namespace) if not p.metadata.deletion_timestamp]
        return going_on[0] if len(going_on) == 1 and going_on[0].status.phase == "Running" else None

    def keep_operator_off(self, node):
        """The operator runs on another node than this."""
        running = wait_for("the operator", lambda: self.running_pod("gpu-operator", NAMESPACE), 120)
        if running.spec.node_name == node:
            self.kubectl("cordon", node)
            self.kubectl("delete", "pod", running.metadata.name, "-n", NAMESPACE)
            wait_for("another operator", lambda: self.running_pod("gpu-operator", NAMESPACE), 120)
            self.kubectl("uncordon", node)

    def policy(self):
        return self.custom.get_cluster_custom_object("nvidia.com", "v1", "clusterpolicies", "cluster-policy")

    def policy_ready(self):
        try:
            status = self.policy().get("status", {})
        except kubernetes.client.ApiException:
            return False
        return status.get("state") == "ready"

    def patch_policy(self, spec):
        self.custom.patch_cluster_custom_object("nvidia.com", "v1", "clusterpolicies", "cluster-policy",
                                                {"spec": spec})

    def install(self, *arguments):
        self.helm("install", "gpu-operator", str(CHART), "-n", NAMESPACE, "--create-namespace", "--wait",
                  "--timeout", "180s", "--set", "driver.enabled=false", *arguments)

    def pod_resources(self, node):
        """device ids of nvidia.com/* by pod name, as the kubelet's pod-resources socket tells them."""
        holders = {}
        for line in self.exec(node, "/usr/local/bin/node_probe", "list").splitlines():
            _, pod, _, resource, device = line.split()
            if resource.startswith("nvidia.com/"):
                holders.setdefault(pod, []).append(device)
        return {pod: sorted(devices) for pod, devices in holders.items()}

    def allocatable_ids(self, node):
        """device ids that the kubelet lists as allocatable at its pod-resources socket."""
        listed = self.exec(node, "/usr/local/bin/node_probe", "allocatable").splitlines()
        return sorted(d for resource, d in (line.split() for line in listed) if resource.startswith("nvidia.com/"))

    def gpu_pod(self, name, count=1, command="sleep 3600", node=None, resource="nvidia.com/gpu", **spec):
        """A pod that asks for GPUs; its manifest, to be applied."""
        body = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
                "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
                "containers": [{"name": "main", "image": TEST_IMAGE, "imagePullPolicy": "Never",
                                "command": ["sh", "-c", command],
                                "resources": {"limits": {resource: count}}}]}
        if node:
            body["nodeSelector"] = {"kubernetes.io/hostname": node}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
                "spec": {**body, **spec}}

    def gpu_set(self, name, count, node):
        """A ReplicaSet of one such pod, which may be evicted; its manifest."""
        pod = self.gpu_pod(name, count, node=node)["spec"] | {"restartPolicy": "Always"}
        return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name, "namespace": "default"},
                "spec": {"selector": {"matchLabels": {"app": name}},
                         "template": {"metadata": {"labels": {"app": name}}, "spec": pod}}}

    def phase(self, name, namespace="default"):
        return self.core.read_namespaced_pod(name, namespace).status.phase

    def wait_phase(self, name, phase, timeout=60):
        wait_for(f"pod {name} to be {phase}", lambda: self.phase(name) == phase, timeout)

    def in_pod(self, name, *command):
        return self.kubectl("exec", name, "--", *command)

    def delete_pods(self, *names):
        self.kubectl("delete", "pod", "--now", "--ignore-not-found", *names)
        wait_for(f"pods {names} to be gone",
                 lambda: not {p.metadata.name for p in self.core.list_namespaced_pod("default").items} & set(names))

    def down(self):
        self.do("down")

    def end(self):
        """Takes it down, unless somebody wants to look at it."""
        if os.environ.get("GANTRY_KEEP_BED"):
            print(f"kept: GANTRY_BED={self.name} ./do bed kubectl get nodes")
        else:
            self.down()


class NodeWatch:
    """Everything that is seen of Nodes while it runs: which labels and allocatable went away."""

    def __init__(self, bed, keys=("nvidia.com/", "feature.node.kubernetes.io/")):
        self.bed, self.keys = bed, keys
        self.lost, self._last, self._stop = [], {}, False
        self._watch = kubernetes.watch.Watch()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        listed = self.bed.core.list_node()
        for node in listed.items:
            self.see(node)
        self._version = listed.metadata.resource_version
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop = True
        self._watch.stop()
        # The watch ends with the next event or its time-out.
        self._thread.join(timeout=12)

    def _run(self):
        while not self._stop:
            try:
                for event in self._watch.stream(self.bed.core.list_node, resource_version=self._version,
                                                timeout_seconds=5):
                    self._version = event["object"].metadata.resource_version
                    self.see(event["object"])
            except (kubernetes.client.ApiException, OSError, kubernetes.client.exceptions.ApiException):
                time.sleep(0.1)
            except Exception as error:  # a restarted API server cuts the stream in many ways
                self.error = error
                time.sleep(0.1)

    def see(self, node):
        name = node.metadata.name
        labels = {k: v for k, v in (node.metadata.labels or {}).items() if k.startswith(self.keys)}
        gpus = int((node.status.allocatable or {}).get("nvidia.com/gpu", "0"))
        if name in self._last:
            before_labels, before_gpus = self._last[name]
            self.lost += [f"{name}: label {k}" for k in before_labels if k not in labels]
            if gpus < before_gpus:
                self.lost.append(f"{name}: allocatable {before_gpus} -> {gpus}")
        self._last[name] = (labels, gpus)


class UpgradeWatch(NodeWatch):
    """The steps of their drivers' upgrades that nodes are seen in, in their order, and how many take no pods at once."""

    LABEL = "nvidia.com/gpu-driver-upgrade-state"
    ALL = ["upgrade-done", "upgrade-required", "cordon-required", "wait-for-jobs-required", "pod-deletion-required",
           "pod-restart-required", "validation-required", "uncordon-required", "upgrade-done"]

    def __init__(self, bed):
        super().__init__(bed)
        self.steps, self.most_cordoned, self._cordoned = {}, 0, set()

    def see(self, node):
        name, step = node.metadata.name, node.metadata.labels[self.LABEL]
        steps = self.steps.setdefault(name, [])
        if steps[-1:] != [step]:
            steps.append(step)
        (self._cordoned.add if node.spec.unschedulable else self._cordoned.discard)(name)
        self.most_cordoned = max(self.most_cordoned, len(self._cordoned))

    def done(self, node):
        """Whether that node's driver was upgraded."""
        return len(self.steps[node]) > 1 and self.steps[node][-1] == "upgrade-done"
