# SPDX-License-Identifier: Apache-2.0
"""Processes that outlive the command that started them, known by pid and start time.

A pid alone may have been given to somebody else since; with the time at which its process started,
it names that process or none. So nothing is ever killed that the bed didn't start.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import time

from paths import BedError


@dataclasses.dataclass(frozen=True)
class Process:
    pid: int
    started: int  # clock ticks since boot, field 22 of /proc/PID/stat

    def alive(self) -> bool:
        return _stat(self.pid) == self.started

    def kill(self) -> None:
        if self.alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


def _stat(pid: int) -> int | None:
    """When a process started, or None if there is none or only its zombie."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def find(pid: int) -> Process | None:
    started = _stat(pid)
    return None if started is None else Process(pid, started)


def read(path: pathlib.Path) -> Process | None:
    """The process that a record names, alive or not; None without a record."""
    try:
        return Process(**json.loads(path.read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def write(path: pathlib.Path, process: Process) -> None:
    path.write_text(json.dumps(dataclasses.asdict(process)) + "\n")


def wait_for(what: str, seconds: float, condition, every: float = 0.05):
    """Calls condition() until it returns something true, which is returned."""
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > deadline:
            raise BedError(f"wait for {what}: not there after {seconds:.0f} s")
        time.sleep(every)
    return result


def run(arguments: list[str], what: str, **options) -> str:
    """Runs a command to its end and returns its output."""
    result = subprocess.run(
        [str(a) for a in arguments],
        capture_output=True,
        text=True,
        **options,
    )
    if result.returncode:
        raise BedError(f"{what}: {(result.stderr or result.stdout).strip()[-2000:]}")
    return result.stdout
