# SPDX-License-Identifier: Apache-2.0
"""Answers: what machine does this profile describe?

From the YAML file, the table of products and the node's name it makes plain values for every field of the state
(library/state.h), in the units of NVML. A profile that is wrong is refused with the place and the reason.
"""
import dataclasses
import functools
import pathlib
import re
import time
import uuid

import yaml

from . import mig
from .values import (ARCHITECTURES, BRANDS, ECC_PLACES, FABRIC_STATES, LEVELS, MIB, ProfileError, convert, converter,
                     one_of, process, size, whole)

PRODUCTS = pathlib.Path(__file__).with_name("products.yaml")
DRIVER_VERSION, CUDA_VERSION = "535.261.03", "12.2"
MAX_GPUS, MAX_LINKS, MAX_IMEX_CHANNELS = 64, 18, 2048
GPM_PARTS = ("graphics", "sm", "occupancy", "integer", "tensor", "dfma", "hmma", "imma", "dram", "fp64", "fp32", "fp16")
LINK_TO_GPU, LINK_TO_SWITCH = 0, 2


@dataclasses.dataclass
class Gpu:
    """One GPU: `fields` by their names in the state, and what stands beside them."""
    fields: dict
    links: list[dict]
    processes: list[dict]
    bdf: str
    vgpu_host: dict | None
    mig: dict | None  # mig.yaml's table for this product
    mig_devices: list[str]


@dataclasses.dataclass
class Machine:
    """The whole machine of one node."""
    driver_version: str
    cuda_version: int
    gpus: list[Gpu]
    switches: list[str]  # PCI addresses of NVSwitches
    switch_pci_id: int | None
    imex_channels: int
    levels: list[list[int]]


def bdf_text(domain: int, bus: int, slot: int) -> str:
    """A PCI address as sysfs spells it."""
    return f"{domain:04x}:{bus:02x}:{slot:02x}.0"


# --- a GPU -----------------------------------------------------------------------------------------------------------

_GROUPS = {"power": {"idle", "limit", "min", "max"}, "clocks": {"idle", "max", "application"},
           "temperatures": {"now", "memory", "shutdown", "slowdown", "gpu_max", "memory_max"},
           "pcie": {"generation", "width"}, "engines": {"copy", "decoders", "encoders", "jpeg", "ofa"},
           "fabric": {"cluster", "clique", "state", "status"}, "vgpu_host": {"version", "branch"}}
_GPU_KEYS = {"product", "count", "pci", "memory", "bar1", "compute_capability", "rows", "links", "link_version",
             "link_speed", "processes", "switch_pci_id", "mig_profiles", "mig_devices", *_GROUPS}


# Keys whose value is a list of its own; of any other a list has one value for each GPU of the entry.
_LISTS = ("processes", "mig_devices", "violation_time", "remap_histogram")


def _from_product(product: dict) -> dict:
    """The fields that follow from a product's short description."""
    power, clocks, heat = product["power"], product["clocks"], product["temperatures"]
    pcie, engines, application = product["pcie"], product["engines"], clocks["application"] or [None, None]
    remapped = product["rows"] == "remapped"
    has_ecc = product.get("ecc", True) is not None
    major, minor = str(product["compute_capability"]).split(".")
    video = clocks["max"][0] and int(clocks["max"][0] * 0.92)
    fields = {
        "architecture": ARCHITECTURES[product["architecture"]], "brand": BRANDS[product["brand"]],
        "compute_major": int(major), "compute_minor": int(minor),
        "memory_total": product["memory"] * MIB, "memory_reserved": product["memory_reserved"] * MIB,
        "memory_used": 0, "bar1_total": product["bar1"] * MIB, "bar1_used": 2 * MIB,
        "power": power["idle"] * 1000, "power_limit": power["limit"] * 1000, "power_default": power["limit"] * 1000,
        "power_min": power["min"] * 1000, "power_max": power["max"] * 1000,
        "clock_graphics": clocks["idle"][0], "clock_sm": clocks["idle"][0], "clock_memory": clocks["idle"][1],
        "clock_video": int(clocks["idle"][0] * 1.8), "clock_graphics_max": clocks["max"][0],
        "clock_sm_max": clocks["max"][0], "clock_memory_max": clocks["max"][1], "clock_video_max": video,
        "application_graphics": application[0], "application_memory": application[1],
        "application_graphics_default": application[0], "application_memory_default": application[1],
        "temperature": heat["now"], "temperature_memory": heat.get("memory"),
        "temperature_shutdown": heat["shutdown"], "temperature_slowdown": heat["slowdown"],
        "temperature_gpu_max": heat["gpu_max"], "temperature_memory_max": heat.get("memory_max"),
        "pcie_generation": pcie["generation"], "pcie_generation_max": pcie["generation"],
        "pcie_width": pcie["width"], "pcie_width_max": pcie["width"],
        "copy_engines": engines["copy"], "decoders": engines["decoders"], "encoders": engines["encoders"],
        "jpeg_engines": engines["jpeg"], "ofa_engines": engines["ofa"],
        "utilization_jpeg": 0 if engines["jpeg"] else None, "utilization_ofa": 0 if engines["ofa"] else None,
        "performance_state": 0 if clocks["idle"][1] == clocks["max"][1] else 8,
        "throttle_reasons": 1,  # idle
        "ecc": 1 if has_ecc else None, "ecc_pending": 1 if has_ecc else None,
        "mig": 0, "mig_pending": 0, "mig_capable": int("mig_profiles" in product),
        "retired_single": None if remapped else 0, "retired_double": None if remapped else 0,
        "retire_pending": None if remapped else 0,
        "remapped_correctable": 0 if remapped else None, "remapped_uncorrectable": 0 if remapped else None,
        "remap_pending": 0 if remapped else None, "remap_failed": 0 if remapped else None,
        "remap_histogram": [640, 0, 0, 0, 0] if remapped else [None] * 5,
    }
    fields.update(_ecc_counters(product, has_ecc))
    same = ("fan", "pci_id", "pci_subsystem_id", "cores", "multiprocessors", "memory_bus_width", "board_part_number",
            "vbios")
    fields.update({name: product[name] for name in same if name in product})
    return fields


def _ecc_counters(product: dict, has_ecc: bool) -> dict:
    """Volta counts by cache; what came later counts DRAM and SRAM."""
    places = ("l1", "l2", "dram", "registers", "texture") if product["architecture"] == "volta" else ("dram", "sram")
    known = {ECC_PLACES[place] for place in places} if has_ecc else set()
    row = [0 if place in known else None for place in range(8)]
    return {f"ecc_{when}_{kind}": row for when in ("volatile", "aggregate") for kind in ("corrected", "uncorrected")}


def _common(driver: str) -> dict:
    """What is the same on every GPU unless the profile says otherwise."""
    return {"inforom_image": "G001.0000.03.03", "inforom_oem": "2.0", "inforom_ecc": "6.16", "inforom_power": "",
            "gsp_firmware": driver, "fan": None, "persistence": 1, "compute_mode": 0, "accounting": 0,
            "display_attached": 0, "display_active": 0, "multi_gpu_board": 0, "virtualization": 1,
            "utilization_gpu": 0, "utilization_memory": 0, "utilization_encoder": 0, "utilization_decoder": 0,
            "pcie_sent": 0, "pcie_received": 0, "pcie_replays": 0, "violation_time": [0] * 6, "energy": 0,
            "energy_time": int(time.time() * 1e6), "numa_node": None, "fabric_state": None, "fabric_status": 0,
            "fabric_clique": 0, "fabric_cluster_uuid": bytes(16), **{f"gpm_{part}": None for part in GPM_PARTS},
            "recovery_action": 0 if int(driver.split(".")[0]) >= 565 else None}


def _check_keys(entry: dict, place: str, state_fields: set[str]) -> None:
    known = _GPU_KEYS | {field for field in state_fields if converter(field) is not None}
    for key, value in entry.items():
        if key not in known:
            raise ProfileError(f"{place}.{key}: unknown field")
        if key not in _GROUPS or value is None:
            continue
        if isinstance(value, dict):
            for inner in value:
                if inner not in _GROUPS[key]:
                    raise ProfileError(f"{place}.{key}.{inner}: unknown field ({', '.join(sorted(_GROUPS[key]))})")
        elif key != "power":
            raise ProfileError(f"{place}.{key}: is no mapping")


def _one_of_many(entry: dict, number: int, count: int, place: str) -> dict:
    """An entry as it is for one of its `count` GPUs."""
    one = {}
    for key, value in entry.items():
        if isinstance(value, list) and key not in _LISTS:
            if len(value) != count:
                raise ProfileError(f"{place}.{key}: {len(value)} values for {count} GPUs")
            value = value[number]
        one[key] = value
    return one


def _list_or_none(value, place: str) -> list:
    if not isinstance(value, (list, type(None))):
        raise ProfileError(f"{place}: is no list")
    return value or []


def _default_address(position: int, count: int) -> str:
    """As clouds place them: on bus 0, the last in slot 1e; more than it has slots for have a bus each. Drivers count
    GPUs in the order of their addresses, so the addresses ascend."""
    return bdf_text(0, 0, 0x1F - count + position) if count <= 0x19 else bdf_text(0, 1 + position, 0)


def _place_on_bus(address: str | None, position: int, count: int, place: str) -> dict:
    found = re.fullmatch(r"(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{2}):([01][0-9a-fA-F])\.0",
                         str(address or _default_address(position, count)))
    if not found:
        raise ProfileError(f"{place}.pci: {address!r} is no PCI address (0000:07:00.0)")
    return {"pci_domain": int(found[1] or "0", 16), "pci_bus": int(found[2], 16), "pci_slot": int(found[3], 16)}


def _fabric(entry: dict, place: str) -> dict:
    fabric = entry.get("fabric")
    if fabric is None:
        return {}
    try:
        cluster = uuid.UUID(str(fabric.get("cluster", uuid.UUID(int=0)))).bytes
    except ValueError:
        raise ProfileError(f"{place}.fabric.cluster: {fabric['cluster']!r} is no UUID") from None
    return {"fabric_cluster_uuid": cluster, "fabric_clique": whole(fabric.get("clique", 0), f"{place}.fabric.clique"),
            "fabric_state": one_of(FABRIC_STATES)(fabric.get("state", "completed"), f"{place}.fabric.state"),
            "fabric_status": whole(fabric.get("status", 0), f"{place}.fabric.status")}


def _gpu(entry: dict, product: dict, position: int, count: int, node: str, driver: str,
         place: str) -> tuple[Gpu, dict]:
    """The GPU at `position` of a machine of `count`, and its product's description as the entry changes it."""
    merged = {**product, **{key: value for key, value in entry.items() if key not in _GROUPS}}
    for group in _GROUPS:
        if group in product or group in entry:
            own = entry.get(group) if isinstance(entry.get(group), dict) else {}
            merged[group] = {**(product.get(group) or {}), **own}
    _check_short_forms(merged, place)
    seed = uuid.uuid5(uuid.NAMESPACE_DNS, f"{node}/{position}")
    fields = {**_common(driver), **_from_product(merged)}
    fields.update(name=entry["product"], uuid=f"GPU-{seed}", serial=f"{seed.int % 10**13:013d}", minor=position,
                  module_id=position + 1, board_id=0x100 * (position + 1))
    fields.update(_place_on_bus(entry.get("pci"), position, count, place))
    fields.update(_fabric(entry, place))
    for key in entry:
        if key in _GPU_KEYS and not (key == "power" and not isinstance(entry[key], dict)):
            continue
        fields[key] = _ecc_or(key, entry[key], f"{place}.{key}", fields)
    processes = [process(one, f"{place}.processes[{i}]")
                 for i, one in enumerate(_list_or_none(entry.get("processes"), f"{place}.processes"))]
    fields["memory_used"] += sum(one["memory"] for one in processes)
    bdf = bdf_text(fields["pci_domain"], fields["pci_bus"], fields["pci_slot"])
    kind = _mig_table(merged, place)
    devices = _mig_devices(entry.get("mig_devices"), kind, f"{place}.mig_devices")
    if devices:
        fields["mig"] = 1
    if "mig_pending" not in entry:
        fields["mig_pending"] = fields["mig"]
    return Gpu(fields, [], processes, bdf, _vgpu_host(entry, place), kind, devices), merged


def _vgpu_host(entry: dict, place: str) -> dict | None:
    host = entry.get("vgpu_host")
    if host is not None and set(host) != _GROUPS["vgpu_host"]:
        raise ProfileError(f"{place}.vgpu_host: is not {{version: ..., branch: ...}}")
    return None if host is None else {key: str(value) for key, value in host.items()}


def _mig_table(merged: dict, place: str) -> dict | None:
    name = merged.get("mig_profiles")
    if name is not None and str(name) not in mig.tables():
        raise ProfileError(f"{place}.mig_profiles: {name!r} is none of {', '.join(mig.tables())}")
    return None if name is None else mig.tables()[name]


def _mig_devices(wanted, kind: dict | None, place: str) -> list[str]:
    """Names of profiles in the order in which they are made, from a list of them or from how many of each."""
    names = [name for name, count in wanted.items() for _ in range(whole(count, f"{place}.{name}"))] \
        if isinstance(wanted, dict) else _list_or_none(wanted, place)
    for name in names:
        if kind is None or re.sub(r"^\dc\.", "", str(name)) not in kind["profiles"]:
            raise ProfileError(f"{place}: {name!r} is none of {', '.join(kind['profiles']) if kind else 'nothing'}")
    return names


def _check_short_forms(merged: dict, place: str) -> None:
    if not re.fullmatch(r"\d+\.\d+", str(merged["compute_capability"])):
        raise ProfileError(f"{place}.compute_capability: {merged['compute_capability']!r} is not like \"8.0\"")
    for key in ("memory", "memory_reserved", "bar1"):
        merged[key] = size(merged[key], f"{place}.{key}") // MIB
    for key, words in (("architecture", ARCHITECTURES), ("brand", BRANDS)):
        one_of(words)(merged[key], f"{place}.{key}")
        merged[key] = merged[key].lower()
    for group in ("power", "pcie", "engines"):
        for key in _GROUPS[group]:
            merged[group][key] = whole(merged[group][key], f"{place}.{group}.{key}")
    for key, value in merged["temperatures"].items():
        merged["temperatures"][key] = None if value is None else whole(value, f"{place}.temperatures.{key}")
    for key, value in merged["clocks"].items():
        if key == "application" and value is None:
            continue
        if not isinstance(value, list) or len(value) != 2 or not all(isinstance(one, int) for one in value):
            raise ProfileError(f"{place}.clocks.{key}: {value!r} is not [graphics, memory] in MHz")
    for key in ("links", "link_version", "link_speed", "switch_pci_id"):
        if merged.get(key) is not None:
            merged[key] = whole(merged[key], f"{place}.{key}")
    merged["links"] = merged.get("links") or 0
    if not 0 <= merged["links"] <= MAX_LINKS:
        raise ProfileError(f"{place}.links: {merged['links']} is not between 0 and {MAX_LINKS}")
    if merged["rows"] not in ("remapped", "retired"):
        raise ProfileError(f"{place}.rows: {merged['rows']!r} is neither remapped nor retired")


def _ecc_or(key: str, value, place: str, fields: dict):
    """ECC counters are written as a number (DRAM) or by place; lists by element; anything else as itself."""
    if key.startswith("ecc_volatile") or key.startswith("ecc_aggregate"):
        row = list(fields[key])
        for where, number in (value if isinstance(value, dict) else {"dram": value}).items():
            row[one_of(ECC_PLACES)(where, place)] = whole(number, place)
        return row
    if isinstance(value, list):
        return [convert(key, one, place) for one in value]
    return convert(key, value, place)


# --- the whole -------------------------------------------------------------------------------------------------------

_TOP = {"driver_version", "cuda_version", "gpus", "topology", "nvlink", "imex_channels", "description"}


def _levels(profile: dict, gpus: list[Gpu]) -> list[list[int]]:
    """Distances: across NUMA nodes `system`, within one `node`, and what the profile says of groups."""
    levels = [[0 if a is b else LEVELS["system" if a.fields["numa_node"] != b.fields["numa_node"] else "node"]
               for b in gpus] for a in gpus]
    for number, group in enumerate(_list_or_none(profile.get("topology"), "topology")):
        place = f"topology[{number}]"
        if not isinstance(group, dict) or set(group) != {"level", "gpus"}:
            raise ProfileError(f"{place}: is not {{level: ..., gpus: [...]}}")
        level = one_of(LEVELS)(group["level"], f"{place}.level")
        members = _members(group["gpus"], len(gpus), f"{place}.gpus")
        for a in members:
            for b in members:
                if a != b:
                    levels[a][b] = level
    return levels


def _members(numbers, count: int, place: str) -> list[int]:
    for number in numbers if isinstance(numbers, list) else [None]:
        if not isinstance(number, int) or not 0 <= number < count:
            raise ProfileError(f"{place}: {number!r} is no GPU of this machine (0 to {count - 1})")
    return numbers


def _link(product: dict, kind: int, domain: int, bus: int, slot: int, pci_id: int) -> dict:
    return {"sent": 0, "received": 0, "errors": [0] * 5, "active": 1, "version": product.get("link_version", 3),
            "speed": product.get("link_speed", 25781), "remote_kind": kind, "remote_domain": domain,
            "remote_bus": bus, "remote_slot": slot, "remote_pci_id": pci_id}


def _connect(profile: dict, gpus: list[Gpu], products: list[dict]) -> tuple[list[str], int | None]:
    """Makes the links; says where the switches are and what they are, if there are any on the bus."""
    nvlink = profile.get("nvlink")
    if nvlink is None:
        return [], None
    if not isinstance(nvlink, dict) or not set(nvlink) <= {"switches", "pairs"} or len(nvlink) != 1:
        raise ProfileError("nvlink: is neither {switches: N} nor {pairs: [[a, b, links], ...]}")
    if "switches" in nvlink:
        count = whole(nvlink["switches"], "nvlink.switches")
        if not 1 <= count <= 16:
            raise ProfileError(f"nvlink.switches: {count} is not between 1 and 16")
        for gpu, product in zip(gpus, products):
            gpu.links = [_link(product, LINK_TO_SWITCH, 0, 0xE0 + i % count, 0, product.get("switch_pci_id") or 0)
                         for i in range(product["links"])]
            # A fabric manager is done with such a board, and there is no cluster beyond it.
            since_hopper = gpu.fields["architecture"] >= ARCHITECTURES["hopper"]
            if gpu.links and since_hopper and not {"fabric", "fabric_state"} & set(product):
                gpu.fields["fabric_state"] = FABRIC_STATES["completed"]
        known = next((product["switch_pci_id"] for product in products if product.get("switch_pci_id")), None)
        return ([bdf_text(0, 0xE0 + i, 0) for i in range(count)] if known else []), known
    for number, pair in enumerate(_list_or_none(nvlink["pairs"], "nvlink.pairs")):
        place = f"nvlink.pairs[{number}]"
        if not isinstance(pair, list) or len(pair) != 3:
            raise ProfileError(f"{place}: is not [a, b, links]")
        a, b = _members(pair[:2], len(gpus), place)
        links = whole(pair[2], place)
        if a == b or not 1 <= links <= MAX_LINKS:
            raise ProfileError(f"{place}: is not two GPUs and 1 to {MAX_LINKS} links between them")
        for one, other in ((a, b), (b, a)):
            far = gpus[other].fields
            gpus[one].links += [_link(products[one], LINK_TO_GPU, far["pci_domain"], far["pci_bus"], far["pci_slot"],
                                      far["pci_id"]) for _ in range(links)]
            if len(gpus[one].links) > MAX_LINKS:
                raise ProfileError(f"{place}: GPU {one} would have more than {MAX_LINKS} links")
    return [], None


def _refuse_twins(gpus: list[Gpu]) -> None:
    for what in ("uuid", "minor", "serial"):
        seen = {}
        for position, gpu in enumerate(gpus):
            other = seen.setdefault(gpu.fields[what], position)
            if other != position:
                raise ProfileError(f"gpus: {other} and {position} have the same {what}, {gpu.fields[what]}")
    addresses = [gpu.bdf for gpu in gpus]
    for address in addresses:
        if addresses.count(address) > 1:
            raise ProfileError(f"gpus: two have the PCI address {address}")


@functools.cache
def products() -> dict:
    """The short descriptions of products.yaml, by name."""
    return yaml.safe_load(PRODUCTS.read_text(encoding="utf-8"))


def compile_profile(profile: dict, node: str, state_fields: set[str]) -> Machine:
    """The machine that a profile describes, as the node of that name has it."""
    if not isinstance(profile, dict):
        raise ProfileError("profile: is no mapping")
    for key in profile:
        if key not in _TOP:
            raise ProfileError(f"{key}: unknown field ({', '.join(sorted(_TOP))})")
    driver = str(profile.get("driver_version", DRIVER_VERSION))
    if not re.fullmatch(r"\d+\.\d+(\.\d+)?", driver):
        raise ProfileError(f"driver_version: {driver!r} is not like 535.261.03")
    cuda = str(profile.get("cuda_version", CUDA_VERSION))
    if not re.fullmatch(r"\d+\.\d+", cuda):
        raise ProfileError(f"cuda_version: {cuda!r} is not like \"12.2\"")
    if not isinstance(profile.get("gpus", []), list):
        raise ProfileError("gpus: is no list")
    entries, gpus, described = [], [], []
    for number, entry in enumerate(profile.get("gpus") or []):
        place = f"gpus[{number}]"
        if not isinstance(entry, dict) or "product" not in entry:
            raise ProfileError(f"{place}.product: missing")
        product = products().get(str(entry["product"]))
        if product is None:
            raise ProfileError(f"{place}.product: {entry['product']!r} is none of {', '.join(products())}")
        count = whole(entry.get("count", 1), f"{place}.count")
        if count < 1 or len(entries) + count > MAX_GPUS:
            raise ProfileError(f"{place}.count: {count}; a machine has 1 to {MAX_GPUS} GPUs")
        for i in range(count):
            one = _one_of_many(entry, i, count, place)
            _check_keys(one, place, state_fields)
            entries.append((one, product, place))
    for position, (one, product, place) in enumerate(entries):
        gpu, merged = _gpu(one, product, position, len(entries), node, driver, place)
        gpus.append(gpu)
        described.append(merged)
    _refuse_twins(gpus)
    major, minor = cuda.split(".")
    channels = whole(profile.get("imex_channels", 0), "imex_channels")
    if not 0 <= channels <= MAX_IMEX_CHANNELS:
        raise ProfileError(f"imex_channels: {channels} is not between 0 and {MAX_IMEX_CHANNELS}")
    return Machine(driver, int(major) * 1000 + int(minor) * 10, gpus, *_connect(profile, gpus, described), channels,
                   _levels(profile, gpus))


def load(path: pathlib.Path, node: str, state_fields: set[str]) -> Machine:
    """Reads a profile file."""
    try:
        profile = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ProfileError(f"read {path}: {error.strerror}") from None
    except yaml.YAMLError as error:
        raise ProfileError(f"read {path}: not YAML: {error}") from None
    try:
        return compile_profile(profile, node, state_fields)
    except ProfileError as error:
        raise ProfileError(f"{path.name}: {error}") from None
