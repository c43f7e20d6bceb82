# SPDX-License-Identifier: Apache-2.0
"""CUDA toolkits of a node: copied out of images by containers, offered beside each other, used by containers without a
GPU, and removed. The host, its containerd and its runc are toolkit_host's; CUDA's runtime is NVIDIA's own, from its Python
packages, which are fetched once into $GANTRY_CACHE.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

import pytest
import toolkit_host
from toolkit_host import Host

PACKAGE = "nvidia-cuda-runtime-cu12"
# By release: the runtime's own number, and the digest of its library.
RUNTIMES = {"12.2": ("140", "b5a066d723c4fe945d418f4130d23cf3d57f6bc0dd65bd6ddcf4c3412f12927c"), "12.4": ("127", "8774224f5b11a73b15d074a3fcce7327322c5c4cfdfd924d6a826779eec968fe")}
LIBRARY = "nvidia/cuda_runtime/lib/libcudart.so.12"
CUDA = "var/lib/nvidia/cuda"
DOCUMENT = "run/cdi/nvidia.com-cuda.json"
HOOK = "/hook/nvidia-cdi-hook"
# A build for tests looks for leaks in /proc, which a container's hook does not have, and a hook has no environment.
HOOK_SOURCE = r"""
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
  setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
  execv("/usr/local/nvidia/toolkit/nvidia-cdi-hook", argv);
  return argc > 0;
}
"""
PROBE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
  char link[256] = "none";
  readlink("/usr/local/cuda", link, sizeof(link) - 1);
  int version = 0;
  void *runtime = dlopen("libcudart.so.12", RTLD_NOW);
  if (runtime == 0) {
    printf("%s; /usr/local/cuda: %s\n", dlerror(), link);
    return 1;
  }
  struct link_map *map;
  dlinfo(runtime, RTLD_DI_LINKMAP, &map);
  ((int (*)(int *))dlsym(runtime, "cudaRuntimeGetVersion"))(&version);
  const char *error = ((const char *(*)(int))dlsym(runtime, "cudaGetErrorString"))(2);
  printf("%d; %s; %s; /usr/local/cuda: %s\n", version, error, map->l_name, link);
  fflush(stdout);
  if (argc > 1) pause();
  return 0;
}
"""


def runtime(release: str) -> pathlib.Path:
    """NVIDIA's library of that release, in the cache."""
    number, digest = RUNTIMES[release]
    cache = pathlib.Path(os.environ.get("GANTRY_CACHE") or pathlib.Path.home() / ".cache/gantry") / "cuda" / release
    cache.mkdir(parents=True, exist_ok=True)
    kept = cache / "libcudart.so"
    with open(cache / ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            with tempfile.TemporaryDirectory(dir=cache) as work:
                subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                                "--only-binary=:all:", "--dest", work, f"{PACKAGE}=={release}.{number}"], check=True)
                with zipfile.ZipFile(next(pathlib.Path(work).glob("*.whl"))) as wheel:
                    (cache / "libcudart.so.part").write_bytes(wheel.read(LIBRARY))
            (cache / "libcudart.so.part").replace(kept)
    assert hashlib.sha256(kept.read_bytes()).hexdigest() == digest
    return kept


def with_libraries(root: pathlib.Path, *programs: pathlib.Path) -> None:
    """What a program is linked with, where it is looked for; nothing for one that is static."""
    for program in programs:
        linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
        for word in filter(lambda word: word.startswith("/"), linked.split()):
            target = root / word[1:]
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(word, target)


def image(root: pathlib.Path, release: str, lent: pathlib.Path) -> pathlib.Path:
    """CUDA and nothing else, as NVIDIA's images lay it out."""
    cuda = root / f"usr/local/cuda-{release}"
    lib = cuda / "targets/x86_64-linux/lib"
    lib.mkdir(parents=True)
    library = lib / f"libcudart.so.{release}.{RUNTIMES[release][0]}"
    shutil.copy(runtime(release), library)
    (lib / "libcudart.so.12").symlink_to(library.name)
    (cuda / "lib64").symlink_to(f"/usr/local/cuda-{release}/targets/x86_64-linux/lib")
    (cuda / "bin").mkdir()
    (cuda / "bin/nvcc").write_text("#!/bin/sh\n")
    (cuda / "bin/nvcc").chmod(0o755)
    (root / "usr/local/cuda").symlink_to("/etc/alternatives/cuda")
    (root / "etc/alternatives").mkdir(parents=True)
    (root / "etc/alternatives/cuda").symlink_to(f"/usr/local/cuda-{release}")
    (root / "lent").mkdir()
    (root / CUDA).mkdir(parents=True)
    with_libraries(root, lent)  # a build for tests is not static
    return root


class Node:
    """A host with our container toolkit, on which containers run."""

    def __init__(self, host: Host, folder: pathlib.Path):
        self.host, self.count, self.folder = host, 0, folder
        self.programs = host.programs
        (host.path / "sys/fs/cgroup").mkdir(parents=True)
        assert host.run("mount", "--rbind", "/sys/fs/cgroup", host.path / "sys/fs/cgroup").returncode == 0
        ours = (self.programs / "gantry-runtime").resolve().parent
        with_libraries(host.path, ours / "gantry-runtime")
        installed = host.install()
        assert installed.returncode == 0, installed.stderr
        (host.path / "hook").mkdir()
        subprocess.run(["gcc", "-static", "-xc", "-", "-o", f"{host.path}{HOOK}"], input=HOOK_SOURCE.encode(), check=True)
        (host.path / CUDA).mkdir(parents=True)
        (host.path / "lent").mkdir()
        lent = host.run(self.programs / "gantry", "cuda-toolkit", f"--lend={host.path}/lent", f"--source-root={ours}")
        assert lent.returncode == 0, lent.stderr
        self.images = host.path / "images"
        for release in RUNTIMES:
            image(self.images / release, release, host.path / "lent/gantry-cuda")

    def ctr(self, *words) -> subprocess.CompletedProcess:
        return self.host.run("chroot", self.host.path, "/usr/local/bin/ctr", *words)

    def container(self, rootfs: str, *words, flags=()) -> subprocess.CompletedProcess:
        self.count += 1
        return self.ctr("run", "--rm", *flags, "--rootfs", rootfs, f"c{self.count}", *words)

    def copy(self, release: str, wanted: str = "") -> subprocess.CompletedProcess:
        """As the init container does it, in the image."""
        mounts = [f"--mount=type=bind,src=/{CUDA},dst=/{CUDA},options=rbind:rw",
                  "--mount=type=bind,src=/lent,dst=/lent,options=rbind:ro",
                  "--env=ASAN_OPTIONS=detect_leaks=0"]
        return self.container(f"/images/{release}", "/lent/gantry-cuda", f"--version={wanted or release}", "--from=/",
                              f"--to=/{CUDA}", flags=mounts)

    @contextlib.contextmanager
    def operand(self, release: str):
        root = self.host.path
        process = self.host.enter(
            self.programs / "gantry", "cuda-toolkit", f"--cuda-version={release}", f"--cuda-root={root}/{CUDA}",
            f"--host-cuda-root=/{CUDA}", f"--cdi-dir={root}/run/cdi", f"--nvidia-cdi-hook-path={HOOK}", "--rest-seconds=1",
            stderr=subprocess.PIPE)
        try:
            self.host.wait(lambda: self.devices().get("default") == f"/opt/nvidia/cuda-{release}"
                           or process.poll() is not None, "the document")
            yield process
        finally:
            # With the document of a test before, all this can be sooner than the program is.
            words = ("pkill", "-TERM", "-f", f"cuda-version={release} --cuda-root={root}/")
            self.host.wait(lambda: self.host.run(*words).returncode == 0 or process.poll() is not None, "the program")
            process.wait(10)
            print(process.stderr.read())  # shown with a test that failed

    def devices(self) -> dict[str, str]:
        """What the document names, and where a container gets each."""
        try:
            document = json.loads(self.host.see(DOCUMENT).read_text())
        except FileNotFoundError:
            return {}
        return {device["name"]: device["containerEdits"]["mounts"][0]["containerPath"] for device in document["devices"]}

    def copies(self) -> list[str]:
        return sorted(name.split("-")[0] for name in os.listdir(self.host.path / CUDA / "versions"))


@pytest.fixture(scope="module", name="node")
def fixture_node(tmp_path_factory):
    folder = tmp_path_factory.mktemp("n")
    host = Host(folder / "host", toolkit_host.programs(folder / "programs"), None)
    try:
        node = Node(host, folder)
        probe = host.path / "rootfs/probe"
        (host.path / "rootfs/etc").mkdir(parents=True)
        subprocess.run(["gcc", "-xc", "-", "-o", probe, "-ldl"], input=PROBE.encode(), check=True)
        with_libraries(host.path / "rootfs", probe, runtime("12.4"))
        yield node
    finally:
        host.close()


def rootfs(node: Node, name: str) -> pathlib.Path:
    """A fresh file system of a container that has the probe and no CUDA."""
    shutil.copytree(node.host.path / "rootfs", node.host.path / name, symlinks=True)
    return node.host.path / name


def test_releases_come_out_of_images_side_by_side_and_go(node):
    for _ in range(2):  # the second time there is nothing to copy
        copied = node.copy("12.2")
        assert copied.returncode == 0, copied.stderr
    assert "is there already" in copied.stderr
    with node.operand("12.2"):
        assert list(node.devices()) == ["12.2", "default"]
        rootfs(node, "long")
        running = node.host.enter("chroot", node.host.path, "/usr/local/bin/ctr", "run", "--rm", "--device", "nvidia.com/cuda=12.2",
                                  "--rootfs", "/long", "running", "/probe", "stay", stdout=subprocess.PIPE)
        assert running.stdout.readline() == ("12020; out of memory; /opt/nvidia/cuda-12.2/lib64/libcudart.so.12; "
                                             "/usr/local/cuda: cuda-12.2\n")
    # The policy names another; the container keeps what it has, and both can be had.
    assert node.copy("12.4").returncode == 0
    with node.operand("12.4"):
        assert list(node.devices()) == ["12.2", "12.4", "default"]
        for device, version in (("12.2", "12020"), ("12.4", "12040"), ("default", "12040")):
            rootfs(node, f"fresh-{device}")
            said = node.container(f"/fresh-{device}", "/probe", flags=["--device", f"nvidia.com/cuda={device}"])
            assert said.stdout.startswith(f"{version}; out of memory; /opt/nvidia/cuda-12."), (
                f"{said.returncode}: {said.stdout}{said.stderr}")
        assert node.copies() == ["12.2", "12.4"]
        assert node.ctr("task", "kill", "--signal", "SIGKILL", "running").returncode == 0
        running.wait(20)
        node.host.wait(lambda: list(node.devices()) == ["12.4", "default"], "12.2 is no longer offered")
        node.host.wait(lambda: node.copies() == ["12.4"], "12.2 is gone")
        # What others take away is put back.
        node.host.see(DOCUMENT).unlink()
        node.host.wait(lambda: list(node.devices()) == ["12.4", "default"], "the document again")


def test_a_cuda_that_the_image_has_stays(node):
    assert node.copy("12.4").returncode == 0
    own = rootfs(node, "own")
    (own / "usr/local/cuda-12.4").mkdir(parents=True)
    (own / "usr/local/cuda").symlink_to("cuda-12.4")
    shutil.copy(runtime("12.2"), own / "usr/local/cuda-12.4/libcudart.so.12")
    (own / "etc/ld.so.conf").write_text("/usr/local/cuda-12.4\n")
    subprocess.run(["/sbin/ldconfig", "-r", own], check=True)
    with node.operand("12.4"):
        said = node.container("/own", "/probe", flags=["--device", "nvidia.com/cuda=default"])
    assert said.stdout == "12020; out of memory; /usr/local/cuda-12.4/libcudart.so.12; /usr/local/cuda: cuda-12.4\n", said


def test_what_is_not_the_version_is_named(node):
    wrong = node.copy("12.2", wanted="11.4")
    assert wrong.returncode == 1
    assert "it is CUDA 12.2, not 11.4" in wrong.stderr


def test_host_cleanup_takes_all_of_it(node):
    assert node.copy("12.4").returncode == 0
    with node.operand("12.4"):
        pass
    cleaned = node.host.clean()
    assert cleaned.returncode == 0, cleaned.stderr
    assert not node.host.see(DOCUMENT).exists() and not (node.host.path / "var/lib/nvidia").exists()
