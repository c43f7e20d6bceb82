#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts NVIDIA's nvml.h into the project's cache folder and prints the folder it lies in.

The header comes from NVIDIA's package `nvidia-nvml-dev-cu12` (a wheel with one header in it). It is not kept
in the repository: it is fetched once, checked against the digest below, and found in the cache from then on.
"""
import fcntl
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

PACKAGE = "nvidia-nvml-dev-cu12"
VERSION = "12.9.79"
SHA256 = "5a9ed049520b02354b74280f3a1e83b27292cf9f7958beb227461c0bc8676b99"
MEMBER = "nvidia/nvml_dev/include/nvml.h"


def cache_folder() -> pathlib.Path:
    """Where the project keeps what it fetched: $GANTRY_CACHE, else the user's cache folder."""
    if os.environ.get("GANTRY_CACHE"):
        return pathlib.Path(os.environ["GANTRY_CACHE"])
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "gantry"


def is_right(header: pathlib.Path) -> bool:
    return header.is_file() and hashlib.sha256(header.read_bytes()).hexdigest() == SHA256


def fetch(folder: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as work:
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
                        "--no-deps", "--only-binary=:all:", "--dest", work, f"{PACKAGE}=={VERSION}"],
                       check=True, stdout=sys.stderr)
        with zipfile.ZipFile(next(pathlib.Path(work).glob("*.whl"))) as wheel:
            text = wheel.read(MEMBER)
        if hashlib.sha256(text).hexdigest() != SHA256:
            sys.exit(f"fetch nvml.h: {PACKAGE} {VERSION} holds another header than the one this code was written for")
        part = folder / "nvml.h.part"
        part.write_bytes(text)
        part.replace(folder / "nvml.h")


def main() -> None:
    folder = cache_folder() / "nvml" / VERSION
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_right(folder / "nvml.h"):
            fetch(folder)
    print(folder)


if __name__ == "__main__":
    main()
