# SPDX-License-Identifier: Apache-2.0
"""The driver's user-space files: Debian's packages, laid out as a host-installed driver of the wanted version.

Debian ships them under /usr/lib/x86_64-linux-gnu/nvidia/current with alternatives; NVIDIA's installer, which most hosts
use, puts libX.so.<version> plainly into the library folder. The latter is what is made here.
"""
import fcntl
import os
import pathlib
import re
import shutil
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))
import debian  # noqa: E402  it lies in testbed/

PACKAGES = ("nvidia-smi", "libcuda1", "libnvidia-ptxjitcompiler1", "libnvidia-nvvm4", "libnvidia-encode1", "libnvcuvid1",
            "libnvidia-opticalflow1", "libnvidia-allocator1", "libnvidia-cfg1", "libnvidia-pkcs11-openssl3",
            "nvidia-opencl-icd", "nvidia-opencl-common", "nvidia-persistenced", "nvidia-cuda-mps")
LIBRARIES = "usr/lib/x86_64-linux-gnu"
BINARIES = ("nvidia-smi", "nvidia-persistenced", "nvidia-cuda-mps-control", "nvidia-cuda-mps-server")
FIRMWARE = ("gsp_ga10x.bin", "gsp_tu10x.bin")
LAYOUT = 1  # raise when the layer is laid out differently


def cache_folder() -> pathlib.Path:
    """Where the project keeps what it fetched: $GANTRY_CACHE, else the user's cache folder."""
    if os.environ.get("GANTRY_CACHE"):
        return pathlib.Path(os.environ["GANTRY_CACHE"])
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "gantry"


def _link(source: pathlib.Path, target: pathlib.Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    os.link(source, target)


def _lay_out(root: pathlib.Path, layer: pathlib.Path, version: str) -> None:
    """Makes of the unpacked packages the files of a driver of that version, under the names it would have."""
    for source in sorted((root / LIBRARIES).rglob("lib*.so.*")):
        found = re.fullmatch(r"(lib.+)\.so\.(\d+\.\d+\.\d+)", source.name)
        if source.is_symlink() or not found or found[1] == "libnvidia-ml":
            continue
        _link(source, layer / LIBRARIES / f"{found[1]}.so.{version}")
        soname = re.search(r"SONAME\s+(\S+)", debian.run(["objdump", "-p", str(source)]))
        names = [soname[1]] if soname else []
        if found[1] in ("libcuda", "libnvcuvid", "libnvidia-encode", "libnvidia-opticalflow"):
            names.append(f"{found[1]}.so")
        previous = f"{found[1]}.so.{version}"
        for name in names:
            if name != previous:
                (layer / LIBRARIES / name).symlink_to(previous)
                previous = name
    for name in BINARIES:
        found = [root / folder / name for folder in ("usr/bin", "usr/sbin", "usr/lib/nvidia/current")]
        _link(next(path for path in found if path.is_file()), layer / "usr/bin" / name)
    _link(root / "etc/OpenCL/vendors/nvidia.icd", layer / "etc/OpenCL/vendors/nvidia.icd")
    for name in FIRMWARE:
        path = layer / "lib/firmware/nvidia" / version / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(f"stand-in of fakegpu for {name} {version}\n".encode().ljust(4096, b"\0"))


def layer(version: str) -> pathlib.Path:
    """The folder with the driver's files as they lie under a root, without libnvidia-ml; made when it is not there.
    The files are shared by hard links: never write to them."""
    folder = cache_folder() / "driver" / debian.SUITE
    folder.mkdir(parents=True, exist_ok=True)
    ready = folder / f"layer{LAYOUT}-{version}"
    with open(folder / ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "root").is_dir():
            debian.unpack(PACKAGES, folder / "root")
        if not ready.is_dir():
            part = folder / f"layer-{version}.part"
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            _lay_out(folder / "root", part, version)
            part.replace(ready)
    return ready


def put(source: pathlib.Path, target: pathlib.Path) -> None:
    """Puts one file or link of the layer under a root: as a hard link where that is possible, else as a copy."""
    if target.is_symlink() or target.exists():
        if not source.is_symlink() and not target.is_symlink() and target.stat().st_size == source.stat().st_size:
            return
        if source.is_symlink() and target.is_symlink() and os.readlink(source) == os.readlink(target):
            return
        target.unlink()
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink():
        target.symlink_to(os.readlink(source))
        return
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
