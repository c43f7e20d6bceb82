# SPDX-License-Identifier: Apache-2.0
"""First process of a machine: the control plane, or a node. It makes the machine's namespaces and
root, and then starts its services, and starts them again when they end, as systemd would.

Everything that a machine holds hangs on this process: when it is killed, the kernel ends every
process of its PID namespace, and mounts and network go with the last of them. Nothing is left on
the host to be undone.

usage: init.py SPEC.json   Prints the pid of the machine's first process and exits; that process
waits for the line "go" on stdin, so that its network can be attached first, and ends if stdin
closes without it.

A node changes its root below this interpreter's feet: whatever is used after that is imported at
the top.
"""

import ctypes
import json
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
SYS_PIVOT_ROOT = 155  # x86-64

RESTART_DELAY_S = 0.5
PROBE_S = 0.05

_libc = ctypes.CDLL(None, use_errno=True)


def log(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def check(result: int, what: str) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), what)


def mount(*arguments: object) -> None:
    subprocess.run(["mount", *map(str, arguments)], check=True)


def make_root(spec: dict) -> None:
    """Puts a node's root together. The disk is what `upper` and `binds` hold; /run, /tmp and /dev
    are lost when the machine ends."""
    root = pathlib.Path(spec["root"])
    # `index` and `metacopy` would tie the upper folder to this very mount; off, it can be mounted
    # again.
    folders = f"lowerdir={spec['lower']},upperdir={spec['upper']},workdir={spec['work']}"
    mount("-t", "overlay", "-o", f"{folders},index=off,metacopy=off", "overlay", root)
    for source, target in spec["binds"]:
        (root / target).mkdir(parents=True, exist_ok=True)
        mount("--bind", source, root / target)
    mount("-t", "proc", "proc", root / "proc")
    # A sysfs mounted here shows this network namespace's devices; the cgroup trees under it are the
    # host's.
    mount("-t", "sysfs", "sysfs", root / "sys")
    mount("--rbind", "/sys/fs/cgroup", root / "sys/fs/cgroup")
    for name, options in (("run", "mode=755"), ("tmp", "mode=1777"), ("dev", "mode=755")):
        mount("-t", "tmpfs", "-o", options, "tmpfs", root / name)
    make_dev(root / "dev")
    # Every boot of the machine is one, for whoever asks the kernel.
    mount("--bind", spec["boot_id"], root / "proc/sys/kernel/random/boot_id")
    for command in spec["before_pivot"]:
        subprocess.run(command, check=True)
    os.chdir(root)
    old = root / "mnt"
    check(_libc.syscall(SYS_PIVOT_ROOT, os.fsencode(root), os.fsencode(old)), "pivot_root")
    os.chdir("/")
    subprocess.run(["umount", "--lazy", "/mnt"], check=True)
    mount("--make-rshared", "/")  # the kubelet wants mounts of containers to be seen


def make_dev(dev: pathlib.Path) -> None:
    for name, major, minor in (
        ("null", 1, 3),
        ("zero", 1, 5),
        ("full", 1, 7),
        ("random", 1, 8),
        ("urandom", 1, 9),
        ("tty", 5, 0),
        ("kmsg", 1, 11),
    ):
        os.mknod(dev / name, 0o20666, os.makedev(major, minor))
        os.chmod(dev / name, 0o666)
    for name in ("pts", "shm", "mqueue"):
        (dev / name).mkdir()
    mount("-t", "devpts", "-o", "newinstance,ptmxmode=0666", "devpts", dev / "pts")
    mount("-t", "tmpfs", "tmpfs", dev / "shm")
    for name, target in (
        ("ptmx", "pts/ptmx"),
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ):
        (dev / name).symlink_to(target)


class Probe:
    """What a service waits for before it is started: a file that is there, a TCP or Unix socket
    that accepts, or an HTTPS "ok".
    """

    def __init__(self, spec: dict):
        self.spec = spec
        self.context = None
        if "https" in spec:
            self.context = ssl.create_default_context(cafile=spec["ca"])
            self.context.load_cert_chain(spec["certificate"], spec["key"])

    def holds(self) -> bool:
        try:
            if "file" in self.spec:
                return os.path.exists(self.spec["file"])
            if "unix" in self.spec:
                with socket.socket(socket.AF_UNIX) as connection:
                    connection.connect(self.spec["unix"])
            elif "tcp" in self.spec:
                with socket.socket() as connection:
                    connection.settimeout(1)
                    connection.connect(tuple(self.spec["tcp"]))
            else:
                url = urllib.request.Request(self.spec["https"], headers={"User-Agent": "bed"})
                with urllib.request.urlopen(url, timeout=2, context=self.context) as answer:
                    return answer.read() == b"ok"
        except (OSError, urllib.error.URLError):
            return False
        return True


class Service:
    def __init__(self, spec: dict, pids: pathlib.Path, now: float):
        self.name = spec["name"]
        self.argv = spec["argv"]
        self.log = spec["log"]
        self.keep_fds = spec.get("keep_fds", [])
        self.pid_file = pids / f"{self.name}.pid"
        self.pid = 0
        self.start_at = now
        self.probes = [Probe(p) for p in spec.get("after", [])]
        self.give_up_at = now + spec.get("after_at_most_s", 600)

    def try_start(self, now: float) -> None:
        if self.pid or now < self.start_at:
            return
        while self.probes and (self.probes[0].holds() or now > self.give_up_at):
            self.probes.pop(0)
        if self.probes:
            return
        with open(self.log, "ab") as output:
            child = subprocess.Popen(
                self.argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=self.keep_fds,
                start_new_session=True,
                preexec_fn=default_signals,
            )
        child.returncode = 0  # it is collected below, with what else is left to the first process
        self.pid = child.pid
        self.pid_file.write_text(f"{self.pid}\n")
        log(f"{self.name}: started, pid {self.pid}")

    def ended(self, status: int, now: float) -> None:
        log(f"{self.name}: ended, status {os.waitstatus_to_exitcode(status)}")
        self.pid_file.unlink(missing_ok=True)
        self.pid = 0
        self.start_at = now + RESTART_DELAY_S


def default_signals() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored under nohup; containerd is restarted by it


def supervise(services: list[Service]) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    while True:
        now = time.monotonic()
        for service in services:
            service.try_start(now)
        if all(service.pid for service in services):
            signal.sigwait([signal.SIGCHLD])
        else:
            signal.sigtimedwait([signal.SIGCHLD], PROBE_S)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            for service in services:
                if service.pid == pid:
                    service.ended(status, time.monotonic())


def machine(spec: dict) -> None:
    """The life of a machine's first process."""
    os.setsid()
    go = sys.stdin.readline()
    if go != "go\n":
        sys.exit(1)
    quiet, output = (
        os.open("/dev/null", os.O_RDONLY),
        os.open(spec["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND),
    )
    os.dup2(quiet, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    mount("--make-rprivate", "/")
    socket.sethostname(spec["hostname"])
    if "root" in spec:
        make_root(spec["root"])
    else:
        mount("-t", "proc", "proc", "/proc")
    for name, value in spec.get("sysctl", {}).items():
        pathlib.Path("/proc/sys", name).write_text(value)
    pids = pathlib.Path(spec["pids"])
    pids.mkdir(parents=True, exist_ok=True)
    now = time.monotonic()
    supervise([Service(service, pids, now) for service in spec["services"]])


def main() -> None:
    spec = json.loads(pathlib.Path(sys.argv[1]).read_text())
    flags = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET
    check(_libc.unshare(flags), "unshare")
    pid = os.fork()
    if pid:
        print(pid, flush=True)
        os._exit(0)
    machine(spec)


if __name__ == "__main__":
    main()
