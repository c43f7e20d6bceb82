# SPDX-License-Identifier: Apache-2.0
"""Kernels of Debian as a machine boots them, and what drivers are made from: fetched into the cache, not installed."""
import dataclasses
import hashlib
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent), str(HERE.parent / "cluster")]
import debian  # noqa: E402
import images  # noqa: E402
import paths  # noqa: E402

# Two releases of one kernel series, for a change of kernels. NVIDIA's open modules 535.261.03 compile with the headers
# of the older one; with the newer one they don't, for pci_resize_resource() has an argument more.
OLDER, NEWER = "6.1.0-47-cloud-amd64", "6.1.0-56-cloud-amd64"
OPEN_MODULES = ("nvidia-open-kernel-dkms", "535.261.03")


@dataclasses.dataclass(frozen=True)
class Kernel:
    release: str
    image: pathlib.Path
    modules: pathlib.Path  # as /lib/modules/<release>, without what depmod makes


def cache() -> pathlib.Path:
    return paths.cache().with_name("machine")


def _made(name: str, make) -> pathlib.Path:
    """What make(folder) puts into a folder of the cache, made once; it is shared, never write to it."""
    target = cache() / name
    with paths.locked(cache() / ".lock", "another process that fetches packages"):
        if not target.is_dir():
            paths.say(f"making {target}")
            with paths.made_whole(target) as folder:
                make(folder)
    return target


def fetched(package: str) -> pathlib.Path:
    """A package's files, as they lie under a root."""
    suites = (debian.SUITE, f"{debian.SUITE}-security")
    return _made(package, lambda into: debian.unpack((package,), into / "root", suites)) / "root"


def kernel(release: str) -> Kernel:
    root = fetched(f"linux-image-{release}")
    return Kernel(release, root / f"boot/vmlinuz-{release}", root / f"lib/modules/{release}")


def open_modules() -> pathlib.Path:
    """The sources of NVIDIA's open kernel modules. What of them knows no kernel is there as two object files."""
    package, version = OPEN_MODULES
    return fetched(package) / f"usr/src/nvidia-current-open-{version}"


def driver_root() -> pathlib.Path:
    """The root of the driver image, with the headers of both kernels, without Gantry: the folder `root`, and in
    `root.ext4` the same as a disk."""
    script = HERE.parents[1] / "deploy/driver_image/root.sh"
    key = hashlib.sha256(script.read_bytes() + f"{OLDER} {NEWER}".encode()).hexdigest()[:8]

    def make(into: pathlib.Path) -> None:
        debian.run([str(script), str(into / "root"), OLDER, NEWER])
        images.disk(into / "root", into / "root.ext4", 0)

    return _made(f"driver-root-{key}", make)
