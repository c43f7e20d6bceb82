"""What a change of the MIG layout takes, and what it disturbs: nvidia-mig-manager on 8 x H100-80.

Beside it a real API server, the device plugin and its kubelet. A change lasts from the write of the label until the
state is `success`, when the kubelet has the new devices. All the while containers are placed on devices that the
kubelet had 50 ms ago, at most one at a time, for 20 ms each; the manager sees them in the kubelet's list of pods.
"""

import pathlib
import random
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/component"))

from mig_machine import gpus, wait  # noqa: E402
from offering import Plugin  # noqa: E402
from test_mig_manager import H100, Node, start_api  # noqa: E402

GPUS = 8
# Layout -> the devices of one GPU.
LAYOUTS = {"all-1g.10gb": {"1g.10gb": 7}, "all-balanced": {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1},
           "all-3g.40gb": {"3g.40gb": 2}, "all-7g.80gb": {"7g.80gb": 1}, "all-disabled": {"gpu": 1}}


class Placing(threading.Thread):
    """Places containers, as a scheduler does that knows the node by its last report."""

    def __init__(self, node, plugin):
        super().__init__()
        self.node, self.plugin, self.random = node, plugin, random.Random(1)
        self.placed, self.refused, self.cut_off, self.late = 0, 0, 0, 0
        self.ended = threading.Event()

    def exists(self, uuid):
        machine = self.node.machine
        return uuid in machine.uuids or any(uuid in instance[2] for index in range(GPUS)
                                            for instance in machine.instances(index))

    def run(self):
        while not self.ended.wait(0.05 * self.random.random()):
            devices = [(resource, one) for resource, ids in self.plugin.devices().items() for one in ids]
            time.sleep(0.05)
            if not devices:
                continue
            resource, uuid = self.random.choice(devices)
            started = time.perf_counter()
            if self.plugin.allocate(resource, uuid):
                self.refused += 1
                continue
            self.node.pods(("placed", uuid))
            # A kubelet lists it at once. Here this process may have had to wait for a processor.
            late = time.perf_counter() - started > 0.2
            time.sleep(0.02)
            gone = not self.exists(uuid)
            self.node.pods()
            self.placed += 1
            self.late += late
            self.cut_off += gone and not late


def change(node, plugin, layout):
    """Seconds of one change."""
    offered = {name: count * GPUS for name, count in LAYOUTS[layout].items()}
    started = time.perf_counter()
    node.ask(layout)
    wait(lambda: plugin.counts() == offered and node.state() == "success", layout, 60)
    return time.perf_counter() - started


def state(node):
    """All that the driver keeps."""
    return node.machine.library.read_bytes()


def memory(process):
    """Of the program and its children, the most that one of them had."""
    text = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(text.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6


def measure(arguments, release, figure):
    with tempfile.TemporaryDirectory(prefix="gantry-mig-") as name:
        folder = pathlib.Path(name)
        server = start_api(folder / "api")
        node = Node(server, release.parent, folder / "bench", "bench", gpus(H100, GPUS))
        plugin = Plugin(node.machine, release.parent, node.folder, "--device-list-strategy=cdi-cri")
        try:
            node.start()
            measure_changes(node, plugin, arguments.changes, figure)
            measure_unchanged(node, figure)
            figure("mig_manager_rss", memory(node.manager), "MB")
        finally:
            plugin.close()
            node.close()
            server.close()


def measure_changes(node, plugin, count, figure):
    change(node, plugin, "all-3g.40gb")
    order, chosen = random.Random(2), "all-3g.40gb"
    for suffix, placing in (("", None), ("_placing", Placing(node, plugin))):
        if placing is not None:
            placing.start()
        took = []
        for _ in range(count):
            chosen = order.choice([layout for layout in LAYOUTS if layout != chosen])
            took.append(change(node, plugin, chosen))
        figure(f"mig_change{suffix}_p50", sorted(took)[len(took) // 2], "s")
        figure(f"mig_change{suffix}_p95", sorted(took)[min(len(took) - 1, round(0.95 * len(took)))], "s")
    placing.ended.set()
    placing.join()
    figure("mig_placed", placing.placed, "containers")
    figure("admission_failures", placing.refused, "containers")
    figure("mig_placed_late", placing.late, "containers")
    figure("mig_cut_off", placing.cut_off, "containers")


def measure_unchanged(node, figure):
    """A label that asks for what is there: written again, and at a start of the manager."""
    node.reaches("all-1g.10gb")
    before = state(node)
    node.ask(None)
    time.sleep(0.5)
    node.reaches("all-1g.10gb")
    node.end()
    node.start()
    time.sleep(1)
    figure("mig_unchanged", int(state(node) != before), "writes")
