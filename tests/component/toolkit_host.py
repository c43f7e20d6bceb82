# SPDX-License-Identifier: Apache-2.0
"""A host for the container toolkit with a real containerd and runc: a directory in a mount and PID
namespace of its own, where a supervisor starts containerd again whenever it ends, as systemd would.
The programs are the test bed's, or those in $GANTRY_BED_BIN; ours are those of $GANTRY_BUILD (default
build/release).
"""

import contextlib
import dataclasses
import hashlib
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import time

from ours import release

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "testbed/cluster"))
import build  # noqa: E402
import components  # noqa: E402

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
  [ ! -e before-start ] || bash ./before-start
  chroot . $2 >> containerd.log 2>&1
  echo "$?" >> restarts
  sleep 0.02
done
"""


def programs(folder: pathlib.Path, version: str = "") -> pathlib.Path:
    """Fills a folder with gantry, gantry-runtime, gantry-ctk, containerd (of a version), its shim, ctr and runc."""
    folder.mkdir(parents=True, exist_ok=True)
    ours = release("gantry", "gantry-runtime", "gantry-ctk", "gantry-cuda", "fakegpu_nvml") / "bin"
    for name in ("gantry", "gantry-runtime", "gantry-ctk"):
        (folder / name).symlink_to(ours / name)
    if os.environ.get("GANTRY_BED_BIN"):
        found = pathlib.Path(os.environ["GANTRY_BED_BIN"])
        sources = {name: found for name in ("containerd", "containerd-shim-runc-v2", "ctr", "runc")}
    else:
        module = components.containerd(version) if version else components.CONTAINERD
        containerd = build.module(module) / "bin"
        sources = dict.fromkeys(("containerd", "containerd-shim-runc-v2", "ctr"), containerd)
        sources["runc"] = build.module(components.RUNC) / "bin"
    for name, source in sources.items():
        (folder / name).symlink_to(source / name)
    return folder


@dataclasses.dataclass(frozen=True)
class Layout:
    """Where a distribution keeps containerd and its files."""

    root: str = "etc/containerd/config.toml"  # below the host's root, as all paths here
    drop_in: str = DROP_IN
    program: str = "usr/local/bin/containerd"
    words: str = ""  # of containerd's command line
    socket: str = "run/containerd/containerd.sock"
    before_start: str = ""  # what its distribution does whenever it starts containerd


class Host:
    def __init__(self, path: pathlib.Path, programs: pathlib.Path, config: str | None,
                 layout: Layout = Layout()):
        self.path = path
        self.programs = programs
        self.layout = layout
        for folder in ("usr/local/bin", "usr/bin", LIBRARIES, "etc/containerd", "run", "var/lib",
                       "proc", "dev", "tmp", "sys/module/nvidia"):
            (path / folder).mkdir(parents=True, exist_ok=True)
        (path / "var/run").symlink_to("/run")
        for name in ("containerd", "containerd-shim-runc-v2", "ctr", "runc"):
            shutil.copy(programs / name, path / "usr/local/bin" / name)
        if layout.program != "usr/local/bin/containerd":
            (path / layout.program).parent.mkdir(parents=True)
            shutil.copy(programs / "containerd", path / layout.program)
        if layout.before_start:
            (path / "before-start").write_text(layout.before_start)
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
            (path / layout.root).parent.mkdir(parents=True, exist_ok=True)
            (path / layout.root).write_text(config)
        self.process = subprocess.Popen(
            ["env", "--default-signal=HUP",  # ignored under nohup
             "unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child",
             "--mount-proc", "bash", "-c", INIT, "init", str(path),
             f"/{layout.program} {layout.words}"])
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
    def daemon(self, *words):
        """The toolkit as it runs in its pod; ended with the block, however that ends."""
        process = self.enter(*self.toolkit_words(*words), stderr=subprocess.PIPE)
        try:
            yield process
        finally:
            self.kill_toolkit()
            process.wait(10)
            print(process.stderr.read())  # shown with a test that failed

    @contextlib.contextmanager
    def kubelet(self, *words):
        """A process that serves the kubelet's socket under that command line."""
        socket = self.path / "var/lib/kubelet/device-plugins/kubelet.sock"
        socket.parent.mkdir(parents=True)
        serve = ("import os, socket, sys, time; s = socket.socket(socket.AF_UNIX); "
                 "s.bind(sys.argv[1] + '.new'); s.listen(); os.rename(sys.argv[1] + '.new', sys.argv[1]); "
                 "time.sleep(600)")
        # Under another name Python does not find its library by itself.
        process = self.enter("env", f"PYTHONHOME={sys.base_prefix}", "bash", "-c",
                             'exec -a "$0" "$1" -c "${@:2}"', words[0], os.path.realpath(sys.executable),
                             serve, socket, *words[1:])
        self.wait(socket.exists, "the kubelet's socket")
        try:
            yield
        finally:
            process.kill()
            process.wait(10)
            shutil.rmtree(self.path / "var/lib/kubelet")

    def kill_toolkit(self):
        """SIGKILL, in the host's own PID namespace."""
        self.run("pkill", "-KILL", "-f", "nvidia-ctk-installer --host-root")

    def install(self, *words) -> subprocess.CompletedProcess:
        return self.run(*self.toolkit_words("--no-daemon", *words))

    def clean(self) -> subprocess.CompletedProcess:
        return self.run(self.programs / "gantry", "host-cleanup", f"--host-root={self.path}",
                        "--no-daemon", f"--done-file={self.path}/tmp/clean")

    def answers(self) -> bool:
        return self.run("chroot", self.path, "/usr/local/bin/ctr", "--address",
                        f"/{self.layout.socket}", "version").returncode == 0

    def restarts(self) -> int:
        log = self.path / "restarts"
        return len(log.read_text().split()) if log.exists() else 0

    def see(self, path: str) -> pathlib.Path:
        """A path of the host, through its own mounts."""
        return pathlib.Path(f"/proc/{self.init}/root{self.path}") / path

    def snapshot(self, *, times: bool = False) -> dict:
        """Every path that the toolkit could touch, with mode, owner and content."""
        found = {}
        for top in ("etc", "usr/local/nvidia", "run", "var"):
            for folder, folders, files in os.walk(self.see(top)):
                if top in ("run", "var"):  # but not what containerd itself keeps there
                    folders[:] = [f for f in folders if not f.startswith("containerd")]
                for name in folders + files:
                    path = pathlib.Path(folder) / name
                    try:
                        info = path.lstat()
                        content = os.readlink(path) if path.is_symlink() else (
                            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "")
                    except FileNotFoundError:
                        continue  # a file that is renamed into its place right now
                    found[str(path).split(str(self.path))[-1]] = (
                        info.st_mode, info.st_uid, content,
                        # The folder of toolkit.pid, which comes and goes with the toolkit.
                        info.st_mtime_ns if times and name != "toolkit" else 0)
        return found

    def dump(self) -> str:
        """The effective configuration, of the files as they are."""
        words = ["--config", f"/{self.layout.root}"] if (self.path / self.layout.root).exists() else []
        return self.run("chroot", self.path, f"/{self.layout.program}", *words, "config", "dump").stdout

    def handlers(self) -> list[str]:
        """The runtimes with a program of ours in what containerd says it runs with."""
        dump = self.dump()
        return [name for name in HANDLERS if f".runtimes.{name}.options]" in dump]
