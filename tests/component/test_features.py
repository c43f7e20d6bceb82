# SPDX-License-Identifier: Apache-2.0
"""gpu-feature-discovery and nfd-worker beside their real neighbours: a kube-apiserver with the chart's
NodeFeature definition, and the test bed's GPUs, mounted as a driver root. The servers are the test
bed's, or those in $GANTRY_BED_BIN; ours are those of $GANTRY_BUILD (default build/release).
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAKEGPU = ROOT / "testbed/fakegpu"
CRD = ROOT / "deploy/chart/crds/nfd.k8s-sigs.io_nodefeatures.yaml"
FEATURES = "/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/gpu-operator/nodefeatures"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
TIME_SLICING = """version: v1
sharing:
  timeSlicing:
    resources:
    - name: nvidia.com/gpu
      replicas: 4
"""


def wait(holds, what: str, seconds: float = 20):
    """Until holds() is true; its value."""
    deadline = time.monotonic() + seconds
    while True:
        value = holds()
        if value:
            return value
        assert time.monotonic() < deadline, f"{what}: not after {seconds} s"
        time.sleep(0.02)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def server_programs() -> tuple[pathlib.Path, pathlib.Path]:
    """etcd and kube-apiserver."""
    if os.environ.get("GANTRY_BED_BIN"):
        folder = pathlib.Path(os.environ["GANTRY_BED_BIN"])
        return folder / "etcd", folder / "kube-apiserver"
    sys.path.insert(0, str(ROOT / "testbed/cluster"))
    import build as bed_build  # noqa: PLC0415
    import components  # noqa: PLC0415

    return (bed_build.module(components.ETCD) / "bin/etcd",
            bed_build.kubernetes(components.KUBERNETES) / "bin/kube-apiserver")


class Api:
    """A control plane without controllers: etcd, kube-apiserver, one administrator's token."""

    TOKEN = "administrator"

    def __init__(self, folder: pathlib.Path):
        etcd, apiserver = server_programs()
        self.folder = folder
        self.port = free_port()
        client, peer = free_port(), free_port()
        key = folder / "sa.key"
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        (folder / "tokens").write_text(f"{self.TOKEN},administrator,1,system:masters\n")
        (folder / "policy.yaml").write_text(
            "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\n"
            "rules: [{level: Metadata}]\n")
        self.processes = [self.start([
            etcd, f"--data-dir={folder}/etcd", f"--listen-client-urls=http://127.0.0.1:{client}",
            f"--advertise-client-urls=http://127.0.0.1:{client}",
            f"--listen-peer-urls=http://127.0.0.1:{peer}", "--unsafe-no-fsync"]), self.start([
                apiserver, f"--etcd-servers=http://127.0.0.1:{client}", "--bind-address=127.0.0.1",
                f"--secure-port={self.port}", f"--cert-dir={folder}/certificates",
                f"--token-auth-file={folder}/tokens", "--authorization-mode=RBAC",
                f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}",
                "--service-account-issuer=https://test", "--disable-admission-plugins=ServiceAccount",
                f"--audit-policy-file={folder}/policy.yaml", f"--audit-log-path={folder}/audit"])]
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(json.dumps({
            "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{self.port}",
                                                   "insecure-skip-tls-verify": True}}],
            "users": [{"name": "u", "user": {"token": self.TOKEN}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x"}))
        wait(self.is_ready, "kube-apiserver", 60)

    def start(self, words) -> subprocess.Popen:
        log = open(self.folder / f"{pathlib.Path(words[0]).name}.log", "wb")
        return subprocess.Popen([str(word) for word in words], stdout=log, stderr=log)

    def is_ready(self) -> bool:
        try:
            return bool(self.call("GET", "/api/v1/namespaces/kube-system"))
        except OSError:
            return False

    def close(self):
        for process in reversed(self.processes):
            process.terminate()
            process.wait()

    def call(self, verb: str, path: str, body=None, kind: str = "application/json"):
        """The answer, or None for what is not there (yet)."""
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        text = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        request = urllib.request.Request(
            f"https://127.0.0.1:{self.port}{path}", data=text, method=verb,
            headers={"Authorization": f"Bearer {self.TOKEN}", "Content-Type": kind})
        try:
            with urllib.request.urlopen(request, context=context) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code == 404 or (verb == "GET" and error.code == 429):
                return None
            raise AssertionError(f"{verb} {path}: {error.read().decode()}") from error

    def feature(self, name: str):
        return self.call("GET", f"{FEATURES}/{name}")

    def requests(self, agent: str) -> list[str]:
        """Verb and resource of each request that a component of ours made so far."""
        lines = [json.loads(line) for line in (self.folder / "audit").read_text().splitlines()]
        return [f"{line['verb']} {line['objectRef']['resource']}" for line in lines
                if f"({agent})" in line["userAgent"]]


@pytest.fixture(scope="session")
def api(tmp_path_factory):
    server = Api(tmp_path_factory.mktemp("api"))
    try:
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        server.call("POST", definitions, CRD.read_bytes(), "application/yaml")
        server.call("POST", "/api/v1/namespaces",
                    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gpu-operator"}})
        wait(lambda: server.call("GET", "/apis/nfd.k8s-sigs.io/v1alpha1/nodefeatures"),
             "NodeFeature is served")
        yield server
    finally:
        server.close()


def new_node(api: Api, name: str) -> dict:
    return api.call("POST", "/api/v1/nodes",
                    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})


class Machine:
    """A driver root with GPUs, a sysfs and a status directory."""

    def __init__(self, folder: pathlib.Path, build: pathlib.Path, profile: str, node: str):
        sys.path.insert(0, str(FAKEGPU))
        from machine import control, image, layout, profile as profiles  # noqa: PLC0415

        self.control, self.layout = control, layout
        self.root, self.sys = folder / "root", folder / "sys"
        self.status, self.features = folder / "validations", folder / "features.d"
        library = build / "testbed/fakegpu/libnvidia-ml.so.1"
        known = layout.Layout(library)
        machine = profiles.load(FAKEGPU / f"profiles/{profile}.yaml", node, set(known.fields["gpu"]))
        self.library = self.root / LIBRARIES / f"libnvidia-ml.so.{machine.driver_version}"
        for path in (self.library.parent, self.root / "dev", self.sys / "bus/pci/devices",
                     self.status):
            path.mkdir(parents=True)
        layout.append(library, self.library, image.build(known, machine))
        (self.library.parent / "libnvidia-ml.so.1").symlink_to(self.library.name)
        self.uuids = [gpu.fields["uuid"] for gpu in machine.gpus]
        for name in ["nvidiactl"] + [f"nvidia{gpu.fields['minor']}" for gpu in machine.gpus]:
            os.mknod(self.root / "dev" / name, 0o600 | 0o020000, os.makedev(1, 3))
            (self.root / "dev" / name).chmod(0o666)
        (self.root / "dev/nvidia-caps").mkdir()
        # Who may open it sees every MIG device.
        os.mknod(self.root / "dev/nvidia-caps/nvidia-cap2", 0o666 | 0o020000, os.makedev(1, 3))
        for gpu in machine.gpus:
            self.plug(gpu.bdf)

    def plug(self, bdf: str):
        device = self.sys / "bus/pci/devices" / bdf
        device.mkdir()
        for name, text in {"vendor": "0x10de", "device": "0x1eb8", "class": "0x030200",
                           "numa_node": "0"}.items():
            (device / name).write_text(text + "\n")
        (device / "config").write_bytes(bytes(256))

    def driver_ready(self, **lines):
        """As the validator writes it."""
        boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        values = {"DRIVER_ROOT_CTR_PATH": self.root, "DEV_ROOT_CTR_PATH": self.root,
                  "GANTRY_BOOT_ID": boot} | lines
        part = self.status / ".part"
        part.write_text("".join(f"{name}={value}\n" for name, value in values.items()))
        part.rename(self.status / "driver-ready")

    @contextlib.contextmanager
    def state(self):
        """The machine, to be changed while programs run."""
        with self.layout.mapped(self.library) as state:
            yield state


class Agent:
    """One of our programs, running."""

    def __init__(self, build: pathlib.Path, *words, **environment):
        self.process = subprocess.Popen(
            [build / "bin/gantry", *map(str, words)], text=True, stderr=subprocess.PIPE,
            env=os.environ | {name: str(value) for name, value in environment.items()})
        self.log = ""

    def status(self, name: str) -> str:
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(name + ":"):
                return line.split(":", 1)[1].strip()
        raise KeyError(name)

    def wakeups(self) -> int:
        """Voluntary context switches of all threads so far."""
        total = 0
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            for line in (task / "status").read_text().splitlines():
                if line.startswith("voluntary_ctxt_switches"):
                    total += int(line.split()[1])
        return total

    def connections(self) -> int:
        """Sockets but for the announcements of the kernel."""
        links = [os.readlink(link) for link in
                 pathlib.Path(f"/proc/{self.process.pid}/fd").iterdir()]
        tcp = pathlib.Path(f"/proc/{self.process.pid}/net/tcp").read_text().splitlines()[1:]
        inodes = {line.split()[9] for line in tcp}
        return sum(link.removeprefix("socket:[").rstrip("]") in inodes for link in links)

    def close(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.log = self.process.communicate(timeout=10)[1]
        return self.process.returncode


@pytest.fixture
def start(build):
    """Starts agents, and ends them with the test."""
    agents = []

    def run(*words, **environment) -> Agent:
        agents.append(Agent(build, *words, **environment))
        return agents[-1]

    yield run
    for agent in agents:
        agent.close(signal.SIGKILL)


@pytest.fixture
def gfd(api, start):
    """Starts gpu-feature-discovery for a machine as its DaemonSet does."""
    def run(machine: Machine, node: str, *words, **environment) -> Agent:
        return start("gpu-feature-discovery", f"--kubeconfig={api.kubeconfig}",
                     f"--status-dir={machine.status}", f"--sys-root={machine.sys}", *words,
                     NODE_NAME=node, NAMESPACE="gpu-operator", WAIT_FOR_VALIDATIONS="driver-ready",
                     GFD_SLEEP_INTERVAL="60s", **environment)
    return run


def gpu_labels(api, node) -> dict:
    return ((api.feature(f"nvidia-features-for-{node}") or {}).get("spec") or {}).get("labels") or {}


def test_gpu_labels_come_with_the_driver_and_stay(api, build, gfd, tmp_path):
    new_node(api, "labelled")
    machine = Machine(tmp_path, build, "2xt4", "labelled")
    agent = gfd(machine, "labelled")
    time.sleep(0.3)
    assert not gpu_labels(api, "labelled")
    machine.driver_ready()
    began = time.monotonic()
    labels = wait(lambda: gpu_labels(api, "labelled"), "labels")
    print(f"labels after {1000 * (time.monotonic() - began):.0f} ms,"
          f" VmHWM {agent.status('VmHWM')}, VmRSS {agent.status('VmRSS')}")
    assert {"nvidia.com/gpu.product": "Tesla-T4", "nvidia.com/gpu.count": "2",
            "nvidia.com/gpu.replicas": "1", "nvidia.com/gpu.memory": "15360",
            "nvidia.com/gpu.family": "turing", "nvidia.com/gpu.mode": "compute",
            "nvidia.com/cuda.driver-version.full": "535.261.03", "nvidia.com/vgpu.present": "false",
            "nvidia.com/mig.capable": "false"}.items() <= labels.items()
    stored = api.feature("nvidia-features-for-labelled")
    assert "ownerReferences" not in stored["metadata"]
    # Deleted by hand: SIGHUP asks whether it is there. (Once an hour it is asked without.)
    api.call("DELETE", f"{FEATURES}/nvidia-features-for-labelled")
    agent.process.send_signal(signal.SIGHUP)
    stored = wait(lambda: api.feature("nvidia-features-for-labelled"), "the object")
    # Ended, killed, started again, without a driver: nothing goes, nothing is written.
    assert agent.close() == 0
    (machine.status / "driver-ready").unlink()
    time.sleep(1.1)  # another second, hence another timestamp
    for number in (signal.SIGKILL, signal.SIGTERM):
        agent = gfd(machine, "labelled")
        time.sleep(0.3)
        machine.driver_ready(again=number)
        time.sleep(1)
        agent.close(number)
        assert api.feature("nvidia-features-for-labelled") == stored


@pytest.fixture
def quiet_folder():
    """A folder with no busy one above it: the directories on the way are watched too."""
    with tempfile.TemporaryDirectory(prefix="gantry-", dir="/run") as name:
        yield pathlib.Path(name)


def test_an_idle_agent_is_silent(api, build, gfd, start, quiet_folder):
    new_node(api, "idle")
    machine = Machine(quiet_folder, build, "8xa100-80", "idle")
    machine.driver_ready()
    worker = start("nfd-worker", f"--kubeconfig={api.kubeconfig}",
                   f"--features-dir={quiet_folder}/none", NODE_NAME="idle",
                   KUBERNETES_NAMESPACE="gpu-operator", **host_files(quiet_folder))
    discovery = gfd(machine, "idle", "--sleep-interval=1s")
    wait(lambda: gpu_labels(api, "idle") and api.feature("idle"), "labels")
    time.sleep(0.5)
    before = [agent.wakeups() for agent in (worker, discovery)]
    requests = {name: api.requests(name) for name in ("nfd-worker", "gpu-feature-discovery")}
    time.sleep(5)
    idle, checking = (agent.wakeups() - count
                      for agent, count in zip((worker, discovery), before, strict=True))
    for name, agent in (("worker", worker), ("discovery", discovery)):
        print(name, "VmHWM", agent.status("VmHWM"), "threads", agent.status("Threads"))
    print(f"wake-ups in 5 s: worker {idle}, discovery with a look each second {checking}")
    assert idle == 0
    assert {name: api.requests(name) for name in requests} == requests
    assert worker.connections() == discovery.connections() == 0


def test_sharing_follows_the_configuration_and_the_nodes_label(api, build, gfd, tmp_path):
    new_node(api, "shared")
    machine = Machine(tmp_path, build, "2xt4", "shared")
    machine.driver_ready()
    configs = tmp_path / "configs"
    (configs / "v1").mkdir(parents=True)
    (configs / "v1/any").write_text("version: v1\n")
    (configs / "v1/four").write_text(TIME_SLICING)
    (configs / "..data").symlink_to("v1")
    for name in ("any", "four"):
        (configs / name).symlink_to(f"..data/{name}")
    agent = gfd(machine, "shared", CONFIG_FILE_SRCDIR=configs, DEFAULT_CONFIG="any")

    def product():
        labels = gpu_labels(api, "shared")
        return (labels.get("nvidia.com/gpu.product"), labels.get("nvidia.com/gpu.replicas"))

    wait(lambda: product() == ("Tesla-T4", "1"), "the default configuration")
    label = {"metadata": {"labels": {"nvidia.com/device-plugin.config": "four"}}}
    api.call("PATCH", "/api/v1/nodes/shared", label, "application/merge-patch+json")
    wait(lambda: product() == ("Tesla-T4-SHARED", "4"), "the label's configuration")
    # As the kubelet exchanges a ConfigMap's files: a wrong configuration changes nothing.
    (configs / "v2").mkdir()
    (configs / "v2/any").write_text("version: v1\n")
    (configs / "v2/four").write_text(TIME_SLICING.replace("replicas: 4", "replicas: 0"))
    (configs / "..tmp").symlink_to("v2")
    (configs / "..tmp").rename(configs / "..data")
    time.sleep(1)
    assert product() == ("Tesla-T4-SHARED", "4")
    (configs / "v3").mkdir()
    (configs / "v3/any").write_text("version: v1\n")
    (configs / "v3/four").write_text(TIME_SLICING.replace("replicas: 4", "replicas: 8"))
    (configs / "..tmp").symlink_to("v3")
    (configs / "..tmp").rename(configs / "..data")
    wait(lambda: product() == ("Tesla-T4-SHARED", "8"), "the corrected configuration")
    assert agent.connections() == 1
    assert agent.close() == 0
    assert "sharing.timeSlicing.resources[0].replicas: must be at least 2, is 0" in agent.log


def test_one_look_waits_for_the_nodes_label(api, build, gfd, tmp_path):
    new_node(api, "once")
    label = {"metadata": {"labels": {"nvidia.com/device-plugin.config": "four"}}}
    api.call("PATCH", "/api/v1/nodes/once", label, "application/merge-patch+json")
    machine = Machine(tmp_path, build, "2xt4", "once")
    machine.driver_ready()
    configs = tmp_path / "configs"
    configs.mkdir()
    (configs / "four").write_text(TIME_SLICING)
    agent = gfd(machine, "once", "--oneshot", CONFIG_FILE_SRCDIR=configs)
    assert agent.process.wait(20) == 0, agent.process.communicate()[1]
    assert gpu_labels(api, "once")["nvidia.com/gpu.replicas"] == "4"


def test_a_gpu_that_fails_or_hangs_changes_no_label(api, build, gfd, tmp_path):
    new_node(api, "ill")
    machine = Machine(tmp_path, build, "2xt4", "ill")
    machine.driver_ready()
    agent = gfd(machine, "ill", "--sleep-interval=1s")
    labels = wait(lambda: gpu_labels(api, "ill"), "labels")
    with machine.state() as state:
        machine.control.fail(state.gpu(1), machine.control.GPU_IS_LOST, "")
    time.sleep(2.5)
    assert gpu_labels(api, "ill") == labels
    with machine.state() as state:
        state.gpu(1).set("hanging_call", "*")
    time.sleep(2.5)
    assert gpu_labels(api, "ill") == labels
    assert agent.process.poll() is None
    # The hanging child does not keep its parent from ending.
    began = time.monotonic()
    assert agent.close() == 0
    assert time.monotonic() - began < 1


def test_labels_go_to_a_file_where_asked(build, tmp_path):
    machine = Machine(tmp_path, build, "2xt4", "file")
    machine.driver_ready()
    path = tmp_path / "made/features.d/gfd"
    words = [build / "bin/gantry", "gpu-feature-discovery", "--oneshot", "--use-node-feature-api=false",
             f"--output-file={path}", f"--sys-root={machine.sys}", f"--status-dir={machine.status}",
             "--wait-for-validations=driver-ready"]
    subprocess.run(words, check=True, timeout=30)
    first = path.read_text()
    assert "nvidia.com/gpu.product=Tesla-T4\n" in first
    written = path.stat().st_mtime_ns
    time.sleep(1.1)
    subprocess.run(words, check=True, timeout=30)
    assert (path.read_text(), path.stat().st_mtime_ns) == (first, written)
    with machine.state() as state:
        state.machine.set("driver_loaded", 0)
    assert subprocess.run(words, check=False, timeout=30).returncode == 1
    assert path.read_text() == first


def test_kdp796_labels_in_a_file_outlive_the_process(build, start, tmp_path):
    machine = Machine(tmp_path, build, "2xt4", "file")
    machine.driver_ready()
    path = tmp_path / "features.d/gfd"
    for how in (signal.SIGTERM, signal.SIGKILL):
        agent = start("gpu-feature-discovery", "--use-node-feature-api=false", f"--output-file={path}",
                      f"--sys-root={machine.sys}", f"--status-dir={machine.status}",
                      "--wait-for-validations=driver-ready")
        wait(path.exists, "the file")
        text = path.read_text()
        agent.close(how)
        assert path.read_text() == text


def test_gpus_in_mig_mode_cost_no_memory(api, build, gfd, tmp_path):
    new_node(api, "divided")
    machine = Machine(tmp_path, build, "8xa100-80-mig", "divided")
    machine.driver_ready()
    agent = gfd(machine, "divided", MIG_STRATEGY="mixed")
    labels = wait(lambda: gpu_labels(api, "divided"), "labels")
    assert {"nvidia.com/mig.strategy": "mixed", "nvidia.com/mig.capable": "true",
            "nvidia.com/gpu.count": "8"}.items() <= labels.items()
    size = int(agent.status("VmHWM").split()[0])
    print(f"VmHWM {size} KiB with 8 GPUs in MIG mode")
    assert size * 1024 <= 9_800_000


DEVICES = "/apis/gpu.nvidia.com/v1/devices"


def devices(api, node) -> list:
    listed = api.call("GET", f"{DEVICES}?labelSelector=gpu.nvidia.com/node={node}")
    return sorted(listed["items"], key=lambda device: device["metadata"]["name"])


# The tests before it have no definition of Device, and miss none.
def test_gpus_are_objects_from_the_bus_on_and_complete_with_the_driver(api, build, gfd, tmp_path):
    definition = ROOT / "deploy/chart/crds/gpu.nvidia.com_devices.yaml"
    api.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition.read_bytes(), "application/yaml")
    wait(lambda: api.call("GET", DEVICES), "Device is served")
    node = new_node(api, "shown")
    machine = Machine(tmp_path, build, "2xt4", "shown")
    agent = gfd(machine, "shown")
    wait(lambda: len(devices(api, "shown")) == 2, "both devices")
    first, second = devices(api, "shown")
    assert [first["metadata"]["name"], second["metadata"]["name"]] == ["gpu-0-node-shown", "gpu-1-node-shown"]
    assert set(first["spec"]) == {"node", "index", "pciBusID"}
    assert first["metadata"]["ownerReferences"][0]["uid"] == node["metadata"]["uid"]
    assert not gpu_labels(api, "shown")
    machine.driver_ready()
    wait(lambda: [d["spec"].get("uuid") for d in devices(api, "shown")] == machine.uuids, "their UUIDs")
    first = devices(api, "shown")[0]
    assert first["spec"] | {"pciBusID": ""} == {
        "node": "shown", "index": 0, "pciBusID": "", "uuid": machine.uuids[0], "product": "Tesla-T4", "memory": 15360,
        "driverVersion": "535.261.03", "cudaVersion": "12.2", "computeCapability": "7.5", "migCapable": False}
    assert first["metadata"]["labels"]["nvidia.com/gpu.product"] == "Tesla-T4"
    # Another run, with a GPU less than the API server knows: nothing is written but what is gone.
    agent.close()
    stored = devices(api, "shown")
    extra = {key: stored[0][key] for key in ("apiVersion", "kind", "spec")} | {
        "metadata": {"name": "gpu-7-node-shown", "labels": stored[0]["metadata"]["labels"]}}
    api.call("POST", DEVICES, extra)
    agent = gfd(machine, "shown")
    wait(lambda: len(devices(api, "shown")) == 2, "the object of no GPU is gone")
    assert devices(api, "shown") == stored
    # Without its driver a GPU keeps what is known of it.
    agent.close()
    (machine.status / "driver-ready").unlink()
    before = len(api.requests("gpu-feature-discovery"))
    agent = gfd(machine, "shown")
    wait(lambda: len(api.requests("gpu-feature-discovery")) > before + 1, "a look at the bus")
    agent.close()
    assert devices(api, "shown") == stored


def host_files(folder: pathlib.Path) -> dict:
    """The files of a host for nfd-worker, and its variable that says where they are."""
    case = ROOT / "tests/golden/node_features/debian_t4"
    if not (folder / "host-sys").exists():
        subprocess.run(["cp", "-r", *case.glob("host-*"), folder], check=True)
    return {"HOST_PREFIX": folder / "host-"}


def test_node_labels_follow_the_node(api, start, tmp_path):
    new_node(api, "host")
    features, custom = tmp_path / "features.d", tmp_path / "custom.d"

    def worker() -> Agent:
        return start("nfd-worker", f"--kubeconfig={api.kubeconfig}", f"--features-dir={features}",
                     f"--custom-dir={custom}", NODE_NAME="host", KUBERNETES_NAMESPACE="gpu-operator", **host_files(tmp_path))

    def labels() -> dict:
        return ((api.feature("host") or {}).get("spec") or {}).get("labels") or {}

    agent = worker()
    prefix = "feature.node.kubernetes.io/"
    wait(lambda: labels().get(prefix + "pci-10de.present") == "true", "the GPU's label")
    stored = api.feature("host")
    assert "ownerReferences" not in stored["metadata"]
    assert stored["metadata"]["annotations"]["nfd.node.kubernetes.io/worker.version"].startswith(
        "gantry-")
    assert labels()[prefix + "kernel-version.full"] == "6.1.0-18-cloud-amd64"
    # A directory that comes later is seen, and a file's end too.
    features.mkdir()
    (features / "site").write_text("rack=r17\n")
    wait(lambda: labels().get(prefix + "rack") == "r17", "a local label")
    (features / "site").unlink()
    wait(lambda: prefix + "rack" not in labels(), "the local label's end")
    # So are rules, also in a folder as a ConfigMap's volume makes it.
    volume = custom / "team"
    for version, value in {"..1": "one", "..2": "two"}.items():
        (volume / version).mkdir(parents=True)
        (volume / version / "r.yaml").write_text(f"[{{name: r, labels: {{team: {value}}}}}]")
    (volume / "..data").symlink_to("..1")
    (volume / "r.yaml").symlink_to("..data/r.yaml")
    wait(lambda: labels().get(prefix + "team") == "one", "a rule's label")
    (volume / "..new").symlink_to("..2")
    (volume / "..new").rename(volume / "..data")
    wait(lambda: labels().get(prefix + "team") == "two", "the changed rule's label")
    shutil.rmtree(custom)
    wait(lambda: prefix + "team" not in labels(), "the rule's end")
    # The kernel announces a PCI device: the bus is read again.
    announced = next(pathlib.Path("/sys/bus/pci/devices").glob("*/uevent"), None)
    if announced is not None:
        new = tmp_path / "host-sys/bus/pci/devices/0000:99:00.0"
        new.mkdir()
        for name, text in {"vendor": "0x15b3", "device": "0x101b", "class": "0x020700"}.items():
            (new / name).write_text(text + "\n")
        announced.write_text("change")
        wait(lambda: labels().get(prefix + "pci-15b3.present") == "true", "the new device's label")
    # Deleted by hand: SIGHUP asks whether it is there.
    api.call("DELETE", f"{FEATURES}/host")
    agent.process.send_signal(signal.SIGHUP)
    wait(lambda: api.feature("host"), "the object")
    # A stop takes nothing, and a start that finds the same writes nothing.
    assert agent.close() == 0
    stored = api.feature("host")
    agent = worker()
    time.sleep(1)
    assert agent.close() == 0
    assert api.feature("host") == stored


def test_the_node_is_looked_at_again_by_and_by(api, start, tmp_path):
    new_node(api, "again")
    start("nfd-worker", f"--kubeconfig={api.kubeconfig}", f"--features-dir={tmp_path}/none", "-sleep-interval=1s",
          NODE_NAME="again", KUBERNETES_NAMESPACE="gpu-operator", **host_files(tmp_path))
    swap = "feature.node.kubernetes.io/memory-swap"
    stored = wait(lambda: api.feature("again"), "the NodeFeature")
    assert swap not in stored["spec"]["labels"]
    before = api.requests("nfd-worker")
    time.sleep(2.5)
    assert api.requests("nfd-worker") == before, "no news asks for nothing"
    (tmp_path / "host-proc/swaps").write_text("Filename\tType\n/swap\tfile\n")
    wait(lambda: api.feature("again")["spec"]["labels"].get(swap) == "true", "the label")


def test_a_worker_that_is_to_publish_nothing_runs_on(api, start, tmp_path):
    new_node(api, "unsaid")
    before = len(api.requests("nfd-worker"))
    worker = start("nfd-worker", f"--kubeconfig={api.kubeconfig}", f"--features-dir={tmp_path}/none",
                   "-options={core: {noPublish: true}}", NODE_NAME="unsaid", KUBERNETES_NAMESPACE="gpu-operator",
                   **host_files(tmp_path))
    time.sleep(2)
    assert worker.process.poll() is None
    assert worker.close() == 0
    assert not api.feature("unsaid") and len(api.requests("nfd-worker")) == before


def test_the_worker_answers_where_it_is_asked_to(api, start, tmp_path):
    new_node(api, "measured")
    port = free_port()
    start("nfd-worker", f"--kubeconfig={api.kubeconfig}", f"--features-dir={tmp_path}/none", f"-port={port}",
          NODE_NAME="measured", KUBERNETES_NAMESPACE="gpu-operator", **host_files(tmp_path))
    wait(lambda: api.feature("measured"), "the NodeFeature")

    def get(path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.read().decode()

    assert get("/healthz") == "ok"
    text = get("/metrics")
    assert 'nfd_worker_build_info{version="' in text
    assert 'nfd_worker_feature_discovery_duration_seconds_count{node="measured"} 1\n' in text


def test_node_labels_need_no_privilege(build):
    with tempfile.TemporaryDirectory(prefix="gantry-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)  # pytest's own folders are for their owner alone
        host_files(folder)
        program = shutil.copy(build / "bin/gantry", folder)
        ran = subprocess.run([program, "nfd-worker", "--oneshot", "--no-publish", f"--host-prefix={folder}/host-",
                              f"--features-dir={folder}/none"], user=65534, group=65534,
                             extra_groups=[], text=True, capture_output=True, check=True, timeout=10)
    assert "feature.node.kubernetes.io/pci-10de.present=true\n" in ran.stdout
