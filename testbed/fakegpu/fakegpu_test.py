# SPDX-License-Identifier: Apache-2.0
"""The machine as a node has it, with the real nvidia-smi (see conftest.py)."""
import os
import pathlib
import subprocess
import sys
import time

import pytest
import yaml

import fakegpu
from machine import control, driver, image, layout, mig, profile

HERE = pathlib.Path(__file__).resolve().parent


# --- what nvidia-smi shows -------------------------------------------------------------------------------------------

@pytest.mark.parametrize("machine,count", [
    ("2xt4", 2), ("2xa10", 2), ("4xv100", 4), ("mixed", 5), ("8xa100-40", 8), ("8xa100-80", 8), ("8xh100-80", 8),
    ("8xh200-141", 8), ("8xb200", 8)])
def test_lists_the_gpus_of_the_profile(node, machine, count):
    here = node(machine)
    lines = [line for line in here.smi("-L").splitlines() if line.startswith("GPU")]
    assert lines == [f"GPU {i}: {gpu['name']} (UUID: {gpu['uuid']})" for i, gpu in enumerate(here.machine["gpus"])]
    assert len(lines) == count


def test_the_default_table_and_q_have_the_profiles_values(node):
    here = node("8xa100-80")
    table = here.smi()
    assert "Driver Version: 535.261.03   CUDA Version: 12.2" in table
    assert "NVIDIA A100-SXM4-80GB" in table and "62W / 400W" in table and "0MiB / 81920MiB" in table
    assert table.count("Disabled") == 8  # MIG of each
    whole = here.smi("-q")
    assert whole.count("Product Architecture                  : Ampere") == 8
    for gpu in here.machine["gpus"]:
        assert gpu["uuid"] in whole and gpu["serial"] in whole and f"GPU 0000{gpu['pci'].upper()}" in whole
    assert whole.count("DRAM Uncorrectable            : 0") == 16


def test_a_query_answers_in_csv(node):
    here = node("2xt4")
    rows = here.query("index,name,uuid,pci.bus_id,memory.total,temperature.gpu,power.draw,utilization.gpu,"
                      "driver_version,mig.mode.current,ecc.errors.uncorrected.volatile.total,serial,compute_cap")
    expected = [[str(i), "Tesla T4", gpu["uuid"], f"0000{gpu['pci'].upper()}", "15360", "34", "9.00", "0", "535.261.03",
                 "[N/A]", "0", gpu["serial"], "7.5"] for i, gpu in enumerate(here.machine["gpus"])]
    assert rows == expected


def test_the_topology_has_switches_or_pairs(node):
    lines = node("8xa100-80").smi("topo", "-m").splitlines()
    assert lines[1].split()[:9] == ["GPU0", "X", *["NV12"] * 7]
    assert node("4xv100").smi("topo", "-m").splitlines()[2].split()[:5] == ["GPU1", "NV2", "X", "NV2", "NV2"]
    assert node("2xt4").smi("topo", "-m").splitlines()[1].split()[:3] == ["GPU0", "X", "NODE"]


def test_another_driver_version_names_files_and_answers(node):
    here = node({"driver_version": "550.127.05", "cuda_version": "12.4", "gpus": [{"product": "NVIDIA L4"}]})
    assert here.query("driver_version,name") == [["550.127.05", "NVIDIA L4"]]
    libraries = here.root / driver.LIBRARIES
    assert (libraries / "libcuda.so.550.127.05").stat().st_size > 20e6
    assert os.readlink(libraries / "libcuda.so.1") == "libcuda.so.550.127.05"
    assert os.readlink(libraries / "libnvidia-ml.so.1") == "libnvidia-ml.so.550.127.05"
    assert "550.127.05" in (here.root / "proc/driver/nvidia/version").read_text()


# --- changes while it runs -------------------------------------------------------------------------------------------

def test_values_change_while_it_runs(node):
    here = node("8xa100-80")
    here.control("set", "1", "temperature=83", "power=251.5", "utilization_gpu=97", "memory_used=40GiB",
                 "ecc_volatile_uncorrected.dram=3")
    fields = "temperature.gpu,power.draw,utilization.gpu,memory.used,ecc.errors.uncorrected.volatile.dram"
    rows = here.query(fields)
    assert rows[1] == ["83", "251.50", "97", "40960", "3"]
    assert rows[0] == ["31", "62.00", "0", "0", "0"]


def test_a_gpu_fails_is_lost_and_recovers(node):
    here = node("2xt4")
    uuid = here.machine["gpus"][1]["uuid"]
    here.control("fail", uuid)
    assert "gpu 1: Unknown Error" in here.run("nvidia-smi", "-L").stdout
    here.control("lose", "1")
    assert "GPU is lost" in here.run("nvidia-smi", "-L").stdout
    assert "failure=15" in here.control("list").splitlines()[1]
    here.control("recover", "1")
    assert len(here.smi("-L").splitlines()) == 2


def test_a_call_hangs_until_it_is_let_go(node):
    here = node("2xt4")
    here.control("hang", "0", "nvmlDeviceGetTemperature")
    assert len(here.smi("-L").splitlines()) == 2  # asks for no temperature
    with subprocess.Popen([*here.enter, "nvidia-smi"], stdout=subprocess.PIPE, text=True) as hanging:
        with pytest.raises(subprocess.TimeoutExpired):
            hanging.wait(timeout=1)
        here.control("unhang", "0")
        assert "Tesla T4" in hanging.communicate(timeout=10)[0]


def test_processes_are_listed(node):
    here = node("8xa100-80")
    here.control("processes", "2", "1234=512:compute:python,4194303=30")
    rows = here.smi("--query-compute-apps=pid,name,used_memory,gpu_uuid", "--format=csv,noheader").splitlines()
    uuid = here.machine["gpus"][2]["uuid"]
    assert rows == [f"1234, python, 512 MiB, {uuid}", f"4194303, [Not Found], 30 MiB, {uuid}"]
    assert here.query("memory.used")[2] == ["542"]
    here.control("processes", "2")
    assert "No running processes found" in here.smi()


WAITER = r"""
import ctypes, sys
class Event(ctypes.Structure):
    _fields_ = [("device", ctypes.c_void_p), ("type", ctypes.c_uint64), ("payload", ctypes.c_uint64),
                ("gi", ctypes.c_uint32), ("ci", ctypes.c_uint32)]
nvml = ctypes.CDLL("libnvidia-ml.so.1")
assert nvml.nvmlInit_v2() == 0
device, events, event = ctypes.c_void_p(), ctypes.c_void_p(), Event()
assert nvml.nvmlDeviceGetHandleByIndex_v2(1, ctypes.byref(device)) == 0
assert nvml.nvmlEventSetCreate(ctypes.byref(events)) == 0
assert nvml.nvmlDeviceRegisterEvents(device, ctypes.c_uint64(8), events) == 0
print("waiting", flush=True)
result = nvml.nvmlEventSetWait_v2(events, ctypes.byref(event), 20000)
print(result, event.payload, event.device == device.value, flush=True)
"""


def test_xids_reach_every_process_that_waits(node):
    here = node("2xt4")
    command = [*here.enter, sys.executable, "-c", WAITER]
    waiters = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    for waiter in waiters:
        assert waiter.stdout.readline() == "waiting\n"
    raised = time.monotonic()
    here.control("xid", "0", "31")  # another GPU's
    here.control("xid", "1", "48")
    for waiter in waiters:
        assert waiter.communicate(timeout=10)[0] == "0 48 True\n"
    assert time.monotonic() - raised < 5


def test_the_driver_is_unloaded_and_loaded(node):
    here = node("2xt4")
    here.control("driver-unload")
    assert here.run("nvidia-smi").returncode == 9
    assert not (here.root / "sys/module/nvidia").exists()
    assert not (here.root / "proc/driver/nvidia").exists()
    assert not list((here.root / "dev").glob("nvidia*"))
    assert (here.root / "sys/bus/pci/devices" / here.machine["gpus"][0]["pci"] / "vendor").exists()
    here.control("driver-load")
    assert len(here.smi("-L").splitlines()) == 2
    assert (here.root / "sys/module/nvidia/version").read_text() == "535.261.03\n"


# --- what is visible where -------------------------------------------------------------------------------------------

def test_a_container_sees_the_gpus_whose_nodes_it_was_given(node):
    here = node("8xa100-80")
    # What injection brings: two device nodes and the library, read-only; no /opt/fakegpu, no /proc/driver, no /sys.
    inner = ("mount -t tmpfs tmpfs /dev && mknod -m 666 /dev/nvidiactl c 1 3 && mknod -m 666 /dev/nvidia5 c 1 3 && "
             "mount -t tmpfs tmpfs /opt && mount -t tmpfs tmpfs /proc/driver && "
             "L=$(readlink -f /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1) && mount --bind $L $L && "
             "mount -o remount,bind,ro $L && env -i /usr/bin/nvidia-smi -L && "
             "nvidia-smi -i 0 -pl 300 | grep -c -i permission")
    done = here.run("unshare", "--mount", "sh", "-c", inner)
    assert done.stdout.splitlines() == [f"GPU 0: NVIDIA A100-SXM4-80GB (UUID: {here.machine['gpus'][5]['uuid']})", "1"]


def addresses(here) -> list[str]:
    return [gpu["pci"] for gpu in here.machine["gpus"]]


def test_the_kernels_files_are_there(node):
    here = node("8xa100-80")
    for position, gpu in enumerate(here.machine["gpus"]):
        information = (here.root / "proc/driver/nvidia/gpus" / gpu["pci"] / "information").read_text()
        assert f"GPU UUID:\t {gpu['uuid']}" in information and f"Device Minor:\t {position}" in information
        device = here.root / "sys/bus/pci/devices" / gpu["pci"]
        assert (device / "vendor").read_text() == "0x10de\n"
        assert (device / "class").read_text() == "0x030200\n"
        assert (device / "device").read_text() == "0x20b2\n"
        assert (device / "numa_node").read_text() == f"{gpu['numa_node']}\n"
        assert (device / "config").read_bytes()[:4] == bytes.fromhex("de10b220")
        driver_link = here.run("readlink", "-f", f"/sys/bus/pci/devices/{gpu['pci']}/driver").stdout
        assert driver_link == "/sys/bus/pci/drivers/nvidia\n"
        path = here.run("readlink", "-f", f"/sys/bus/pci/drivers/nvidia/{gpu['pci']}").stdout
        assert path.startswith("/sys/devices/pci0000:")
    switches = [one for one in (here.root / "sys/bus/pci/devices").iterdir()
                if (one / "class").exists() and (one / "class").read_text() == "0x068000\n"]
    assert len(switches) == 6
    # NVIDIA's PCI library and NFD read these of every function.
    for function in (here.root / "sys/bus/pci/devices").iterdir():
        if (function / "vendor").exists() and function.name in {*addresses(here), *(one.name for one in switches)}:
            assert len((function / "resource").read_text().splitlines()) == 13, function.name
        if (function / "vendor").exists():
            assert (function / "subsystem_vendor").exists() and (function / "subsystem_device").exists(), function.name
    assert (here.root / "sys/module/nvidia/refcnt").read_text() == "2\n"
    assert "195 nvidia\n" in (here.root / "proc/devices").read_text()
    # The kernel's own is still there, and itself: what is written there reaches the kernel.
    assert here.run("stat", "-f", "-c", "%T", "/sys/devices/system", "/sys/devices/virtual").stdout == "sysfs\nsysfs\n"
    assert sorted(one.name for one in (here.root / "dev").glob("nvidia[0-9]")) == [f"nvidia{i}" for i in range(8)]


@pytest.mark.parametrize("machine,switches,pci_id", [("8xa100-80", 6, "0x1af1"), ("8xh100-80", 4, "0x22a3"),
                                                     ("8xb200", 0, None), ("4xv100", 0, None)])
def test_switches_are_functions_and_device_nodes_where_the_board_has_them_on_the_bus(node, machine, switches, pci_id):
    here = node(machine)
    found = [one for one in (here.root / "sys/bus/pci/devices").iterdir()
             if (one / "class").exists() and (one / "class").read_text() == "0x068000\n"]
    assert sorted((one / "device").read_text() for one in found) == [f"{pci_id}\n"] * switches
    names = {"nvidia-nvlink", "nvidia-nvswitchctl", *(f"nvidia-nvswitch{i}" for i in range(switches))}
    assert {one.name for one in (here.root / "dev").glob("nvidia-nv*")} == (names if switches else set())
    assert ("nvidia-nvswitch" in (here.root / "proc/devices").read_text()) == bool(switches)
    assert len(list((here.root / "proc/driver").glob("nvidia-nvswitch/devices/*"))) == switches


def test_imex_channels_have_a_node_each(node):
    here = node({"imex_channels": 3, "gpus": [{"product": "NVIDIA B200"}]})
    names = sorted(one.name for one in (here.root / "dev/nvidia-caps-imex-channels").iterdir())
    assert names == ["channel0", "channel1", "channel2"]
    assert "235 nvidia-caps-imex-channels\n" in (here.root / "proc/devices").read_text()
    here.control("driver-unload")
    assert not (here.root / "dev/nvidia-caps-imex-channels").exists()


def test_a_vgpu_host_is_told_in_the_config_space(node):
    here = node({"gpus": [{"product": "Tesla T4", "vgpu_host": {"version": "460.16", "branch": "r460_00"}}]})
    space = (here.root / "sys/bus/pci/devices" / here.machine["gpus"][0]["pci"] / "config").read_bytes()
    chain = [space[0x34]]
    while space[chain[-1]] != 0x09 and len(chain) < 8:
        chain.append(space[chain[-1] + 1])
    at = chain[-1]
    assert space[at] == 0x09
    assert space[at + 3:at + 5] == b"VF" and space[at + 5] == 0
    assert space[at + 7:at + 27] == b"460.16".ljust(10, b"\0") + b"r460_00".ljust(10, b"\0")


def test_uninstall_takes_out_what_install_put_there(library, tmp_path):
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (root / "dev").mkdir()
    machine = profile.load(HERE / "profiles/2xt4.yaml", "node1", set(layout.Layout(library).fields["gpu"]))
    for _ in range(2):  # also over itself
        fakegpu.node.install(root, machine, "node1", library)
    assert (root / "usr/bin/nvidia-smi").exists()
    fakegpu.node.uninstall(root)
    assert [path for path in root.rglob("*") if not path.is_dir()] == []


# --- profiles --------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="session")
def state_fields(library):
    return set(layout.Layout(library).fields["gpu"])


@pytest.mark.parametrize("text,reason", [
    ("gpus: [{count: 2}]", "gpus[0].product: missing"),
    ("gpus: [{product: Tesla T5}]", "gpus[0].product: 'Tesla T5' is none of Tesla T4, "),
    ("gpus: [{product: Tesla T4, temprature: 3}]", "gpus[0].temprature: unknown field"),
    ("gpus: [{product: Tesla T4, power: {idel: 3}}]", "gpus[0].power.idel: unknown field"),
    ("gpus: [{product: Tesla T4, temperature: hot}]", "gpus[0].temperature: 'hot' is no whole number"),
    ("gpus: [{product: Tesla T4, ecc: maybe}]", "gpus[0].ecc: 'maybe' is neither enabled nor disabled"),
    ("gpus: [{product: Tesla T4, memory: lots}]", "gpus[0].memory: 'lots' is no size"),
    ("gpus: [{product: Tesla T4, pci: here}]", "gpus[0].pci: 'here' is no PCI address"),
    ("gpus: [{product: Tesla T4, count: 0}]", "gpus[0].count: 0; a machine has 1 to 64 GPUs"),
    ("gpus: [{product: Tesla T4, count: 2, uuid: [GPU-1]}]", "gpus[0].uuid: 1 values for 2 GPUs"),
    ("gpus: [{product: Tesla T4, count: 2, minor: 3}]", "gpus: 0 and 1 have the same minor, 3"),
    ("gpus: [{product: Tesla T4, compute_capability: 7}]", "gpus[0].compute_capability: 7 is not like"),
    ("gpus: [{product: Tesla T4, fabric: {cluster: 7}}]", "gpus[0].fabric.cluster: 7 is no UUID"),
    ("driver_version: newest", "driver_version: 'newest' is not like 535.261.03"),
    ("cuda_version: 12", "cuda_version: '12' is not like"),
    ("gpu: []", "gpu: unknown field"),
    ("gpus: [{product: Tesla T4}]\ntopology: [{level: near, gpus: [0]}]", "topology[0].level: 'near' is none of"),
    ("gpus: [{product: Tesla T4}]\nnvlink: {pairs: [[0, 1, 2]]}", "nvlink.pairs[0]: 1 is no GPU of this machine"),
    ("gpus: [{product: Tesla T4}]\nnvlink: {pairs: [[0, 0, 2]]}", "nvlink.pairs[0]: is not two GPUs and 1 to 18"),
    ("gpus: [{product: Tesla T4, count: 2}]\nnvlink: {pairs: [[0, 1, -2]]}", "nvlink.pairs[0]: is not two GPUs and"),
    ("gpus: [{product: Tesla T4}]\nnvlink: {pairs: 3}", "nvlink.pairs: is no list"),
    ("gpus: [{product: Tesla T4}]\ntopology: 3", "topology: is no list"),
    ("gpus: [{product: [Tesla T4]}]", "gpus[0].product: ['Tesla T4'] is none of"),
    ("gpus: [{product: Tesla T4, gpm_sm: 101}]", "gpus[0].gpm_sm: 101 is not between 0 and 100 percent"),
    ("gpus: [{product: Tesla T4, clocks: {idle: 300}}]", "gpus[0].clocks.idle: 300 is not [graphics, memory] in MHz"),
    ("gpus: [{product: Tesla T4, temperatures: {now: hot}}]", "gpus[0].temperatures.now: 'hot' is no whole number"),
    ("gpus: [{product: Tesla T4, processes: 5}]", "gpus[0].processes: is no list"),
    ("gpus: [{product: Tesla T4, processes: [5]}]", "gpus[0].processes[0]: is no mapping"),
    ("gpus: [{product: Tesla T4, mig_devices: 5}]", "gpus[0].mig_devices: is no list"),
    ("gpus: [{product: Tesla T4, vgpu_host: {version: 1}}]", "gpus[0].vgpu_host: is not {version: ..., branch: ...}"),
    ("gpus: [{product: Tesla T4, link_speed: fast}]", "gpus[0].link_speed: 'fast' is no whole number"),
    ("imex_channels: 4096", "imex_channels: 4096 is not between 0 and 2048"),
    ("gpus: [", "not YAML"),
])
def test_a_wrong_profile_is_refused_with_the_field(state_fields, tmp_path, text, reason):
    path = tmp_path / "wrong.yaml"
    path.write_text(text)
    with pytest.raises(profile.ProfileError) as error:
        profile.load(path, "node1", state_fields)
    assert reason in str(error.value)


def test_what_a_profile_may_say(state_fields):
    machine = profile.compile_profile({"gpus": [
        {"product": "Tesla T4", "count": 2, "uuid": ["GPU-a", "GPU-b"], "power": "55 W", "memory": "12 GiB",
         "ecc": "disabled", "numa_node": [0, 1], "temperature_memory": None, "serial": ["1", "2"],
         "processes": [{"pid": 5, "memory": 100}], "ecc_volatile_corrected": {"sram": 4}},
        {"product": "NVIDIA H100 80GB HBM3", "mig": "enabled", "mig_pending": "disabled",
         "fabric": {"cluster": "00000000-0000-0000-0000-00000000000a", "clique": 7}}]}, "n", state_fields)
    first, second, third = (gpu.fields for gpu in machine.gpus)
    assert (first["uuid"], second["uuid"]) == ("GPU-a", "GPU-b")
    assert first["power"] == 55000 and first["memory_total"] == 12 << 30 and first["ecc"] == 0
    assert first["temperature_memory"] is None and first["memory_used"] == 100 << 20
    assert first["ecc_volatile_corrected"][7] == 4 and first["ecc_volatile_corrected"][2] == 0
    assert third["mig"] == 1 and third["mig_pending"] == 0
    assert third["fabric_clique"] == 7 and third["fabric_cluster_uuid"][-1] == 10
    assert machine.levels[0][1] == 50 and machine.levels[0][0] == 0
    assert profile.compile_profile({"gpus": [{"product": "Tesla T4", "numa_node": -1}]}, "n",
                                   state_fields).gpus[0].fields["numa_node"] is None


def test_any_value_may_be_a_list(state_fields):
    machine = profile.compile_profile({"gpus": [
        {"product": "NVIDIA A30", "count": 2, "memory": ["20 GiB", "24 GiB"], "power": [{"limit": 120}, "30 W"],
         "mig_devices": ["2g.12gb", "1g.6gb", "1g.6gb"]}]}, "n", state_fields)
    assert [gpu.fields["memory_total"] >> 30 for gpu in machine.gpus] == [20, 24]
    assert [gpu.fields["power_limit"] for gpu in machine.gpus] == [120000, 165000]
    assert [len(gpu.mig_devices) for gpu in machine.gpus] == [3, 3]


@pytest.mark.parametrize("text,reason", [
    ("serial: '1111111111111111111111111111111111111111'", "GPU 0: serial: longer than 31 characters"),
    ("power: {limit: -1}", "GPU 0: power_limit: not between 0 and 4294967295"),
    ("processes: [{pid: 4294967296}]", "GPU 0: processes[0].pid: not between 0 and 4294967295"),
    ("remap_histogram: [1, 2, 3, 4, 5, 6]", "GPU 0: remap_histogram: no element 5; there are 5"),
])
def test_a_value_without_room_is_refused_before_anything_is_installed(library, tmp_path, text, reason):
    path = tmp_path / "wrong.yaml"
    path.write_text(f"gpus: [{{product: Tesla T4, {text}}}]")
    done = subprocess.run([sys.executable, str(HERE / "fakegpu.py"), "check", "--library", str(library), str(path)],
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"fakegpu: {reason}\n")


def test_a_board_with_switches_has_a_fabric_since_hopper(state_fields):
    def states(**entry):
        product = {"product": "NVIDIA H200", **entry}
        return [gpu.fields["fabric_state"] for gpu in profile.compile_profile(
            {"gpus": [product, {"product": "NVIDIA A100-SXM4-80GB"}], "nvlink": {"switches": 4}}, "n",
            state_fields).gpus]
    assert states() == [3, None]
    assert states(fabric=None) == [None, None]
    assert states(fabric={"state": "in_progress"}) == [2, None]
    alone = profile.compile_profile({"gpus": [{"product": "NVIDIA H200"}]}, "n", state_fields)
    assert alone.gpus[0].fields["fabric_state"] is None


def test_what_follows_from_the_driver_and_the_board(library, state_fields):
    def machine(version, cuda, product="Tesla T4"):
        return profile.compile_profile({"driver_version": version, "cuda_version": cuda,
                                        "gpus": [{"product": product}]}, "n", state_fields)
    old, new = machine("550.163.01", "12.4"), machine("580.95.05", "13.0")
    assert [one.gpus[0].fields["recovery_action"] for one in (old, new)] == [None, 0]
    assert [machine("580.95.05", "13.0", product).gpus[0].fields["performance_state"] for product in (
        "NVIDIA A10", "NVIDIA L4", "NVIDIA A100-SXM4-80GB", "NVIDIA H200")] == [8, 8, 0, 0]
    known = layout.Layout(library)
    assert [layout.State(known, image.build(known, one)).machine.get("nvml_version") for one in (old, new)] == [
        "12.550.163.01", "13.580.95.05"]


# --- what control refuses --------------------------------------------------------------------------------------------

@pytest.fixture
def state(library, state_fields):
    machine = profile.compile_profile({"gpus": [
        {"product": "NVIDIA A100-SXM4-80GB", "mig_devices": ["3g.40gb"]}]}, "n", state_fields)
    known = layout.Layout(library)
    return layout.State(known, image.build(known, machine))


@pytest.mark.parametrize("text,reason", [
    ("remap_histogram.15=5", "remap_histogram.15: no element 15; there are 5"),
    ("remap_histogram.-1=5", "remap_histogram.-1: no element -1; there are 5"),
    ("remap_histogram.many=5", "remap_histogram.many: 'many' is no whole number"),
    ("ecc_volatile_corrected.floor=5", "ecc_volatile_corrected.floor: 'floor' is none of l1, "),
    ("temperature.foo=83", "temperature.foo: temperature has no parts"),
    ("name.0=T4", "name.0: name has no parts"),
])
def test_a_part_that_there_is_not_is_refused(state, text, reason):
    before = bytes(state.buffer)
    with pytest.raises(control.ControlError) as error:
        control.assign(state.gpu(0), text)
    assert reason in str(error.value)
    assert bytes(state.buffer) == before


@pytest.mark.parametrize("text,reason", [
    (f"8=1:compute:{'n' * 64}", "processes[1].name: longer than 63 characters"),
    ("4294967296=1", "processes[1].pid: not between 0 and 4294967295"),
    ("8=1.2.3", "8=1.2.3.memory: '1.2.3' is no size"),
    (",".join(f"{pid}=1" for pid in range(64)), "processes: 65; there is room for 64"),
])
def test_a_refused_list_of_processes_leaves_the_one_before(state, text, reason):
    control.set_processes(state.gpu(0), ["5=100"])
    before = bytes(state.buffer)
    with pytest.raises(control.ControlError) as error:
        control.set_processes(state.gpu(0), ["7=3", text])
    assert reason in str(error.value)
    assert bytes(state.buffer) == before


def test_mig_that_is_on_stays_as_it_is_and_what_is_refused_is_no_event(state):
    gpu = state.gpu(0)
    before = mig.devices(gpu)
    control.change_mig(state, 0, gpu, "on", [])
    assert mig.devices(gpu) == before and len(before) == 1
    events = state.machine.get("event_count")
    with pytest.raises(control.ControlError, match="GPU 0: 7g.80gb: no room for it"):
        control.change_mig(state, 0, gpu, "create", ["7g.80gb"])
    assert state.machine.get("event_count") == events
    with pytest.raises(control.ControlError, match="GPU 0: 7g.80gb: no room for it"):
        control.change_mig(state, 0, gpu, "create", ["1g.10gb", "7g.80gb"])
    assert state.machine.get("event_count") == events + 1
    control.reset(0, gpu)
    assert mig.devices(gpu) == [] and gpu.get("mig") == 1


def test_uuids_follow_from_the_node_and_stay(state_fields):
    text = {"gpus": [{"product": "Tesla T4", "count": 2}]}

    def uuids(name):
        return [gpu.fields["uuid"] for gpu in profile.compile_profile(text, name, state_fields).gpus]
    assert uuids("node1") == uuids("node1")
    assert len({*uuids("node1"), *uuids("node2")}) == 4


@pytest.mark.parametrize("path", sorted((HERE / "profiles").glob("*.yaml")), ids=lambda path: path.stem)
def test_gpus_are_numbered_in_the_order_of_their_addresses(state_fields, path):
    """As a driver numbers them."""
    found = [gpu.bdf for gpu in profile.load(path, "n", state_fields).gpus]
    assert found == sorted(found)


@pytest.mark.parametrize("count", [1, 2, 25, 26, 64])
def test_an_address_that_nobody_wrote_is_in_order_too(state_fields, count):
    machine = profile.compile_profile({"gpus": [{"product": "Tesla T4", "count": count}]}, "n", state_fields)
    found = [gpu.bdf for gpu in machine.gpus]
    assert found == sorted(set(found))
    assert count > 25 or found[-1] == "0000:00:1e.0"


def test_every_product_makes_a_machine(state_fields):
    for name in profile.products():
        machine = profile.compile_profile({"gpus": [{"product": name, "count": 16}]}, "n", state_fields)
        assert len({gpu.bdf for gpu in machine.gpus}) == 16
        assert set(machine.gpus[0].fields) <= state_fields
