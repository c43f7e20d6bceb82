# SPDX-License-Identifier: Apache-2.0
"""Answers: which files does the kernel show on such a machine?

From the machine it makes, below one folder, what lies in /proc/driver, /proc/devices, /sys/devices, /sys/bus/pci and
/sys/module when NVIDIA's modules are loaded; mount.sh then lays these over the node's own.
"""
import pathlib
import struct

from .profile import Gpu, Machine

BUILT = "Thu May 29 04:30:44 UTC 2025"
CONTROL_NODES = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset")
MODULES = {"nvidia": ["nvidia_uvm", "nvidia_modeset"], "nvidia_uvm": [], "nvidia_modeset": []}
GPU_INSTANCES, COMPUTE_INSTANCES = 15, 8
PARAMS = """ResmanDebugLevel: 4294967295
RmLogonRC: 1
ModifyDeviceFiles: 0
DeviceFileUID: 0
DeviceFileGID: 0
DeviceFileMode: 438
InitializeSystemMemoryAllocations: 1
UsePageAttributeTable: 4294967295
EnableMSI: 1
EnablePCIeGen3: 0
MemoryPoolSize: 0
NVreg_RegistryDwords: ""
"""


def device_nodes(machine: Machine) -> list[str]:
    """Names below /dev."""
    caps = ["nvidia-caps/nvidia-cap1", "nvidia-caps/nvidia-cap2"] if _any_mig(machine) else []
    switches = [f"nvidia-nvswitch{number}" for number in ("ctl", *range(len(machine.switches)))]
    channels = [f"nvidia-caps-imex-channels/channel{number}" for number in range(machine.imex_channels)]
    return [*CONTROL_NODES, *caps, *(["nvidia-nvlink", *switches] if machine.switches else []), *channels,
            *(f"nvidia{gpu.fields['minor']}" for gpu in machine.gpus)]


def _any_mig(machine: Machine) -> bool:
    return any(gpu.fields["mig_capable"] for gpu in machine.gpus)


def _write(path: pathlib.Path, text: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def _symlink(path: pathlib.Path, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


# --- /proc -----------------------------------------------------------------------------------------------------------

def _information(gpu: Gpu, irq: int) -> str:
    lines = {"Model": gpu.fields["name"], "IRQ": irq, "GPU UUID": gpu.fields["uuid"],
             "Video BIOS": gpu.fields["vbios"].lower(), "Bus Type": "PCIe", "DMA Size": "47 bits",
             "DMA Mask": "0x7fffffffffff", "Bus Location": gpu.bdf, "Device Minor": gpu.fields["minor"],
             "GPU Firmware": gpu.fields["gsp_firmware"] or "N/A", "GPU Excluded": "No"}
    return "".join(f"{key + ':':<8}\t {value}\n" for key, value in lines.items())


def _mig_minors(gpu: int) -> str:
    """Which device in /dev/nvidia-caps opens which instance, whether it exists or not. As in library/mig_rules.h."""
    lines = []
    for gi in range(GPU_INSTANCES):
        first = 3 + (gpu * GPU_INSTANCES + gi) * (1 + COMPUTE_INSTANCES)
        lines.append(f"gpu{gpu}/gi{gi}/access {first}")
        lines += [f"gpu{gpu}/gi{gi}/ci{ci}/access {first + 1 + ci}" for ci in range(COMPUTE_INSTANCES)]
    return "\n".join(lines) + "\n"


def proc(machine: Machine, folder: pathlib.Path) -> None:
    """Writes folder/driver (for /proc/driver), and the lines that /proc/devices and /proc/modules get."""
    nvidia = folder / "driver/nvidia"
    _write(nvidia / "version", f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {machine.driver_version}  {BUILT}\n"
                               "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14+deb12u1) \n")
    _write(nvidia / "params", PARAMS)
    _write(nvidia / "registry", 'Binary: ""\n')
    for position, gpu in enumerate(machine.gpus):
        _write(nvidia / "gpus" / gpu.bdf / "information", _information(gpu, 60 + position))
        _write(nvidia / "gpus" / gpu.bdf / "registry", 'Binary: ""\n')
    if _any_mig(machine):
        for minor, name in ((1, "config"), (2, "monitor")):
            _write(nvidia / "capabilities/mig" / name, f"DeviceFileMinor: {minor}\nDeviceFileMode: 256\n"
                                                       "DeviceFileModify: 1\n")
        _write(folder / "driver/nvidia-caps/mig-minors", "config 1\nmonitor 2\n" + "".join(
            _mig_minors(gpu.fields["minor"]) for gpu in machine.gpus))
    if machine.switches:
        for number, bdf in enumerate(machine.switches):
            _write(folder / "driver/nvidia-nvswitch/devices" / bdf,
                   f"BIOS Version: 92.10.18.00.01\nDevice Instance: {number}\nDriver: {machine.driver_version}\n")
        for name in ("nvidia-nvswitch", "nvidia-nvlink"):
            _write(folder / "driver" / name / "permissions",
                   "DeviceFileMode: 438\nDeviceFileUID: 0\nDeviceFileGID: 0\nModifyDeviceFiles: 0\n")
    _write(folder / "devices", "195 nvidia\n195 nvidia-modeset\n195 nvidiactl\n"
           + ("234 nvidia-nvswitch\n237 nvidia-nvlink\n" if machine.switches else "")
           + ("235 nvidia-caps-imex-channels\n" if machine.imex_channels else "")
           + "236 nvidia-caps\n511 nvidia-uvm\n")
    _write(folder / "modules", "".join(
        f"{name} {2000000 if name == 'nvidia' else 80000} {len(users)} {','.join(users) + ',' if users else '-'} "
        "Live 0x0000000000000000 (POE)\n" for name, users in MODULES.items()))


# --- /sys ------------------------------------------------------------------------------------------------------------

def _config_space(pci_id: int, subsystem: int, pci_class: int, vgpu_host: dict | None) -> bytes:
    """The first 256 bytes: the header and a chain of capabilities; with a vGPU host, the one that says so."""
    space = bytearray(256)
    struct.pack_into("<IHHI", space, 0, (pci_id >> 16) << 16 | pci_id & 0xFFFF, 0x0406, 0x0010, pci_class << 8 | 0xA1)
    struct.pack_into("<I", space, 0x2C, (subsystem >> 16) << 16 | subsystem & 0xFFFF)
    space[0x34] = 0x60
    space[0x60:0x64] = bytes([0x01, 0x68, 0x03, 0x00])  # power management
    space[0x68:0x6A] = bytes([0x05, 0x78])              # message signalled interrupts
    space[0x78:0x7A] = bytes([0x10, 0xB4 if vgpu_host else 0x00])  # PCI Express
    if vgpu_host:
        record = vgpu_host["version"].encode()[:10].ljust(10, b"\0") + vgpu_host["branch"].encode()[:10].ljust(10, b"\0")
        space[0xB4:0xB9] = bytes([0x09, 0x00, 29, 0x56, 0x46])
        space[0xB9:0xB9 + 22] = bytes([0x00, 22]) + record
    return bytes(space)


def _swap(pci_id: int) -> tuple[int, int]:
    """NVML's combined identifier (device << 16 | vendor) as vendor and device."""
    return pci_id & 0xFFFF, pci_id >> 16


def _parent(bdf: str) -> str:
    """Where below /sys/devices a device hangs: on bus 0 at the root, else below a port of its quarter's root."""
    domain, bus, _ = bdf.split(":")
    number = int(bus, 16)
    if number == 0:
        return f"pci{domain}:00"
    root = number & 0xC0
    return f"pci{domain}:{root:02x}/{domain}:{root:02x}:{0x10 + (number & 0x0F):02x}.0"


def _device(folder: pathlib.Path, bdf: str, pci_id: int, subsystem: int, pci_class: int, numa: int | None,
            files: dict, driver: str | None) -> None:
    where = folder / "devices" / _parent(bdf) / bdf
    (vendor, device), (sub_vendor, sub_device) = _swap(pci_id), _swap(subsystem)
    modalias = (f"pci:v{vendor:08X}d{device:08X}sv{sub_vendor:08X}sd{sub_device:08X}"
                f"bc{pci_class >> 16:02X}sc{pci_class >> 8 & 0xFF:02X}i{pci_class & 0xFF:02X}")
    uevent = (f"PCI_CLASS={pci_class:X}\nPCI_ID={vendor:04X}:{device:04X}\n"
              f"PCI_SUBSYS_ID={sub_vendor:04X}:{sub_device:04X}\nPCI_SLOT_NAME={bdf}\nMODALIAS={modalias}\n")
    standard = {"vendor": f"0x{vendor:04x}", "device": f"0x{device:04x}", "class": f"0x{pci_class:06x}",
                "subsystem_vendor": f"0x{sub_vendor:04x}", "subsystem_device": f"0x{sub_device:04x}",
                "revision": "0xa1", "numa_node": -1 if numa is None else numa, "enable": 1, "irq": 60,
                "local_cpulist": "0-1", "local_cpus": "3", "modalias": modalias, "reset_method": "flr bus",
                "power/control": "on", "power/runtime_status": "active"}
    for name, text in {**standard, **files}.items():
        _write(where / name, f"{text}\n")
    _write(where / "uevent", (f"DRIVER={driver}\n" if driver else "") + uevent)
    up = "../" * (1 + len(where.relative_to(folder / "devices").parts))
    _symlink(where / "subsystem", f"{up}bus/pci")
    _symlink(folder / "bus-pci-devices" / bdf, f"../../../devices/{_parent(bdf)}/{bdf}")
    if driver:
        _symlink(where / "driver", f"{up}bus/pci/drivers/{driver}")
        _symlink(folder / "bus-pci-drivers" / driver / bdf, f"../../../../devices/{_parent(bdf)}/{bdf}")


def _resource_file(regions: list[tuple[int, int, int]]) -> str:
    """A function's memory regions (start, size, flags) as the 13 lines of its file `resource`."""
    lines = [f"0x{first:016x} 0x{first + size - 1 if size else 0:016x} 0x{flags:016x}"
             for first, size, flags in [*regions, *[(0, 0, 0)] * (13 - len(regions))]]
    return "\n".join(lines)


def _gpu_resource(gpu: Gpu) -> str:
    start = 0xA0000000 + 0x2000000 * (gpu.fields["pci_bus"] + gpu.fields["pci_slot"])
    bar1 = 0x10000000000 * (1 + gpu.fields["minor"])
    return _resource_file([(start, 16 << 20, 0x40200), (bar1, gpu.fields["bar1_total"] or 0, 0x14220C), (0, 0, 0),
                           (bar1 * 2, 32 << 20, 0x14220C)])


def _switch_resource(number: int) -> str:
    return _resource_file([(0xD0000000 + 0x2000000 * number, 32 << 20, 0x40200)])


def _port(folder: pathlib.Path, bdf: str, numa: int | None) -> None:
    """The bridge above a device that is not on bus 0."""
    parts = _parent(bdf).split("/")
    where = folder / "devices" / _parent(bdf)
    if len(parts) < 2 or (where / "vendor").exists():
        return
    for name, text in {"vendor": "0x8086", "device": "0x347a", "class": "0x060400", "subsystem_vendor": "0x8086",
                       "subsystem_device": "0x0000", "revision": "0x04",
                       "numa_node": -1 if numa is None else numa}.items():
        _write(where / name, f"{text}\n")
    _symlink(folder / "bus-pci-devices" / parts[1], f"../../../devices/{_parent(bdf)}")


def sys(machine: Machine, folder: pathlib.Path) -> None:
    """Writes folder/devices, bus-pci-devices, bus-pci-drivers and module."""
    for gpu in machine.gpus:
        fields = gpu.fields
        pci_class = 0x030000 if fields["brand"] in (5, 6, 15) else 0x030200
        _port(folder, gpu.bdf, fields["numa_node"])
        speeds = {1: "2.5", 2: "5.0", 3: "8.0", 4: "16.0", 5: "32.0", 6: "64.0"}
        files = {"resource": _gpu_resource(gpu), "max_link_width": fields["pcie_width_max"],
                 "current_link_width": fields["pcie_width"],
                 "max_link_speed": f"{speeds.get(fields['pcie_generation_max'], '16.0')} GT/s PCIe",
                 "current_link_speed": f"{speeds.get(fields['pcie_generation'], '16.0')} GT/s PCIe"}
        _device(folder, gpu.bdf, fields["pci_id"], fields["pci_subsystem_id"], pci_class, fields["numa_node"], files,
                "nvidia")
        _write(folder / "devices" / _parent(gpu.bdf) / gpu.bdf / "config",
               _config_space(fields["pci_id"], fields["pci_subsystem_id"], pci_class, gpu.vgpu_host))
    for number, bdf in enumerate(machine.switches):
        _port(folder, bdf, None)
        _device(folder, bdf, machine.switch_pci_id, 0x147F10DE, 0x068000, None,
                {"resource": _switch_resource(number)}, "nvidia-nvswitch")
        _write(folder / "devices" / _parent(bdf) / bdf / "config",
               _config_space(machine.switch_pci_id, 0x147F10DE, 0x068000, None))
    for driver in ("nvidia", *(["nvidia-nvswitch"] if machine.switches else [])):
        for name in ("bind", "unbind", "new_id"):
            _write(folder / "bus-pci-drivers" / driver / name, "")
    _symlink(folder / "bus-pci-drivers/nvidia/module", "../../../../module/nvidia")
    for name, users in MODULES.items():
        module = folder / "module" / name
        for file, text in {"refcnt": len(users), "initstate": "live", "taint": "POE", "coresize": 2000000}.items():
            _write(module / file, f"{text}\n")
        for user in users:
            _symlink(module / "holders" / user, f"../../{user}")
    _write(folder / "module/nvidia/version", f"{machine.driver_version}\n")
    _write(folder / "module/nvidia_modeset/version", f"{machine.driver_version}\n")
    _symlink(folder / "module/nvidia/drivers/pci:nvidia", "../../../bus/pci/drivers/nvidia")
    _write(folder / "module/nvidia/parameters/NVreg_EnableGpuFirmware", "18\n")
