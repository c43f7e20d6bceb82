"""Measures Gantry: `./do bench WORD` prints one figure a line, `name value unit`.

Exits with an error if a figure could not be measured. Options go to the cluster that is measured:
`./do bench footprint --gpus PROFILE.yaml`. Memory is VmHWM, summed over a container's processes.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "cluster"))
sys.path.insert(0, str(ROOT / "tools"))

import allocate as allocating  # noqa: E402
import fuzz as fuzzing  # noqa: E402
import inject as injecting  # noqa: E402
import mig as dividing  # noqa: E402
import scale as scaling  # noqa: E402
import telemetry as telemetering  # noqa: E402
from bed import IMAGE, NAMESPACE, Bed, NodeWatch, wait_for  # noqa: E402
from test_kills import runtime_state  # noqa: E402

RELEASE = ROOT / "build" / "release" / "bin"
OPERANDS = {"toolkit": "nvidia-container-toolkit-daemonset", "plugin": "nvidia-device-plugin-daemonset",
            "features": "gpu-feature-discovery", "validator": "nvidia-operator-validator",
            "node_features": "nvidia-node-feature-discovery"}


def figure(name, value, unit):
    print(f"{name} {value:.3f} {unit}" if isinstance(value, float) else f"{name} {value} {unit}", flush=True)


def note(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * len(ordered) + 0.5) - 1)]


def build(*targets):
    subprocess.run(["./do", "build", "release", *targets], cwd=ROOT, check=True, stdout=sys.stderr)


class Measured:
    """A bed with Gantry installed, for as long as it is measured. Each GPU stands for `parts` devices of the resource."""

    def __init__(self, arguments, nodes, gpus=None, resource="nvidia.com/gpu", parts=1, values=()):
        subprocess.run(["./do", "image"], cwd=ROOT, check=True, stdout=sys.stderr)
        build("node_probe")
        gpus = gpus or arguments.gpus
        self.resource, self.parts, self.values = resource, parts, values
        note(f"starting {nodes} node(s) with {gpus}")
        self.bed = Bed(f"bench-{os.getpid()}", nodes=nodes, gpus=gpus)

    def __enter__(self):
        bed = self.bed
        try:
            for node in bed.nodes():
                bed.do("load", node, str(IMAGE))
                bed.copy(node, RELEASE / "node_probe", "/usr/local/bin/node_probe")
            bed.install(*self.values)
            for node in bed.nodes():
                # Under the strategy `mixed` a GPU in MIG mode is not offered itself.
                offered = [gpu for gpu in bed.gpus(node) if self.parts > 1 or not gpu["mig"]]
                count = self.parts * len(offered)
                wait_for(f"GPUs of {node}", lambda n=node, c=count: bed.allocatable(n, self.resource) == c, 90)
            wait_for("the policy to be ready", bed.policy_ready, 60)
            return bed
        except BaseException:
            bed.down()
            raise

    def __exit__(self, *_):
        self.bed.down()


def processes(bed, node):
    """Our processes on a node: pid -> command, peak memory, voluntary switches, API connections."""
    rows = {}
    for line in bed.exec(node, "/usr/local/bin/node_probe", "processes").splitlines():
        pid, command, peak, switches, connections = line.split()
        rows[node, pid] = {"command": command, "hwm_kib": int(peak), "switches": int(switches),
                           "connections": int(connections)}
    return rows


COMMANDS = {"plugin": "nvidia-device-plugin", "features": "gpu-feature-discovery", "operator": "gpu-operator",
            "toolkit": "nvidia-toolkit", "validator": "nvidia-validator", "node_features": "nfd-worker"}


def agents(bed):
    return {key: row for node in bed.nodes() for key, row in processes(bed, node).items()}


def connections(rows):
    """The most API connections that the operands of one node hold together."""
    per_node = {}
    for (node, _), row in rows.items():
        if row["command"] != "gpu-operator":
            per_node[node] = per_node.get(node, 0) + row["connections"]
    return max(per_node.values())


def memory(rows, names, suffix=""):
    for name in names:
        sizes = [row["hwm_kib"] for row in rows.values() if row["command"] == COMMANDS[name]]
        assert sizes, f"no process of {COMMANDS[name]}"
        figure(f"{name}{suffix}_rss", max(sizes) * 1024 / 1e6, "MB")


def wakeups(before, after, seconds, names, suffix=""):
    for name in names:
        rates = [(after[k]["switches"] - row["switches"]) / seconds for k, row in before.items()
                 if row["command"] == COMMANDS[name] and k in after]
        assert rates, f"no process of {COMMANDS[name]} lived through the idle time"
        figure(f"idle_wakeups_{name}{suffix}", max(rates), "per_second")


def footprint(arguments):
    """memory, sizes, start times, connections, idle wake-ups and idle requests on 2 nodes; memory and wake-ups on a
    node with 56 MIG devices and 110 pods"""
    with Measured(arguments, 2, values=("--set", "mig.strategy=mixed")) as bed:
        before = agents(bed)
        memory(before, COMMANDS)
        figure("node_connections", connections(before), "connections")
        bed.do("audit", "--reset")
        note(f"{arguments.idle} s of idling")
        time.sleep(arguments.idle)
        after = agents(bed)
        wakeups(before, after, arguments.idle, COMMANDS)
        counted = json.loads(bed.do("audit", "--json", "--by", "agent,verb"))
        note(f"requests while idle: {[c for c in counted if c['agent'].startswith('gantry')]}")
        figure("node_requests", sum(c["count"] for c in counted
                                    if c["agent"].startswith("gantry") and "gpu-operator" not in c["agent"]), "requests")
        figure("node_connections_idle", connections(after), "connections")
        figure("plugin_register", plugin_register(bed), "ms")
    figure("image", os.path.getsize(IMAGE) / 1e6, "MB")
    hook()
    footprint_mig(arguments)


def footprint_mig(arguments):
    """the device plugin and GPU feature discovery on a full node: 8 GPUs cut in 7 MIG devices each, and as many pods as
    a kubelet takes (110, the operands among them): one with each MIG device, the others without"""
    resource, parts, full = "nvidia.com/mig-1g.10gb", 7, 110
    with Measured(arguments, 1, gpus=str(ROOT / "testbed/fakegpu/profiles/8xa100-80-mig.yaml"), resource=resource,
                  parts=parts, values=("--set", "mig.strategy=mixed")) as bed:
        [node] = bed.nodes()

        def pods():
            listed = bed.core.list_pod_for_all_namespaces(field_selector=f"spec.nodeName={node}").items
            return [pod for pod in listed if pod.status.phase in ("Pending", "Running")]

        devices = bed.allocatable(node, resource)
        names = [f"full-{number}" for number in range(full - len(pods()))]
        note(f"starting {len(names)} pods, {devices} of them with a MIG device")
        for number, name in enumerate(names):
            pod = bed.gpu_pod(name, 1, node=node, resource=resource)
            if number >= devices:
                del pod["spec"]["containers"][0]["resources"]
            bed.apply(pod)
        wait_for(f"{full} pods", lambda: sum(p.status.phase == "Running" for p in pods()) == full, 1200, 2)
        before = agents(bed)
        memory(before, ("plugin", "features"), "_mig")
        seconds = min(arguments.idle, 60)
        time.sleep(seconds)
        wakeups(before, agents(bed), seconds, ("plugin", "features"), "_mig")


def plugin_register(bed):
    """Median of 20 starts, from posix_spawn until Register arrives at a kubelet's socket."""
    node = sorted(bed.nodes())[0]
    bed.copy(node, RELEASE / "gantry", "/usr/local/bin/gantry")
    printed = bed.exec(node, "/usr/local/bin/node_probe", "register", "20", "/usr/local/bin/gantry",
                       "nvidia-device-plugin", "--driver-root-ctr-path=/", "--device-list-strategy=envvar",
                       "--mig-strategy=mixed", "--kubelet-socket={}")
    return statistics.median(float(v) for v in printed.split())


def hook(_=None):
    """the static program that runs at every container start: its size, its start against runc's"""
    build("gantry-runtime", "spawn_clock")
    program = RELEASE / "gantry-runtime"
    figure("hook_size", program.stat().st_size / 1e6, "MB")
    runc = subprocess.run(["./do", "bed", "path", "runc"], cwd=ROOT, text=True, capture_output=True,
                          check=True).stdout.strip()
    printed = subprocess.run([str(RELEASE / "spawn_clock"), "300", str(program), runc], text=True,
                             capture_output=True, check=True).stdout.split()
    ours, theirs = (float(v) for v in printed)
    figure("hook_start_ms", ours, "ms")
    figure("runc_start_ms", theirs, "ms")
    figure("hook_start", ours / theirs, "ratio")


def inject(arguments):
    """what a GPU costs at a container's start: runc alone, with our document, any hook, ours, our runtime"""
    build("gantry-runtime", "gantry-ctk", "fakegpu_nvml")
    took = injecting.measure(RELEASE, arguments.gpus, arguments.starts)
    for way, value in took.items():
        figure(f"inject_start_{way}", value, "ms")
    figure("inject_any_hook", took["any"] - took["bare"], "ms")
    figure("inject_hooks", took["hooks"] - took["bare"], "ms")
    figure("inject_runtime", took["runtime"] - took["hooks"], "ms")


def ready(arguments):
    """from the start of the operand pods until the kubelet's socket lists every GPU as allocatable"""
    with Measured(arguments, 1) as bed:
        [(node, count)] = [(n, len(bed.gpus(n))) for n in bed.nodes()]
        at_socket, at_node = [], []
        for turn in range(arguments.runs):
            bed.kubectl("label", "node", node, "--overwrite", "nvidia.com/gpu.deploy.operands=false")
            wait_for("operands to be gone", lambda: not any(bed.pods(a, node=node) for a in list(OPERANDS.values())[:4]), 60)
            wait_for("no GPU at the socket", lambda: not bed.allocatable_ids(node), 30)
            time.sleep(random.Random(turn).uniform(0, 2))
            follower = bed.start("exec", node, "/usr/local/bin/node_probe", "allocatable", "--follow", str(count))
            watcher = PodStart(bed)
            bed.core.patch_node(node, {"metadata": {"labels": {"nvidia.com/gpu.deploy.operands": None}}})
            first = watcher.first()
            done = float(follower.communicate(timeout=60)[0].split()[-1])
            at_socket.append(done - first)
            wait_for("the node's allocatable", lambda: bed.allocatable(node) == count, 30, 0.05)
            at_node.append(time.time() - first)
            note(f"{turn + 1}/{arguments.runs}: {at_socket[-1]:.2f} s")
        for name, values in (("ready", at_socket), ("node_allocatable", at_node)):
            figure(f"{name}_p50", statistics.median(values), "s")
            figure(f"{name}_p95", percentile(values, 0.95), "s")


class PodStart:
    """When the first operand pod was created, seen by a watch that decodes nothing: on few cores the
    measurement would else delay what it measures."""

    def __init__(self, bed):
        self.time = None
        version = bed.core.list_namespaced_pod(NAMESPACE).metadata.resource_version
        self._stream = bed.core.list_namespaced_pod(NAMESPACE, watch=True, resource_version=version,
                                                    timeout_seconds=30, _preload_content=False)
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self):
        seen = b""
        for chunk in self._stream.stream(amt=None):
            seen += chunk
            if b'"type":"ADDED"' in seen:
                self.time = time.time()
                break
        self._stream.close()

    def first(self):
        self._thread.join(timeout=60)
        assert self.time, "no operand pod was created"
        return self.time


def fuzz(arguments):
    """each decoder of foreign bytes is fuzzed for --seconds (default 600): executions and findings"""
    subprocess.run(["./do", "build", "asan", "fuzz"], cwd=ROOT, check=True, stdout=sys.stderr)
    found = 0
    for target in fuzzing.run_all(arguments.seconds):
        figure(f"fuzz_{target.name}", target.executions, "executions")
        if target.finding:
            found += 1
            note(f"{target.name}: {target.finding}")
    figure("fuzz_findings", found, "findings")


# Kills a command's container process inside a node; prints when its next process was there and when
# the kubelet's socket listed all GPUs.
KILL = r"""
pattern="^([^ ]*/)?$1( |$)"
old=$(pgrep -of "$pattern") && kill -9 "$old" || exit 1
for _ in $(seq 3000); do
  new=$(pgrep -of "$pattern") && [ "$new" != "$old" ] && break
  sleep 0.01
done
date +%s.%N
/usr/local/bin/node_probe allocatable --follow "$2"
"""


def kills(arguments):
    """operator, plugin and toolkit killed --rounds times each: what was lost, how soon all is whole"""
    with Measured(arguments, 2) as bed:
        node = sorted(bed.nodes())[0]
        count = len(bed.gpus(node))
        bed.apply(bed.gpu_pod("bystander", 1, node=node))
        bed.wait_phase("bystander", "Running")
        order = [name for name in ("operator", "plugin", "toolkit") for _ in range(arguments.rounds)]
        random.Random(7).shuffle(order)
        whole = []
        before = runtime_state(bed, node)
        with NodeWatch(bed) as watch:
            for turn, name in enumerate(order):
                where = node if name != "operator" else bed.pods("gpu-operator")[0].spec.node_name
                printed = bed.exec(where, "bash", "-c", KILL, "kill", COMMANDS[name], str(count)).split()
                whole.append(float(printed[-1]) - float(printed[0]))
                if turn % 30 == 29:
                    note(f"{turn + 1}/{len(order)} kills, whole again after {max(whole):.2f} s at most")
        pod = bed.core.read_namespaced_pod("bystander", "default")
        figure("kills", len(order), "kills")
        figure("labels_lost", sum("label" in lost for lost in watch.lost), "labels")
        figure("gpu_pod_restarts", pod.status.container_statuses[0].restart_count, "restarts")
        figure("runtime_changes", int(runtime_state(bed, node) != before), "changes")
        figure("whole_again_p50", statistics.median(whole), "s")
        figure("whole_again_max", max(whole), "s")


def scale(arguments):
    """what the operator costs on --scale-nodes nodes that kwok plays"""
    subprocess.run(["./do", "image"], cwd=ROOT, check=True, stdout=sys.stderr)
    build("patch_nodes")
    for nodes in arguments.scale_nodes:
        # Beside thousands of nodes there are other people's objects, which are not the operator's to read.
        scaling.measure(nodes, arguments.gpus, 2 * nodes if nodes >= 5000 else 0, RELEASE / "patch_nodes", IMAGE, figure, note)


def allocate(arguments):
    """a device plugin's answers on 16 GPUs cut in 10: 8 shares preferred and allocated; 8 whole GPUs"""
    build("gantry", "node_probe", "fakegpu_nvml")
    allocating.measure(max(arguments.runs, 1000), RELEASE, figure)


def telemetry(arguments):
    """the metrics exporter: memory, CPU time and scrapes with 64 pods on 8 GPUs, and 110 on 56 MIG devices"""
    build("gantry", "fake_pod_resources", "fakegpu_nvml")
    telemetering.measure(arguments, RELEASE, figure)


def mig(arguments):
    """changes of the MIG layout on 8 GPUs, idle and while containers are placed; what changes if nothing is asked for"""
    build("gantry", "fake_pod_resources", "fake_kubelet", "fakegpu_nvml")
    dividing.measure(arguments, RELEASE, figure)


WORDS = {"ready": ready, "kills": kills, "scale": scale, "footprint": footprint, "footprint_mig": footprint_mig,
         "hook": hook, "inject": inject, "allocate": allocate, "telemetry": telemetry, "mig": mig, "fuzz": fuzz}


def main():
    parser = argparse.ArgumentParser(prog="./do bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("word", choices=WORDS, help="; ".join(f"{w}: {f.__doc__}" for w, f in WORDS.items()))
    parser.add_argument("--gpus", default=str(ROOT / "testbed/fakegpu/profiles/8xa100-80.yaml"))
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--scale-nodes", type=int, nargs="+", default=[1000], metavar="N",
                        help="sizes of the clusters of the word scale (default 1000)")
    parser.add_argument("--rounds", type=int, default=100, help="kills of each process (default 100)")
    parser.add_argument("--starts", type=int, default=200, help="container starts of each way (default 200)")
    parser.add_argument("--idle", type=int, default=300, help="seconds of idling (default 300)")
    parser.add_argument("--scrapes", type=int, default=300, help="of each kind (default 300)")
    parser.add_argument("--changes", type=int, default=50, help="of the MIG layout, of each kind (default 50)")
    parser.add_argument("--seconds", type=int, default=600, help="for each fuzz target (default 600)")
    arguments = parser.parse_args()
    WORDS[arguments.word](arguments)


main()
