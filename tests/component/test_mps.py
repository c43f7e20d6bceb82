# SPDX-License-Identifier: Apache-2.0
"""mps-control-daemon on the test bed's GPUs, with a program of ours (mps_control.sh) in the place of NVIDIA's
nvidia-cuda-mps-control: what that is given is what is tested here. The build is $GANTRY_BUILD (default build/release).
"""

import fcntl
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys

import pytest

from control_plane import wait
from test_device_plugin import FAKEGPU, ROOT, machine  # noqa: F401: a fixture

RESOURCE = "nvidia.com/gpu"
SHARED = "sharing: {mps: {resources: [{name: gpu, replicas: %d%s}]}}"
# The kernel's struct flock: type, whence, start, length, pid; F_OFD_GETLK.
FLOCK, OFD_GETLK = "hhqqi4x", 36


class Mps:
    """mps-control-daemon in a mount namespace of its own, as in a container that is privileged."""

    def __init__(self, folder, build, config):
        self.folder, self.root, self.mps, self.log = folder, folder / "root", folder / "mps", folder / "log"
        self.config = folder / "config"
        self.config.mkdir()
        self.seen = self.mps / "seen"
        self.seen.mkdir(parents=True)
        self.log.touch()
        machine(self.root, build, "2xt4")
        for name in ("dev/shm", "bin", "usr/bin"):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        shutil.copy(shutil.which("busybox"), self.root / "bin/busybox")
        self.program = self.root / "usr/bin/nvidia-cuda-mps-control"
        shutil.copy(ROOT / "tests/component/mps_control.sh", self.program)
        self.program.chmod(0o755)
        self.write(config)
        self.gantry = os.environ.get("PLUGIN_PROGRAM", str(build / "bin/gantry"))
        self.process = None

    def write(self, config):
        (self.config / ".new").write_text(config)
        (self.config / ".new").rename(self.config / "any")

    def start(self):
        self.process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", f'mount --bind {self.root}/dev /dev && exec "$@" 2>> {self.log}', "sh",
             self.gantry, "mps-control-daemon", f"--mps-root={self.mps}", f"--driver-root-ctr-path={self.root}",
             f"--host-root={self.root}", f"--status-dir={self.folder}/validations",
             f"--config-file-srcdir={self.config}", "--default-config=any"])
        return self

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.end(signal.SIGTERM)

    def end(self, signal_number):
        if self.process is not None:
            self.process.send_signal(signal_number)
            code = self.process.wait(30)
            self.process = None
            return code
        return None

    def ready(self, resource=RESOURCE):
        """As the plugin sees it: the file is there, and somebody holds it."""
        try:
            with (self.mps / resource / ".started").open("rb") as file:
                answer = fcntl.fcntl(file, OFD_GETLK, struct.pack(FLOCK, fcntl.F_RDLCK, 0, 0, 0, 0))
                return struct.unpack(FLOCK, answer)[0] == fcntl.F_WRLCK
        except FileNotFoundError:
            return False

    def says(self, text):
        return text in self.log.read_text()

    def lines(self, name):
        path = self.seen / name
        return path.read_text().splitlines() if path.exists() else []

    def gpus(self):
        return [gpu["uuid"] for gpu in json.loads((self.root / "opt/fakegpu/machine.json").read_text())["gpus"]]

    def compute_modes(self):
        shown = subprocess.run([sys.executable, FAKEGPU / "fakegpu.py", "control", "--root", self.root, "show", "--json"],
                               text=True, capture_output=True, check=True).stdout
        return [gpu["compute_mode"] for gpu in json.loads(shown)["gpus"]]


@pytest.fixture
def mps(build, tmp_path):  # noqa: F811
    made = []

    def make(config):
        made.append(Mps(tmp_path, build, config))
        return made[-1]
    yield make
    for one in made:
        one.end(signal.SIGKILL)


def test_each_client_has_its_share_and_gpus_are_as_before_at_the_end(mps):
    with mps(SHARED % (4, "")) as daemon:
        wait(daemon.ready, "the daemon", 20)
        wait((daemon.mps / ".ready").exists, "the sign that all daemons of the node are ready", 5)
        assert daemon.lines("commands") == [
            "get_default_active_thread_percentage", "set_default_device_pinned_mem_limit 0 3840M",
            "set_default_device_pinned_mem_limit 1 3840M", "set_default_active_thread_percentage 25"]
        environment = dict(line.split("=", 1) for line in daemon.lines("environment") if "=" in line)
        assert environment["CUDA_MPS_PIPE_DIRECTORY"] == f"/mps/{RESOURCE}/pipe"
        assert environment["CUDA_MPS_LOG_DIRECTORY"] == f"/mps/{RESOURCE}/log"
        assert environment["CUDA_VISIBLE_DEVICES"] == ",".join(daemon.gpus())
        assert daemon.compute_modes() == [3, 3], "none but MPS on the shared GPUs"
        # Seen in the mount namespace of the daemon, as clients see it by their own mount.
        shm = pathlib.Path(f"/proc/{daemon.process.pid}/root{daemon.mps}/shm/server")
        assert shm.read_text().strip() == ",".join(daemon.gpus()), "its /dev/shm is the clients'"
        assert list((daemon.root / "dev/shm").iterdir()) == [], "the host's /dev/shm is not"
        assert daemon.end(signal.SIGTERM) == 0
        assert daemon.lines("commands")[-1] == "quit"
        assert daemon.compute_modes() == [0, 0]
        assert not daemon.ready()
        assert not (daemon.mps / ".ready").exists()
        assert sorted(p.name for p in (daemon.mps / RESOURCE).iterdir()) == ["pipe"], "containers hold it"


def test_kdp628_mps_sees_only_the_gpus_that_are_shared(mps):
    with mps(SHARED % (2, ", devices: [1]")) as daemon:
        wait(daemon.ready, "the daemon", 20)
        assert f"CUDA_VISIBLE_DEVICES={daemon.gpus()[1]}" in daemon.lines("environment")
        assert "set_default_device_pinned_mem_limit 0 7680M" in daemon.lines("commands")
        assert daemon.compute_modes() == [0, 3], "the other GPU is open to everybody"


def test_a_daemon_that_ends_is_not_ready_and_comes_back(mps):
    with mps(SHARED % (4, "")) as daemon:
        wait(daemon.ready, "the daemon", 20)
        os.kill(int((daemon.mps / RESOURCE / "pipe/nvidia-cuda-mps-control.pid").read_text()), signal.SIGKILL)
        wait(lambda: daemon.says("nvidia-cuda-mps-control has ended"), "its end", 5)
        wait(lambda: len(daemon.lines("starts")) == 2 and daemon.ready(), "the next one", 10)


# kdp#982: readiness that outlives the daemon lets pods in that nobody serves.
def test_kdp982_what_was_killed_is_not_ready(mps):
    with mps(SHARED % (4, "")) as daemon:
        wait(daemon.ready, "the daemon", 20)
        program = int((daemon.mps / RESOURCE / "pipe/nvidia-cuda-mps-control.pid").read_text())
        daemon.end(signal.SIGKILL)
        assert (daemon.mps / RESOURCE / ".started").exists()
        wait(lambda: not daemon.ready(), "the kernel", 5)
        wait(lambda: not pathlib.Path(f"/proc/{program}").exists(), "NVIDIA's program to go with it", 5)
        daemon.start()
        wait(daemon.ready, "the next one", 20)
        assert daemon.end(signal.SIGTERM) == 0
        assert daemon.compute_modes() == [0, 0], "the modes that GPUs had before the first"


def test_it_is_ready_when_the_daemon_is_and_not_before(mps):
    daemon = mps(SHARED % (4, ""))
    (daemon.seen / "hold").touch()
    with daemon:
        wait(lambda: daemon.lines("starts"), "the start", 20)
        assert not daemon.ready()
        (daemon.seen / "refuse").touch()
        (daemon.seen / "hold").unlink()
        wait(lambda: daemon.lines("commands"), "a question", 10)
        assert not daemon.ready()
        (daemon.seen / "refuse").unlink()
        wait(daemon.ready, "the daemon", 20)


def test_only_a_change_of_what_is_shared_starts_it_anew(mps):
    with mps(SHARED % (4, "")) as daemon:
        wait(daemon.ready, "the daemon", 20)
        daemon.write(SHARED % (4, "") + "\nflags: {failOnInitError: false}")
        daemon.write(SHARED % (8, ""))
        wait(lambda: "set_default_active_thread_percentage 12" in daemon.lines("commands"), "eight clients", 20)
        wait(daemon.ready, "the daemon", 5)
        assert len(daemon.lines("starts")) == 2
        daemon.write("")
        wait(lambda: daemon.says("no GPU of this node is shared by MPS") and not daemon.ready(), "its end", 20)
        # They are put back after the daemon has left.
        wait(lambda: daemon.compute_modes() == [0, 0], "the compute modes of before", 20)


def test_what_is_missing_is_said_and_waited_for(mps):
    daemon = mps(SHARED % (4, ""))
    away = daemon.program.rename(daemon.program.with_name("away"))
    with daemon:
        wait(lambda: daemon.says(f"find nvidia-cuda-mps-control: it is not below {daemon.root}"), "the reason", 20)
        away.rename(daemon.program)
        wait(daemon.ready, "the daemon", 20)


def test_mount_shm_mounts_the_memory_of_the_clients_once(build, tmp_path):  # noqa: F811
    gantry = os.environ.get("PLUGIN_PROGRAM", str(build / "bin/gantry"))
    words = f"{gantry} mps-control-daemon --mps-root={tmp_path} mount-shm"
    # /proc/mounts leaves a size out that is the kernel's default, and half of the memory may be just that.
    script = f"{words}; {words}; stat -f -c '%b %S' {tmp_path}/shm; grep {tmp_path}/shm /proc/mounts"
    shown = subprocess.run(["unshare", "--mount", "sh", "-ec", script], text=True, capture_output=True,
                           check=True).stdout.splitlines()
    assert len(shown) == 2, "it is mounted once"
    blocks, block_size = map(int, shown[0].split())
    total = int(next(line for line in pathlib.Path("/proc/meminfo").read_text().splitlines()
                     if line.startswith("MemTotal")).split()[1])
    assert 0 <= blocks * block_size // 1024 - total // 2 < 4, "in whole pages"
    source, _, kind, options = shown[1].split()[:4]
    assert (source, kind) == ("shm", "tmpfs")
    assert {"rw", "nosuid", "nodev", "noexec", "relatime"} <= set(options.split(","))


def test_the_uninstall_takes_it_from_the_host(build, tmp_path):  # noqa: F811
    gantry = os.environ.get("PLUGIN_PROGRAM", str(build / "bin/gantry"))
    root = tmp_path / "root"
    (root / "run").mkdir(parents=True)
    # A host whose first process is the shell, and whose tree is mounted once more, as in a container.
    script = f"""
        mount -t tmpfs run /run
        mount --make-shared /run
        mkdir -p /run/nvidia/mps/shm /run/nvidia/mps/.room /run/nvidia/mps/nvidia.com/gpu/pipe
        mount -t tmpfs shm /run/nvidia/mps/shm
        mount --rbind /run {root}/run
        {gantry} host-cleanup --no-daemon --done-file={tmp_path}/clean
        ls -A /run | grep -c nvidia
        grep -c nvidia/mps /proc/mounts"""
    done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", script], text=True,
                          capture_output=True, check=False, env=os.environ | {"HOST_ROOT_MOUNT": str(root)})
    assert (tmp_path / "clean").exists(), done.stderr
    assert done.stdout.split() == ["0", "0"], done.stdout
