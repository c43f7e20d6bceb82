# SPDX-License-Identifier: Apache-2.0
"""Changes a machine while programs run on it: values, failures, events, processes."""
import re
import time

from . import mig
from .image import write_processes
from .layout import Record, State
from .values import ECC_PLACES, ProfileError, convert, one_of, process, whole

UNKNOWN_ERROR, GPU_IS_LOST = 999, 15  # nvmlReturn_t
XID, SINGLE_BIT_ECC, DOUBLE_BIT_ECC, MIG_CHANGED = 0x8, 0x1, 0x2, 0x100  # nvmlEvent*
FALLEN_OFF_THE_BUS = 79
POWER_REASONS, THERMAL_REASONS = 0x84, 0x60  # nvmlClocksEventReasons


class ControlError(Exception):
    """The words were wrong; the text says how."""


def find(state: State, which: str) -> tuple[int, Record]:
    """A GPU by position (of the machine, not of a container), UUID or PCI address."""
    for position, gpu in enumerate(state.gpus()):
        address = f"{gpu.get('pci_domain'):04x}:{gpu.get('pci_bus'):02x}:{gpu.get('pci_slot'):02x}.0"
        if which.lower() in (str(position), gpu.get("uuid").lower(), address):
            return position, gpu
    raise ControlError(f"{which}: no such GPU; this machine has {state.machine.get('gpu_count')}")


def selected(state: State, which: str) -> list[tuple[int, Record]]:
    """One GPU, or `all`."""
    return list(enumerate(state.gpus())) if which == "all" else [find(state, which)]


def assign(gpu: Record, text: str) -> None:
    """KEY=VALUE, as in a profile; ecc_*.PLACE=N and remap_histogram.N=M name an element."""
    key, separator, value = text.partition("=")
    field, _, part = key.partition(".")
    if not separator or field not in gpu.fields():
        raise ControlError(f"{text}: is not KEY=VALUE with a KEY of {', '.join(gpu.fields())}")
    try:
        kind, _, count = gpu.fields()[field]
        element = None
        if count > 1 and kind != "text":
            words = ECC_PLACES if field.startswith("ecc_") else {}
            element = one_of(words)(part or "dram", key) if words else whole(part or 0, key)
        elif part:
            raise ControlError(f"{key}: {field} has no parts")
        if field == "power":
            _settle_energy(gpu)
        if field == "throttle_reasons":
            _settle_violations(gpu)
        if field == "link_rate":
            _settle_links(gpu)
        gpu.set(field, convert(field, value, key), element)
    except ValueError as error:
        raise ControlError(f"{key}: {error}") from None
    except ProfileError as error:
        raise ControlError(str(error)) from None


def _settle_energy(gpu: Record) -> None:
    """Adds up what was used at the old power, so that the counter never goes back."""
    now, since, energy = int(time.time() * 1e6), gpu.get("energy_time"), gpu.get("energy")
    if since and energy is not None:
        gpu.set("energy", energy + (now - since) // 1000 * (gpu.get("power") or 0) // 1000)
    gpu.set("energy_time", now)


def _settle_violations(gpu: Record) -> None:
    """The same for the time in which the clocks were held back (live.cc, ViolationTime)."""
    now, since, reasons = int(time.time() * 1e6), gpu.get("throttle_time"), gpu.get("throttle_reasons") or 0
    times = gpu.get("violation_time")
    for policy, bits in enumerate((POWER_REASONS, THERMAL_REASONS)):
        if since and reasons & bits and times[policy] is not None:
            times[policy] += (now - since) * 1000
    gpu.set("violation_time", times)
    gpu.set("throttle_time", now)


def _settle_links(gpu: Record) -> None:
    """The same for NVLink's counters (live.cc, LinkGrowth)."""
    now, since, rate = int(time.time() * 1e6), gpu.get("link_time"), gpu.get("link_rate") or 0
    for index in range(gpu.get("link_count")):
        link = gpu.child("link", index)
        for name in ("sent", "received"):
            link.set(name, link.get(name) + ((now - since) * rate // 1000000 if since else 0))
    gpu.set("link_time", now)


def raise_event(state: State, position: int, kind: int, payload: int, gpu_instance: int | None = None,
                compute_instance: int | None = None) -> None:
    """Puts an event into the ring and then counts it, in that order: readers look at the count."""
    count = state.machine.get("event_count")
    slots = state.layout.arrays["event"][1]
    event = state.machine.child("event", count % slots)
    for name, value in {"type": kind, "payload": payload, "gpu": position,
                        "gpu_instance": gpu_instance, "compute_instance": compute_instance}.items():
        event.set(name, value)
    state.machine.set("event_count", count + 1)


def fail(gpu: Record, code: int, call: str, number: int = 0) -> None:
    """Calls on this GPU (all, or those whose name begins with `call`) answer `code`; 0 ends it. With a number only that
    one of each process."""
    gpu.set("failing_call", call)
    gpu.set("failing_number", number)
    gpu.set("failure", code)


def hang(gpu: Record, call: str, number: int = 0) -> None:
    """Such calls do not return; "" lets them go."""
    gpu.set("hanging_number", number)
    gpu.set("hanging_call", call)


def recover(gpu: Record) -> None:
    """Ends failures and hangs."""
    fail(gpu, 0, "")
    hang(gpu, "")


def reset(position: int, gpu: Record) -> None:
    """A GPU reset: what was pending is in force, what counted since the driver's start is zero, what failed works."""
    if gpu.get("process_count"):
        raise ControlError(f"GPU {position}: processes use it")
    recover(gpu)
    if gpu.get("mig_capable") == 1:
        mig.drop(gpu)
        mig.set_mode(gpu, bool(gpu.get("mig_pending")))
    gpu.set("ecc", gpu.get("ecc_pending"))
    for field in ("ecc_volatile_corrected", "ecc_volatile_uncorrected"):
        gpu.set(field, [None if count is None else 0 for count in gpu.get(field)])
    for field in ("remap_pending", "retire_pending", "pcie_replays", "energy"):
        gpu.set(field, None if gpu.get(field) is None else 0)
    if gpu.get("energy_time"):
        gpu.set("energy_time", int(time.time() * 1e6))


def change_mig(state: State, position: int, gpu: Record, action: str, arguments: list[str]) -> None:
    """on, off, create PROFILE..., destroy [GPU_INSTANCE...]; what is done is an event."""
    done = 0
    try:
        match action:
            case "on" | "off":
                mig.set_mode(gpu, action == "on")
                done = 1
            case "create":
                for name in arguments:
                    mig.create(gpu, name)
                    done += 1
            case "destroy":
                for number in [int(one) for one in arguments] or mig.gpu_instances(gpu):
                    mig.destroy(gpu, number)
                    done += 1
    except (mig.MigError, ValueError) as error:
        raise ControlError(f"GPU {position}: {error}") from None
    finally:  # what was done before the refusal stays done
        if done:
            raise_event(state, position, MIG_CHANGED, 0)


def set_processes(gpu: Record, texts: list[str]) -> None:
    """PID=MiB[:KIND[:NAME[:GI/CI[:SM]]]] for each, SM in percent; the GPU's used memory is their sum."""
    entries = []
    for text in (part for one in texts for part in one.split(",") if part):
        pid, separator, rest = text.partition("=")
        memory, _, rest = rest.partition(":")
        kind, _, rest = rest.partition(":")
        name, _, rest = rest.partition(":")
        instance, _, sm = rest.partition(":")
        if not separator:
            raise ControlError(f"{text}: is not PID=MiB[:KIND[:NAME[:GI/CI[:SM]]]]")
        number = float(memory) if re.fullmatch(r"\d+(\.\d+)?", memory) else memory
        try:
            entries.append(process({"pid": pid, "memory": number, "kind": kind or "compute", "name": name,
                                    "instance": instance or None, "sm_utilization": sm or 0}, text))
        except ProfileError as error:
            raise ControlError(str(error)) from None
    try:
        write_processes(gpu, entries)
    except ProfileError as error:
        raise ControlError(str(error)) from None
    gpu.set("memory_used", sum(entry["memory"] for entry in entries))


def shown(state: State) -> dict:
    """Everything, as values; unknown ones are null."""
    gpus = []
    for position, gpu in enumerate(state.gpus()):
        values = {name: gpu.get(name) for name in gpu.fields()}
        values["fabric_cluster_uuid"] = values["fabric_cluster_uuid"].hex()
        values["processes"] = [_plain(gpu.child("process", i)) for i in range(gpu.get("process_count"))]
        values["mig_devices"] = mig.devices(gpu)
        values["links"] = [_plain(gpu.child("link", i)) for i in range(gpu.get("link_count"))]
        gpus.append({"index": position, **values})
    machine = {name: state.machine.get(name) for name in state.machine.fields() if name != "topology"}
    return {**machine, "gpus": gpus}


def _plain(record: Record) -> dict:
    return {name: record.get(name) for name in record.fields()}
