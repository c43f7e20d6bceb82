# SPDX-License-Identifier: Apache-2.0
"""Turns a machine into the bytes that lie in the library's tail."""
from .layout import Layout, MAGIC, Record, State
from .mig import MigError, create, describe
from .profile import Machine
from .values import ProfileError


def write_processes(gpu: Record, processes: list[dict]) -> None:
    """Replaces a GPU's process list, or refuses and leaves it; the sequence is odd meanwhile, so that no reader takes
    half of it."""
    size, (_, room) = gpu.layout.sizes["process"], gpu.layout.arrays["process"]
    if len(processes) > room:
        raise ProfileError(f"processes: {len(processes)}; there is room for {room}")
    entries = bytearray(len(processes) * size)
    for index, process in enumerate(processes):
        record = Record(gpu.layout, "process", entries, index * size)
        for name, value in process.items():
            try:
                record.set(name, value)
            except ValueError as error:
                raise ProfileError(f"processes[{index}].{name}: {error}") from None
    sequence, first = gpu.get("sequence") or 0, gpu.child("process", 0).base
    gpu.set("sequence", sequence | 1)
    gpu.buffer[first:first + len(entries)] = entries
    gpu.set("process_count", len(processes))
    gpu.set("sequence", (sequence | 1) + 1 & 0x7FFFFFFE)


def build(layout: Layout, machine: Machine) -> bytearray:
    """The state, with 16 bytes at its end for the file's trailer."""
    first, size = State.size_for(layout, len(machine.gpus))
    buffer = bytearray(size)
    state = State(layout, buffer)
    top = state.machine
    for name, value in {"magic": MAGIC, "layout_version": layout.version, "gpu_count": len(machine.gpus), "size": size,
                        "gpus_offset": first, "driver_loaded": 1, "cuda_version": machine.cuda_version,
                        "driver_version": machine.driver_version, "cc_ready": 0,
                        "nvml_version": f"{machine.cuda_version // 1000}.{machine.driver_version}"}.items():
        top.set(name, value)
    topology = bytearray(layout.max_gpus ** 2)
    for a, row in enumerate(machine.levels):
        for b, level in enumerate(row):
            topology[a * layout.max_gpus + b] = level
    top.set("topology", bytes(topology))
    for position, gpu in enumerate(machine.gpus):
        record = state.gpu(position)
        for name, value in gpu.fields.items():
            try:
                record.set(name, value)
            except ValueError as error:
                raise ProfileError(f"GPU {position}: {name}: {error}") from None
        record.set("link_count", len(gpu.links))
        for index, link in enumerate(gpu.links):
            for name, value in link.items():
                record.child("link", index).set(name, value)
        describe(record, gpu.mig)
        for name in gpu.mig_devices:
            try:
                create(record, name)
            except MigError as error:
                raise ProfileError(f"GPU {position}: mig_devices: {error}") from None
        try:
            write_processes(record, gpu.processes)
        except ProfileError as error:
            raise ProfileError(f"GPU {position}: {error}") from None
    return buffer
