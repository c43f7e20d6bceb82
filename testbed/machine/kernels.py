# SPDX-License-Identifier: Apache-2.0
"""Kernels of Debian as a machine boots them, and what drivers are made from: fetched into the cache, never installed."""
import dataclasses
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent), str(HERE.parent / "cluster")]
import debian  # noqa: E402
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


def fetched(package: str) -> pathlib.Path:
    """A package's files; they are shared, never write to them."""
    target = cache() / package
    with paths.locked(cache() / ".lock", "another fetch of packages"):
        if not target.is_dir():
            paths.say(f"fetching {package}")
            debian.unpack((package,), target, (debian.SUITE, f"{debian.SUITE}-security"))
    return target


def kernel(release: str) -> Kernel:
    root = fetched(f"linux-image-{release}")
    return Kernel(release, root / f"boot/vmlinuz-{release}", root / f"lib/modules/{release}")


def open_modules() -> pathlib.Path:
    """The sources of NVIDIA's open kernel modules. What is not of the kernel's business in them is an object file."""
    package, version = OPEN_MODULES
    return fetched(package) / f"usr/src/nvidia-current-open-{version}"
