# SPDX-License-Identifier: Apache-2.0
"""The driver's user-space files: Debian's packages, laid out as a host-installed driver of the wanted version.

Debian ships them under /usr/lib/x86_64-linux-gnu/nvidia/current with alternatives; NVIDIA's installer, which most hosts
use, puts libX.so.<version> plainly into the library folder. The latter is what is made here. The packages are fetched
with an apt state and source list of our own in the cache folder: the machine's apt configuration stays as it is.
"""
import fcntl
import os
import pathlib
import re
import shutil
import subprocess

PACKAGES = ("nvidia-smi", "libcuda1", "libnvidia-ptxjitcompiler1", "libnvidia-nvvm4", "libnvidia-encode1", "libnvcuvid1",
            "libnvidia-opticalflow1", "libnvidia-allocator1", "libnvidia-cfg1", "libnvidia-pkcs11-openssl3",
            "nvidia-opencl-icd", "nvidia-opencl-common", "nvidia-persistenced", "nvidia-cuda-mps")
SUITE, KEYRING = "bookworm", "/usr/share/keyrings/debian-archive-keyring.gpg"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
BINARIES = ("nvidia-smi", "nvidia-persistenced", "nvidia-cuda-mps-control", "nvidia-cuda-mps-server")
FIRMWARE = ("gsp_ga10x.bin", "gsp_tu10x.bin")
LAYOUT = 1  # raise when the layer is laid out differently


class DriverError(Exception):
    """The packages could not be fetched."""


def cache_folder() -> pathlib.Path:
    """Where the project keeps what it fetched: $GANTRY_CACHE, else the user's cache folder."""
    if os.environ.get("GANTRY_CACHE"):
        return pathlib.Path(os.environ["GANTRY_CACHE"])
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "gantry"


def _run(command: list[str], **options) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise DriverError(f"{' '.join(command[:3])}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def _mirror() -> str:
    """The Debian mirror that the machine uses itself."""
    if os.environ.get("GANTRY_DEBIAN_MIRROR"):
        return os.environ["GANTRY_DEBIAN_MIRROR"]
    targets = _run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)", "Created-By: Packages"])
    for line in targets.splitlines():
        address, codename = line.split()
        if codename == SUITE:
            return address
    raise DriverError(f"fetch the driver: this machine's apt has no Debian {SUITE}; set GANTRY_DEBIAN_MIRROR")


def _fetch(folder: pathlib.Path) -> None:
    """Downloads and unpacks the packages into folder/root."""
    state = folder / "apt"
    for name in ("state/lists/partial", "cache/archives/partial", "packages"):
        (state / name).mkdir(parents=True, exist_ok=True)
    (state / "state/status").touch()
    (state / "sources.list").write_text(
        f"deb [signed-by={KEYRING}] {_mirror()} {SUITE} main contrib non-free\n", encoding="utf-8")
    (state / "apt.conf").write_text(
        f'Dir::State "{state}/state";\nDir::State::status "{state}/state/status";\nDir::Cache "{state}/cache";\n'
        f'Dir::Etc::SourceList "{state}/sources.list";\nDir::Etc::SourceParts "-";\nAcquire::Languages "none";\n'
        'APT::Sandbox::User "root";\nAPT::Architecture "amd64";\n', encoding="utf-8")
    environment = {**os.environ, "APT_CONFIG": str(state / "apt.conf")}
    _run(["apt-get", "-q", "update"], env=environment)
    _run(["apt-get", "-q", "download", *PACKAGES], env=environment, cwd=state / "packages")
    unpacked = folder / "root.part"
    shutil.rmtree(unpacked, ignore_errors=True)
    unpacked.mkdir()
    for package in sorted((state / "packages").glob("*.deb")):
        _run(["dpkg-deb", "-x", str(package), str(unpacked)])
    unpacked.replace(folder / "root")
    shutil.rmtree(state)


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
        soname = re.search(r"SONAME\s+(\S+)", _run(["objdump", "-p", str(source)]))
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
    folder = cache_folder() / "driver" / SUITE
    folder.mkdir(parents=True, exist_ok=True)
    ready = folder / f"layer{LAYOUT}-{version}"
    with open(folder / ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "root").is_dir():
            _fetch(folder)
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
