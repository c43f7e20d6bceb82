# SPDX-License-Identifier: Apache-2.0
"""doctor, status --watch and support-bundle beside a real API server: what they read of it, what they say when rights
are missing, and that no secret leaves the cluster. No node runs anything, so no kubelet has a log to give. The servers
are the test bed's, or those in $GANTRY_BED_BIN; ours is that of $GANTRY_BUILD (default build/release).
"""

import fcntl
import io
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import tarfile
import termios
import time

import pytest
from control_plane import ROOT, ControlPlane, wait
from faulty_proxy import FaultyProxy

SPACE = "gpu-operator"
POLICIES = "/apis/nvidia.com/v1/clusterpolicies"
SHORT_FORMS = "/apis/gpu.nvidia.com/v1/gpuclusterpolicies"
NODE = "/api/v1/nodes/node1"
PODS = f"/api/v1/namespaces/{SPACE}/pods"
SETS = f"/apis/apps/v1/namespaces/{SPACE}/daemonsets"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{SPACE}/deployments"
OPERATOR = {"app": "gpu-operator", "app.kubernetes.io/component": "gpu-operator"}
SECRETS = ("hunter2", "aHVudGVyMg==", "swordfish")


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    with ControlPlane(tmp_path_factory.mktemp("plane"), "garbage-collector-controller") as plane:
        plane.define_resources()
        fill(plane)
        yield plane


def fill(plane):
    """A cluster with one GPU node, on which all is well but for what a test changes."""
    plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": SPACE}})
    plane.call("POST", "/api/v1/nodes", {"metadata": {"name": "node1", "labels": {
        "nvidia.com/gpu.present": "true", "nvidia.com/gpu.product": "Tesla-T4", "nvidia.com/gpu.validation": "ready",
        "nvidia.com/cuda.driver-version.full": "535.1"}}})
    gpus(plane, 8)
    plane.call("POST", POLICIES, {
        "apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"},
        "spec": {"driver": {"licensingConfig": {"configMapName": "licence"}},
                 "devicePlugin": {"config": {"name": "slices", "default": "any"},
                                  "env": [{"name": "REGISTRY_PASSWORD", "value": "hunter2"}]}}})
    plane.patch(f"{POLICIES}/cluster-policy/status", {"status": {"state": "ready", "namespace": SPACE}})
    for name, key, text in (("slices", "any", "version: v1\n"),
                            ("licence", "client_configuration_token.tok", "swordfish")):
        plane.call("POST", f"/api/v1/namespaces/{SPACE}/configmaps", {"metadata": {"name": name}, "data": {key: text}})
    plane.call("POST", f"/api/v1/namespaces/{SPACE}/secrets", {
        "metadata": {"name": "licence"}, "data": {"key": "aHVudGVyMg=="}})
    deploy_operator(plane)
    daemon_set(plane, "nvidia-device-plugin-daemonset")
    plane.patch(f"{SETS}/nvidia-device-plugin-daemonset/status", {"status": {
        "desiredNumberScheduled": 1, "currentNumberScheduled": 1, "numberMisscheduled": 0, "numberReady": 1}})
    operand_pod(plane, "plugin-1", "nvidia-device-plugin-daemonset")
    container_status(plane, f"{PODS}/plugin-1", {"state": {"running": {}}, "ready": True})


def deploy_operator(plane):
    plane.call("POST", DEPLOYMENTS, {
        "metadata": {"name": "gpu-operator", "labels": OPERATOR},
        "spec": {"selector": {"matchLabels": OPERATOR}, "template": {
            "metadata": {"labels": OPERATOR}, "spec": {"containers": [{"name": "main", "image": "localhost/x:1"}]}}}})
    operator_pods(plane, 1)


def operator_pods(plane, count):
    counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), count)
    plane.patch(f"{DEPLOYMENTS}/gpu-operator/status", {"status": counts})


def gpus(plane, count):
    plane.patch(f"{NODE}/status", {"status": {
        "capacity": {"nvidia.com/gpu": "8"}, "allocatable": {"nvidia.com/gpu": str(count)},
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}]}})


def pod(plane, name, space="default", labels=None, owners=(), **spec):
    plane.call("POST", f"/api/v1/namespaces/{space}/pods", {
        "metadata": {"name": name, "labels": labels or {}, "ownerReferences": list(owners)},
        "spec": {"nodeName": "node1", "containers": [{
            "name": "main", "image": "localhost/x:1", "resources": {"limits": {"nvidia.com/gpu": 1}}
            if space == "default" else {}}], **spec}})


def operand_pod(plane, name, of, **spec):
    """A pod of a DaemonSet in the operator's namespace."""
    uid = plane.get(f"{SETS}/{of}")["metadata"]["uid"]
    pod(plane, name, SPACE, {"app": of}, owners=[
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": of, "uid": uid, "controller": True}], **spec)


def daemon_set(plane, name, manager="gpu-operator"):
    plane.call("POST", SETS, {
        "metadata": {"name": name, "labels": {"app.kubernetes.io/managed-by": manager}},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "main", "image": "localhost/gantry:1"}]}}}})


@pytest.fixture
def driver(plane):
    daemon_set(plane, "nvidia-driver-daemonset")
    operand_pod(plane, "driver-1", "nvidia-driver-daemonset")
    yield f"{PODS}/driver-1"
    remove(plane, f"{PODS}/driver-1")
    remove(plane, f"{SETS}/nvidia-driver-daemonset")


def container_status(plane, path, status, **more):
    plane.patch(f"{path}/status", {"status": {"phase": "Running", "containerStatuses": [{
        "name": "main", "image": "localhost/x:1", "imageID": "", "restartCount": 0, "ready": False,
        **status}], **more}})


def remove(plane, path):
    plane.call("DELETE", path, {"gracePeriodSeconds": 0})


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def event(plane, kind, name, reason, message, space="default", **more):
    plane.call("POST", f"/api/v1/namespaces/{space}/events", {
        "metadata": {"name": f"{name}.{reason}".lower()}, "type": "Warning", "reason": reason, "message": message,
        "involvedObject": {"kind": kind, "namespace": space, "name": name},
        "firstTimestamp": now(), "lastTimestamp": now(), "count": 1, **more})


@pytest.fixture(scope="module")
def stranger(plane):
    """A kubeconfig of somebody who may list nodes and policies and nothing else."""
    plane.call("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "stranger"}})
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    plane.call("POST", f"{rbac}/clusterroles", {"metadata": {"name": "stranger"}, "rules": [
        {"apiGroups": ["", "nvidia.com"], "resources": ["nodes", "clusterpolicies"], "verbs": ["list", "watch"]}]})
    plane.call("POST", f"{rbac}/clusterrolebindings", {
        "metadata": {"name": "stranger"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "stranger"},
        "subjects": [{"kind": "ServiceAccount", "name": "stranger", "namespace": "default"}]})
    token = plane.call("POST", "/api/v1/namespaces/default/serviceaccounts/stranger/token", {
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})["status"]["token"]
    config = json.loads(plane.kubeconfig.read_text())
    config["users"][0]["user"]["token"] = token
    path = plane.folder / "stranger"
    path.write_text(json.dumps(config))
    return path


def run(gantry, kubeconfig, *words, **options):
    return subprocess.run([gantry, words[0], "--kubeconfig", kubeconfig, *words[1:]], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60, check=False, **options)


def codes(gantry, kubeconfig):
    done = run(gantry, kubeconfig, "doctor", "--output=json")
    assert done.returncode in (0, 1, 2) and done.stdout, done.stderr
    return sorted(finding["code"] for finding in json.loads(done.stdout)["findings"])


# --- doctor -------------------------------------------------------------------------------------------------------

def test_every_code_is_in_the_page_of_codes():
    # Words of the API and of the kubelet that look like codes of ours.
    theirs = {"CrashLoopBackOff", "ContainerCreating", "ErrImageNeverPull", "ErrImagePull", "ImagePullBackOff",
              "InvalidImageName", "RegistryUnavailable", "SignatureValidationFailed", "StartError",
              "ContainerCannotRun", "PreferNoSchedule", "NFDLabelsMissing", "DaemonSet", "ClusterPolicy"}
    sources = "".join(path.read_text() for name in ("*findings.*", "node_[lns]*.cc", "driver_log.cc")
                      for path in sorted((ROOT / "src/doctor").glob(name)) if not path.stem.endswith("_test"))
    reasons = (ROOT / "src/policy/reasons.h").read_text()
    codes = set(re.findall(r'"((?:[A-Z]+[a-z]+){2,}[A-Z]*)"', sources + reasons)) - theirs
    codes |= set(re.findall(r'"(GPU\w+)"', reasons))
    assert set(re.findall(r"^\| `(\w+)`", (ROOT / "docs/doctor.md").read_text(), re.MULTILINE)) == codes


def test_a_healthy_cluster_has_no_findings(plane, gantry):
    done = run(gantry, plane.kubeconfig, "doctor")
    assert (done.returncode, done.stdout) == (0, b""), done.stderr


def test_what_events_point_at_is_looked_at_again(plane, gantry):
    path = "/api/v1/namespaces/default/pods/unstarted"
    pod(plane, "unstarted")
    event(plane, "Pod", "unstarted", "FailedCreatePodSandBox", 'no runtime for "nvidia" is configured')
    assert codes(gantry, plane.kubeconfig) == ["RuntimeHandlerMissing"]
    # It has a sandbox since, and its image is being pulled.
    container_status(plane, path, {"state": {"waiting": {"reason": "ContainerCreating"}}}, phase="Pending",
                     conditions=[{"type": "PodReadyToStartContainers", "status": "True"}])
    assert codes(gantry, plane.kubeconfig) == []
    container_status(plane, path, {"state": {"running": {}}})
    assert codes(gantry, plane.kubeconfig) == []
    remove(plane, path)


def test_a_container_whose_hook_fails(plane, gantry):
    # As with containerd, which has made the container by then: the pod's phase is Running, or Failed.
    path = "/api/v1/namespaces/default/pods/hooked"
    pod(plane, "hooked")
    words = "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.6"
    event(plane, "Pod", "hooked", "Failed", f"Error: failed to create containerd task: {words}")
    ended = {"terminated": {"exitCode": 128, "reason": "StartError", "message": words}}
    for status, phase in (({"state": {"waiting": {"reason": "RunContainerError", "message": words}}}, "Running"),
                          ({"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": ended}, "Running"),
                          ({"state": ended}, "Failed")):
        container_status(plane, path, status, phase=phase)
        assert codes(gantry, plane.kubeconfig) == ["DriverTooOld"]
    remove(plane, path)


def test_a_pod_that_was_not_admitted(plane, gantry):
    path = "/api/v1/namespaces/default/pods/rejected"
    pod(plane, "rejected")
    plane.patch(f"{path}/status", {"status": {"phase": "Failed", "reason": "UnexpectedAdmissionError",
                                              "message": "no healthy devices present", "startTime": now()}})
    assert codes(gantry, plane.kubeconfig) == ["PodRejected"]
    remove(plane, path)


def test_an_operand_that_ends_again_and_again(plane, gantry, driver):
    container_status(plane, driver, {
        "state": {"waiting": {"reason": "ImagePullBackOff", "message": "manifest unknown"}}}, phase="Pending")
    assert codes(gantry, plane.kubeconfig) == ["DriverImageMissing"]
    container_status(plane, driver, {
        "restartCount": 5, "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
        "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}}})
    # The validator says that the node has a driver.
    assert codes(gantry, plane.kubeconfig) == ["DriverConflict"]
    # Between two ends it runs.
    ended = {"exitCode": 1, "reason": "Error", "finishedAt": now(), "startedAt": now()}
    container_status(plane, driver, {"restartCount": 5, "state": {"running": {}}, "lastState": {"terminated": ended}})
    assert codes(gantry, plane.kubeconfig) == ["DriverConflict"]


def test_a_driver_that_is_being_installed(plane, gantry, driver):
    container_status(plane, driver, {"state": {"running": {"startedAt": now()}}})
    plane.patch(NODE, {"metadata": {"labels": {"nvidia.com/gpu.validation": "DriverMissing"}}})
    try:
        done = run(gantry, plane.kubeconfig, "doctor")
        assert done.returncode == 0 and done.stdout.startswith(b"note     DriverContainerNotReady"), done.stdout
        # The cause alone.
        container_status(plane, driver, {
            "state": {"waiting": {"reason": "ImagePullBackOff", "message": "manifest unknown"}}}, phase="Pending")
        assert codes(gantry, plane.kubeconfig) == ["DriverImageMissing"]
    finally:
        plane.patch(NODE, {"metadata": {"labels": {"nvidia.com/gpu.validation": "ready"}}})


def test_an_operand_without_its_config_map(plane, gantry, driver):
    creating = {"state": {"waiting": {"reason": "ContainerCreating"}}}
    container_status(plane, driver, creating, phase="Pending")
    assert codes(gantry, plane.kubeconfig) == []
    event(plane, "Pod", "driver-1", "FailedMount",
          'MountVolume.SetUp failed for volume "config" : configmap "x" not found', SPACE)
    assert codes(gantry, plane.kubeconfig) == ["OperandNotStarted"]
    container_status(plane, driver, creating, phase="Pending",
                     conditions=[{"type": "PodReadyToStartContainers", "status": "True"}])
    assert codes(gantry, plane.kubeconfig) == []


def test_others_may_share_the_operators_namespace(plane, gantry):
    back_off = {"restartCount": 5, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}}}
    daemon_set(plane, "cuda-test", "somebody")
    operand_pod(plane, "cuda-1", "cuda-test", containers=[{"name": "main", "image": "localhost/x:1"}])
    pod(plane, "cuda-2", SPACE, {"app": "cuda-test"}, containers=[{
        "name": "main", "image": "localhost/x:1", "resources": {"limits": {"nvidia.com/gpu": 1}}}])
    for name in ("cuda-1", "cuda-2"):
        container_status(plane, f"{PODS}/{name}", back_off)
    assert codes(gantry, plane.kubeconfig) == []
    # What of them has to do with GPUs is told as of any pod.
    event(plane, "Pod", "cuda-2", "Failed", 'exec: "nvidia-smi": executable file not found in $PATH', SPACE)
    container_status(plane, f"{PODS}/cuda-2", {"state": {"terminated": {
        "exitCode": 128, "reason": "StartError"}}}, phase="Failed")
    assert codes(gantry, plane.kubeconfig) == ["GpuNotInContainer"]
    for path in (f"{PODS}/cuda-1", f"{PODS}/cuda-2", f"{SETS}/cuda-test"):
        remove(plane, path)


def test_an_image_whose_kubelet_names_no_cause(plane, gantry, driver):
    # Kubernetes before 1.32 says in the event alone why.
    container_status(plane, driver, {"state": {"waiting": {
        "reason": "ImagePullBackOff", "message": 'Back-off pulling image "localhost/x:1"'}}}, phase="Pending")
    assert codes(gantry, plane.kubeconfig) == ["ImageNotPulled"]
    event(plane, "Pod", "driver-1", "Failed", 'Failed to pull image "localhost/x:1": toomanyrequests: slow', SPACE)
    assert codes(gantry, plane.kubeconfig) == ["RegistryUnreachable"]


def test_an_operand_whose_pods_are_refused(plane, gantry):
    name = "nvidia-device-plugin-daemonset"
    event(plane, "DaemonSet", name, "FailedCreate", 'Error creating: admission webhook "k" denied the request', SPACE)
    assert codes(gantry, plane.kubeconfig) == []
    plane.patch(f"{SETS}/{name}/status", {"status": {"desiredNumberScheduled": 2, "numberReady": 1}})
    assert codes(gantry, plane.kubeconfig) == ["PodsRefused"]
    plane.patch(f"{SETS}/{name}/status", {"status": {"desiredNumberScheduled": 1}})


def test_an_operator_that_never_started(plane, gantry):
    # Its Deployment alone says which namespace is its own.
    policy, name = f"{POLICIES}/cluster-policy/status", "nvidia-device-plugin-daemonset"
    plane.patch(policy, {"status": {"namespace": None}})
    plane.patch(f"{SETS}/{name}", {"metadata": {"labels": {"app.kubernetes.io/managed-by": "somebody"}}})
    operator_pods(plane, 0)
    assert codes(gantry, plane.kubeconfig) == ["OperatorNotRunning"]
    pod(plane, "operator-1", SPACE, OPERATOR)
    container_status(plane, f"{PODS}/operator-1", {
        "state": {"waiting": {"reason": "ErrImagePull", "message": "manifest unknown"}}}, phase="Pending")
    assert codes(gantry, plane.kubeconfig) == ["ImageMissing"]
    bundle = unpacked(run(gantry, plane.kubeconfig, "support-bundle", "--output", "-").stdout)
    assert "operator-1" in bundle["pods.json"]
    remove(plane, f"{PODS}/operator-1")
    operator_pods(plane, 1)
    plane.patch(policy, {"status": {"namespace": SPACE}})
    plane.patch(f"{SETS}/{name}", {"metadata": {"labels": {"app.kubernetes.io/managed-by": "gpu-operator"}}})


def test_an_operator_that_is_gone(plane, gantry):
    leases, name = f"/apis/coordination.k8s.io/v1/namespaces/{SPACE}/leases", "53822513.nvidia.com"
    remove(plane, f"{DEPLOYMENTS}/gpu-operator")
    assert codes(gantry, plane.kubeconfig) == ["OperatorStopped"]
    # One that runs elsewhere, until it does not.
    plane.call("POST", leases, {"metadata": {"name": name}, "spec": {"renewTime": now().replace("Z", ".000000Z")}})
    assert codes(gantry, plane.kubeconfig) == []
    plane.patch(f"{leases}/{name}", {"spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}})
    assert codes(gantry, plane.kubeconfig) == ["OperatorStopped"]
    remove(plane, f"{leases}/{name}")
    deploy_operator(plane)


def test_why_a_driver_is_not_installed(plane, gantry):
    event(plane, "Node", "node1", "DriverNotInstalled", "no headers of 6.8.0-40", "default")
    assert codes(gantry, plane.kubeconfig) == []
    plane.patch(NODE, {"metadata": {"labels": {"nvidia.com/gpu.validation": "DriverNotInstalled"}}})
    # Whichever workloads are asked for.
    said = [run(gantry, plane.kubeconfig, "doctor", *words).stdout.decode() for words in ((), ("-n", SPACE))]
    plane.patch(NODE, {"metadata": {"labels": {"nvidia.com/gpu.validation": "ready"}}})
    for text in said:
        assert len(text.splitlines()) == 1 and "no headers of 6.8.0-40" in text, text


def test_a_list_that_fails_costs_its_own_findings(plane, gantry, tmp_path):
    proxy = FaultyProxy(plane, lambda call: "events" if "/events" in call.path else None, lambda: None)
    try:
        proxy.choose = lambda site, ordinal: "500"
        config = json.loads(plane.kubeconfig.read_text())
        config["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{proxy.port}"}
        (tmp_path / "kubeconfig").write_text(json.dumps(config))
        assert codes(gantry, tmp_path / "kubeconfig") == ["NotRead"]
        pod(plane, "too-many", nodeName="", containers=[{
            "name": "main", "image": "x", "resources": {"limits": {"nvidia.com/gpu": 9}}}])
        assert codes(gantry, tmp_path / "kubeconfig") == ["MoreGpusThanAnyNode", "NotRead"]
    finally:
        proxy.close()
        remove(plane, "/api/v1/namespaces/default/pods/too-many")


def test_a_wrong_configuration_of_the_plugin(plane, gantry):
    path = f"/api/v1/namespaces/{SPACE}/configmaps/slices"
    plane.patch(path, {"data": {"any": "version: v1\nsharing: {timeslicing: {}}\n"}})
    assert codes(gantry, plane.kubeconfig) == ["PluginConfigInvalid"]
    plane.patch(path, {"data": {"any": "version: v1\n"}})
    choice = f"{POLICIES}/cluster-policy"
    plane.patch(choice, {"spec": {"devicePlugin": {"config": {"name": "none"}}}})
    assert codes(gantry, plane.kubeconfig) == ["PluginConfigUnknown"]
    plane.patch(choice, {"spec": {"devicePlugin": {"config": {"name": "slices"}}}})


def test_a_node_that_an_autoscaler_brings(plane, gantry):
    pod(plane, "scaled", nodeName="", containers=[{
        "name": "main", "image": "x", "resources": {"limits": {"nvidia.com/gpu": 9}}}])
    assert codes(gantry, plane.kubeconfig) == ["MoreGpusThanAnyNode"]
    assert run(gantry, plane.kubeconfig, "doctor").returncode == 1
    event(plane, "Pod", "scaled", "TriggeredScaleUp", "pod triggered scale-up", type="Normal")
    done = run(gantry, plane.kubeconfig, "doctor")
    assert done.returncode == 0 and b"an autoscaler is adding a node" in done.stdout, done
    remove(plane, "/api/v1/namespaces/default/pods/scaled")


def test_what_may_not_be_read_is_said(gantry, stranger):
    done = run(gantry, stranger, "doctor")
    said = done.stdout.decode()
    assert done.returncode == 2, said
    for what in ("DaemonSets", "Deployments", "pending pods", "events"):
        assert any(line.startswith("note     NotPermitted") and what in line for line in said.splitlines()), what


# --- status --watch -----------------------------------------------------------------------------------------------

def read_until(fd, holds, seconds=20):
    """What comes from a descriptor until holds(all of it)."""
    text, deadline = "", time.monotonic() + seconds
    while not holds(text):
        left = deadline - time.monotonic()
        assert left > 0 and select.select([fd], [], [], left)[0], f"after {seconds} s: {text!r}"
        text += os.read(fd, 65536).decode()
    return text


def test_watch_prints_a_table_on_each_change(plane, gantry):
    process = subprocess.Popen([gantry, "status", "--watch", "--kubeconfig", plane.kubeconfig],
                               stdout=subprocess.PIPE)
    try:
        fd = process.stdout.fileno()
        read_until(fd, lambda text: "gpu=8 " in text and text.endswith("\n\n"))
        # What no column shows makes no table.
        plane.patch(NODE, {"metadata": {"annotations": {"a": str(time.time())}}})
        gpus(plane, 7)
        text = read_until(fd, lambda text: "gpu=7/8" in text and text.endswith("\n\n"))
        assert text.count("# 2") == 1 and "GPUs unhealthy" in text, text
        gpus(plane, 8)
        read_until(fd, lambda text: "gpu=8 " in text)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
    finally:
        process.kill()


def test_watch_leaves_a_terminal_as_it_was(plane, gantry):
    child, fd = pty.fork()
    if child == 0:
        os.execv(gantry, ["gantry", "status", "--watch", "--kubeconfig", str(plane.kubeconfig)])
    try:
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 40, 0, 0))
        before = termios.tcgetattr(fd)
        first = read_until(fd, lambda text: "node1" in text)
        assert first.startswith("\x1b[?1049h\x1b[?25l")
        gpus(plane, 6)
        read_until(fd, lambda text: "GPUs" in text)
        os.write(fd, b"\x03")
        last = read_until(fd, lambda text: text.endswith("\x1b[?1049l"))
        assert last.endswith("\x1b[?25h\x1b[?1049l")
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        child = 0
        assert termios.tcgetattr(fd) == before
    finally:
        if child:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        os.close(fd)
        gpus(plane, 8)


def test_watch_gives_the_terminal_back_meanwhile(plane, gantry):
    # A shell continues what Ctrl-Z has stopped.
    child, fd = pty.fork()
    if child == 0:
        os.execvp("bash", ["bash", "--norc", "-i"])
    try:
        os.write(fd, f"{gantry} status --watch --kubeconfig {plane.kubeconfig}\n".encode())
        read_until(fd, lambda text: "node1" in text)
        os.write(fd, b"\x1a")
        read_until(fd, lambda text: "\x1b[?1049l" in text and "Stopped" in text)
        os.write(fd, b"fg\n")
        read_until(fd, lambda text: "\x1b[?1049h" in text and "node1" in text)
        os.write(fd, b"\x03")
        read_until(fd, lambda text: "\x1b[?1049l" in text)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(fd)


def test_watch_follows_a_short_form_alone(plane, gantry):
    policy = plane.get(f"{POLICIES}/cluster-policy")
    remove(plane, f"{POLICIES}/cluster-policy")
    plane.call("POST", SHORT_FORMS, {"apiVersion": "gpu.nvidia.com/v1", "kind": "GPUClusterPolicy",
                                     "metadata": {"name": "short"}, "spec": {}})
    process = subprocess.Popen([gantry, "status", "--watch", "--kubeconfig", plane.kubeconfig],
                               stdout=subprocess.PIPE)
    try:
        read_until(process.stdout.fileno(), lambda text: "GPUClusterPolicy short: not reconciled yet" in text)
        plane.patch(f"{SHORT_FORMS}/short/status", {"status": {"state": "ready"}})
        read_until(process.stdout.fileno(), lambda text: "GPUClusterPolicy short: ready" in text)
    finally:
        process.kill()
        remove(plane, f"{SHORT_FORMS}/short")
        plane.call("POST", POLICIES, {**policy, "metadata": {"name": "cluster-policy"}})
        plane.patch(f"{POLICIES}/cluster-policy/status", {"status": policy["status"]})


def test_status_without_the_right_to_see_operands_has_the_nodes(gantry, stranger):
    done = run(gantry, stranger, "status")
    assert done.returncode == 0 and b"node1" in done.stdout and b"forbidden" in done.stderr, done


def test_watch_without_the_right_says_so(plane, gantry, tmp_path):
    config = json.loads(plane.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": "nobody"}
    (tmp_path / "kubeconfig").write_text(json.dumps(config))
    done = run(gantry, tmp_path / "kubeconfig", "status", "--watch")
    assert done.returncode == 2 and b"Unauthorized" in done.stderr, done


# --- support-bundle -----------------------------------------------------------------------------------------------

def unpacked(archive):
    """Name without the folder -> text, of every file of a .tar.gz."""
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
        return {member.name.partition("/")[2]: tar.extractfile(member).read().decode() for member in tar}


def test_a_bundle_has_what_a_report_needs(plane, gantry, tmp_path):
    plane.call("POST", f"/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/{SPACE}/nodefeatures", {
        "apiVersion": "nfd.k8s-sigs.io/v1alpha1", "kind": "NodeFeature", "metadata": {"name": "node1"}, "spec": {}})
    event(plane, "Pod", "plugin-1", "Unhealthy", "a probe failed, password=hunter2", SPACE)
    done = run(gantry, plane.kubeconfig, "support-bundle", "--output", "b.tar.gz", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["b.tar.gz"]
    assert (tmp_path / "b.tar.gz").stat().st_mode & 0o777 == 0o600
    files = unpacked((tmp_path / "b.tar.gz").read_bytes())
    for text in files.values():
        assert not [secret for secret in SECRETS if secret in text]
    assert json.loads(files["versions.json"])["kubernetes"]["major"] == "1"
    policy = json.loads(files["clusterpolicies.json"])[0]
    assert policy["status"]["state"] == "ready" and "managedFields" not in policy["metadata"]
    node = json.loads(files["nodes.json"])[0]
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "8"
    assert node["metadata"]["labels"]["nvidia.com/gpu.product"] == "Tesla-T4"
    for path, names in (("objects/daemonsets.json", ["nvidia-device-plugin-daemonset"]), ("pods.json", ["plugin-1"]),
                        ("objects/nodefeatures.json", ["node1"]),
                        ("objects/configmaps.json", ["licence", "slices"])):
        assert [o["metadata"]["name"] for o in json.loads(files[path])] == names, path
    assert "a probe failed" in files["events.json"]
    assert "nvidia-device-plugin-daemonset" in files["status.txt"] and files["doctor.txt"] == ""
    assert json.loads(files["doctor.json"]) == {"findings": []}
    # The one thing that could not be read: nobody has run that pod.
    assert len(files["errors.txt"].splitlines()) == 1 and "logs/plugin-1/main.log" in files["errors.txt"]
    said = done.stderr.decode()
    assert "nodes ...\n" in said and "1 part(s) could not be read" in said


def test_a_bundle_goes_to_standard_output(plane, gantry):
    done = run(gantry, plane.kubeconfig, "support-bundle", "--output", "-", "--since", "1m")
    assert done.returncode == 0, done.stderr
    assert "versions.json" in unpacked(done.stdout)


def test_a_bundle_without_rights_has_the_rest(gantry, stranger, tmp_path):
    done = run(gantry, stranger, "support-bundle", "--output", tmp_path / "b.tar.gz")
    assert done.returncode == 0, done.stderr
    files = unpacked((tmp_path / "b.tar.gz").read_bytes())
    assert json.loads(files["nodes.json"])[0]["metadata"]["name"] == "node1"
    assert "pods.json" not in files and "pods: list pod" in files["errors.txt"]
    said = done.stderr.decode()
    for what in ("pods", "daemonsets", "events", "configmaps"):
        assert f"permission denied: {what}: " in said


@pytest.mark.parametrize("words", [["--since", "yesterday"], ["--since", "0s"], ["--output", "/nowhere/b.tar.gz"],
                                   ["--no-such-flag"]])
def test_no_bundle_is_half_there(plane, gantry, tmp_path, words):
    done = run(gantry, plane.kubeconfig, "support-bundle", *words, cwd=tmp_path)
    assert done.returncode == 2 and done.stderr, done
    assert list(tmp_path.iterdir()) == []


def test_without_an_api_server_there_is_no_bundle(plane, gantry, tmp_path):
    config = json.loads(plane.kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    (tmp_path / "kubeconfig").write_text(json.dumps(config))
    done = run(gantry, tmp_path / "kubeconfig", "support-bundle", cwd=tmp_path)
    assert done.returncode == 2 and b"127.0.0.1" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["kubeconfig"]
