# SPDX-License-Identifier: Apache-2.0
"""Reads and writes the machine in the tail of the library file.

Where each number lies is asked of the library itself (fakegpuLayout), so the layout is written down once, in
library/state.h.
"""
import contextlib
import ctypes
import fcntl
import mmap
import os
import pathlib
import shutil
import struct
import time

UNKNOWN = {"u32": 0xFFFFFFFF, "u64": 0xFFFFFFFFFFFFFFFF}
MAGIC = 0x31555047454B4146
SYS_FUTEX, FUTEX_WAKE = 202, 1  # x86_64
FORMATS = {"u32": "<I", "u64": "<Q"}
SIZES = {"u32": 4, "u64": 8, "text": 1}


class LayoutError(Exception):
    """The library and this tool do not belong together, or the file holds no machine."""


class Layout:
    """Structures of the library: `fields[struct][name] = (type, offset, count)`, sizes and arrays."""

    def __init__(self, library: pathlib.Path):
        self.library = loaded = ctypes.CDLL(str(library))
        if not hasattr(loaded, "fakegpuLayout"):
            raise LayoutError(f"read {library}: not a fakegpu library")
        length = loaded.fakegpuLayout(None, 0)
        text = ctypes.create_string_buffer(length + 1)
        loaded.fakegpuLayout(text, length + 1)
        self.fields: dict[str, dict[str, tuple[str, int, int]]] = {}
        self.sizes: dict[str, int] = {}
        self.arrays: dict[str, tuple[int, int]] = {}
        for line in text.value.decode().splitlines():
            structure, kind, name, offset, count = line.split()
            if kind == "size":
                self.sizes[structure] = int(count)
            elif kind == "array":
                self.arrays[name] = (int(offset), int(count))
            elif kind == "version":
                self.version, self.max_gpus = int(offset), int(count)
            else:
                self.fields.setdefault(structure, {})[name] = (kind, int(offset), int(count))


class Record:
    """One structure in a buffer, its fields by name."""

    def __init__(self, layout: Layout, structure: str, buffer, base: int):
        self.layout, self.structure, self.buffer, self.base = layout, structure, buffer, base

    def fields(self) -> dict[str, tuple[str, int, int]]:
        return self.layout.fields[self.structure]

    def get(self, name: str):
        kind, offset, count = self.fields()[name]
        at = self.base + offset
        if kind == "text":
            raw = bytes(self.buffer[at:at + count])
            return raw if name in ("fabric_cluster_uuid", "topology") else raw.split(b"\0")[0].decode()
        values = list(struct.unpack_from(FORMATS[kind][0] + str(count) + FORMATS[kind][1], self.buffer, at))
        values = [None if value == UNKNOWN[kind] else value for value in values]
        return values[0] if count == 1 else values

    def set(self, name: str, value, element: int | None = None) -> None:
        """Writes a field, or one element of it. None is "not known"."""
        kind, offset, count = self.fields()[name]
        at = self.base + offset
        if kind == "text":
            raw = value if isinstance(value, bytes) else str(value).encode()
            if len(raw) > count or (len(raw) == count and not isinstance(value, bytes)):
                raise ValueError(f"longer than {count - 1} characters")
            self.buffer[at:at + count] = raw.ljust(count, b"\0")
            return
        if element is None and count > 1:
            values = value if isinstance(value, (list, tuple)) else [value] * count
            for index, one in enumerate(values):
                self.set(name, one, index)
            return
        if not 0 <= (element or 0) < count:
            raise ValueError(f"no element {element}; there are {count}")
        size = SIZES[kind]
        number = UNKNOWN[kind] if value is None else int(value)
        if not 0 <= number <= UNKNOWN[kind]:
            raise ValueError(f"not between 0 and {UNKNOWN[kind]}")
        at += size * (element or 0)
        self.buffer[at:at + size] = struct.pack(FORMATS[kind], number)

    def call(self, function: str, *arguments) -> int:
        """Calls a function of the library that takes this structure first."""
        structure = ctypes.c_char.from_buffer(self.buffer, self.base)
        try:
            return self.layout.library[function](ctypes.byref(structure), *arguments)
        finally:
            del structure  # it exports the buffer, which could not be closed

    def child(self, structure: str, index: int) -> "Record":
        offset, count = self.layout.arrays[structure]
        if index >= count:
            raise IndexError(f"{structure} {index}: there is room for {count}")
        return Record(self.layout, structure, self.buffer, self.base + offset + index * self.layout.sizes[structure])


class State:
    """The machine in a buffer: the machine's own record and one for each GPU."""

    def __init__(self, layout: Layout, buffer, base: int = 0):
        self.layout, self.buffer, self.base = layout, buffer, base
        self.machine = Record(layout, "machine", buffer, base)

    def gpu(self, position: int) -> Record:
        at = self.base + self.machine.get("gpus_offset") + position * self.layout.sizes["gpu"]
        return Record(self.layout, "gpu", self.buffer, at)

    def gpus(self) -> list[Record]:
        return [self.gpu(position) for position in range(self.machine.get("gpu_count"))]

    @staticmethod
    def size_for(layout: Layout, gpus: int) -> tuple[int, int]:
        """Offset of the first GPU and size of the whole, with the trailer of the file."""
        page = mmap.PAGESIZE
        first = -(-layout.sizes["machine"] // page) * page
        return first, first + gpus * layout.sizes["gpu"] + 16


def append(library: pathlib.Path, target: pathlib.Path, state: bytearray) -> None:
    """Writes to `target` the library with `state` in its tail; the last 16 bytes of `state` become the trailer."""
    part = target.with_name(target.name + ".part")
    shutil.copyfile(library, part)
    with open(part, "r+b") as file:
        size = file.seek(0, os.SEEK_END)
        offset = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
        state[-16:] = struct.pack("<QQ", offset, MAGIC)
        file.seek(offset)
        file.write(state)
    part.chmod(0o755)
    part.replace(target)


@contextlib.contextmanager
def mapped(library: pathlib.Path):
    """The machine of an installed library, mapped to be changed; one writer at a time. Wakes who waits at the end."""
    layout = Layout(library)
    with open(library, "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(-16, os.SEEK_END)
        offset, magic = struct.unpack("<QQ", file.read(16))
        if magic != MAGIC:
            raise LayoutError(f"read {library}: it holds no machine; run `fakegpu.py install`")
        size = file.seek(0, os.SEEK_END) - offset
        memory = mmap.mmap(file.fileno(), size, offset=offset)
        state = State(layout, memory)
        if state.machine.get("layout_version") != layout.version:
            raise LayoutError(f"read {library}: layout {state.machine.get('layout_version')}, not {layout.version}")
        try:
            yield state
        finally:
            _wake(state)
            memory.flush()
            memory.close()


def _wake(state: State) -> None:
    """Counts the wake word up, wakes every process that waits for it, and waits until the files of the node's
    capabilities have followed."""
    state.machine.set("wake", ((state.machine.get("wake") or 0) + 1) & 0x7FFFFFFF)
    _, offset, _ = state.layout.fields["machine"]["wake"]
    word = ctypes.c_uint32.from_buffer(state.buffer, state.base + offset)
    try:
        ctypes.CDLL(None).syscall(SYS_FUTEX, ctypes.byref(word), FUTEX_WAKE, 0x7FFFFFFF, None, None, 0)
    finally:
        del word  # it exports the mapping, which could not be closed
    deadline = time.monotonic() + 2
    while state.machine.get("keeper") and state.machine.get("kept") != state.machine.get("wake"):
        if time.monotonic() > deadline:
            break
        time.sleep(0.005)
