# SPDX-License-Identifier: Apache-2.0
"""What a machine boots from and what it finds on its disks, made of folders."""
import os
import pathlib
import re
import stat
import subprocess

# What a machine's disks and containers need; Debian's cloud kernel has ext4 in it.
MODULES = ("virtio_pci", "virtio_blk", "overlay")
BUSYBOX = pathlib.Path("/bin/busybox")
MIB = 1 << 20


class Archive:
    """A cpio archive of the "newc" kind, which a kernel unpacks as its first root."""

    def __init__(self):
        self.parts = []
        self.size = 0

    def _write(self, data: bytes) -> None:
        data += b"\0" * (-(self.size + len(data)) % 4)
        self.parts.append(data)
        self.size += len(data)

    def add(self, name: str, mode: int, data: bytes = b"", device: int = 0) -> None:
        path = name.encode() + b"\0"
        fields = (len(self.parts), mode, 0, 0, 1, 0, len(data), 0, 0, os.major(device), os.minor(device), len(path), 0)
        self._write(b"070701" + b"".join(b"%08X" % field for field in fields) + path)
        self._write(data)

    def folder(self, name: str) -> None:
        self.add(name, stat.S_IFDIR | 0o755)

    def file(self, name: str, data: bytes) -> None:
        self.add(name, stat.S_IFREG | 0o755, data)

    def bytes(self) -> bytes:
        self.add("TRAILER!!!", 0)
        return b"".join(self.parts)


def module_files(modules: pathlib.Path, names: tuple[str, ...]) -> dict[str, pathlib.Path]:
    """The files of these modules and of all that they need, each after those that it needs."""
    found = {path.stem.replace("-", "_"): path for path in modules.rglob("*.ko")}
    order = {}

    def add(name: str) -> None:
        needed = re.search(rb"\0depends=([^\0]*)\0", found[name].read_bytes())
        for other in needed[1].decode().split(",") if needed and needed[1] else []:
            add(other.replace("-", "_"))
        order.setdefault(name, found[name])

    for name in names:
        add(name)
    return order


def first_root(release: str, modules: pathlib.Path, more_modules: tuple[str, ...] = ()) -> bytes:
    """The root of a machine: busybox, of a kernel's modules those that its disks need and `more_modules`, and the first
    process."""
    archive = Archive()
    for name in ("bin", "dev", "modules", "proc", "sys", "lib", "lib/modules", f"lib/modules/{release}"):
        archive.folder(name)
    archive.add("dev/console", stat.S_IFCHR | 0o600, device=os.makedev(5, 1))
    archive.file("bin/busybox", BUSYBOX.read_bytes())
    listed = subprocess.run([BUSYBOX, "--list"], capture_output=True, text=True, check=True)
    for applet in set(listed.stdout.split()) - {"busybox"}:
        archive.add(f"bin/{applet}", stat.S_IFLNK | 0o777, b"busybox")
    files = module_files(modules, MODULES + more_modules)
    for name, path in files.items():
        archive.file(f"modules/{name}", path.read_bytes())
    archive.file("modules/order", "".join(f"{name}\n" for name in files).encode())
    archive.file("init", pathlib.Path(__file__).with_name("init.sh").read_bytes())
    return archive.bytes()


def disk(folder: pathlib.Path, image: pathlib.Path, room_mib: int) -> None:
    """Makes an ext4 image of a folder, with room for more."""
    held = sum(path.lstat().st_blocks * 512 + 512 for path in folder.rglob("*"))
    size = held * 21 // 20 // MIB + 16 + room_mib
    subprocess.run(["/sbin/mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-d", folder, image, f"{size}M"],
                   check=True, capture_output=True, text=True)
