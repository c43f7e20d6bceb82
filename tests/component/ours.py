"""Where Gantry's own programs are: in $GANTRY_BUILD, or else in the release build, which is brought up to date."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def release(*targets: str) -> pathlib.Path:
    """The folder of the build, in which at least these targets are built."""
    if "GANTRY_BUILD" in os.environ:
        return pathlib.Path(os.environ["GANTRY_BUILD"])
    subprocess.run([ROOT / "do", "build", "release", *targets], check=True)
    return ROOT / "build/release"
