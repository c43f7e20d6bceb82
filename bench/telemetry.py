"""What dcgm-exporter costs a node, and how long its scrapes take.

Two nodes of the test bed's GPUs: 8 GPUs that 64 pods share, and 8 GPUs cut in 7 MIG devices each, which 110 pods share
by two; each of these has 16 labels of 63 letters, which a real API server tells. The kubelet is fake_pod_resources.
Every pod has series of its own. Scrapes are timed by a client that reads bytes and parses nothing.
"""

import contextlib
import os
import pathlib
import re
import signal
import socket
import sys
import tempfile
import threading
import time
import uuid as uuids

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/component"))

from control_plane import ControlPlane, wait  # noqa: E402
from test_metrics_exporter import Exporter  # noqa: E402

WORDS = "-k", "--kubernetes-virtual-gpus", "--collect-interval=1000", "--enable-exporter-metrics"
LABELS = {f"example.com/label-{n:02}".ljust(40, "x"): f"{n:02}".ljust(63, "v") for n in range(16)}


def scrape(port, gzip=False):
    """Seconds that one took, and its bytes."""
    started = time.perf_counter()
    with socket.create_connection(("127.0.0.1", port)) as connection:
        encoding = "Accept-Encoding: gzip\r\n" if gzip else ""
        connection.sendall(f"GET /metrics HTTP/1.1\r\nHost: x\r\n{encoding}Connection: close\r\n\r\n".encode())
        size = 0
        while part := connection.recv(1 << 20):
            size += len(part)
    return time.perf_counter() - started, size


def scrapes(port, process, name, count, figure, gzip=False):
    """Times of many, and the exporter's own CPU time, which does not depend on what else runs here."""
    before = process.cpu()
    took, sizes = zip(*(scrape(port, gzip) for _ in range(count)))
    figure(f"{name}_p50", 1000 * sorted(took)[len(took) // 2], "ms")
    figure(f"{name}_p99", p99(took), "ms")
    figure(f"{name}_cpu", 1000 * (process.cpu() - before) / count, "ms")
    return sizes[-1]


def idle(one, process, name, figure):
    """Percent of a core, and calls into the driver a second, with a look a second and a scrape in 15 s."""
    calls = lambda: one.samples("dcgm_exporter_nvml_calls_total")[0].value  # noqa: E731
    called, cpu, started = calls(), process.cpu(), time.monotonic()
    for _ in range(4):
        time.sleep(15)
        scrape(one.port)
    figure(name + "_cpu", (process.cpu() - cpu) / (time.monotonic() - started) * 100, "percent")
    figure(name + "_nvml_calls", (calls() - called) / (time.monotonic() - started), "calls/s")


def p99(values):
    ordered = sorted(values)
    return 1000 * ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]


def at_once(port, clients, rounds):
    took = []

    def client():
        took.extend(scrape(port)[0] for _ in range(rounds))
    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took


class Process:
    def __init__(self, pid):
        self.folder = pathlib.Path(f"/proc/{pid}")

    def memory(self, key="VmHWM"):
        return int(re.search(rf"{key}:\s+(\d+)", (self.folder / "status").read_text())[1]) * 1024 / 1e6

    def cpu(self):
        fields = (self.folder / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def gpu_files(self):
        """Descriptors of /dev/nvidia*."""
        targets = []
        for fd in (self.folder / "fd").iterdir():
            with contextlib.suppress(OSError):
                targets.append(os.readlink(fd))
        return sum(target.startswith("/dev/nvidia") for target in targets)


class Node:
    """An exporter, its GPUs and its pods, of which each has a cgroup and a process."""

    def __init__(self, folder, build, profile, devices, pods, words=()):
        self.one = Exporter(folder, build, profile, [*WORDS, *words], start=False)
        devices = devices(self.one)
        held = []
        for n in range(pods):
            uid, name = str(uuids.UUID(int=n + 1)), f"pod-{n}"
            (self.one.root / f"sys/fs/cgroup/kubepods/pod{uid}/77").mkdir(parents=True)
            (self.one.root / f"var/log/pods/team_{name}_{uid}").mkdir(parents=True)
            held.append(("team", name, "main", "nvidia.com/gpu.shared", [devices[n]]))
        self.one.pods(*held)
        wait(lambda: (folder / "kubelet.sock").exists(), "the kubelet")

    def start(self, pods):
        started = time.perf_counter()
        self.one.start(await_up=False)
        while True:
            with contextlib.suppress(OSError):
                if scrape(self.one.port)[1] > 1000:
                    break
            time.sleep(0.005)
        first = time.perf_counter() - started
        wait(lambda: len({s.labels.get("pod") for s in self.one.samples("DCGM_FI_DEV_FB_USED")}) == pods + 1, "all pods", 60)
        time.sleep(3)
        return first, Process(self.one.process.pid)


def shares_of_gpus(one):
    return [f"{gpu['uuid']}::{share}" for gpu in one.gpus() for share in range(8)]


def shares_of_mig(one):
    uuids_of = [re.findall(r"MIG-\S+", one.control("mig", str(n), "list")) for n in range(8)]
    return [f"{uuid}::{share}" for of_gpu in uuids_of for uuid in of_gpu for share in range(2)]


def measure_whole(folder, build, arguments, figure):
    node = Node(folder, build, "8xh100-80", shares_of_gpus, 64)
    with node.one as one:
        first, process = node.start(64)
        figure("first_sample", first, "s")
        figure("scrape_bytes", scrapes(one.port, process, "scrape", arguments.scrapes, figure) / 1e6, "MB")
        scrapes(one.port, process, "scrape_gzip", arguments.scrapes, figure, gzip=True)
        figure("scrape_16_p99", p99(at_once(one.port, 16, 20)), "ms")
        figure("exporter_rss", process.memory(), "MB")
        idle(one, process, "exporter", figure)
        figure("gpu_files", process.gpu_files(), "descriptors")
        one.control("hang", "0", "nvmlDeviceGetPowerUsage")
        time.sleep(2)
        scrapes(one.port, process, "scrape_during_hang", arguments.scrapes, figure)
        one.control("unhang", "0")
        growth(one, process, figure)


def growth(one, process, figure):
    def load(scrapes, reloads):
        for n in range(max(scrapes, reloads)):
            if n < scrapes:
                scrape(one.port)
            if n < reloads:
                one.process.send_signal(signal.SIGHUP)
        time.sleep(3)
    load(1000, 100)
    before = process.memory("VmRSS")
    load(10_000, 1000)
    figure("growth", process.memory("VmRSS") - before, "MB")


def measure_mig(folder, build, arguments, figure):
    plane_folder = folder / "plane"
    plane_folder.mkdir()
    profile = {"gpus": [{"product": "NVIDIA A100-SXM4-80GB", "count": 8, "mig_devices": ["1g.10gb"] * 7}]}
    with ControlPlane(plane_folder, "namespace") as plane:
        plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})
        for n in range(110):
            plane.call("POST", "/api/v1/namespaces/team/pods", {
                "metadata": {"name": f"pod-{n}", "labels": LABELS},
                "spec": {"nodeName": "n1", "containers": [{"name": "main", "image": "x"}]}})
        node = Node(folder, build, profile, shares_of_mig, 110,
                    ["--kubernetes-enable-pod-labels", "--kubernetes-enable-pod-uid", f"--kubeconfig={plane.kubeconfig}"])
        with node.one as one:
            first, process = node.start(110)
            figure("first_sample_mig", first, "s")
            wait(lambda: sum("example_com_label_00" in line for line in one.get().splitlines()) > 110, "labels of pods", 30)
            size = scrapes(one.port, process, "scrape_mig", arguments.scrapes, figure)
            figure("scrape_mig_bytes", size / 1e6, "MB")
            scrapes(one.port, process, "scrape_mig_gzip", arguments.scrapes, figure, gzip=True)
            figure("scrape_mig_16_p99", p99(at_once(one.port, 16, 20)), "ms")
            figure("exporter_mig_rss", process.memory(), "MB")
            idle(one, process, "exporter_mig", figure)


def measure(arguments, release, figure):
    for part in (measure_whole, measure_mig):
        with tempfile.TemporaryDirectory(prefix="gantry-telemetry-") as name:
            folder = pathlib.Path(name) / "node"
            folder.mkdir()
            part(folder, release.parent, arguments, figure)
