# SPDX-License-Identifier: Apache-2.0
"""Whose program runs the hooks of a CDI document: Gantry's, or that of NVIDIA's Container Toolkit. A real containerd
reads the document with its own CDI library, and a real runc calls the program.
"""

import json
import os
import pathlib
import shutil
import subprocess

import pytest
from test_container_toolkit import fixture_make_host, mount_cgroups, programs  # noqa: F401: fixtures
from toolkit_host import DRIVER, LIBRARIES, Host

import build
import components

THEIRS = {next(iter(module.requires.values())): module for module in components.NVIDIA_TOOLKITS}
INFORMATION = """Model: Tesla T4
GPU UUID: GPU-5f0e
Bus Location: 0000:01:00.0
Device Minor: 0
"""


def put_program(host: Host, maker: str, name: str) -> str:
    """Gantry's program, or that of a version of NVIDIA's; its path on the host."""
    source = host.programs / "gantry-ctk" if maker == "gantry" else build.module(THEIRS[maker]) / "bin" / name
    target = host.path / "usr/bin" / name
    target.unlink(missing_ok=True)
    shutil.copy(source, target)
    return f"/usr/bin/{name}"


@pytest.fixture(name="host")
def fixture_host(make_host):
    host = make_host()
    mount_cgroups(host)
    for name, text in (("version", f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {DRIVER}  Tue\n"),
                       ("params", "ModifyDeviceFiles: 1\n"), ("gpus/0000:01:00.0/information", INFORMATION)):
        path = host.path / "opt/proc/nvidia" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert host.run("mount", "--bind", host.path / "opt/proc", host.path / "proc/driver").returncode == 0
    (host.path / "sbin").mkdir(exist_ok=True)
    shutil.copy("/sbin/ldconfig", host.path / "sbin/ldconfig")
    shutil.copy(host.programs / "gantry-ctk", host.path / "opt/nvidia-ctk")
    return host


def generate(host: Host, program: str, *words) -> dict:
    """The document that a program of the host makes."""
    (host.path / "etc/cdi").mkdir(exist_ok=True)
    made = host.run("chroot", host.path, program, "cdi", "generate", "--output=/etc/cdi/nvidia.json", *words)
    assert made.returncode == 0, made.stderr
    return json.loads(host.see("etc/cdi/nvidia.json").read_text())


def start(host: Host, device: str) -> tuple[str, pathlib.Path]:
    """What `ldconfig -p` says in a container with that device, and the container's root."""
    rootfs = host.path / f"tmp/rootfs{len(os.listdir(host.path / 'tmp'))}"
    for folder in ("sbin", "etc", "usr/lib", "usr/bin", "dev", "proc", "sys", "run", "tmp"):
        (rootfs / folder).mkdir(parents=True)
    shutil.copy("/sbin/ldconfig", rootfs / "sbin/ldconfig")
    subprocess.run(["/sbin/ldconfig", "-r", rootfs], check=True)
    ran = host.run("chroot", host.path, "/usr/local/bin/ctr", "run", "--rm", "--rootfs", f"--device={device}",
                   f"/tmp/{rootfs.name}", rootfs.name, "/sbin/ldconfig", "-p")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout, rootfs / LIBRARIES


@pytest.mark.parametrize("name", ["nvidia-ctk", "nvidia-cdi-hook"])
@pytest.mark.parametrize("maker", ["gantry", *THEIRS])
def test_a_document_of_gantrys_is_for_the_program_of_the_node(host, maker, name):
    program = put_program(host, maker, name)
    document = generate(host, "/opt/nvidia-ctk", f"--nvidia-cdi-hook-path={program}")
    assert len(document["containerEdits"]["hooks"]) == (1 if maker == "gantry" else 3)
    for device in ("0", "all"):
        listed, folder = start(host, f"nvidia.com/gpu={device}")
        for library in ("libcuda.so", "libnvidia-ml.so"):
            assert os.readlink(folder / f"{library}.1") == f"{library}.{DRIVER}"
            assert f"{library}.1 (libc6,x86-64) => /{LIBRARIES}/{library}.1" in listed, listed


@pytest.mark.parametrize("maker", ["gantry", *THEIRS])
def test_without_the_cache_the_links_are_there(host, maker):
    program = put_program(host, maker, "nvidia-ctk")
    generate(host, "/opt/nvidia-ctk", f"--nvidia-cdi-hook-path={program}", "--disable-hook=update-ldcache")
    listed, folder = start(host, "nvidia.com/gpu=0")
    assert os.readlink(folder / "libcuda.so.1") == f"libcuda.so.{DRIVER}"
    assert "libcuda" not in listed


@pytest.mark.parametrize("maker", THEIRS)
def test_a_document_of_nvidias_is_for_gantrys_program_too(host, maker):
    put_program(host, maker, "nvidia-ctk")
    hook = put_program(host, "gantry", "nvidia-cdi-hook")
    for library in (host.path / LIBRARIES).glob("libnvidia-ml.so*"):
        library.unlink()  # it has nothing of NVML; the version is in libcuda's name too
    document = generate(host, "/usr/bin/nvidia-ctk", "--mode=management", f"--nvidia-cdi-hook-path={hook}")
    assert {h["path"] for h in document["containerEdits"]["hooks"]} == {hook}
    listed, folder = start(host, f"{document['kind']}=all")
    assert os.readlink(folder / "libcuda.so.1") == f"libcuda.so.{DRIVER}"
    assert f"libcuda.so.1 (libc6,x86-64) => /{LIBRARIES}/libcuda.so.1" in listed, listed


def test_two_documents_with_one_device_are_no_device_for_containerd_and_for_us(host):
    program = put_program(host, "gantry", "nvidia-ctk")
    generate(host, "/opt/nvidia-ctk", f"--nvidia-cdi-hook-path={program}")
    start(host, "nvidia.com/gpu=0")
    shutil.copy(host.path / "etc/cdi/nvidia.json", host.path / "etc/cdi/once-more.json")
    with pytest.raises(AssertionError, match="unresolvable CDI devices nvidia.com/gpu=0"):
        start(host, "nvidia.com/gpu=0")
    told = host.run("chroot", host.path, "/opt/nvidia-ctk", "cdi", "list")
    assert told.returncode == 0 and "nvidia.com/gpu=0\n" not in told.stdout
    assert "/etc/cdi/nvidia.json" in told.stderr and "/etc/cdi/once-more.json" in told.stderr
