# SPDX-License-Identifier: Apache-2.0
"""Who has a GPU while its MIG layout changes: nvidia-mig-manager beside nvidia-device-plugin and its kubelet. The build
is $GANTRY_BUILD (default build/release).
"""

import json
import signal
import threading
import time

import pytest
from mig_machine import gpus, layout_of, wait
from offering import Plugin
from test_mig_manager import H100, Node, api  # noqa: F401

SEVEN = {"1g.10gb": 7}


@pytest.fixture
def beside(api, build, tmp_path, request):  # noqa: F811
    """A node with the manager and the device plugin."""
    nodes, plugins = [], []

    def make(count: int = 2, *words: str) -> tuple[Node, Plugin]:
        name = f"owners-{abs(hash(request.node.nodeid)) % 10**8}-{len(nodes)}"
        here = Node(api, build, tmp_path / name, name, gpus(H100, count))
        nodes.append(here)
        plugins.append(Plugin(here.machine, build, here.folder, *words))
        return here, plugins[-1]

    yield make
    for one in plugins + nodes:
        one.close()


def owners(here: Node) -> dict:
    path = here.machine.status / ".gpu-owners.json"
    return json.loads(path.read_text())["gpus"] if path.exists() else {}


def test_success_means_that_the_new_devices_are_offered(beside):
    here, plugin = beside(8)
    wait(lambda: plugin.counts() == {"gpu": 8}, "whole GPUs")
    here.start()
    for layout, offered in (("all-1g.10gb", {"1g.10gb": 56}), ("all-3g.40gb", {"3g.40gb": 16}),
                            ("all-balanced", {"1g.10gb": 16, "2g.20gb": 8, "3g.40gb": 8}), ("all-disabled", {"gpu": 8})):
        before = here.written()
        here.ask(layout)
        # "pending" and "success" are two writes; the first may be too short to be seen.
        wait(lambda: here.written() != before and here.state() == "success", layout)
        assert plugin.counts() == offered
    assert owners(here) == {} and not here.machine.journal.exists()


def test_a_gpu_in_change_is_not_offered_and_refused_with_the_reason(beside):
    here, plugin = beside(2, "--device-list-strategy=cdi-cri")
    here.start()
    here.reaches("all-1g.10gb")
    assert plugin.counts() == {"1g.10gb": 14}
    of_first = [uuid for _, _, uuids in here.machine.instances(0) for uuid in uuids]
    with here.machine.gpu(0) as gpu:
        here.machine.control.hang(gpu, "nvmlGpuInstanceDestroy")
    here.ask("all-3g.40gb")
    wait(lambda: plugin.counts() == {}, "both are withdrawn")
    assert set(owners(here)) == set(here.machine.uuids)
    assert not any(one["exclusive"] for one in owners(here).values())
    refused = plugin.allocate("nvidia.com/mig-1g.10gb", of_first[0])
    assert f"GPU {here.machine.uuids[0]} is withdrawn: its MIG layout changes to all-3g.40gb" in refused
    with here.machine.gpu(0) as gpu:
        here.machine.control.recover(gpu)
    wait(lambda: here.state() == "success", "the change")
    assert plugin.counts() == {"3g.40gb": 4}
    for uuid in plugin.devices()["nvidia.com/mig-3g.40gb"]:
        assert plugin.allocate("nvidia.com/mig-3g.40gb", uuid) == ""


def test_a_gpu_that_does_not_change_stays_offered(beside, tmp_path):
    here, plugin = beside(2)
    config = tmp_path / "config.yaml"
    one = "version: v1\nmig-configs:\n  mine:\n  - {devices: [0], mig-enabled: true, mig-devices: {%s}}\n" \
          "  - {devices: [1], mig-enabled: true, mig-devices: {1g.10gb: 7}}\n"
    config.write_text(one % "3g.40gb: 2")
    here.start(CONFIG_FILE=str(config))
    here.reaches("mine")
    wait(lambda: plugin.counts() == {"3g.40gb": 2, "1g.10gb": 7}, "both")
    before = plugin.devices()["nvidia.com/mig-1g.10gb"]
    ended, seen = threading.Event(), set()

    def look():
        while not ended.is_set():
            seen.add(json.dumps(plugin.devices().get("nvidia.com/mig-1g.10gb"), sort_keys=True))

    looking = threading.Thread(target=look)
    looking.start()
    for other in ("7g.80gb: 1", "3g.40gb: 2", "7g.80gb: 1"):
        config.write_text(one % other)
        profile, count = other.split(": ")
        wait(lambda: plugin.counts() == {profile: int(count), "1g.10gb": 7}, other)  # noqa: B023
    ended.set()
    looking.join()
    assert seen == {json.dumps(before, sort_keys=True)}


def test_a_change_of_mode_waits_until_no_operand_has_the_gpus_open(beside):
    here, plugin = beside(2)
    wait(lambda: plugin.counts() == {"gpu": 2}, "whole GPUs")
    assert sorted(plugin.open_gpus()) == ["/dev/nvidia0", "/dev/nvidia1"]
    with here.machine.gpu(0) as gpu:
        here.machine.control.hang(gpu, "nvmlDeviceSetMigMode")
    here.start()
    here.ask("all-1g.10gb")
    wait(lambda: owners(here) and plugin.open_gpus() == [], "the driver is closed")
    assert all(one["exclusive"] for one in owners(here).values())
    wait(here.machine.journal.exists, "the change begins")
    with here.machine.gpu(0) as gpu:
        here.machine.control.recover(gpu)
    wait(lambda: here.state() == "success", "the change")
    assert plugin.counts() == {"1g.10gb": 14} and len(plugin.open_gpus()) == 2
    assert "NVML" not in (here.folder / "plugin.log").read_text()


def test_a_plugin_that_does_not_let_go_stops_the_change_and_is_named(beside):
    here, plugin = beside(1)
    here.start()
    here.reaches("all-3g.40gb")
    before = here.machine.instances()
    plugin.process.send_signal(signal.SIGSTOP)
    here.ask("all-1g.10gb")
    wait(lambda: here.state() == "failed", "it does not wait for ever", 30)
    message = wait(lambda: here.event("MigConfigFailed"), "the event")
    assert f"process {plugin.process.pid} (" in message and "has not let go of the GPUs" in message
    assert here.machine.instances() == before and owners(here) == {}
    plugin.process.send_signal(signal.SIGCONT)
    wait(lambda: here.state() == "success", "the next try", 60)
    wait(lambda: plugin.counts() == {"1g.10gb": 7}, "the new devices")


def test_the_manager_is_killed_and_its_gpus_come_back_after_its_start(beside):
    here, plugin = beside(1)
    here.start()
    here.reaches("all-3g.40gb")
    with here.machine.gpu() as gpu:
        here.machine.control.hang(gpu, "nvmlDeviceCreateGpuInstance", 3)
    here.ask("all-1g.10gb")
    wait(here.machine.journal.exists, "the change begins")
    time.sleep(0.3)
    here.end(signal.SIGKILL)
    # A plugin that starts now offers nothing of it either.
    plugin.end(signal.SIGKILL)
    plugin.start()
    time.sleep(1)
    assert plugin.counts() == {} and set(owners(here)) == set(here.machine.uuids)
    with here.machine.gpu() as gpu:
        here.machine.control.recover(gpu)
    here.start()
    wait(lambda: here.state() == "success" and owners(here) == {}, "the change is finished")
    wait(lambda: plugin.counts() == {"1g.10gb": 7}, "the new devices")


def test_a_damaged_file_of_owners(beside):
    here, plugin = beside(1)
    wait(lambda: plugin.counts() == {"gpu": 1}, "the GPU")
    file = here.machine.status / ".gpu-owners.json"
    part = here.machine.status / "part"
    part.write_text("{")
    part.rename(file)
    wait(lambda: plugin.says("the GPUs are offered as before"), "what it says of it")
    assert plugin.counts() == {"gpu": 1}
    plugin.end()
    plugin.start()
    wait(lambda: plugin.says("no GPU is offered, because one may be in change"), "what it says at its start")
    time.sleep(0.5)
    assert plugin.counts() == {}
    # The manager writes it anew.
    here.start()
    here.reaches("all-3g.40gb")
    wait(lambda: plugin.counts() == {"3g.40gb": 2}, "the new devices")


def test_two_programs_do_not_change_the_gpus_at_once(beside):
    here, _ = beside(1)
    with here.machine.gpu() as gpu:
        here.machine.control.hang(gpu, "nvmlDeviceCreateGpuInstance", 2)
    here.start()
    here.ask("all-3g.40gb")
    wait(here.machine.journal.exists, "the manager's change")
    by_hand = here.machine.start("apply", "-f", "-", stdin=-1)
    by_hand.stdin.write(json.dumps(layout_of(SEVEN)))
    by_hand.stdin.close()
    time.sleep(1)
    assert by_hand.poll() is None and here.machine.journal.exists()
    with here.machine.gpu() as gpu:
        here.machine.control.recover(gpu)
    assert by_hand.wait(timeout=20) == 0, by_hand.stderr.read()
    assert here.state() == "success" and here.machine.devices() == ["1g.10gb"] * 7
