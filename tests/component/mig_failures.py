# SPDX-License-Identifier: Apache-2.0
"""nvidia-mig-manager beside the device plugin, killed and refused at any moment of its changes; run by `./do
migkills`. After each kill, and once a refused call works again, the node reaches `success` within 10 s, with the
kubelet having the devices of the layout.

$MIG_KILLS (default 400) are kills at a random time of a change; the calls that fail are each of those that change the
driver, at the first, second, third and tenth of a process, to each of five layouts.
"""

import os
import random
import signal
import time

import pytest
from mig_machine import gpus, wait
from offering import Plugin
from test_mig_manager import H100, WRITES, Node, api  # noqa: F401

KILLS = int(os.environ.get("MIG_KILLS", "400"))
LAYOUTS = {"all-1g.10gb": {"1g.10gb": 14}, "all-balanced": {"1g.10gb": 4, "2g.20gb": 2, "3g.40gb": 2},
           "all-3g.40gb": {"3g.40gb": 4}, "all-7g.80gb": {"7g.80gb": 2}, "all-disabled": {"gpu": 2}}
READS = ("nvmlDeviceGetMigMode", "nvmlDeviceGetGpuInstances", "nvmlDeviceGetGpuInstanceProfileInfoV",
         "nvmlGpuInstanceGetComputeInstances", "nvmlDeviceGetComputeRunningProcesses")


@pytest.fixture(scope="module")
def beside(api, build, tmp_path_factory):  # noqa: F811
    folder = tmp_path_factory.mktemp("failures")
    here = Node(api, build, folder / "node", "failures", gpus(H100, 2))
    plugin = Plugin(here.machine, build, here.folder, "--device-list-strategy=cdi-cri")
    here.start()
    here.reaches("all-3g.40gb")
    yield here, plugin
    plugin.close()
    here.close()


def is_whole(here: Node, plugin: Plugin, layout: str) -> bool:
    return plugin.counts() == LAYOUTS[layout] and here.state() == "success" and not here.machine.journal.exists()


def test_killed_at_any_time(beside):
    here, plugin = beside
    order, chosen, slowest, cut_off = random.Random(3), "all-3g.40gb", 0.0, 0
    for turn in range(KILLS):
        chosen = order.choice([layout for layout in LAYOUTS if layout != chosen])
        here.ask(chosen)
        time.sleep(order.uniform(0, 0.5))
        cut_off += here.machine.journal.exists()
        here.end(signal.SIGKILL)
        if turn % 4 == 3:  # the plugin too
            plugin.end(signal.SIGKILL)
            plugin.start()
        started = time.monotonic()
        here.start()
        wait(lambda: is_whole(here, plugin, chosen), f"kill {turn}: {chosen}", 10)  # noqa: B023
        slowest = max(slowest, time.monotonic() - started)
    print(f"{KILLS} kills, {cut_off} of them in a change, 0 wedged; whole again after {slowest:.2f} s at most")


@pytest.mark.parametrize("call", WRITES + READS)
@pytest.mark.parametrize("number", (1, 2, 3, 10))
def test_a_call_that_fails(beside, call, number):
    here, plugin = beside
    for layout in LAYOUTS:
        with here.machine.gpu() as gpu:
            here.machine.control.fail(gpu, 999, call, number)
        here.ask(layout)
        deadline = time.monotonic() + 1.5
        while time.monotonic() < deadline and not (here.state() == "failed" or is_whole(here, plugin, layout)):
            time.sleep(0.01)
        with here.machine.gpu() as gpu:
            here.machine.control.recover(gpu)
        wait(lambda: is_whole(here, plugin, layout), f"{layout} after {call} {number}", 10)  # noqa: B023
