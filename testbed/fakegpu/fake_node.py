# SPDX-License-Identifier: Apache-2.0
"""A node with a machine in it: installed over an overlay of this machine's own root, in a mount namespace of its own.
Needs root, and the network once for Debian's packages."""

import csv
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

SETUP = """
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs {folder}
mkdir {folder}/root {folder}/upper {folder}/work
mount -t overlay -o lowerdir=/,upperdir={folder}/upper,workdir={folder}/work overlay {root}
mount -t proc proc {root}/proc
mount --rbind /sys {root}/sys
mount -t tmpfs -o mode=755 tmpfs {root}/dev
mknod -m 666 {root}/dev/null c 1 3
{python} {script} install --root {root} --profile {profile} --node {node}
chroot {root} sh /opt/fakegpu/mount.sh
exec chroot {root} sh -c "echo ready; exec cat"
"""


class Node:
    """A node's mount namespace with a machine in it."""

    def __init__(self, folder: pathlib.Path, machine: str, name: str = "node1"):
        folder.mkdir(parents=True, exist_ok=True)
        script = SETUP.format(folder=folder, root=folder / "root", python=sys.executable, script=HERE / "fakegpu.py",
                              profile=machine, node=name)
        self.process = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        self.root = pathlib.Path(f"/proc/{children.strip()}/root")
        self.enter = ["nsenter", f"--target={children.strip()}", "--mount", "--pid", "--root", "--wd=/"]
        self.machine = json.loads((self.root / "opt/fakegpu/machine.json").read_text())

    def run(self, *command: str, **options) -> subprocess.CompletedProcess:
        return subprocess.run([*self.enter, *command], capture_output=True, text=True, timeout=60, check=False,
                              **options)

    def smi(self, *arguments: str) -> str:
        done = self.run("nvidia-smi", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def query(self, fields: str) -> list[list[str]]:
        text = self.smi(f"--query-gpu={fields}", "--format=csv,noheader,nounits")
        return [[cell.strip() for cell in row] for row in csv.reader(text.splitlines())]

    def control(self, *words: str) -> str:
        done = subprocess.run([sys.executable, str(HERE / "fakegpu.py"), "control", "--root", str(self.root), *words],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=10)
