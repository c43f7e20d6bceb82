# SPDX-License-Identifier: Apache-2.0
"""What a GPU costs at a container's start. One small image, one driver root (the test bed's), and runc
`create` and `start` of it in five ways, in a new random order at every turn so that all see the same noise and
none the trace of the one before:

  plain    without a GPU
  bare     with the finished CDI document's devices and mounts, without its hook
  any      the same with a hook that does nothing: a static program that ends at once
  hooks    with the whole document
  runtime  by nvidia-container-runtime, from the environment variable alone

A start makes the namespaces that a container has of its own in a pod, and has a fresh overlay of the image. All lies
in an ext4 of its own: one without a journal, as virtual machines come with, looks for a new inode past all those
that anybody freed in the last minutes, which would be charged to whoever makes files, the hook. And grace periods of RCU
are expedited meanwhile: a process that is moved into its cgroup waits for one, 10 to 25 ms of a start's 45, in which the
millisecond of a hook would be lost."""

import contextlib
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
WAYS = ("plain", "bare", "any", "hooks", "runtime")
INIT = "int main(void) { return 0; }\n"
LIMIT = 60
SETTLE_S = 0.05  # until the kernel has taken away what the start before made
DISK_BYTES = 4 << 30  # of a sparse file
EXPEDITED = pathlib.Path("/sys/kernel/rcu_expedited")


def run(*words, **options):
    return subprocess.run([str(w) for w in words], check=True, text=True, **options)


@contextlib.contextmanager
def disk():
    """A folder in a new file system with a journal, as a node's disk has it."""
    with tempfile.TemporaryDirectory(prefix="gantry-inject-") as folder:
        image, mounted = pathlib.Path(folder) / "disk.img", pathlib.Path(folder) / "disk"
        with open(image, "wb") as file:
            file.truncate(DISK_BYTES)
        run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", image)
        mounted.mkdir()
        run("mount", "-o", "loop", image, mounted)
        try:
            yield mounted
        finally:
            run("umount", "-l", mounted)


@contextlib.contextmanager
def expedited():
    before = EXPEDITED.read_text()
    EXPEDITED.write_text("1")
    try:
        yield
    finally:
        EXPEDITED.write_text(before)


class Place:
    """A folder with a driver root, an image, and the programs under test."""

    def __init__(self, folder: pathlib.Path, programs: pathlib.Path, profile: str):
        self.folder = folder
        self.runc = run("./do", "bed", "path", "runc", cwd=ROOT, capture_output=True).stdout.strip()
        self.driver = folder / "driver"
        self.toolkit = folder / "toolkit"
        self.image = folder / "image"
        for made in (self.driver / "dev", self.toolkit, folder / "bundle"):
            made.mkdir(parents=True)
        run(sys.executable, "testbed/fakegpu/fakegpu.py", "install", "--root", self.driver, "--profile", profile,
            "--node", "bench", cwd=ROOT, stdout=subprocess.DEVNULL)
        for program, names in (("gantry-runtime", ("nvidia-cdi-hook", "nvidia-container-runtime")),
                               ("gantry-ctk", ("nvidia-ctk",))):
            shutil.copy(programs / program, self.toolkit)
            for name in names:
                (self.toolkit / name).symlink_to(program)
        (self.toolkit / ".config/nvidia-container-runtime").mkdir(parents=True)
        (self.toolkit / ".config/nvidia-container-runtime/config.toml").write_text(
            "accept-nvidia-visible-devices-envvar-when-unprivileged = true\n"
            f'[nvidia-container-cli]\nroot = "{self.driver}"\n[nvidia-container-runtime]\n'
            f'mode = "cdi"\nruntimes = ["{self.runc}"]\n[nvidia-container-runtime.modes.cdi]\n'
            f'default-kind = "nvidia.com/gpu"\nspec-dirs = ["{folder}/cdi"]\n')
        self.make_image()
        run(self.toolkit / "nvidia-ctk", "cdi", "generate", "--driver-root", self.driver, "--output",
            folder / "cdi/nvidia.json", "--nvidia-cdi-hook-path", self.toolkit / "nvidia-cdi-hook")
        self.document = json.loads((folder / "cdi/nvidia.json").read_text())

    def make_image(self):
        """A program that ends at once, in an image with the library cache and the libraries of a real one."""
        for name in ("bin", "etc", "proc", "dev", "sys", "usr/lib/x86_64-linux-gnu", "usr/bin"):
            (self.image / name).mkdir(parents=True)
        run("gcc", "-static", "-Os", "-o", self.image / "bin/init", "-xc", "-", input=INIT)
        shutil.copy("/etc/ld.so.cache", self.image / "etc/ld.so.cache")
        (self.image / "etc/ld.so.conf").write_text("include /etc/ld.so.conf.d/*.conf\n")

    def config(self, name: str, way: str) -> dict:
        config = {
            "ociVersion": "1.0.2",
            "process": {"args": ["/bin/init"], "cwd": "/", "user": {"uid": 0, "gid": 0}, "env": ["PATH=/bin"],
                        "noNewPrivileges": True, "capabilities": {"bounding": ["CAP_CHOWN"]}},
            "root": {"path": "rootfs"},
            "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
                       {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"}],
            "linux": {"namespaces": [{"type": t} for t in ("pid", "mount")],
                      "cgroupsPath": f"/{name}", "resources": {"devices": [{"allow": False, "access": "rwm"}]}},
        }
        if way == "runtime":
            config["process"]["env"].append("NVIDIA_VISIBLE_DEVICES=0")
        elif way != "plain":
            self.apply(config, way == "hooks")
        if way == "any":
            config["hooks"] = {"createContainer": [{"path": str(self.image / "bin/init"), "args": ["init"]}]}
        return config

    def apply(self, config: dict, hooks: bool):
        """The finished document for device 0, as a container engine writes it."""
        device = next(d for d in self.document["devices"] if d["name"] == "0")
        for edits in (self.document["containerEdits"], device["containerEdits"]):
            config["process"]["env"] += edits.get("env", [])
            for node in edits.get("deviceNodes", []):
                info = os.stat(node.get("hostPath", node["path"]))
                numbers = {"type": "c", "major": os.major(info.st_rdev), "minor": os.minor(info.st_rdev)}
                config["linux"].setdefault("devices", []).append(
                    {"path": node["path"], **numbers, "fileMode": info.st_mode & 0o777, "uid": 0, "gid": 0})
                config["linux"]["resources"]["devices"].append({"allow": True, **numbers, "access": "rwm"})
            for mount in edits.get("mounts", []):
                config["mounts"].append({"destination": mount["containerPath"], "type": "bind",
                                         "source": mount["hostPath"], "options": mount["options"]})
            for hook in edits.get("hooks", []) if hooks else []:
                config.setdefault("hooks", {}).setdefault(hook["hookName"], []).append(
                    {k: hook[k] for k in ("path", "args", "env") if k in hook})

    @contextlib.contextmanager
    def bundle(self, name: str, way: str):
        folder = self.folder / "bundle" / name
        for made in ("rootfs", "upper", "work"):
            (folder / made).mkdir(parents=True)
        run("mount", "-t", "overlay", "overlay", "-o",
            f"lowerdir={self.image},upperdir={folder}/upper,workdir={folder}/work", folder / "rootfs")
        try:
            (folder / "config.json").write_text(json.dumps(self.config(name, way)))
            yield folder
        finally:
            run("umount", "-l", folder / "rootfs")

    def start(self, name: str, way: str) -> float:
        """Milliseconds from the runtime's `create` until its `start` has ended."""
        program = str(self.toolkit / "nvidia-container-runtime") if way == "runtime" else self.runc
        state = str(self.folder / "state")
        with self.bundle(name, way) as bundle:
            quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1)]
            try:
                begin = time.perf_counter()
                for words in (("create", "--bundle", str(bundle), name), ("start", name)):
                    pid = os.posix_spawn(program, [program, "--root", state, *words], os.environ, file_actions=quiet)
                    if os.waitpid(pid, 0)[1] != 0:
                        raise AssertionError(f"{way}: {words[0]} failed")
                took = (time.perf_counter() - begin) * 1000
            finally:
                subprocess.run([self.runc, "--root", state, "delete", "--force", name], check=False,
                               capture_output=True, timeout=LIMIT)
            if way in ("hooks", "runtime"):
                assert (bundle / "upper/etc/ld.so.cache").exists(), f"{way}: the hook did nothing"
        return took


def measure(programs: pathlib.Path, profile: str, starts: int) -> dict[str, float]:
    """The median of each way, in milliseconds."""
    took = {way: [] for way in WAYS}
    with disk() as folder, expedited():
        place = Place(folder, programs, profile)
        for turn in range(-3, starts):
            for way in random.sample(WAYS, len(WAYS)):
                time.sleep(SETTLE_S)
                value = place.start(f"inject-{os.getpid()}-{turn % 1000}-{way}", way)
                if turn >= 0:
                    took[way].append(value)
    return {way: statistics.median(values) for way, values in took.items()}
