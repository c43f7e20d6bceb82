# SPDX-License-Identifier: Apache-2.0
"""Where the test bed keeps things: what can be made again in the cache, what runs in the bed
folder.

Both stand outside the clone, so that a clone can be removed or built twice without either.
"""

import contextlib
import fcntl
import os
import pathlib
import shutil
import sys

SOURCE = pathlib.Path(__file__).resolve().parent


def cache() -> pathlib.Path:
    """The bed's part of the cache. Every entry's name carries what it was made from."""
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    gantry = os.environ.get("GANTRY_CACHE") or pathlib.Path(base) / "gantry"
    return pathlib.Path(gantry).absolute() / "bed"


def beds() -> pathlib.Path:
    """The folder that has one folder for each bed."""
    return pathlib.Path(os.environ.get("GANTRY_BED_DIR") or "/tmp/gantry-beds").absolute()


class BedError(Exception):
    """Something that a user can act on; printed in one line, without a traceback."""


def say(text: str) -> None:
    """Progress goes to stderr: stdout belongs to the answer."""
    print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def locked(path: pathlib.Path, waiting_for: str = ""):
    """Holds an exclusive lock on a file; the kernel lets go of it when the process ends,
    however it ends.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if waiting_for:
                say(f"waiting for {waiting_for}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def made_whole(target: pathlib.Path):
    """Yields an empty folder that becomes `target` if the block ends well, and goes if it doesn't.

    The caller holds the cache's lock: unfinished folders that are found belong to a killed build.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    for stale in target.parent.glob(".making-*"):
        shutil.rmtree(stale, ignore_errors=True)
    making = target.parent / f".making-{target.name}"
    making.mkdir()
    try:
        yield making
        making.rename(target)
    finally:
        shutil.rmtree(making, ignore_errors=True)
