# SPDX-License-Identifier: Apache-2.0
"""The device plugin for virtual machines beside a stand-in for the kubelet (device_plugin/fake_kubelet.cc), on a folder
as sysfs. The build is $GANTRY_BUILD (default build/release).
"""

import contextlib
import json
import pathlib
import subprocess
import tempfile
import time

import pytest
from mig_machine import wait
from ours import ROOT

GPU, GROUP = "0000:3b:00.0", "57"
T4 = "nvidia.com/TU104GL_TESLA_T4"


class Kubelet:
    def __init__(self, build: pathlib.Path, folder: pathlib.Path):
        self.process = subprocess.Popen([build / "bin/fake_kubelet", folder], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def ask(self, *words: str):
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


class Node:
    """A T4 that vfio-pci has, the kubelet and the plugin."""

    def __init__(self, build: pathlib.Path, folder: pathlib.Path):
        self.build, self.folder = build, folder
        # A socket's path has at most 107 characters.
        self.sockets = tempfile.TemporaryDirectory(prefix="gantry-vm-")
        self.plugins = pathlib.Path(self.sockets.name)
        device = folder / "sys/bus/pci/devices" / GPU
        device.mkdir(parents=True)
        for name, text in {"vendor": "0x10de", "device": "0x1eb8", "class": "0x030200", "numa_node": "0"}.items():
            (device / name).write_text(text + "\n")
        (folder / f"sys/kernel/iommu_groups/{GROUP}").mkdir(parents=True)
        (device / "iommu_group").symlink_to(f"../../../../kernel/iommu_groups/{GROUP}")
        self.device, self.vfio = device, folder / "dev/vfio"
        self.vfio.mkdir(parents=True)
        (self.vfio / "vfio").touch()
        self.kubelet = Kubelet(build, self.plugins)
        wait((self.plugins / "kubelet.sock").exists, "the kubelet")
        self.plugin = subprocess.Popen(
            [build / "bin/gantry", "nvidia-kubevirt-gpu-device-plugin", f"--sys={folder}/sys", f"--host-root={folder}",
             f"--pci-ids={ROOT}/deploy/image/pci.ids", f"--kubelet-folder={self.plugins}"],
            stderr=open(folder / "log", "a"))

    def bind(self, driver: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            (self.device / "driver").unlink()
        (self.device / "driver").symlink_to(f"../../drivers/{driver}")
        node = self.vfio / GROUP
        if driver == "vfio-pci":
            node.touch()
        else:
            node.unlink(missing_ok=True)

    def offers(self, devices: dict, seconds: float = 10) -> None:
        wait(lambda: self.kubelet.ask("devices").get(T4) == devices, f"{devices}: {(self.folder / 'log').read_text()}",
             seconds)

    def close(self) -> None:
        self.plugin.kill()
        self.plugin.wait()
        self.kubelet.close()
        self.sockets.cleanup()


@pytest.fixture(name="node")
def fixture_node(build, tmp_path):
    node = Node(build, tmp_path)
    yield node
    node.close()


def test_a_gpu_is_offered_when_it_is_bound_and_again_after_each_trouble(node):
    time.sleep(0.3)
    assert node.kubelet.ask("devices") == {}
    node.bind("vfio-pci")
    node.offers({GPU: True})
    assert (node.plugins / "kubevirt-TU104GL_TESLA_T4.sock").exists()
    assert node.kubelet.ask("allocate", T4, GPU) == ""
    node.bind("nvidia")
    node.offers({GPU: False})
    assert "it is bound to nvidia" in node.kubelet.ask("allocate", T4, GPU)
    node.bind("vfio-pci")
    node.offers({GPU: True})
    memory = next(int(line.split()[1]) for line in pathlib.Path(f"/proc/{node.plugin.pid}/status").read_text().split("\n")
                  if line.startswith("VmRSS"))
    assert memory < 12 * 1024, f"{memory} KiB"


def test_it_registers_with_every_kubelet(node):
    node.bind("vfio-pci")
    node.offers({GPU: True})
    for _ in range(3):
        node.kubelet.close()
        node.kubelet = Kubelet(node.build, node.plugins)
        node.offers({GPU: True}, 20)
    node.plugin.terminate()
    assert node.plugin.wait(timeout=10) == 0
    assert not list(node.plugins.glob("kubevirt-*"))
