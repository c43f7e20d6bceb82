# SPDX-License-Identifier: Apache-2.0
"""A driver comes to a node and goes again: in a machine with Debian's kernel (testbed/machine), by the driver container
as it runs on a node, with a stand-in for the driver's kernel modules. The disk stays when the kernel changes.
"""

import pathlib
import shutil
import subprocess

import pytest
from driver_container import Container, gantry, kernels, put_sources, vm

FIRST, SECOND = "1.0", "2.0"
COMPILE_S = 600  # on an emulated processor, beside other tests; alone, half a minute
# A container of the driver image: what it writes is lost with it, and the node's /run/nvidia and processes are its own.
# Programs need their whole path: busybox's chroot prefers its own.
CONTAINER = """
name=/run/containers/$1
shift
mkdir -p $name/upper $name/work $name/root /run/nvidia
mount -t overlay -o lowerdir=/tree:/image,upperdir=$name/upper,workdir=$name/work driver $name/root
mount --make-private $name/root
cd $name/root
for folder in proc sys dev run/nvidia node; do
  mkdir -p $folder
  mount --rbind /$folder $folder
done
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
exec chroot . "$@"
"""
WAIT = """
for i in $(seq 1 {tenths}); do
  ended=
  [ -e /run/status-{name} ] && ended=1
  [ -e {file} ] && exit 0
  [ "$ended" ] && exit 1
  sleep 0.1
done
exit 2
"""
READY, FAILED = "/run/nvidia/validations/.driver-ctr-ready", "/run/nvidia/validations/.driver-ctr-failed"


def make_package(folder: pathlib.Path, release: str, version: str, modules: list[pathlib.Path]) -> None:
    """What a distribution, or a site, gives its nodes instead of a compiler."""
    tree = folder.parent / "package"
    place = tree / f"lib/modules/{release}/updates/dkms"
    place.mkdir(parents=True)
    for module in modules:
        shutil.copy2(module, place)
    (tree / "DEBIAN").mkdir()
    (tree / "DEBIAN/control").write_text(f"Package: nvidia-open-kernel-{release}\nVersion: {version}-1\n"
                                         "Architecture: amd64\nMaintainer: nobody <nobody@localhost>\n"
                                         "Description: modules\n")
    folder.mkdir()
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", tree, folder], check=True, capture_output=True)


@pytest.fixture(name="disks")
def fixture_disks(tmp_path):
    """The driver image's root and what is laid over it; and a node's disk, which has for the older kernel modules of
    the first version and a package of the second's."""
    tree, node = tmp_path / "tree", tmp_path / "node"
    for version in (FIRST, SECOND):
        put_sources(tree, version)
    packer = Container(tmp_path / "packer", tmp_path / "packed", tree)
    for version in (FIRST, SECOND):
        packer.compile(version, kernels.OLDER, 300)
    precompiled = node / f"precompiled/{kernels.OLDER}/{FIRST}/open"
    shutil.copytree(next(packer.cache.glob(f"*_{FIRST}_*")), precompiled)
    make_package(node / "packages", kernels.OLDER, SECOND, list(packer.cache.glob(f"*_{SECOND}_*/*.ko")))
    # Taken for modules of the newer kernel, which they are not.
    shutil.copytree(precompiled, node / f"precompiled/{kernels.NEWER}/{FIRST}/open")
    for release in (kernels.OLDER, kernels.NEWER):
        modules = node / "lib/modules" / release
        (modules / "kernel/lib").mkdir(parents=True)
        shutil.copy2(kernels.kernel(release).modules / "kernel/lib/crc-itu-t.ko", modules / "kernel/lib")
    (tree / "usr/bin").mkdir()
    shutil.copy2(gantry(), tree / "usr/bin/nvidia-driver")
    disks = [vm.Disk("image", kernels.driver_root() / "root.ext4", read_only=True)]
    for folder, read_only in ((tree, True), (node, False)):
        image = tmp_path / f"{folder.name}.ext4"
        vm.images.disk(folder, image, 64)
        disks.append(vm.Disk(folder.name, image, read_only))
    return disks


class Node(vm.Machine):
    """A node that has booted; each container has a name of its own."""

    def __init__(self, release: str, disks: list[vm.Disk], folder: pathlib.Path):
        super().__init__(kernels.kernel(release), disks, folder)
        self.has(f"""
          cat > /bin/container <<'END'
          #!/bin/sh
          {CONTAINER}
END
          chmod 755 /bin/container
          /bin/container modules /usr/sbin/depmod -b /node {release}
          mount --bind /node/lib/modules/{release} /lib/modules/{release}
          touch /node/terminated  # a kubelet makes it""")

    def has(self, script: str) -> str:
        done = self.run(script)
        assert done.status == 0, f"{script}: {done.status}: {done.output}"
        return done.output

    def start(self, name: str, **variables: str) -> None:
        settings = {"DRIVER_PRECOMPILED": "/node/precompiled", "DRIVER_PACKAGES": "/node/packages",
                    "DRIVER_CACHE": "/node/cache", "KERNEL_MODULE_TYPE": "open", "TERMINATION_LOG": "/node/terminated",
                    **variables}
        given = " ".join(f"{key}={value}" for key, value in settings.items())
        self.has(f"""(
          {given} sh -c 'echo $$ > /run/pid-{name}; exec /bin/container {name} /usr/bin/nvidia-driver init'
          echo $? > /run/status-{name}
        ) > /run/log-{name} 2>&1 < /dev/null &""")

    def log(self, name: str) -> str:
        return self.has(f"cat /run/log-{name}")

    def wait(self, name: str, file: str, seconds: float = 60) -> str:
        """Until a file is there; what the container has said until then."""
        done = self.run(WAIT.format(tenths=int(seconds * 10), file=file, name=name), seconds + 60)
        said = self.log(name)
        assert done.status == 0, said
        return said

    def ended(self, name: str) -> tuple[int, str]:
        self.wait(name, f"/run/status-{name}")
        return int(self.has(f"cat /run/status-{name}")), self.log(name)

    def stop(self, name: str) -> tuple[int, str]:
        self.has(f"kill -TERM $(cat /run/pid-{name})")
        return self.ended(name)

    def loaded(self) -> dict[str, str]:
        """Version of each module of the driver that is loaded."""
        lines = self.has("cd /sys/module; grep -H . nvidia*/version 2> /dev/null || true").split()
        return {line.split("/")[0]: line.split(":")[1] for line in lines}


def test_a_driver_comes_is_held_is_upgraded_meets_another_kernel_and_goes(disks, tmp_path):
    with Node(kernels.OLDER, disks, tmp_path) as node:
        a_missing_package_is_named(node)
        precompiled_modules_are_loaded(node)
        who_holds_the_driver_is_named_and_keeps_it(node)
        a_package_of_the_next_version_takes_its_place(node)
        it_goes(node, "second")
    with Node(kernels.NEWER, disks, tmp_path) as node:
        modules_of_another_kernel_are_refused(node)
        without_a_package_the_modules_are_compiled_once(node)
        it_goes(node, "again")


def a_missing_package_is_named(node):
    node.start("missing", DRIVER_VERSION="3.0", USE_PRECOMPILED="true", EXIT_ON_FAILURE="true")
    status, said = node.ended("missing")
    assert status == 1
    for part in ("driver 3.0", kernels.OLDER, "no package of modules", f"{kernels.OLDER}/{FIRST}/open",
                 f"{kernels.OLDER}/{SECOND}/open"):
        assert part in said


def precompiled_modules_are_loaded(node):
    node.start("first", DRIVER_VERSION=FIRST, USE_PRECOMPILED="true")
    node.wait("first", READY)
    assert node.loaded() == {"nvidia": FIRST, "nvidia_uvm": FIRST}
    assert "crc_itu_t" in node.has("cat /proc/modules")  # the kernel's own, which nvidia-uvm needs
    assert node.has("stat -c '%t %T %a' /dev/nvidiactl").split() == ["c3", "ff", "666"]
    assert "nvidia-driver" in node.has("ls /run/nvidia/driver/usr/bin")


def who_holds_the_driver_is_named_and_keeps_it(node):
    node.has("sleep 1000 < /dev/nvidiactl > /dev/null 2>&1 & echo $! > /run/holder")
    status, said = node.stop("first")
    holder = node.has("cat /run/holder").strip()
    assert status == 1
    assert f"in use by process {holder} (sleep, /dev/nvidiactl" in said
    assert "in use by" in node.has("cat /node/terminated")
    assert node.loaded() == {"nvidia": FIRST, "nvidia_uvm": FIRST}
    node.has("kill $(cat /run/holder)")


def a_package_of_the_next_version_takes_its_place(node):
    node.start("second", DRIVER_VERSION=SECOND)
    node.wait("second", READY)
    assert node.loaded() == {"nvidia": SECOND, "nvidia_uvm": SECOND}


def modules_of_another_kernel_are_refused(node):
    node.start("wrong", DRIVER_VERSION=FIRST)
    said = node.wait("wrong", FAILED)
    assert "built for another kernel" in said
    assert node.loaded() == {}
    assert node.stop("wrong")[0] == 1


def without_a_package_the_modules_are_compiled_once(node):
    node.start("compiled", DRIVER_VERSION=SECOND)
    said = node.wait("compiled", READY, COMPILE_S)
    assert f"compile driver {SECOND} (open) for kernel {kernels.NEWER}" in said
    assert node.loaded() == {"nvidia": SECOND, "nvidia_uvm": SECOND}
    kept = {name.rpartition("_")[0] for name in node.has("ls /node/cache").split()}
    assert kept == {f"{release}_{SECOND}_open" for release in (kernels.OLDER, kernels.NEWER)}
    it_goes(node, "compiled")
    node.start("again", DRIVER_VERSION=SECOND)
    said = node.wait("again", READY)
    assert "are in the cache" in said and "compile driver" not in said


def it_goes(node, name):
    status, said = node.stop(name)
    assert status == 0, said
    assert node.loaded() == {}
    assert node.run(f"test -e {READY}").status == 1
    assert "/run/nvidia/driver" not in node.has("cat /proc/mounts")
