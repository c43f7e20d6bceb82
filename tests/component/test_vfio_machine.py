# SPDX-License-Identifier: Apache-2.0
"""GPUs are bound for virtual machines and given back: by vfio-manage in a machine with Debian's kernel and an IOMMU
(testbed/machine). Disks and a teaching device stand for the GPUs, by files over those of sysfs.
"""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from ours import ROOT, release

sys.path.append(str(ROOT / "testbed/machine"))
import kernels  # noqa: E402
import vm  # noqa: E402

IOMMU = ("-device", "intel-iommu,intremap=on")
# Two cards: a GPU with an audio function, and a GPU alone.
HARDWARE = ("-machine", "q35",
            "-device", "pcie-root-port,id=rp1,chassis=1,slot=1",
            "-device", "edu,bus=rp1,addr=0.0,multifunction=on",
            "-device", "nvme-subsys,id=ss1,nqn=ss1",
            "-device", "nvme,serial=one,subsys=ss1,bus=rp1,addr=0.1",
            "-device", "pcie-root-port,id=rp2,chassis=2,slot=2",
            "-device", "nvme-subsys,id=ss2,nqn=ss2",
            "-device", "nvme,serial=two,subsys=ss2,bus=rp2,addr=0.0")
MODULES = ("vfio_pci", "vfio_iommu_type1")
DRESS = """
cd /sys/bus/pci/devices
as() {  # ADDRESS DEVICE CLASS
  mkdir -p /run/dress/$1
  echo 0x10de > /run/dress/$1/vendor
  echo $2 > /run/dress/$1/device
  echo $3 > /run/dress/$1/class
  for file in vendor device class; do mount --bind /run/dress/$1/$file $1/$file; done
}
"""


class Node(vm.Machine):
    """A machine with the three functions, each as one of NVIDIA."""

    def __init__(self, disk: pathlib.Path, folder: pathlib.Path, iommu: bool):
        super().__init__(kernels.kernel(kernels.OLDER), [vm.Disk("node", disk, read_only=True)], folder,
                         hardware=HARDWARE + (IOMMU if iommu else ()), modules=MODULES,
                         words="intel_iommu=on" if iommu else "intel_iommu=off")
        self.has("cp -r /node/lib* / && mkdir -p /var/log && cp /node/gantry /node/vfio_holder /bin")
        cards = self.has("cd /sys/bus/pci/devices; grep -l -e 0x11e8 -e 0x0010 */device").split()
        self.gpu, self.audio, self.other = sorted(card.split("/")[0] for card in cards)
        self.has(f"{DRESS}\nas {self.gpu} 0x1eb1 0x030000\nas {self.audio} 0x10f8 0x040300\n"
                 f"as {self.other} 0x2236 0x030200")

    def has(self, script: str) -> str:
        done = self.run(script)
        assert done.status == 0, f"{script}: {done.status}: {done.output}"
        return done.output

    def manage(self, *words: str) -> vm.Done:
        return self.run(f"gantry vfio-manage {' '.join(words)}")

    def drivers(self) -> list[str]:
        return [self.driver(card) for card in (self.gpu, self.audio, self.other)]

    def driver(self, card: str) -> str:
        return pathlib.Path(self.run(f"readlink /sys/bus/pci/devices/{card}/driver").output.strip()).name

    def group(self, card: str) -> str:
        return pathlib.Path(self.has(f"readlink /sys/bus/pci/devices/{card}/iommu_group").strip()).name


@pytest.fixture(name="disk", scope="module")
def fixture_disk(tmp_path_factory):
    """Gantry, the libraries that it needs, and a program that has a device as a virtual machine has it."""
    folder = tmp_path_factory.mktemp("vfio")
    tree = folder / "tree"
    tree.mkdir()
    gantry = release("gantry") / "bin/gantry"
    shutil.copy2(gantry, tree / "gantry")
    libraries = subprocess.run(["ldd", gantry], capture_output=True, text=True, check=True).stdout
    for library in re.findall(r"(/\S+) \(", libraries):
        target = tree / library.removeprefix("/").removeprefix("usr/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(library, target)
    subprocess.run(["cc", "-static", "-O1", "-o", tree / "vfio_holder", ROOT / "tests/component/vfio_holder.c"],
                   check=True)
    vm.images.disk(tree, folder / "disk.ext4", 0)
    return folder / "disk.ext4"


EARLIER = ["", "nvme", "nvme"]
BOUND = ["vfio-pci", "vfio-pci", "vfio-pci"]


def test_gpus_are_bound_held_restored_and_kept(disk, tmp_path):
    with Node(disk, tmp_path, iommu=True) as node:
        a_group_is_bound_and_nothing_is_written_twice(node)
        a_gpu_that_a_virtual_machine_has_stays(node)
        what_a_killed_run_left_is_finished(node)
        the_manager_binds_again_and_leaves_gpus_when_it_ends(node)


def a_group_is_bound_and_nothing_is_written_twice(node):
    assert node.drivers() == EARLIER
    done = node.manage("bind", "--all")
    assert done.status == 0, done.output
    assert node.drivers() == BOUND
    again = node.manage("bind", "--all")
    assert again.status == 0 and " is bound to " not in again.output and " is for " not in again.output
    done = node.manage("restore")
    assert done.status == 0, done.output
    assert node.drivers() == EARLIER
    assert "(null)" in node.has(f"cat /sys/bus/pci/devices/{node.gpu}/driver_override")
    assert node.run("ls /run/nvidia/validations/.vfio-binding.json").status != 0


def a_gpu_that_a_virtual_machine_has_stays(node):
    assert node.manage("bind", "--all").status == 0
    node.has(f"vfio_holder {node.group(node.gpu)} {node.gpu} > /run/held 2>&1 < /dev/null & echo $! > /run/holder\n"
             "for i in $(seq 100); do grep -q held /run/held && exit 0; sleep 0.1; done; cat /run/held; exit 1")
    done = node.manage("restore")
    assert done.status == 1
    holder = node.has("cat /run/holder").strip()
    assert f"it is in use by process {holder} (vfio_holder, /dev/vfio/{node.group(node.gpu)})" in done.output
    assert node.drivers() == ["vfio-pci", "vfio-pci", "nvme"], "the other card is free"
    assert node.manage("bind", "--all").status == 0
    assert node.has("cat /run/held") == "held\n", "the kernel asked the virtual machine for its device"
    node.has(f"kill {holder}; while [ -e /proc/{holder} ]; do sleep 0.1; done")
    assert node.manage("restore").status == 0
    assert node.drivers() == EARLIER


def what_a_killed_run_left_is_finished(node):
    assert node.manage("bind", "--all").status == 0
    node.has(f"echo {node.other} > /sys/bus/pci/drivers/vfio-pci/unbind")
    assert node.driver(node.other) == ""
    assert node.manage("bind", "--all").status == 0
    assert node.drivers() == BOUND
    assert node.manage("restore").status == 0
    assert node.drivers() == EARLIER


def the_manager_binds_again_and_leaves_gpus_when_it_ends(node):
    node.has("gantry vfio-manage manage > /run/manager 2>&1 < /dev/null & echo $! > /run/pid")
    wait = "for i in $(seq 150); do [ -e /sys/bus/pci/drivers/vfio-pci/{card} ] && exit 0; sleep 0.1; done; exit 1"
    node.has(wait.format(card=node.other))
    node.has(f"echo {node.other} > /sys/bus/pci/drivers/vfio-pci/unbind")
    node.has(wait.format(card=node.other))
    memory = int(node.has("grep VmRSS /proc/$(cat /run/pid)/status").split()[1])
    assert memory < 8 * 1024, f"{memory} KiB"
    node.has("kill $(cat /run/pid); while [ -e /proc/$(cat /run/pid) ]; do sleep 0.1; done")
    assert node.drivers() == BOUND
    assert node.manage("restore").status == 0


def test_without_an_iommu_nothing_is_taken(disk, tmp_path):
    with Node(disk, tmp_path, iommu=False) as node:
        done = node.manage("bind", "--all")
        assert done.status == 1
        assert "it is in no IOMMU group" in done.output
        assert node.drivers() == EARLIER
