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
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "cluster"))

from bed import IMAGE, NAMESPACE, Bed, wait_for  # noqa: E402

RELEASE = ROOT / "build" / "release"
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
    """A bed with Gantry installed, for as long as it is measured."""

    def __init__(self, arguments, nodes):
        subprocess.run(["./do", "image"], cwd=ROOT, check=True, stdout=sys.stderr)
        build("kubelet_probe")
        note(f"starting {nodes} node(s) with {arguments.gpus}")
        self.bed = Bed(f"bench-{os.getpid()}", nodes=nodes, gpus=arguments.gpus)

    def __enter__(self):
        bed = self.bed
        try:
            for node in bed.nodes():
                bed.do("load", node, str(IMAGE))
                bed.copy(node, RELEASE / "kubelet_probe", "/usr/local/bin/kubelet_probe")
            bed.install()
            self.gpus = {node: len(bed.gpus(node)) for node in bed.nodes()}
            for node, count in self.gpus.items():
                wait_for(f"GPUs of {node}", lambda n=node, c=count: bed.allocatable(n) == c, 90)
            wait_for("the policy to be ready", bed.policy_ready, 60)
            return bed
        except BaseException:
            bed.down()
            raise

    def __exit__(self, *_):
        self.bed.down()


def processes(bed, node):
    """Every process of our containers on a node: pid, command, status fields, switches, connections."""
    script = r'''
import glob, json, os
found = []
for path in glob.glob("/proc/[0-9]*"):
    try:
        exe = os.readlink(path + "/exe")
        command = open(path + "/cmdline", "rb").read().split(b"\0")[0].decode()
        status = dict(l.split(":", 1) for l in open(path + "/status").read().splitlines() if ":" in l)
        if not exe.endswith("/gantry"):
            continue
        switches = 0
        for task in glob.glob(path + "/task/*/status"):
            for line in open(task):
                if line.startswith("voluntary_ctxt_switches"):
                    switches += int(line.split(":")[1])
        connections = set()
        sockets = set()
        for fd in glob.glob(path + "/fd/*"):
            try:
                target = os.readlink(fd)
            except OSError:
                continue
            if target.startswith("socket:["):
                sockets.add(target[8:-1])
        for table in ("tcp", "tcp6"):
            for line in open(path + "/net/" + table).read().splitlines()[1:]:
                fields = line.split()
                port = int(fields[2].rsplit(":", 1)[1], 16)
                if fields[3] == "01" and port in (443, 6443) and fields[9] in sockets:
                    connections.add(fields[9])
        found.append({"pid": int(os.path.basename(path)), "command": os.path.basename(command),
                      "hwm_kib": int(status["VmHWM"].split()[0]), "switches": switches,
                      "connections": len(connections)})
    except (OSError, ValueError, KeyError):
        continue
print(json.dumps(found))
'''
    # Read through the node's own /proc from here: the node has no Python.
    pid = bed.do("pid", node).strip()
    done = subprocess.run(["nsenter", "-t", pid, "-p", "--", "unshare", "--mount", "sh", "-c",
                           "mount -t proc proc /proc && exec python3 -c \"$0\"", script],
                          text=True, capture_output=True, check=True, timeout=60)
    return json.loads(done.stdout)


COMMANDS = {"plugin": "nvidia-device-plugin", "features": "gpu-feature-discovery", "operator": "gpu-operator",
            "toolkit": "nvidia-toolkit", "validator": "nvidia-validator", "node_features": "nfd-worker"}


def footprint(arguments):
    """Memory, sizes, start times, connections and idle requests: 2 nodes."""
    with Measured(arguments, 2) as bed:
        seen = [p for node in bed.nodes() for p in processes(bed, node)]
        for name, command in COMMANDS.items():
            sizes = [p["hwm_kib"] for p in seen if p["command"] == command]
            assert sizes, f"no process of {command}"
            figure(f"{name}_rss", max(sizes) / 1024 * 1.048576, "MB")
        per_node = [sum(p["connections"] for p in processes(bed, node) if p["command"] != "gpu-operator")
                    for node in bed.nodes()]
        figure("node_connections", max(per_node), "connections")
        before = {(n, p["pid"]): p for n in bed.nodes() for p in processes(bed, n)}
        bed.do("audit", "--reset")
        note(f"{arguments.idle} s of idling")
        time.sleep(arguments.idle)
        after = {(n, p["pid"]): p for n in bed.nodes() for p in processes(bed, n)}
        idle_wakeups(before, after, arguments.idle)
        counted = json.loads(bed.do("audit", "-o", "json"))
        figure("node_requests", sum(c["count"] for c in counted if is_node_agent(c)), "requests")
        per_node = [sum(p["connections"] for p in processes(bed, node) if p["command"] != "gpu-operator")
                    for node in bed.nodes()]
        figure("node_connections_idle", max(per_node), "connections")
        figure("plugin_register", plugin_register(bed), "ms")
    figure("image", os.path.getsize(IMAGE) / 1e6, "MB")
    hook()


def is_node_agent(row):
    return row["userAgent"].startswith("gantry") and "gpu-operator" not in row["userAgent"]


def idle_wakeups(before, after, seconds):
    for name, command in COMMANDS.items():
        rates = [(after[k]["switches"] - p["switches"]) / seconds for k, p in before.items()
                 if p["command"] == command and k in after]
        assert rates, f"no process of {command} lived through the idle time"
        figure(f"idle_wakeups_{name}", max(rates), "per_second")


def plugin_register(bed):
    """Median of 20 starts, from posix_spawn until Register arrives at a kubelet's socket."""
    node = sorted(bed.nodes())[0]
    bed.copy(node, RELEASE / "gantry", "/usr/local/bin/gantry")
    printed = bed.do("exec", node, "/usr/local/bin/kubelet_probe", "register", "--runs", "20", "--",
                     "/usr/local/bin/gantry", "nvidia-device-plugin", "--driver-root-ctr-path=/",
                     "--device-list-strategy=envvar")
    return statistics.median(float(v) for v in printed.split())


def hook():
    """The static program that runs at every container start: its size, and its start against runc's."""
    build("gantry-hook", "spawn_clock")
    program = RELEASE / "gantry-hook"
    figure("hook_size", program.stat().st_size / 1e6, "MB")
    runc = subprocess.run(["./do", "bed", "path", "runc"], cwd=ROOT, text=True, capture_output=True,
                          check=True).stdout.strip()
    printed = subprocess.run([str(RELEASE / "spawn_clock"), "300", str(program), runc], text=True,
                             capture_output=True, check=True).stdout.split()
    ours, theirs = (float(v) for v in printed)
    figure("hook_start_ms", ours, "ms")
    figure("runc_start_ms", theirs, "ms")
    figure("hook_start", ours / theirs, "ratio")


def ready(arguments):
    """From the start of the operand pods until the kubelet's socket lists every GPU as allocatable."""
    with Measured(arguments, 1) as bed:
        [(node, count)] = [(n, len(bed.gpus(n))) for n in bed.nodes()]
        at_socket, at_node = [], []
        for turn in range(arguments.runs):
            bed.kubectl("label", "node", node, "--overwrite", "nvidia.com/gpu.deploy.operands=false")
            wait_for("operands to be gone", lambda: not any(bed.pods(a, node=node) for a in list(OPERANDS.values())[:4]), 60)
            wait_for("no GPU at the socket", lambda: not bed.allocatable_ids(node), 30)
            time.sleep(random.Random(turn).uniform(0, 2))
            follower = bed.start("exec", node, "/usr/local/bin/kubelet_probe", "allocatable", "--follow", str(count))
            watcher = PodStart(bed, node)
            bed.kubectl("label", "node", node, "nvidia.com/gpu.deploy.operands-")
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
    """When the first operand pod of a node was created, seen by a watch."""

    def __init__(self, bed, node):
        import threading
        import kubernetes
        self.time = None
        version = bed.core.list_namespaced_pod(NAMESPACE).metadata.resource_version
        watch = kubernetes.watch.Watch()

        def follow():
            for event in watch.stream(bed.core.list_namespaced_pod, NAMESPACE, resource_version=version,
                                      timeout_seconds=30):
                if event["type"] == "ADDED" and event["object"].metadata.labels.get("app") in OPERANDS.values():
                    self.time = time.time()
                    watch.stop()
        self._thread = threading.Thread(target=follow, daemon=True)
        self._thread.start()

    def first(self):
        self._thread.join(timeout=60)
        assert self.time, "no operand pod was created"
        return self.time


WORDS = {"ready": ready, "footprint": footprint, "hook": lambda _: hook()}


def main():
    parser = argparse.ArgumentParser(prog="./do bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("word", choices=WORDS, help="; ".join(f"{w}: {f.__doc__ or 'the hook alone'}" for w, f in WORDS.items()))
    parser.add_argument("--gpus", default=str(ROOT / "testbed/fakegpu/profiles/8xa100-80.yaml"))
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--idle", type=int, default=300, help="seconds of idling (default 300)")
    arguments = parser.parse_args()
    WORDS[arguments.word](arguments)


main()
