# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's open kernel modules are compiled for Debian's kernels by the driver container itself. What came out stays
in the cache under what it was made by, so that it is compiled again when the driver container's code, its image or the
sources change, and else not.
"""

import hashlib
import json
import re
import shutil
import time

import pytest
from driver_container import ROOT, Container, kernels, stop

VERSION = kernels.OPEN_MODULES[1]
MODULES = ["nvidia", "nvidia-drm", "nvidia-modeset", "nvidia-peermem", "nvidia-uvm"]
LIMIT_S = 1500  # on two processors that others use too; alone, two minutes


def made_by() -> str:
    """Of all that decides what comes out, apart from what the driver container itself looks at."""
    files = [path for path in sorted((ROOT / "src/operands/driver").glob("*.[ch]*")) if "_test" not in path.name]
    files += [ROOT / "deploy/driver_image/root.sh", ROOT / "testbed/machine/kernels.py"]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]


@pytest.fixture(name="container")
def fixture_container(tmp_path):
    cache = kernels.cache() / f"compiled-{made_by()}"
    for older in kernels.cache().glob("compiled-*"):
        if older != cache:
            shutil.rmtree(older)
    return Container(tmp_path, cache, kernels.open_modules().parents[2])


def test_the_open_modules_compile_for_the_kernel_and_not_twice(container):
    container.compile(VERSION, kernels.OLDER, LIMIT_S)
    again = container.compile(VERSION, kernels.OLDER, 120)
    assert "are in the cache" in again and "compile driver" not in again
    modules = sorted(container.cache.glob(f"{kernels.OLDER}_{VERSION}_open_*/*.ko"))
    assert sorted(module.stem for module in modules) == MODULES
    for module in modules:
        path = f"/cache/{module.relative_to(container.cache)}"
        assert container.says("modinfo", "-F", "vermagic", path).split()[0] == kernels.OLDER
        assert container.says("modinfo", "-F", "version", path).strip() in (VERSION, "")


def fail_to_compile(container):
    """What the container says of a kernel that is too new: in the file of its failure, and as its pod's last word."""
    failed = container.folder / "upper/run/nvidia/validations/.driver-ctr-failed"
    with container.start("nvidia-driver", "init", DRIVER_VERSION=VERSION, KERNEL_VERSION=kernels.NEWER) as process:
        try:
            deadline = time.monotonic() + LIMIT_S
            while not failed.exists():
                assert process.poll() is None and time.monotonic() < deadline, process.communicate(timeout=10)[0]
                time.sleep(0.2)
            message = failed.read_text()
            stop(process, "nvidia-driver")
            said, _ = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 1 and not failed.exists(), said
    return message, (container.folder / "upper/termination-log").read_text()


def test_a_kernel_that_is_too_new_is_named_with_the_compilers_first_error(container):
    kept = container.cache / "failed.json"
    if not kept.exists():
        kept.write_text(json.dumps(fail_to_compile(container)))
    message, last_word = json.loads(kept.read_text())
    found = re.search(r"compile driver (\S+) \(open\) for kernel (\S+): (\S+):\d+:\d+: error: (.+)", message)
    assert found, message
    assert found.groups()[:3] == (VERSION, kernels.NEWER, "nvidia/nv-pci.c")
    assert "pci_resize_resource" in found[4]
    assert found[0].rstrip('"') in last_word
