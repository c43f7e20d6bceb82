# SPDX-License-Identifier: Apache-2.0
"""nvidia-mig-parted on the test bed's GPUs. The build is $GANTRY_BUILD (default build/release)."""

import json
import os
import sys

import pytest
import yaml
from mig_machine import FAKEGPU, Machine, default_layouts, gpus, is_waiting, layout_of, wait

PRODUCTS = {"a100-40": "NVIDIA A100-SXM4-40GB", "a100-80": "NVIDIA A100-SXM4-80GB", "a30": "NVIDIA A30",
            "h100-80": "NVIDIA H100 80GB HBM3", "h200-141": "NVIDIA H200", "b200-180": "NVIDIA B200",
            "rtx-pro-6000": "NVIDIA RTX PRO 6000 Blackwell Server Edition"}
REFUSALS = ("this GPU has none such", "no entry is about a GPU", "no placement holds these GPU instances together")
APPLIED = "MIG configuration applied successfully\n"
WRITES = ("nvmlDeviceSetMigMode", "nvmlDeviceCreateGpuInstance", "nvmlGpuInstanceCreateComputeInstance",
          "nvmlComputeInstanceDestroy", "nvmlGpuInstanceDestroy")


@pytest.fixture
def machine(build, tmp_path):
    made = []

    def make(profile: dict) -> Machine:
        made.append(Machine(tmp_path / str(len(made)), build, profile))
        return made[-1]

    return make


@pytest.mark.parametrize("board", PRODUCTS)
def test_the_default_layouts(machine, tmp_path, board):
    """Each of the 81 is applied, asserted and exported, or refused by all with nothing changed."""
    layouts = default_layouts()
    assert len(layouts["mig-configs"]) == 81
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump(layouts))
    here = machine(gpus(PRODUCTS[board], 1))
    profiles = yaml.safe_load((FAKEGPU / "machine/mig.yaml").read_text())[board]["profiles"]
    own = {"all-" + name.replace("+", ".") for name in profiles} | {"all-disabled", "all-enabled", "all-balanced"}
    applied = set()
    for name in layouts["mig-configs"]:
        before = here.instances()
        valid = here.parted("assert", "-f", config, "-c", name, "-a")
        done = here.parted("apply", "-f", config, "-c", name)
        held = here.parted("assert", "-f", config, "-c", name)
        assert valid.returncode == done.returncode == held.returncode, (name, valid, done, held)
        if done.returncode:
            assert any(reason in done.stderr for reason in REFUSALS), done.stderr
            assert here.instances() == before
            continue
        applied.add(name)
        assert (valid.stdout, done.stdout, held.stdout) == (
            "Selected MIG configuration is valid\n", APPLIED, "Selected MIG configuration currently applied\n")
        exported = yaml.safe_load(here.parted("export").stdout)["mig-configs"]["current"][0]
        devices = here.devices()
        assert exported["mig-devices"] == {one: devices.count(one) for one in devices}
        assert exported["mig-enabled"] == (name != "all-disabled")
        if name in own - {"all-disabled", "all-enabled", "all-balanced"}:
            profile = name.removeprefix("all-")
            expected = next(one for one in profiles if one.replace("+", ".") == profile)
            assert devices == [expected] * profiles[expected][2]
    assert own & set(layouts["mig-configs"]) <= applied


def test_only_what_differs_is_touched(machine):
    here = machine(gpus("NVIDIA H100 80GB HBM3", 2))
    assert here.apply(layout_of({"3g.40gb": 1, "1g.10gb": 3}), "wanted").returncode == 0
    before = here.instances(0), here.instances(1)
    for call in WRITES:  # any write would be refused
        for index in (0, 1):
            with here.gpu(index) as gpu:
                here.control.fail(gpu, 999, call)
        assert here.apply(layout_of({"3g.40gb": 1, "1g.10gb": 3}), "wanted").stdout == APPLIED
    for index in (0, 1):
        with here.gpu(index) as gpu:
            here.control.recover(gpu)
    other = layout_of({"3g.40gb": 1, "1g.10gb": 3})
    other["mig-configs"]["wanted"].append(
        {"devices": [1], "mig-enabled": True, "mig-devices": {"3g.40gb": 1, "2g.20gb": 1, "1g.10gb": 1}})
    plan = here.apply(other, "wanted", "--dry-run").stdout
    assert f"GPU 0 ({here.uuids[0]}): as wanted, 4 MIG devices stay\n" in plan
    assert f"GPU 1 ({here.uuids[1]}): changes, 2 MIG devices stay\n" in plan
    assert (here.instances(0), here.instances(1)) == before
    assert here.apply(other, "wanted").stdout == APPLIED
    assert here.instances(0) == before[0]
    assert len(set(here.instances(1)) & set(before[1])) == 2
    assert here.devices(1) == ["1g.10gb", "2g.20gb", "3g.40gb"]


def test_the_mode_alone(machine):
    here = machine(gpus("NVIDIA H100 80GB HBM3"))
    wanted = layout_of({"7g.80gb": 1})
    assert here.apply(wanted, "wanted", "-m").stdout == APPLIED
    assert here.devices() == []
    text = yaml.safe_dump(wanted)
    held = here.parted("assert", "-f", "-", "-m", stdin=text)
    assert held.stdout == "Selected MIG mode settings from configuration currently applied\n"
    lacks = here.parted("assert", "-f", "-", stdin=text)
    assert lacks.returncode == 1 and lacks.stdout == ""
    assert 'MIG enabled with no devices, wanted is MIG enabled with {"7g.80gb":1}' in lacks.stderr


def test_a_driver_that_reports_profiles_only_in_mig_mode(machine):
    here = machine(gpus("NVIDIA A100-SXM4-40GB", 1, "535.261.03"))
    plan = here.apply(layout_of({"3g.20gb": 2}), "wanted", "--dry-run").stdout
    assert "  enable MIG\n  create the instances" in plan
    assert here.apply(layout_of({"3g.20gb": 2}), "wanted").stdout == APPLIED
    assert here.devices() == ["3g.20gb", "3g.20gb"]
    # Found out only once MIG is enabled: taken back.
    here.apply(layout_of(None), "wanted")
    refused = here.apply(layout_of({"3g.40gb": 2}), "wanted")
    assert refused.returncode == 1 and "near are 3g.20gb" in refused.stderr
    assert "the earlier layout is restored" in refused.stderr
    with here.gpu() as gpu:
        assert gpu.get("mig") == gpu.get("mig_pending") == 0


def test_a_pending_mode_is_reset_alone(machine, tmp_path):
    here = machine(gpus("NVIDIA A100-SXM4-40GB", 2))
    with here.gpu(1) as gpu:
        here.control.set_processes(gpu, ["1234=512"])
        address = f"{gpu.get('pci_domain'):04x}:{gpu.get('pci_bus'):02x}:{gpu.get('pci_slot'):02x}.0"
    # The mode is pending; nothing resets the GPU.
    left = here.apply(layout_of({"3g.20gb": 1}), "wanted", "-m", "-s")
    assert left.stdout == APPLIED and "GPU 1: MIG mode is pending" in left.stderr
    with here.gpu(1) as gpu:
        assert (gpu.get("mig"), gpu.get("mig_pending")) == (0, 1)
        here.control.set_processes(gpu, [])
    pending = here.apply(layout_of({"3g.20gb": 1}), "wanted", "-s")
    assert pending.returncode == 1 and "reset it and apply again" in pending.stderr and here.devices(0) == ["3g.20gb"]
    # An nvidia-smi that resets the fake GPU: the real one does not know it.
    said = tmp_path / "said"
    smi = tmp_path / "bin/nvidia-smi"
    smi.parent.mkdir()
    smi.write_text(f'#!/bin/sh\necho "$@" >> {said}\n'
                   f'exec {sys.executable} {FAKEGPU}/fakegpu.py control --root {here.root} reset "$3"\n')
    smi.chmod(0o755)
    done = here.apply(layout_of({"3g.20gb": 1}), "wanted", "--driver-root=", environment={
        "PATH": f"{smi.parent}:{os.environ['PATH']}", "LD_LIBRARY_PATH": str(here.library.parent)})
    assert done.stdout == APPLIED, done.stderr
    assert said.read_text() == f"-r -i {address}\n"
    assert here.devices(0) == here.devices(1) == ["3g.20gb"]


def test_a_reset_that_fails_takes_the_mode_back(machine):
    here = machine(gpus("NVIDIA A100-SXM4-40GB"))
    with here.gpu() as gpu:
        here.control.set_processes(gpu, ["1234=512"])
    refused = here.apply(layout_of({"3g.20gb": 1}), "wanted")  # there is no nvidia-smi
    assert refused.returncode == 1 and "GPU 0: reset the GPU: " in refused.stderr
    assert "the earlier layout is restored" in refused.stderr
    with here.gpu() as gpu:
        assert (gpu.get("mig"), gpu.get("mig_pending")) == (0, 0)


def test_checkpoint_and_restore(machine, tmp_path):
    here = machine(gpus("NVIDIA A100-SXM4-40GB", 2))
    here.apply(layout_of({"1c.3g.20gb": 2, "3g.20gb": 1}), "wanted")
    before = [[place[1:] for place in here.instances(index)] for index in (0, 1)]
    file = tmp_path / "checkpoint.json"
    assert here.parted("checkpoint", "-f", file).stdout == "MIG configuration checkpointed successfully\n"
    device = json.loads(file.read_text())["MigState"]["Devices"][1]
    assert device["UUID"] == here.uuids[1] and device["MigMode"] == 1
    assert device["GpuInstances"][0]["Placement"] == {"Start": 0, "Size": 4}
    here.apply(layout_of(None), "wanted")
    assert here.parted("restore", "-f", file).stdout == "MIG configuration restored successfully\n"
    assert [[place[1:] for place in here.instances(index)] for index in (0, 1)] == before


def test_generate_config_is_what_apply_reads(machine, tmp_path):
    here = machine({"driver_version": "570.86.15", "gpus": [{"product": "NVIDIA A100-SXM4-40GB"},
                                                           {"product": "NVIDIA A30"}, {"product": "Tesla T4"}]})
    for form in ("yaml", "json"):
        file = tmp_path / f"generated.{form}"
        assert here.parted("generate-config", "-f", file, "-o", form).returncode == 0
        assert here.parted("apply", "-f", file, "-c", "all-balanced").stdout == APPLIED
        assert here.devices(0) == ["1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb"]
        assert here.devices(1) == ["1g.6gb", "1g.6gb", "2g.12gb"]
        assert here.parted("assert", "-f", file, "-c", "all-balanced").returncode == 0
        assert here.parted("apply", "-f", file, "-c", "all-disabled").stdout == APPLIED


def test_hooks_get_the_flags_and_nothing_else(machine, tmp_path):
    here = machine(gpus("NVIDIA H100 80GB HBM3"))
    said = tmp_path / "said"
    script = f'echo $0 "$MIG_PARTED_SELECTED_CONFIG $MIG_PARTED_MODE_CHANGE_ONLY $OWN ${{HOME-none}}" $PWD >> {said}'
    hooks = tmp_path / "hooks.yaml"
    hooks.write_text(yaml.safe_dump({"version": "v1", "hooks": {when: [
        {"command": "/bin/sh", "args": ["-c", script, when], "envs": {"OWN": "1"}, "workdir": "/proc"}]
        for when in ("apply-start", "pre-apply-mode", "pre-apply-config", "apply-exit")}}))
    here.apply(layout_of({"7g.80gb": 1}), "wanted", "-k", hooks)
    assert said.read_text().splitlines() == [
        f"{when} wanted false 1 none /proc"
        for when in ("apply-start", "pre-apply-mode", "pre-apply-config", "apply-exit")]
    said.unlink()
    here.apply(layout_of({"7g.80gb": 1}), "wanted", environment={"MIG_PARTED_HOOKS_FILE": str(hooks)})
    assert [line.split()[0] for line in said.read_text().splitlines()] == ["apply-start", "apply-exit"]
    # One that fails ends it; the last one runs all the same.
    said.unlink()
    hooks.write_text(hooks.read_text().replace("pre-apply-config:\n  - args:\n    - -c\n    - echo",
                                               "pre-apply-config:\n  - args:\n    - -c\n    - exit 3; echo"))
    failed = here.apply(layout_of({"3g.40gb": 1}), "wanted", "-k", hooks)
    assert failed.returncode == 1 and "hook pre-apply-config /bin/sh: exit status 3" in failed.stderr
    assert [line.split()[0] for line in said.read_text().splitlines()] == ["apply-start", "apply-exit"]
    assert here.devices() == ["7g.80gb"]


def test_mistakes_are_named(machine):
    here = machine(gpus("NVIDIA H100 80GB HBM3"))
    for words, stdin, reason in [
            (("apply", "-f", "-"), "version: v1\nmig-configs: {a: [{}]}", "-: mig-configs.a[0].devices: missing"),
            (("apply", "-f", "/nowhere"), "", "/nowhere"), (("apply",), "", "--config-file"),
            (("apply", "-f", "-", "-c", "b"), yaml.safe_dump(layout_of(None)), "mig-configs.b: no such configuration"),
            (("export", "-o", "xml"), "", '"xml" is neither yaml nor json'),
            (("apply", "-f", "-"), yaml.safe_dump(layout_of(None, **{"device-filter": "0x20B010DE"})),
             "no entry is about a GPU of this node: GPU 0 is 0x233010DE:0x16C110DE")]:
        done = here.parted(*words, stdin=stdin)
        assert done.returncode == 1 and reason in done.stderr and done.stdout == "", done


TO = {"3g.40gb": 1, "1g.10gb": 4}


def divided(machine) -> Machine:
    """A GPU with 3g.40gb twice, where TO keeps one."""
    here = machine(gpus("NVIDIA H100 80GB HBM3"))
    assert here.apply(layout_of({"3g.40gb": 2}), "wanted").returncode == 0
    return here


@pytest.mark.parametrize("wanted", [TO, None], ids=["instances", "mode"])
@pytest.mark.parametrize("call", [*WRITES, "nvmlDeviceGetMigMode"])
def test_killed_before_each_call_the_next_run_finishes(machine, call, wanted):
    here = divided(machine)
    start = here.instances()
    for number in range(1, 40):
        with here.gpu() as gpu:
            here.control.hang(gpu, call, number)
        process = here.start("apply", "-f", "-", stdin=-1)
        process.stdin.write(yaml.safe_dump(layout_of(wanted)))
        process.stdin.close()
        wait(lambda: process.poll() is not None or is_waiting(process), "the call")
        ended = process.poll() is not None
        if not ended:
            process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()
        with here.gpu() as gpu:
            here.control.recover(gpu)
        if ended:
            assert process.returncode == 0
            break
        done = here.devices() == sorted(["3g.40gb"] + ["1g.10gb"] * 4 if wanted else [])
        assert here.journal.exists() or here.instances() == start or done, "a change that nothing knows"
        assert here.apply(layout_of(wanted), "wanted").stdout == APPLIED
        assert here.devices() == sorted(["3g.40gb"] + ["1g.10gb"] * 4 if wanted else [])
        assert not here.journal.exists()
        assert here.apply(layout_of({"3g.40gb": 2}), "wanted").returncode == 0
        start = here.instances()
    else:
        pytest.fail("it never ended")


@pytest.mark.parametrize("wanted", [TO, None], ids=["instances", "mode"])
@pytest.mark.parametrize("call", WRITES)
def test_each_call_that_fails_once_is_taken_back(machine, call, wanted):
    here = divided(machine)
    places = [place[1] for place in here.instances()]
    for number in range(1, 20):
        with here.gpu() as gpu:
            here.control.fail(gpu, 999, call, number)
        done = here.apply(layout_of(wanted), "wanted")
        with here.gpu() as gpu:
            here.control.recover(gpu)
        assert not here.journal.exists()
        if done.returncode == 0:
            break
        assert "UNKNOWN; the earlier layout is restored" in done.stderr
        assert here.devices() == ["3g.40gb", "3g.40gb"] and [place[1] for place in here.instances()] == places
    else:
        pytest.fail("it never succeeded")


def test_what_cannot_be_taken_back_is_by_the_next_run(machine):
    here = divided(machine)
    with here.gpu() as gpu:
        here.control.fail(gpu, 999, "nvmlDeviceCreateGpuInstance")
    failed = here.apply(layout_of(TO), "wanted")
    assert failed.returncode == 1 and here.journal.exists()
    refused = here.apply(layout_of({"4g.40gb": 2}), "wanted")
    assert "could not be restored" in refused.stderr or here.devices() == ["3g.40gb"]
    with here.gpu() as gpu:
        here.control.recover(gpu)
    # A layout that cannot be made takes back what was cut off.
    refused = here.apply(layout_of({"4g.40gb": 2}), "wanted")
    assert refused.returncode == 1 and here.devices() == ["3g.40gb", "3g.40gb"]
    assert not here.journal.exists()
