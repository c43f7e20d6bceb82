#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A machine with Debian's kernel, in qemu: boots in seconds, runs commands, is gone. README.md beside this file."""
import argparse
import base64
import dataclasses
import pathlib
import socket
import subprocess
import sys
import tempfile

import images
import kernels

START_S = 120
STOP_S = 10


class MachineError(Exception):
    """The machine did not start, or did not answer in time; with the end of its console."""


@dataclasses.dataclass(frozen=True)
class Disk:
    """An ext4 image that the machine mounts at /<name>."""
    name: str
    image: pathlib.Path
    read_only: bool = False

    def argument(self) -> str:
        return f"if=none,id={self.name},format=raw,file={self.image},read-only={'on' if self.read_only else 'off'}"


@dataclasses.dataclass(frozen=True)
class Done:
    status: int
    output: str  # both streams


class Machine:
    """Runs from its creation to close(). The processors are emulated: what they compute takes ten times as long."""

    def __init__(self, kernel: kernels.Kernel, disks: list[Disk], folder: pathlib.Path, memory_mib: int = 1024,
                 hardware: tuple[str, ...] = (), modules: tuple[str, ...] = (), words: str = ""):
        """`folder` is for what belongs to this run: console.log and the first root. `hardware`: more of qemu's
        arguments; `modules`: more kernel modules, loaded at the start; `words`: more of the kernel's command line."""
        self.console = folder / "console.log"
        root = folder / "root.cpio"
        root.write_bytes(images.first_root(kernel.release, kernel.modules, modules))
        ours, its = socket.socketpair()
        command = ["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max",
                   "-smp", "2", "-m", str(memory_mib), "-nodefaults", "-no-user-config", "-display", "none",
                   "-no-reboot", "-kernel", str(kernel.image), "-initrd", str(root),
                   "-append", f"console=ttyS0 quiet panic=-1 mitigations=off no_timer_check {words}", *hardware,
                   "-chardev", f"file,id=console,path={self.console},append=on", "-serial", "chardev:console",
                   "-chardev", f"socket,id=commands,fd={its.fileno()}", "-serial", "chardev:commands"]
        for disk in disks:
            command += ["-drive", disk.argument(), "-device", f"virtio-blk-pci,drive={disk.name},serial={disk.name}"]
        with open(self.console, "wb") as console:  # qemu's own complaints; then the kernel's
            self.process = subprocess.Popen(command, pass_fds=[its.fileno()], stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=console)
        its.close()
        self.commands = ours.makefile("rwb")
        self.socket = ours
        try:
            self._answer(START_S, "start")
        except MachineError:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _answer(self, seconds: float, what: str) -> bytes:
        self.socket.settimeout(seconds)
        why = "the machine has ended"
        try:
            line = self.commands.readline()
        except (TimeoutError, ConnectionError) as error:
            line, why = b"", f"no answer in {seconds:.0f} s" if isinstance(error, TimeoutError) else why
        if not line:
            raise MachineError(f"{what}: {why}; its console:\n{self.console.read_text(errors='replace')[-3000:]}")
        return line

    def run(self, script: str, seconds: float = 60) -> Done:
        """Runs a shell script; one that takes longer than `seconds` is a MachineError, and the machine is lost."""
        self.commands.write(base64.b64encode(script.encode()) + b"\n")
        self.commands.flush()
        output, _, status = self._answer(seconds, script.strip()[:80]).rpartition(b" ")
        return Done(int(status), base64.b64decode(output).decode(errors="replace"))

    def close(self) -> None:
        """Writes the disks and switches the machine off; by force if it does not obey."""
        try:
            self.commands.write(base64.b64encode(b"sync; poweroff -f") + b"\n")
            self.commands.flush()
            self.process.wait(STOP_S)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.socket.close()


def disk_of(text: str) -> Disk:
    name, _, image = text.partition("=")
    if not name.isalnum() or not image:
        raise argparse.ArgumentTypeError(f"{text}: want NAME=IMAGE, or NAME=IMAGE:ro")
    return Disk(name, pathlib.Path(image.removesuffix(":ro")), image.endswith(":ro"))


def word_run(options) -> int:
    with (tempfile.TemporaryDirectory() as folder,
          Machine(kernels.kernel(options.kernel), options.disk, pathlib.Path(folder)) as machine):
        done = machine.run(options.script, options.seconds)
    sys.stdout.write(done.output)
    return done.status


def word_image(options) -> int:
    images.disk(options.folder, options.image, options.room)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="vm", description=__doc__.split(" README")[0])
    words = parser.add_subparsers(metavar="WORD", required=True)
    run = words.add_parser("run", help="boot, run a shell script, switch off; the status is the script's")
    run.add_argument("--kernel", default=kernels.OLDER, help="a release of Debian's kernel (default: %(default)s)")
    run.add_argument("--disk", type=disk_of, action="append", default=[], metavar="NAME=IMAGE[:ro]",
                     help="an ext4 image, mounted at /NAME")
    run.add_argument("--seconds", type=float, default=60, help="for the script (default: %(default)s)")
    run.add_argument("script")
    run.set_defaults(act=word_run)
    image = words.add_parser("image", help="make an ext4 image of a folder")
    image.add_argument("--room", type=int, default=64, metavar="MIB", help="for more (default: %(default)s)")
    image.add_argument("folder", type=pathlib.Path)
    image.add_argument("image", type=pathlib.Path)
    image.set_defaults(act=word_image)
    options = parser.parse_args()
    try:
        return options.act(options)
    except (MachineError, kernels.debian.DebianError, OSError, subprocess.CalledProcessError) as error:
        print(f"vm: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
