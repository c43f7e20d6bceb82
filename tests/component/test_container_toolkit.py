# SPDX-License-Identifier: Apache-2.0
"""The container toolkit on a host with a real containerd and runc: installed, kept right, killed,
refused, rolled back, removed. A "host" is a directory in a mount and PID namespace of its own, where
a supervisor starts containerd again whenever it ends, as systemd would. The programs are the test
bed's, or those in $GANTRY_BED_BIN; ours are those of $GANTRY_BUILD (default build/release).
"""

import contextlib
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import stat
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DRIVER = "535.247.01"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
DROP_IN = "etc/containerd/conf.d/99-nvidia.toml"
HANDLERS = ("nvidia", "nvidia-cdi", "nvidia-legacy")

INIT = """
cd "$1"
mount --bind . . && cd "$1"
mount -t proc proc proc
mount -t tmpfs tmpfs run
touch ready
while true; do
  if [ -e refuse ] && [ -e etc/containerd/conf.d/99-nvidia.toml ]; then sleep 0.05; continue; fi
  chroot . /usr/local/bin/containerd >> containerd.log 2>&1
  echo "$?" >> restarts
  sleep 0.02
done
"""

CONFIGS = {
    "schema 3": """version = 3
# the platform team's
root = '/var/lib/containerd'
disabled_plugins = ['io.containerd.internal.v1.opt']
[plugins.'io.containerd.cri.v1.runtime']
restrict_oom_score_adj = true  # kept
""",
    "schema 2 with imports": """version = 2
imports = ["/etc/containerd/extra*.toml"]
disabled_plugins = ["io.containerd.internal.v1.opt"]
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/home/provider/bin"
""",
    "schema 1": """disabled_plugins = ["io.containerd.internal.v1.opt"]
[plugins.cri.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
""",
    "none": None,
}


@pytest.fixture(scope="session")
def programs(tmp_path_factory) -> pathlib.Path:
    """A folder with gantry, gantry-hook, containerd, its shim, ctr and runc."""
    folder = tmp_path_factory.mktemp("programs")
    ours = pathlib.Path(os.environ.get("GANTRY_BUILD", ROOT / "build/release")) / "bin"
    if "GANTRY_BUILD" not in os.environ:
        subprocess.run([ROOT / "do", "build", "release", "gantry", "gantry-hook", "fakegpu_nvml"], check=True)
    for name in ("gantry", "gantry-hook"):
        (folder / name).symlink_to(ours / name)
    if os.environ.get("GANTRY_BED_BIN"):
        found = pathlib.Path(os.environ["GANTRY_BED_BIN"])
        sources = {name: found for name in ("containerd", "containerd-shim-runc-v2", "ctr", "runc")}
    else:
        sys.path.insert(0, str(ROOT / "testbed/cluster"))
        import build  # noqa: PLC0415
        import components  # noqa: PLC0415

        containerd = build.module(components.CONTAINERD) / "bin"
        sources = dict.fromkeys(("containerd", "containerd-shim-runc-v2", "ctr"), containerd)
        sources["runc"] = build.module(components.RUNC) / "bin"
    for name, source in sources.items():
        (folder / name).symlink_to(source / name)
    return folder


class Host:
    def __init__(self, path: pathlib.Path, programs: pathlib.Path, config: str | None):
        self.path = path
        self.programs = programs
        for folder in ("usr/local/bin", "usr/bin", LIBRARIES, "etc/containerd", "run", "var/lib",
                       "proc", "dev", "tmp", "sys/module/nvidia"):
            (path / folder).mkdir(parents=True)
        (path / "var/run").symlink_to("/run")
        for name in ("containerd", "containerd-shim-runc-v2", "ctr", "runc"):
            shutil.copy(programs / name, path / "usr/local/bin" / name)
        # runc is linked with the machine's libseccomp.
        linked = subprocess.run(["ldd", programs / "runc"], capture_output=True, text=True,
                                check=False).stdout
        for word in filter(lambda word: word.startswith("/"), linked.split()):
            (path / word[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(word, path / word[1:])
        (path / "sys/module/nvidia/refcnt").write_text("1\n")
        for name in ("null", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia0", "nvidia1"):
            os.mknod(path / "dev" / name, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        for name in ("libcuda", "libnvidia-ml"):
            library = path / LIBRARIES / f"{name}.so.{DRIVER}"
            subprocess.run(["gcc", "-shared", "-nostdlib", "-xc", "-", "-o", library,
                            f"-Wl,-soname,{name}.so.1"], input=b"void f(void) {}", check=True)
            (path / LIBRARIES / f"{name}.so.1").symlink_to(library.name)
        (path / "usr/bin/nvidia-smi").write_text("#!/bin/sh\n")
        (path / "usr/bin/nvidia-smi").chmod(0o755)
        if config is not None:
            (path / "etc/containerd/config.toml").write_text(config)
        self.process = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child",
             "--mount-proc", "bash", "-c", INIT, "init", str(path)])
        self.wait(lambda: (path / "ready").exists(), "the host's init")
        task = self.process.pid
        self.init = int(pathlib.Path(f"/proc/{task}/task/{task}/children").read_text().split()[0])
        self.wait(self.answers, "containerd")

    def close(self):
        self.process.kill()
        self.process.wait()

    @staticmethod
    def wait(holds, what: str, seconds: float = 20):
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, f"{what}: not after {seconds} s"
            time.sleep(0.01)

    def enter(self, *words, **options) -> subprocess.Popen:
        return subprocess.Popen(["nsenter", f"--target={self.init}", "--mount", "--pid", "--",
                                 *map(str, words)], text=True, **options)

    def run(self, *words, timeout: float = 60) -> subprocess.CompletedProcess:
        with self.enter(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            out, err = process.communicate(timeout=timeout)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def toolkit_words(self, *words):
        return [self.programs / "gantry", "nvidia-ctk-installer", f"--host-root={self.path}",
                f"--toolkit-source-root={self.programs}", "--cdi-enabled", *words]

    @contextlib.contextmanager
    def daemon(self):
        """The toolkit as it runs in its pod; ended with the block, however that ends."""
        process = self.enter(*self.toolkit_words(), stderr=subprocess.PIPE)
        try:
            yield process
        finally:
            self.kill_toolkit()
            process.wait(10)

    def kill_toolkit(self):
        """SIGKILL, in the host's own PID namespace."""
        self.run("pkill", "-KILL", "-f", "nvidia-ctk-installer --host-root")

    def install(self) -> subprocess.CompletedProcess:
        return self.run(*self.toolkit_words("--no-daemon"))

    def clean(self) -> subprocess.CompletedProcess:
        return self.run(self.programs / "gantry", "host-cleanup", f"--host-root={self.path}",
                        "--no-daemon", f"--done-file={self.path}/tmp/clean")

    def answers(self) -> bool:
        return self.run("chroot", self.path, "/usr/local/bin/ctr", "version").returncode == 0

    def restarts(self) -> int:
        log = self.path / "restarts"
        return len(log.read_text().split()) if log.exists() else 0

    def see(self, path: str) -> pathlib.Path:
        """A path of the host, through its own mounts."""
        return pathlib.Path(f"/proc/{self.init}/root{self.path}") / path

    def snapshot(self, *, times: bool = False) -> dict:
        """Every path that the toolkit could touch, with mode, owner and content."""
        found = {}
        for top in ("etc", "usr/local/nvidia", "run/nvidia", "run/cdi", "var/lib"):
            for folder, folders, files in os.walk(self.see(top)):
                if top == "var/lib":  # but not what containerd itself keeps there
                    folders[:] = [f for f in folders if not f.startswith("containerd")]
                for name in folders + files:
                    path = pathlib.Path(folder) / name
                    info = path.lstat()
                    content = os.readlink(path) if path.is_symlink() else (
                        hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "")
                    found[str(path).split(str(self.path))[-1]] = (
                        info.st_mode, info.st_uid, content, info.st_mtime_ns if times else 0)
        return found

    def handlers(self) -> list[str]:
        """The runtimes with a program of ours in what containerd says it runs with."""
        dump = self.run("chroot", self.path, "/usr/local/bin/containerd", "config", "dump").stdout
        return [name for name in HANDLERS if f".runtimes.{name}.options]" in dump]


@pytest.fixture(name="make_host")
def fixture_make_host(tmp_path, programs):
    hosts = []

    def make(config: str | None = CONFIGS["schema 3"]) -> Host:
        hosts.append(Host(tmp_path / f"host{len(hosts)}", programs, config))
        return hosts[-1]

    yield make
    for host in hosts:
        host.close()


@pytest.mark.parametrize("config", CONFIGS, ids=lambda name: name.replace(" ", "-"))
def test_installed_and_removed_without_a_trace(make_host, config):
    host = make_host(CONFIGS[config])
    before = host.snapshot()
    installed = host.install()
    assert installed.returncode == 0, installed.stderr
    assert host.handlers() == list(HANDLERS)
    assert host.restarts() == 1
    document = json.loads(host.see("run/cdi/management.nvidia.com-gpu.yaml").read_text())
    nodes = document["devices"][0]["containerEdits"]["deviceNodes"]
    assert {"path": "/dev/nvidia1"} in nodes
    hook = host.run("chroot", host.path, "/usr/local/nvidia/toolkit/nvidia-cdi-hook", "--version")
    assert hook.returncode == 0

    cleaned = host.clean()
    assert cleaned.returncode == 0, cleaned.stderr
    assert host.snapshot() == before
    assert host.handlers() == []
    assert host.restarts() == 2
    assert (host.path / "tmp/clean").exists()
    assert host.clean().returncode == 0
    assert host.restarts() == 2


def test_fifty_restarts_write_nothing_and_restart_nothing(make_host):
    host = make_host()
    assert host.install().returncode == 0
    before = host.snapshot(times=True)
    for _ in range(50):
        assert host.install().returncode == 0
    assert host.snapshot(times=True) == before
    assert host.restarts() == 1


def test_drift_is_put_right_without_a_restart(make_host):
    host = make_host()
    with host.daemon() as daemon:
        host.wait(lambda: host.restarts() > 0 and host.answers() and host.handlers(), "install")
        host.wait(lambda: "the host has" in daemon.stderr.readline(), "the toolkit")
        wanted = host.snapshot()
        harm = {
            DROP_IN: lambda path: path.write_text("version = 3\n"),
            "usr/local/nvidia/toolkit/nvidia-cdi-hook": lambda path: path.chmod(0),
            "usr/local/nvidia/toolkit/nvidia-ctk": os.unlink,
            "run/cdi/management.nvidia.com-gpu.yaml": os.unlink,
            "etc/containerd/conf.d": shutil.rmtree,
            "usr/local/nvidia": shutil.rmtree,
        }
        for path, act in harm.items():
            act(host.see(path))
            host.wait(lambda: host.snapshot() == wanted, f"repair of {path}", 5)
        assert host.restarts() == 1
        host.run("pkill", "-TERM", "-f", "nvidia-ctk-installer --host-root")
        assert daemon.wait(10) == 0
    assert host.snapshot() == wanted


def test_the_owners_edit_of_the_root_file_is_kept(make_host):
    host = make_host()
    before = CONFIGS["schema 3"]
    assert host.install().returncode == 0
    root = host.see("etc/containerd/config.toml")
    root.write_text(root.read_text() + "# added later\n")
    assert host.install().returncode == 0
    assert root.read_text().endswith("# added later\n")
    root.write_text(before + "# written anew by a configuration management\n")
    assert host.install().returncode == 0
    assert host.handlers() == list(HANDLERS)
    assert host.clean().returncode == 0
    assert root.read_text() == before + "# written anew by a configuration management\n"


def test_a_broken_root_file_is_left_alone(make_host):
    host = make_host()
    root = host.path / "etc/containerd/config.toml"
    root.write_text(CONFIGS["schema 3"] + "[plugins\n")
    before = root.read_text()
    installed = host.install()
    assert installed.returncode == 1
    assert "line 7" in installed.stderr
    assert root.read_text() == before
    assert not (host.path / DROP_IN).exists()
    assert host.restarts() == 0


def test_a_configuration_that_containerd_refuses_is_not_put_in_place(make_host):
    # It is TOML, so only containerd itself can tell that it will not start with it.
    host = make_host()
    root = host.path / "etc/containerd/config.toml"
    root.write_text(CONFIGS["schema 3"].replace("version = 3", "version = 99"))
    before = host.snapshot()
    installed = host.install()
    assert installed.returncode == 1
    assert "99" in installed.stderr
    assert host.restarts() == 0
    after = host.snapshot()
    assert {p: v for p, v in after.items() if p.startswith("/etc")} == {
        p: v for p, v in before.items() if p.startswith("/etc")}


def test_a_runtime_that_does_not_come_back_gets_its_old_files(make_host):
    host = make_host()
    (host.path / "refuse").touch()
    before = host.snapshot()
    start = time.monotonic()
    installed = host.install()
    took = time.monotonic() - start
    assert installed.returncode == 1
    assert "taken back" in installed.stderr
    assert took < 10
    host.wait(host.answers, "containerd with its old files", 2)
    after = host.snapshot()
    assert {p: v for p, v in after.items() if p.startswith("/etc")} == {
        p: v for p, v in before.items() if p.startswith("/etc")}
    restarts = host.restarts()
    assert "before" in host.install().stderr  # not tried again and again
    assert host.restarts() == restarts


def test_killed_at_any_moment(make_host):
    host = make_host()
    before = host.snapshot()
    moments = random.Random(7)
    for _ in range(25):
        with host.enter(*host.toolkit_words("--no-daemon"), stderr=subprocess.DEVNULL) as process:
            time.sleep(moments.uniform(0, 0.4))
            host.kill_toolkit()
            process.wait(10)
        if moments.random() < 0.3:
            shutil.rmtree(host.see("usr/local/nvidia"), ignore_errors=True)
    host.wait(host.answers, "containerd")
    assert host.install().returncode == 0
    assert host.handlers() == list(HANDLERS)
    assert host.restarts() <= 3
    assert host.clean().returncode == 0
    assert host.snapshot() == before


def test_leftovers_of_other_operands_go(make_host):
    host = make_host()
    assert host.install().returncode == 0
    host.see("run/nvidia/validations").mkdir(parents=True)
    host.see("run/nvidia/validations/driver-ready").touch()
    host.see("run/cdi/k8s.device-plugin.nvidia.com-gpu.json").touch()
    host.see("run/cdi/other.json").touch()
    assert host.clean().returncode == 0
    assert not host.see("run/nvidia").exists()
    assert [p.name for p in host.see("run/cdi").iterdir()] == ["other.json"]


# --- what a container gets -------------------------------------------------------------------------


class Bundle:
    """A container in an image with nothing but ldconfig, whose cache knows no driver."""

    def __init__(self, host: Host, environment: list[str], words: list[str], *, privileged=True):
        self.host = host
        self.name = f"bundle-{random.randrange(10**9)}"
        self.path = host.path / "tmp" / self.name
        rootfs = self.path / "rootfs"
        for folder in ("sbin", "etc", "usr/lib", "dev", "proc", "usr/bin"):
            (rootfs / folder).mkdir(parents=True)
        shutil.copy("/sbin/ldconfig", rootfs / "sbin/ldconfig")
        config = {
            "ociVersion": "1.0.2",
            "process": {"args": words, "cwd": "/", "user": {"uid": 0, "gid": 0},
                        "env": ["PATH=/sbin", *environment],
                        "capabilities": {"bounding": ["CAP_SYS_ADMIN"] if privileged else []}},
            "root": {"path": "rootfs"},
            "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
                       {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"}],
            "linux": {"namespaces": [{"type": t} for t in ("pid", "mount", "ipc", "uts")],
                      "cgroupsPath": f"/{self.name}"},
        }
        (self.path / "config.json").write_text(json.dumps(config))

    def runtime(self, *words) -> subprocess.CompletedProcess:
        program = "/usr/local/nvidia/toolkit/nvidia-container-runtime"
        return self.host.run("chroot", self.host.path, program, "--root", "/tmp/runc", *words)

    def output(self) -> str:
        log = f"/tmp/{self.name}.out"
        shell = (f'chroot {self.host.path} /usr/local/nvidia/toolkit/nvidia-container-runtime '
                 f'--root /tmp/runc create --bundle /tmp/{self.name} {self.name} '
                 f'> {self.host.path}{log} 2>&1')
        try:
            created = self.host.run("bash", "-c", shell)
            text = self.host.path / log[1:]
            if created.returncode != 0:
                return f"create: {text.read_text()}"
            started = self.runtime("start", self.name)
            if started.returncode != 0:
                return f"start: {started.stderr}"

            def ended() -> bool:
                return json.loads(self.runtime("state", self.name).stdout)["status"] == "stopped"

            self.host.wait(ended, "the container's end")
            return text.read_text()
        finally:
            self.runtime("delete", "--force", self.name)


def mount_cgroups(host: Host):
    host.run("mount", "-t", "sysfs", "sysfs", host.path / "sys")
    host.run("mount", "--rbind", "/sys/fs/cgroup", host.path / "sys/fs/cgroup")


def test_a_privileged_container_gets_the_driver_by_its_variable(make_host):
    host = make_host()
    assert host.install().returncode == 0
    mount_cgroups(host)
    bundle = Bundle(host, ["NVIDIA_VISIBLE_DEVICES=all"], ["/sbin/ldconfig", "-p"])
    listed = bundle.output()
    assert f"libcuda.so.1 (libc6,x86-64) => /{LIBRARIES}/libcuda.so.1" in listed, listed
    link = bundle.path / "rootfs" / LIBRARIES / "libcuda.so.1"
    assert os.readlink(link) == f"libcuda.so.{DRIVER}"
    config = json.loads((bundle.path / "config.json").read_text())
    assert {d["path"] for d in config["linux"]["devices"]} == {
        "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia0", "/dev/nvidia1"}
    assert len(config["hooks"]["createContainer"]) == 1


def test_a_container_gets_the_gpu_that_the_driver_knows_by_its_uuid(make_host):
    host = make_host()
    for library in host.see(LIBRARIES).glob("lib*.so*"):
        if "libcuda" in library.name or "libnvidia-ml" in library.name:
            library.unlink()
    subprocess.run([sys.executable, ROOT / "testbed/fakegpu/fakegpu.py", "install", "--root", host.path, "--profile",
                    ROOT / "testbed/fakegpu/profiles/8xa100-80.yaml", "--node", "component"],
                   check=True, stdout=subprocess.DEVNULL)
    assert host.install().returncode == 0
    gpus = json.loads(host.see("run/nvidia/toolkit/inventory.json").read_text())["gpus"]
    assert len(gpus) == 8
    mount_cgroups(host)
    asks = [f"NVIDIA_VISIBLE_DEVICES={gpus[3]['uuid']}", "NVIDIA_DRIVER_CAPABILITIES=utility"]
    bundle = Bundle(host, [*asks, "NVIDIA_REQUIRE_CUDA=cuda>=12.0,arch>=8.0"], ["/sbin/ldconfig", "-p"])
    listed = bundle.output()
    assert "libnvidia-ml.so.1" in listed, listed
    assert "libcuda.so.1" not in listed, "only utility was asked for"
    config = json.loads((bundle.path / "config.json").read_text())
    assert {d["path"] for d in config["linux"]["devices"]} == {"/dev/nvidiactl", f"/dev/nvidia{gpus[3]['minor']}"}
    refused = Bundle(host, [*asks, "NVIDIA_REQUIRE_ARCH=arch>=9.0"], ["/sbin/ldconfig", "-p"]).output()
    assert "arch 8.0" in refused


def test_an_unprivileged_container_gets_nothing_by_its_variable(make_host):
    host = make_host()
    assert host.install().returncode == 0
    mount_cgroups(host)
    bundle = Bundle(host, ["NVIDIA_VISIBLE_DEVICES=all"], ["/sbin/ldconfig", "--version"],
                    privileged=False)
    before = (bundle.path / "config.json").read_bytes()
    assert "not privileged" in bundle.output()
    assert (bundle.path / "config.json").read_bytes() == before


def test_an_unknown_device_stops_the_container_with_its_name(make_host):
    host = make_host()
    assert host.install().returncode == 0
    mount_cgroups(host)
    bundle = Bundle(host, ["NVIDIA_VISIBLE_DEVICES=GPU-nowhere"], ["/sbin/ldconfig", "-p"])
    assert "GPU-nowhere" in bundle.output()
