# SPDX-License-Identifier: Apache-2.0
"""Answers: what does this written value mean? How each field of the state is spelled in profiles and control words."""
import re

MIB = 1 << 20
# Numbers of nvml.h.
ARCHITECTURES = {"kepler": 2, "maxwell": 3, "pascal": 4, "volta": 5, "turing": 6, "ampere": 7, "ada": 8, "hopper": 9,
                 "blackwell": 10}
BRANDS = {"unknown": 0, "quadro": 1, "tesla": 2, "nvs": 3, "grid": 4, "geforce": 5, "titan": 6, "quadro_rtx": 12,
          "nvidia_rtx": 13, "nvidia": 14, "geforce_rtx": 15, "titan_rtx": 16}
LEVELS = {"internal": 0, "single": 10, "multiple": 20, "hostbridge": 30, "node": 40, "system": 50}
COMPUTE_MODES = {"default": 0, "exclusive_thread": 1, "prohibited": 2, "exclusive_process": 3}
VIRTUALIZATION = {"none": 0, "passthrough": 1, "vgpu": 2, "host_vgpu": 3, "host_vsga": 4}
FABRIC_STATES = {"not_supported": 0, "not_started": 1, "in_progress": 2, "completed": 3}
ECC_PLACES = {"l1": 0, "l2": 1, "dram": 2, "registers": 3, "texture": 4, "shared": 5, "cbu": 6, "sram": 7}
PROCESS_KINDS = {"compute": 1, "graphics": 2, "mps": 3}


class ProfileError(Exception):
    """The profile is wrong; the text names the field and what is expected there."""


def size(value, place: str) -> int:
    """Bytes of a size: a number of MiB, or with a unit."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return int(value * MIB)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(B|KiB|MiB|GiB)\s*", str(value))
    if not found:
        raise ProfileError(f"{place}: {value!r} is no size (MiB, or with a unit: B, KiB, MiB, GiB)")
    return int(float(found[1]) * {"B": 1, "KiB": 1 << 10, "MiB": MIB, "GiB": 1 << 30}[found[2]])


def watts(value, place: str) -> int:
    """Milliwatts of a number of watts."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*W?\s*", str(value))
    if not found:
        raise ProfileError(f"{place}: {value!r} is no power (watts)")
    return round(float(found[1]) * 1000)


def percent(value, place: str) -> int:
    """Hundredths of a percent of a number of percents."""
    try:
        hundredths = round(float(str(value).rstrip("%")) * 100)
    except ValueError:
        hundredths = -1
    if not 0 <= hundredths <= 10000:
        raise ProfileError(f"{place}: {value!r} is not between 0 and 100 percent")
    return hundredths


def switch(value, place: str) -> int:
    """1 or 0 of enabled or disabled."""
    words = {"enabled": 1, "disabled": 0, "on": 1, "off": 0, "true": 1, "false": 0, "yes": 1, "no": 0, "1": 1, "0": 0}
    if str(value).lower() not in words:
        raise ProfileError(f"{place}: {value!r} is neither enabled nor disabled")
    return words[str(value).lower()]


def whole(value, place: str) -> int:
    """A whole number, also as 0x1f."""
    try:
        return int(str(value), 0)
    except ValueError:
        raise ProfileError(f"{place}: {value!r} is no whole number") from None


def one_of(words: dict):
    """A converter of words into their numbers."""
    def convert(value, place: str) -> int:
        if str(value).lower() not in words:
            raise ProfileError(f"{place}: {value!r} is none of {', '.join(words)}")
        return words[str(value).lower()]
    return convert


def text(value, _place: str) -> str:
    """Any text as it is."""
    return str(value)


_SWITCHES = ("persistence", "ecc", "ecc_pending", "mig", "mig_pending", "mig_capable", "accounting", "display_attached",
             "display_active", "multi_gpu_board", "remap_pending", "remap_failed", "retire_pending")
_TEXTS = ("name", "uuid", "serial", "board_part_number", "vbios", "inforom_image", "inforom_oem", "inforom_ecc",
          "inforom_power", "gsp_firmware")
_WORDS = {"architecture": ARCHITECTURES, "brand": BRANDS, "compute_mode": COMPUTE_MODES,
          "virtualization": VIRTUALIZATION, "fabric_state": FABRIC_STATES}
_SIZES = ("memory_total", "memory_reserved", "memory_used", "bar1_total", "bar1_used")
_POWERS = ("power", "power_limit", "power_default", "power_min", "power_max")
# Fields that follow from others, or that only the control words write.
_NOT_WRITTEN = ("failure", "failing_call", "hanging_call", "failing_number", "hanging_number", "link_count",
                "process_count", "sequence", "reserved", "fabric_cluster_uuid", "pci_domain", "pci_bus", "pci_slot", "energy_time", "compute_major",
                "compute_minor", "mig_compute_slices", "mig_memory_slices")


def converter(field: str):
    """How a field is written in profiles and control words; None for a field that is not written there."""
    if field in _NOT_WRITTEN:
        return None
    if field in _WORDS:
        return one_of(_WORDS[field])
    if field.startswith("gpm_"):
        return percent
    for names, convert in ((_SWITCHES, switch), (_TEXTS, text), (_SIZES, size), (_POWERS, watts)):
        if field in names:
            return convert
    return whole


def convert(field: str, value, place: str):
    """A written value as the state holds it; None and N/A are "not known"."""
    how = converter(field)
    if how is None:
        raise ProfileError(f"{place}: cannot be written")
    if value is None or str(value).upper() == "N/A" or (field == "numa_node" and str(value) == "-1"):
        return None if how is not text else ""
    return how(value, place)


def process(entry: dict, place: str) -> dict:
    """One process of a profile or a control word: pid, memory, and what else is known of it."""
    known = {"pid", "memory", "kind", "sm_utilization", "memory_utilization", "name", "instance"}
    if not isinstance(entry, dict):
        raise ProfileError(f"{place}: is no mapping")
    for key in entry:
        if key not in known:
            raise ProfileError(f"{place}.{key}: unknown field ({', '.join(sorted(known))})")
    if "pid" not in entry:
        raise ProfileError(f"{place}.pid: missing")
    found = re.fullmatch(r"(\d+)/(\d+)", str(entry.get("instance") or ""))
    if entry.get("instance") is not None and not found:
        raise ProfileError(f"{place}.instance: {entry['instance']!r} is not GPU_INSTANCE/COMPUTE_INSTANCE")
    instance = (int(found[1]), int(found[2])) if found else (None, None)
    return {"pid": whole(entry["pid"], f"{place}.pid"), "memory": size(entry.get("memory", 0), f"{place}.memory"),
            "kind": one_of(PROCESS_KINDS)(entry.get("kind", "compute"), f"{place}.kind"),
            "sm_utilization": whole(entry.get("sm_utilization", 0), f"{place}.sm_utilization"),
            "memory_utilization": whole(entry.get("memory_utilization", 0), f"{place}.memory_utilization"),
            "gpu_instance": instance[0], "compute_instance": instance[1], "name": str(entry.get("name", ""))}
