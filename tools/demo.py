"""The demo: a cluster, Gantry installed with Helm, a pod that gets its GPU.

usage: ./do demo [--gpus PROFILE.yaml] [--nodes N] [--keep]
Without more it makes a cluster on this machine, with fake GPUs of the profile (default: 8 x A100).
Given KUBECONFIG and IMAGE in the environment it uses that cluster, whose nodes must be able to
pull IMAGE, and real GPUs; kubectl and helm are then taken from PATH, else from the test bed.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

import progress

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMESPACE = "gpu-operator"
POD = "gpu-demo"
START = time.monotonic()


def say(text):
    print(f"[{time.monotonic() - START:6.1f} s] {text}", flush=True)


class Steps:
    """The demo's steps: each is named as it begins, with how many there are."""

    def __init__(self, total):
        self.begun, self.total = 0, total

    def begin(self, text):
        self.begun += 1
        say(f"step {self.begun} of {self.total}: {text}")


def run(*command, quiet=False, check=True, text=None, **options):
    done = subprocess.run(command, cwd=ROOT, text=True, input=text, check=False,
                          stdout=subprocess.PIPE, stderr=None if not quiet else subprocess.PIPE, **options)
    if check and done.returncode:
        sys.exit(f"demo: {' '.join(command)} ended with {done.returncode}\n{done.stdout}")
    return done.stdout


class Cluster:
    """kubectl and helm against the demo's cluster: the test bed's own, or the one that was given."""

    def __init__(self, given, bed):
        self.given, self.bed = given, bed

    def call(self, tool, *words, **options):
        if self.given:
            return run(tool, *words, **options)
        return run("./do", "bed", tool, *words, env=dict(os.environ, GANTRY_BED=self.bed), **options)

    def kubectl(self, *words, **options):
        return self.call("kubectl", *words, **options)

    def helm(self, *words, **options):
        return self.call("helm", *words, **options)


def until(what, probe, timeout):
    deadline = time.monotonic() + timeout
    with progress.shown(f"waiting for {what}"):
        while not (answer := probe()):
            if time.monotonic() > deadline:
                sys.exit(f"demo: waited {timeout} s for {what}")
            time.sleep(0.3)
    return answer


def gpus(cluster):
    nodes = json.loads(cluster.kubectl("get", "nodes", "-o", "json"))["items"]
    return sum(int(n["status"].get("allocatable", {}).get("nvidia.com/gpu", 0)) for n in nodes)


def make_cluster(arguments, steps):
    steps.begin("build the image of all operands")
    run("./do", "image")
    bed = f"demo-{os.getpid()}"
    steps.begin(f"start Kubernetes on this machine ({arguments.nodes} nodes, fake GPUs of {arguments.gpus}); "
                "the first start builds it")
    run("./do", "bed", "up", "--name", bed, "--nodes", str(arguments.nodes), "--gpus", arguments.gpus)
    run("./do", "bed", "load", "all", str(ROOT / "out" / "gantry.tar"), env=dict(os.environ, GANTRY_BED=bed))
    return bed


def show(cluster, pod_image, policy):
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": POD},
           "spec": {"restartPolicy": "Never", "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
                    "containers": [{"name": "cuda", "image": pod_image, "imagePullPolicy": policy,
                                    "command": ["sh", "-c", "nvidia-smi -L; nvidia-smi"],
                                    "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}
    cluster.kubectl("delete", "pod", POD, "--ignore-not-found", "--now", quiet=True)
    cluster.kubectl("apply", "-f", "-", text=json.dumps(pod))
    until("the GPU pod to succeed", lambda: cluster.kubectl(
        "get", "pod", POD, "-o", "jsonpath={.status.phase}") == "Succeeded", 180)
    print("\n$ kubectl logs " + POD + "      # a pod with limits: {nvidia.com/gpu: 1}")
    print(cluster.kubectl("logs", POD))
    print("$ kubectl get clusterpolicy,daemonsets -n " + NAMESPACE)
    print(cluster.kubectl("get", "clusterpolicy"))
    print(cluster.kubectl("get", "daemonsets", "-n", NAMESPACE))
    print("$ kubectl get nodes -L nvidia.com/gpu.product,nvidia.com/gpu.count")
    print(cluster.kubectl("get", "nodes", "-L", "nvidia.com/gpu.product,nvidia.com/gpu.count"))


def main():
    parser = argparse.ArgumentParser(prog="./do demo", description=__doc__.splitlines()[0])
    parser.add_argument("--gpus", default="testbed/fakegpu/profiles/8xa100-80.yaml", metavar="PROFILE.yaml")
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--keep", action="store_true", help="leave the cluster running")
    arguments = parser.parse_args()
    given = os.environ.get("KUBECONFIG") and os.environ.get("IMAGE")
    if bool(os.environ.get("IMAGE")) and not given:
        sys.exit("demo: IMAGE is set but KUBECONFIG is not: give both to use a cluster of yours")
    steps = Steps(2 if given else 4)
    bed = None if given else make_cluster(arguments, steps)
    cluster = Cluster(given, bed)
    image, pod_image, policy = "localhost/gantry:0.1.0", "localhost/test:1", "Never"
    if given:
        image, policy = os.environ["IMAGE"], "IfNotPresent"
        pod_image = os.environ.get("POD_IMAGE", "docker.io/library/debian:12-slim")
    name, _, version = image.rpartition(":")
    repository, _, image_name = name.rpartition("/")
    try:
        steps.begin("helm install gpu-operator deploy/chart")
        with progress.shown("helm waits for the operator"):
            cluster.helm("upgrade", "--install", "gpu-operator", "deploy/chart", "-n", NAMESPACE, "--create-namespace",
                         "--wait", "--timeout", "300s", "--set", "driver.enabled=false", "--set",
                         f"operator.repository={repository},operator.image={image_name},operator.version={version}")
        count = until("GPUs to be allocatable", lambda: gpus(cluster), 120)
        until("the ClusterPolicy to be ready", lambda: cluster.kubectl(
            "get", "clusterpolicy", "cluster-policy", "-o", "jsonpath={.status.state}") == "ready", 120)
        steps.begin(f"run a pod that asks for one of the {count} GPUs")
        show(cluster, pod_image, policy)
        say("done")
    finally:
        if bed and arguments.keep:
            print(f"the cluster stays: GANTRY_BED={bed} ./do bed kubectl get pods -A; ./do bed down --name {bed}")
        elif bed:
            run("./do", "bed", "down", "--name", bed)


main()
