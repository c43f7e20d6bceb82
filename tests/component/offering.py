# SPDX-License-Identifier: Apache-2.0
"""The device plugin on a machine whose GPUs are divided, and the kubelet that it registers with
(device_plugin/fake_kubelet.cc).
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading

from mig_machine import wait


class Plugin:
    def __init__(self, machine, build: pathlib.Path, folder: pathlib.Path, *words: str):
        self.machine, self.build, self.folder, self.words = machine, build, folder, words
        # A socket's path has at most 107 characters.
        self.sockets = tempfile.TemporaryDirectory(prefix="gantry-plugin-")
        sockets = pathlib.Path(self.sockets.name)
        for name, minor in (("zero", 5), ("random", 8), ("urandom", 9)):
            path = machine.root / "dev" / name
            if not path.exists():
                os.mknod(path, 0o020666, os.makedev(1, minor))
        self.lock = threading.Lock()
        self.kubelet = subprocess.Popen([build / "bin/fake_kubelet", sockets], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        wait((sockets / "kubelet.sock").exists, "the kubelet")
        self.process = None
        self.start()

    def start(self) -> None:
        machine = self.machine
        self.process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", f'mount --bind {machine.root}/dev /dev && exec "$@"', "sh",
             self.build / "bin/gantry", "nvidia-device-plugin", f"--kubelet-socket={self.sockets.name}/kubelet.sock",
             f"--driver-root-ctr-path={machine.root}", f"--host-root={machine.root}", f"--status-dir={machine.status}",
             f"--cdi-dir={self.folder}/cdi", "--mig-strategy=mixed", *self.words],
            stderr=open(self.folder / "plugin.log", "a"))

    def ask(self, *words: str):
        with self.lock:
            self.kubelet.stdin.write(" ".join(words) + "\n")
            self.kubelet.stdin.flush()
            return json.loads(self.kubelet.stdout.readline())

    def devices(self) -> dict[str, dict[str, bool]]:
        """Of each resource with devices: whether each is healthy."""
        return {resource: ids for resource, ids in self.ask("devices").items() if ids}

    def counts(self) -> dict[str, int]:
        """How many healthy devices each resource has, by the part after the last `-` or `/`."""
        counts = {resource.split("/")[1].removeprefix("mig-"): sum(ids.values())
                  for resource, ids in self.devices().items()}
        return {name: count for name, count in counts.items() if count}

    def allocate(self, resource: str, *ids: str) -> str:
        """Why the plugin refuses; empty: it does not."""
        return self.ask("allocate", resource, *ids)

    def says(self, text: str) -> bool:
        return text in (self.folder / "plugin.log").read_text()

    def open_gpus(self) -> list[str]:
        """The device nodes of GPUs that the plugin has open."""
        found = []
        for fd in pathlib.Path(f"/proc/{self.process.pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                found.append(os.readlink(fd))
        return [path for path in found if pathlib.Path(path).name[:6] == "nvidia" and path[-1].isdigit()]

    def end(self, number: int = signal.SIGTERM) -> None:
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(timeout=20)
            self.process = None

    def close(self) -> None:
        self.end(signal.SIGKILL)
        self.kubelet.kill()
        self.kubelet.wait()
        self.sockets.cleanup()
