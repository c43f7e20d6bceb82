"""What a kubelet waits for while a pod is admitted: the device plugin's answers at its socket.

16 GPUs cut in ten, eight shares asked for, and the same GPUs whole. The plugin runs on the test bed's GPUs in a mount
namespace with their /dev; the kubelet is node_probe. `allocate_null` is a call that asks the plugin for nothing: what
the socket, gRPC and the processors' sleep cost on this machine, which no plugin can save.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

FAKEGPU = pathlib.Path(__file__).resolve().parent.parent / "testbed/fakegpu"
SLICES = """sharing:
  timeSlicing:
    resources:
    - {name: nvidia.com/gpu, replicas: 10}
"""
SIXTEEN_GPUS = """driver_version: 535.261.03
cuda_version: "12.2"
gpus: [{product: NVIDIA A100-SXM4-80GB, count: 16}]
nvlink: {switches: 6}
"""


def driver_root(folder, release):
    root, profile = folder / "root", folder / "profile.yaml"
    root.mkdir()
    profile.write_text(SIXTEEN_GPUS)
    subprocess.run([sys.executable, FAKEGPU / "fakegpu.py", "install", "--root", root, "--profile", profile, "--node",
                    "bench", "--library", release.parent / "testbed/fakegpu/libnvidia-ml.so.1"],
                   check=True, stdout=sys.stderr)
    for name, minor in (("null", 3), ("zero", 5), ("random", 8), ("urandom", 9)):
        os.mknod(root / "dev" / name, 0o020666, os.makedev(1, minor))
    return root


def measure(runs, release, figure):
    with tempfile.TemporaryDirectory(prefix="gantry-allocate-") as name:
        folder = pathlib.Path(name)
        root = driver_root(folder, release)
        (folder / "slices.yaml").write_text(SLICES)
        in_root = ["unshare", "--mount", "sh", "-c", f"mount --bind {root}/dev /dev && exec \"$@\"", "sh"]
        plugin = [release / "gantry", "nvidia-device-plugin", "--kubelet-socket={}", f"--driver-root-ctr-path={root}",
                  f"--host-root={root}", f"--status-dir={folder}/validations", f"--cdi-dir={folder}/cdi",
                  "--device-list-strategy=cdi-cri,cdi-annotations"]
        for prefix, devices, more in (("", 160, [f"--config-file={folder}/slices.yaml"]), ("whole_", 16, [])):
            printed = subprocess.run([*in_root, release / "node_probe", "allocate", str(runs), str(devices), "8",
                                      *plugin, *more], text=True, stdout=subprocess.PIPE, check=True).stdout
            preferred, allocated, nothing = zip(*(map(float, line.split()) for line in printed.splitlines()))
            for word, values in (("preferred", preferred), ("allocate", allocated), ("allocate_null", nothing)):
                middle = "" if word == "preferred" else "_p50"
                figure(f"{prefix}{word}{middle}", statistics.median(values), "ms")
                figure(f"{prefix}{word}_p99", sorted(values)[int(0.99 * (len(values) - 1))], "ms")
            figure(f"{prefix}allocate_to_null", statistics.median(allocated) / statistics.median(nothing), "ratio")
