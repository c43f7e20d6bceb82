# SPDX-License-Identifier: Apache-2.0
"""What a node is made from: Debian's minimal root file system, the node's programs, and two images.

Both file trees are lower layers of every node's overlay, so that a node costs no copy, and all
nodes share their pages in memory. The test image is cut out of the same Debian: enough of a glibc
userland for the real nvidia-smi to run in.
"""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess

import build
import components
import oci
from paths import SOURCE, BedError, cache

PAUSE = "localhost/pause:1"
TEST = "localhost/test:1"

_TEST_PROGRAMS = [
    "bash",
    "cat",
    "chmod",
    "cp",
    "date",
    "dd",
    "df",
    "dirname",
    "du",
    "echo",
    "env",
    "find",
    "getent",
    "grep",
    "head",
    "hostname",
    "id",
    "ldconfig",
    "ln",
    "ls",
    "mkdir",
    "mktemp",
    "mv",
    "nproc",
    "openssl",
    "printenv",
    "readlink",
    "realpath",
    "rm",
    "sed",
    "seq",
    "sh",
    "sleep",
    "sort",
    "stat",
    "tail",
    "tee",
    "test",
    "timeout",
    "touch",
    "tr",
    "true",
    "uname",
    "uniq",
    "wc",
    "whoami",
    "xargs",
]


def _run(arguments: list[str], what: str) -> str:
    result = subprocess.run(arguments, capture_output=True, text=True)
    if result.returncode:
        raise BedError(f"{what}: {result.stderr.strip()[-2000:]}")
    return result.stdout


def root_fs() -> pathlib.Path:
    """The unpacked root file system of a node, keyed by its list of packages."""
    names = (components.NODE_SUITE, *components.NODE_PACKAGES)
    key = hashlib.sha256(" ".join(names).encode()).hexdigest()[:8]
    target = cache() / f"node-root-{key}"
    return build.ensure(target, f"node root file system ({components.NODE_SUITE})", _make_root_fs)


def _make_root_fs(into: pathlib.Path) -> None:
    arguments = ["mmdebstrap", "--quiet", "--variant=minbase", "--mode=root"]
    arguments += [f"--include={','.join(components.NODE_PACKAGES)}"]
    for pattern in ("usr/share/doc/*", "usr/share/man/*", "usr/share/locale/*"):
        arguments.append(f"--dpkgopt=path-exclude=/{pattern}")
    into.chmod(0o755)
    _run([*arguments, components.NODE_SUITE, str(into)], "make node root file system")
    for leftover in ("var/lib/apt/lists", "var/cache/apt"):
        shutil.rmtree(into / leftover, ignore_errors=True)
    # Each node has its own; with none here, a node that was not given one is seen at once.
    for own in ("etc/machine-id", "etc/hostname", "etc/resolv.conf"):
        (into / own).unlink(missing_ok=True)


def node_programs(kubernetes: str) -> pathlib.Path:
    """A tree with the programs of a node at their places, for one version of Kubernetes."""
    kubernetes_dir = build.kubernetes(kubernetes)
    sources = [build.module(m) for m in (components.CONTAINERD, components.RUNC, components.CNI)]
    names = " ".join(path.name for path in (kubernetes_dir, *sources))
    target = cache() / f"node-programs-{hashlib.sha256(names.encode()).hexdigest()[:8]}"

    def make(into: pathlib.Path) -> None:
        into.chmod(0o755)
        programs, plugins = into / "usr/local/bin", into / "opt/cni/bin"
        programs.mkdir(parents=True)
        plugins.mkdir(parents=True)
        for module, folder in zip(sources, (programs, programs, plugins), strict=True):
            for program in (module / "bin").iterdir():
                os.link(program, folder / program.name)
        os.link(kubernetes_dir / "bin/hyperkube", programs / "hyperkube")
        for name in ("kubelet", "kube-proxy"):
            (programs / name).symlink_to("hyperkube")

    return build.ensure(target, f"tree of node programs (kubernetes {kubernetes})", make)


def images() -> pathlib.Path:
    """The folder with pause.tar and test.tar, which every node loads."""
    root = root_fs()
    parts = [root.name, " ".join(_TEST_PROGRAMS)]
    parts += [(SOURCE / name).read_text() for name in ("pause.c", "oci.py", "base.py")]
    target = cache() / f"images-{hashlib.sha256(''.join(parts).encode()).hexdigest()[:8]}"

    def make(into: pathlib.Path) -> None:
        pause = into / "pause"
        _run(
            ["gcc", "-static", "-Os", "-s", "-o", str(pause), str(SOURCE / "pause.c")],
            "compile pause",
        )
        entries = [oci.Entry("pause", source=pause)]
        oci.write_archive(
            into / "pause.tar", PAUSE, entries, oci.Config(entrypoint=("/pause",)), False
        )
        config = oci.Config(command=("/bin/bash",))
        oci.write_archive(into / "test.tar", TEST, _test_entries(root), config, compress=False)

    return build.ensure(target, "images pause and test", make)


def _test_entries(root: pathlib.Path) -> list[oci.Entry]:
    programs = []
    for name in _TEST_PROGRAMS:
        found = [p for p in (f"usr/bin/{name}", f"usr/sbin/{name}") if (root / p).exists()]
        if not found:
            raise BedError(f"make test image: {name} is not in the node root file system")
        programs.append(found[0])
    listed = _run(["chroot", str(root), "ldd", *(f"/{p}" for p in programs)], "list libraries")
    libraries = set(re.findall(r"(/\S+) \(0x", listed))
    # glibc opens these by name; nvidia-smi is linked with the rest, which are stubs since glibc
    # 2.34.
    for name in (
        "libnss_files.so.2",
        "libnss_dns.so.2",
        "libpthread.so.0",
        "libdl.so.2",
        "librt.so.1",
        "libm.so.6",
    ):
        libraries.add(f"/lib/x86_64-linux-gnu/{name}")
    entries = [oci.Entry(name, link=f"usr/{name}") for name in ("bin", "lib", "lib64", "sbin")]
    for name in [*programs, *sorted(libraries)]:
        source = (root / name.lstrip("/")).resolve()
        place = name.lstrip("/")
        entries.append(
            oci.Entry(place if place.startswith("usr/") else f"usr/{place}", source=source)
        )
    entries += [
        oci.Entry("etc/passwd", content=b"root:x:0:0:root:/root:/bin/bash\n", mode=0o644),
        oci.Entry("etc/group", content=b"root:x:0:\n", mode=0o644),
        oci.Entry(
            "etc/nsswitch.conf",
            content=b"passwd: files\ngroup: files\nhosts: files dns\n",
            mode=0o644,
        ),
        oci.Entry("etc/os-release", source=root / "usr/lib/os-release", mode=0o644),
        oci.Entry("etc/ld.so.conf", content=b"include /etc/ld.so.conf.d/*.conf\n", mode=0o644),
        oci.Entry(
            "etc/ld.so.conf.d/x86_64-linux-gnu.conf",
            content=b"/usr/local/lib/x86_64-linux-gnu\n/lib/x86_64-linux-gnu\n/usr/lib/x86_64-linux-gnu\n",
            mode=0o644,
        ),
        oci.Entry("usr/local/lib"),
        oci.Entry("root", mode=0o700),
        oci.Entry("tmp", mode=0o1777),
        oci.Entry("run"),
        oci.Entry("var/tmp", mode=0o1777),
    ]
    return entries
