# SPDX-License-Identifier: Apache-2.0
"""The driver image as a container on this machine, whose kernel it may not touch: without the right to load modules,
all that comes before is done for real. The root is that of deploy/driver_image; ours is that of $GANTRY_BUILD (default
build/release).
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys

from ours import release

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "testbed/machine"))
import kernels  # noqa: E402
import vm  # noqa: E402, F401  for those who import this

STAND_IN = ROOT / "testbed/machine/module"
START = """
set -e
mount --make-rprivate /
mount -t overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" driver "$2/root"
cd "$2/root"
mount -t proc proc proc
mount --rbind /dev dev
mkdir -p cache
mount --bind "$3" cache
shift 3
exec setpriv --bounding-set=-sys_module chroot . "$@"
"""


def gantry() -> pathlib.Path:
    return release("gantry") / "bin/gantry"


def put_sources(tree: pathlib.Path, version: str) -> None:
    """The stand-in's sources as a driver's of that version."""
    target = tree / f"usr/src/nvidia-open-{version}"
    shutil.copytree(STAND_IN, target)
    (target / "VERSION").write_text(f"{version}\n")


class Container:
    """Keeps what it writes below `folder`/upper. `trees` are laid over the image's root; `cache` is /cache inside."""

    def __init__(self, folder: pathlib.Path, cache: pathlib.Path, *trees: pathlib.Path):
        self.folder, self.cache = folder, cache
        self.layers = ":".join(map(str, [*trees, kernels.driver_root() / "root"]))
        for path in (folder / "upper/usr/bin", folder / "work", folder / "root", cache):
            path.mkdir(parents=True, exist_ok=True)
        (folder / "upper/termination-log").touch()  # a kubelet makes it
        shutil.copy2(gantry(), folder / "upper/usr/bin/nvidia-driver")

    def start(self, *words: str, **variables: str) -> subprocess.Popen:
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DRIVER_CACHE": "/cache",
                       "TERMINATION_LOG": "/termination-log", "KERNEL_MODULE_TYPE": "open", **variables}
        return subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c",
             START, "container", self.layers, str(self.folder), str(self.cache), *words],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def compile(self, version: str, release: str, seconds: float) -> str:
        """What nvidia-driver says. It may not load what it compiled (or this machine's kernel loads nothing), so it
        ends after that."""
        with self.start("nvidia-driver", "init", "--exit-on-failure", DRIVER_VERSION=version,
                        KERNEL_VERSION=release) as process:
            try:
                said, _ = process.communicate(timeout=seconds)
            finally:
                process.kill()
        assert process.returncode == 1, said
        assert list(self.cache.glob(f"{release}_{version}_open_*/nvidia.ko")), said
        return said

    def says(self, *words: str) -> str:
        with self.start(*words) as process:
            said, _ = process.communicate(timeout=60)
        assert process.returncode == 0, said
        return said


def stop(process: subprocess.Popen, inside: str) -> None:
    """SIGTERM to the program of that name in a container's PID namespace, as a kubelet would."""
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    first = int(children[0])
    assert pathlib.Path(f"/proc/{first}/comm").read_text().strip() == inside
    os.kill(first, signal.SIGTERM)
