# SPDX-License-Identifier: Apache-2.0
"""MIG instances of a GPU: the table of what a product can be divided into, and changes by the library's own rules."""
import functools
import pathlib

import yaml

TABLES = pathlib.Path(__file__).with_name("mig.yaml")
COLUMNS = ("id", "most", "memory", "multiprocessors")
ENGINES = ("copy_engines", "decoders", "encoders", "jpeg_engines", "ofa_engines")
# nvmlReturn_t that the library answers.
REASONS = {2: "not at that place", 3: "MIG is off", 6: "no such instance or profile", 19: "it is in use",
           23: "no room for it"}


class MigError(Exception):
    """It cannot be done; the text says why."""


@functools.cache
def tables() -> dict:
    """What the products can be divided into, by the name that products.yaml calls."""
    return yaml.safe_load(TABLES.read_text(encoding="utf-8"))


def describe(gpu, kind: dict | None) -> None:
    """Writes the table into a GPU of the state."""
    if kind is None:
        return
    gpu.set("mig_compute_slices", kind["slices"]["compute"])
    gpu.set("mig_memory_slices", kind["slices"]["memory"])
    for name, row in kind["profiles"].items():
        number, *columns, engines, size, starts = row
        record = gpu.child("mig_profile", number)
        record.set("name", name)
        record.set("slices", int(name[0]))
        for field, value in (*zip(COLUMNS, columns), *zip(ENGINES, engines)):
            record.set(field, value)
        record.set("size", size)
        record.set("starts", sum(1 << start for start in starts))


def _check(code: int, what: str) -> None:
    if code != 0:
        raise MigError(f"{what}: {REASONS.get(code, f'code {code}')}")


def set_mode(gpu, enabled: bool) -> None:
    """Switches MIG on or off at once; what instances there are go, unless it is so already."""
    _check(gpu.call("fakegpuMigMode", int(enabled)), "MIG mode")


def drop(gpu) -> None:
    """Takes all instances away, whoever uses them."""
    _check(gpu.call("fakegpuMigDrop"), "MIG instances")


def create(gpu, name: str) -> None:
    """Makes a MIG device: 3g.40gb, or 1c.3g.40gb in a GPU instance that has room, else in a new one."""
    _check(gpu.call("fakegpuMigCreate", name.encode()), name)


def gpu_instances(gpu) -> list[int]:
    """The ids of the GPU instances that there are."""
    return [number for number, _ in _used(gpu)]


def destroy(gpu, number: int) -> None:
    """Takes a GPU instance away with its compute instances."""
    _check(gpu.call("fakegpuMigDestroy", number), f"GPU instance {number}")


def after_reload(gpu) -> None:
    """What the driver's end leaves: the instances go; the mode stays on Ampere, and ends on what came later."""
    if gpu.get("mig_capable") == 1:
        drop(gpu)
        set_mode(gpu, bool(gpu.get("mig")) and gpu.get("architecture") == 7)


def _used(gpu) -> list:
    count = gpu.layout.arrays["gpu_instance"][1]
    instances = [(number, gpu.child("gpu_instance", number)) for number in range(count)]
    return [(number, one) for number, one in instances if one.get("used")]


def devices(gpu) -> list[dict]:
    """The MIG devices of a GPU, as nvidia-smi numbers them."""
    per_instance = gpu.layout.arrays["compute_instance"][1] // gpu.layout.arrays["gpu_instance"][1]
    found = []
    for number, instance in _used(gpu):
        profile = gpu.child("mig_profile", instance.get("profile"))
        for compute in range(per_instance):
            one = gpu.child("compute_instance", number * per_instance + compute)
            if one.get("slices"):
                part = "" if one.get("slices") == profile.get("slices") else f"{one.get('slices')}c."
                found.append({"index": len(found), "uuid": one.get("uuid"), "profile": part + profile.get("name"),
                              "gpu_instance": number, "compute_instance": compute,
                              "start": instance.get("start"), "memory": profile.get("memory")})
    return found
