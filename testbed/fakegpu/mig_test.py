# SPDX-License-Identifier: Apache-2.0
"""MIG as a node with the real nvidia-smi has it (see conftest.py)."""
import re
import subprocess
import sys

import pytest

import fakegpu
from machine import layout, mig, profile


def mig_lines(here) -> list[str]:
    """The MIG devices that `nvidia-smi -L` lists, without their UUIDs."""
    return [re.sub(r" +", " ", line.split("(")[0]).strip() for line in here.smi("-L").splitlines() if "MIG" in line]


def capabilities(here) -> list[str]:
    """What the kernel shows of instances, and the device nodes."""
    tree = here.root / "proc/driver/nvidia/capabilities"
    numbers = {}
    for path in tree.glob("gpu*/mig/**/access"):
        number = int(re.search(r"DeviceFileMinor: (\d+)", path.read_text())[1])
        numbers[str(path.relative_to(tree))] = number
        assert (here.root / f"dev/nvidia-caps/nvidia-cap{number}").is_char_device()
    minors = dict(line.split() for line in (here.root / "proc/driver/nvidia-caps/mig-minors").read_text().splitlines())
    assert {name: str(number) for name, number in numbers.items()}.items() <= {
        name.replace("/gi", "/mig/gi", 1): number for name, number in minors.items()}.items()
    nodes = {path.name for path in (here.root / "dev/nvidia-caps").iterdir()}
    assert nodes == {"nvidia-cap1", "nvidia-cap2", *(f"nvidia-cap{number}" for number in numbers.values())}
    return sorted(numbers)


def test_nvidia_smi_switches_divides_and_joins(node):
    here = node("8xa100-80")
    assert here.run("nvidia-smi", "mig", "-lgip").stdout == "No MIG-enabled devices found.\n"
    assert "Enabled MIG Mode for GPU 00000000:07:00.0" in here.smi("-i", "0", "-mig", "1")
    profiles = here.smi("mig", "-lgip")
    assert [found.split() for found in re.findall(r"MIG (\S+ +\d+ +\d/\d +\S+)", profiles)] == [
        ["1g.10gb", "19", "7/7", "9.62"], ["1g.10gb+me", "20", "1/1", "9.62"], ["1g.20gb", "15", "4/4", "19.50"],
        ["2g.20gb", "14", "3/3", "19.50"], ["3g.40gb", "9", "2/2", "39.25"], ["4g.40gb", "5", "1/1", "39.25"],
        ["7g.80gb", "0", "1/1", "78.50"]]
    assert "GPU  0 Profile ID 15 Placements: {0,2,4,6}:2" in here.smi("mig", "-lgipp")
    made = here.smi("mig", "-i", "0", "-cgi", "9,14,19,19", "-C")
    assert [int(one) for one in re.findall(r"created GPU instance ID +(\d+)", made)] == [2, 3, 9, 10]
    assert re.findall(r"MIG (\S+) +\d+ +(\d+) +(\d:\d)", here.smi("mig", "-lgi")) == [
        ("1g.10gb", "9", "2:1"), ("1g.10gb", "10", "3:1"), ("2g.20gb", "3", "0:2"), ("3g.40gb", "2", "4:4")]
    assert mig_lines(here) == [f"MIG {name} Device {index}:" for index, name in
                               enumerate(["3g.40gb", "2g.20gb", "1g.10gb", "1g.10gb"])]
    assert capabilities(here) == sorted(f"gpu0/mig/gi{gi}/{ci}access" for gi in (2, 3, 9, 10) for ci in ("", "ci0/"))
    here.smi("mig", "-i", "0", "-dci")
    here.smi("mig", "-i", "0", "-dgi")
    assert mig_lines(here) == [] and capabilities(here) == []
    here.smi("-i", "0", "-mig", "0")
    assert here.query("mig.mode.current")[0] == ["Disabled"]


def test_the_default_table_shows_instances_and_their_processes(node):
    here = node("mixed")
    here.control("processes", "0", "1234=512:compute:python:2/0")
    table = here.smi()
    rows = re.findall(r"\|  0 +(\d+) +(\d+) +(\d+)  \| +(\d+)MiB / +(\d+)MiB +\| +(\d+) +0 \|", table)
    assert rows == [("2", "0", "0", "512", "40192", "42"), ("3", "0", "1", "0", "19968", "28"),
                    ("9", "0", "2", "0", "9856", "14")]
    assert re.search(r"\|    0    2    0       1234      C   python +512MiB \|", table)
    assert [row[0] for row in here.query("mig.mode.current")] == ["Enabled", "Disabled", "[N/A]", "[N/A]", "[N/A]"]


def test_the_tool_changes_mig_while_it_runs(node):
    here = node("8xh100-80")
    here.control("mig", "1", "on")
    assert here.control("mig", "1", "create", "1c.3g.40gb", "1c.3g.40gb", "1g.10gb+me").splitlines()[2].split()[2:] == [
        "1g.10gb+me", "gi=7", "ci=0"]
    assert mig_lines(here) == ["MIG 1c.3g.40gb Device 0:", "MIG 1c.3g.40gb Device 1:", "MIG 1g.10gb+me Device 2:"]
    assert capabilities(here) == ["gpu1/mig/gi2/access", "gpu1/mig/gi2/ci0/access", "gpu1/mig/gi2/ci1/access",
                                  "gpu1/mig/gi7/access", "gpu1/mig/gi7/ci0/access"]
    with pytest.raises(AssertionError, match="fakegpu: GPU 1: 7g.80gb: no room for it"):
        here.control("mig", "1", "create", "7g.80gb")
    here.control("mig", "1", "destroy", "2")
    assert mig_lines(here) == ["MIG 1g.10gb+me Device 0:"]


def test_a_container_sees_the_mig_devices_whose_nodes_it_was_given(node):
    here = node("mixed")
    # What injection brings: the GPU's node, and those of one GPU instance and its compute instance.
    inner = ("mount -t tmpfs tmpfs /dev && for n in nvidiactl nvidia0; do mknod -m 666 /dev/$n c 1 3; done && "
             "mkdir /dev/nvidia-caps && for n in 30 31; do mknod -m 444 /dev/nvidia-caps/nvidia-cap$n c 1 3; done && "
             "mount -t tmpfs tmpfs /proc/driver && env -i /usr/bin/nvidia-smi -L && nvidia-smi mig -i 0 -cgi 19")
    lines = here.run("unshare", "--mount", "sh", "-c", inner).stdout.splitlines()
    assert len(lines) == 4 and re.match(r"  MIG 2g.20gb     Device  0: \(UUID: MIG-[-0-9a-f]{36}\)", lines[1])
    assert "Insufficient Permissions" in lines[2]


def test_a_mode_that_waits_for_processes_comes_with_the_reset(node):
    here = node("mixed")
    here.control("processes", "1", "1234=512")
    assert "MIG mode is in pending enable state" in here.smi("-i", "1", "-mig", "1")
    assert here.query("mig.mode.current,mig.mode.pending")[1] == ["Disabled", "Enabled"]
    here.control("processes", "1")
    here.control("set", "1", "ecc_volatile_uncorrected.dram=2", "remap_pending=on")
    here.control("reset", "1")
    assert here.query("mig.mode.current,mig.mode.pending,ecc.errors.uncorrected.volatile.dram")[1] == [
        "Enabled", "Enabled", "0"]
    assert re.search(r"Remapped Rows(\n.+){2}\n +Pending +: No\n", here.smi("-q", "-i", "1"))
    here.control("reset", "0")
    assert mig_lines(here) == []


WAITER = r"""
import ctypes
class Event(ctypes.Structure):
    _fields_ = [("device", ctypes.c_void_p), ("type", ctypes.c_uint64), ("payload", ctypes.c_uint64),
                ("gi", ctypes.c_uint32), ("ci", ctypes.c_uint32)]
nvml = ctypes.CDLL("libnvidia-ml.so.1")
assert nvml.nvmlInit_v2() == 0
device, events, event = ctypes.c_void_p(), ctypes.c_void_p(), Event()
assert nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) == 0
assert nvml.nvmlEventSetCreate(ctypes.byref(events)) == 0
assert nvml.nvmlDeviceRegisterEvents(device, ctypes.c_uint64(0x108), events) == 0
print("waiting", flush=True)
for _ in range(2):
    assert nvml.nvmlEventSetWait_v2(events, ctypes.byref(event), 20000) == 0
    print(event.type, event.payload, event.gi, event.ci, flush=True)
"""


def test_events_name_the_instance_and_tell_of_changes(node):
    here = node("mixed")
    with subprocess.Popen([*here.enter, sys.executable, "-c", WAITER], stdout=subprocess.PIPE, text=True) as waiter:
        assert waiter.stdout.readline() == "waiting\n"
        here.control("xid", "0", "94", "--gi", "2", "--ci", "0")
        assert waiter.stdout.readline() == "8 94 2 0\n"
        here.smi("mig", "-i", "0", "-dci", "-gi", "3")
        assert waiter.communicate(timeout=10)[0] == f"256 0 {0xffffffff} {0xffffffff}\n"


def test_a_driver_that_is_loaded_anew_has_no_instances(node):
    for machine, mode in (("mixed", "Enabled"), ("8xh100-80", "Disabled")):  # since Hopper the mode goes too
        here = node(machine)
        here.control("mig", "0", "on")
        here.control("mig", "0", "destroy")
        here.control("mig", "0", "create", "3g.40gb")
        assert capabilities(here)
        here.control("driver-unload")
        assert not (here.root / "dev/nvidia-caps").exists()
        here.control("driver-load")
        assert mig_lines(here) == [] and capabilities(here) == []
        assert here.query("mig.mode.current")[0] == [mode]


def test_eight_gpus_in_seven_parts_each(node):
    here = node("8xa100-80-mig")
    assert mig_lines(here) == [f"MIG 1g.10gb Device {index}:" for _ in range(8) for index in range(7)]
    assert len(capabilities(here)) == 8 * 14
    uuids = re.findall(r"MIG-[-0-9a-f]{36}", here.smi("-L"))
    assert len(set(uuids)) == 56


def test_profiles_differ_by_their_engines(node):
    here = node({"driver_version": "580.95.05", "cuda_version": "13.0", "gpus": [
        {"product": "NVIDIA RTX PRO 6000 Blackwell Server Edition", "count": 2,
         "mig_devices": ["1g.24gb+gfx", "1g.24gb-me", "1g.24gb+me"]}]})
    assert mig_lines(here)[:3] == ["MIG 1g.24gb+gfx Device 0:", "MIG 1g.24gb-me Device 1:", "MIG 1g.24gb+me Device 2:"]
    here.control("mig", "1", "destroy")
    here.control("mig", "1", "create", "1g.24gb+me.all")
    # What has all engines leaves room only for what has none.
    for refused in ("1g.24gb", "1g.24gb+gfx", "2g.48gb"):
        with pytest.raises(AssertionError, match="no room for it"):
            here.control("mig", "1", "create", refused)
    here.control("mig", "1", "create", *["1g.24gb-me"] * 3)


@pytest.fixture(scope="module")
def state_fields(library):
    return set(layout.Layout(library).fields["gpu"])


@pytest.mark.parametrize("text,reason", [
    ("{product: Tesla T4, mig_devices: [1g.5gb]}", "gpus[0].mig_devices: '1g.5gb' is none of nothing"),
    ("{product: NVIDIA A30, mig_devices: [1g.5gb]}", "gpus[0].mig_devices: '1g.5gb' is none of 1g.6gb, 1g.6gb+me, "),
    ("{product: NVIDIA A30, mig_profiles: h300}", "gpus[0].mig_profiles: 'h300' is none of a100-40, "),
])
def test_a_wrong_division_is_refused(state_fields, tmp_path, text, reason):
    path = tmp_path / "wrong.yaml"
    path.write_text(f"gpus: [{text}]")
    with pytest.raises(profile.ProfileError) as error:
        profile.load(path, "node1", state_fields)
    assert reason in str(error.value)


def test_a_division_without_room_is_refused(library, state_fields):
    machine = profile.compile_profile({"gpus": [{"product": "NVIDIA A30", "mig_devices": {"2g.12gb": 3}}]}, "n",
                                      state_fields)
    with pytest.raises(profile.ProfileError, match="GPU 0: mig_devices: 2g.12gb: no room for it"):
        fakegpu.node.image.build(layout.Layout(library), machine)


def test_the_rtx_pro_6000_has_what_the_default_configurations_make_of_it():
    wanted = {"1g.24gb": 4, "1g.24gb+gfx": 4, "1g.24gb+me": 1, "1g.24gb+me.all": 1, "1g.24gb-me": 4, "2g.48gb": 2,
              "2g.48gb+gfx": 2, "2g.48gb+me.all": 1, "2g.48gb-me": 2, "4g.96gb": 1, "4g.96gb+gfx": 1}
    assert {name: row[2] for name, row in mig.tables()["rtx-pro-6000"]["profiles"].items()} == wanted


def test_every_table_of_profiles_is_whole(state_fields, library):
    for name, product in profile.products().items():
        if "mig_profiles" not in product:
            continue
        table = mig.tables()[product["mig_profiles"]]
        largest = list(table["profiles"])[-1]
        for one, row in table["profiles"].items():
            # Each fits alone as often as the driver says, and its memory is the named part of the board's.
            machine = profile.compile_profile({"gpus": [{"product": name, "mig_devices": {one: row[2]}}]}, "n",
                                              state_fields)
            known = layout.Layout(library)
            state = layout.State(known, fakegpu.node.image.build(known, machine))
            assert len(mig.devices(state.gpu(0))) == row[2], (name, one)
            assert row[3] <= table["profiles"][largest][3] * row[6] / table["slices"]["memory"]
            assert row[4] <= product["multiprocessors"]
