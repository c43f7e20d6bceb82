# SPDX-License-Identifier: Apache-2.0
"""Which of containerd's files count, and which program containerd then calls with which options: asked of the
engine itself, by sandboxes whose programs write down how they were called. With the oldest containerd of the
matrix and with the test bed's.
"""

import os
import random
import shutil
import subprocess

import cri
import pytest
import toolkit_host
from toolkit_host import DROP_IN, HANDLERS, ROOT, Host, Layout

import components
import oci

OLDEST = components.CONTAINERD_MATRIX[0]
VERSIONS = [pytest.param(OLDEST, id="oldest", marks=pytest.mark.skipif(
    "GANTRY_BED_BIN" in os.environ, reason="there is one containerd")), pytest.param("", id="bed")]

# Writes down its own name and words; no container is ever made.
CALLED = '#!/bin/sh\necho "$0 $*" >> /tmp/called\nexit 1\n'
PROVIDERS = "/usr/bin/nvidia-container-runtime"
TOOLKITS = "/usr/local/nvidia/toolkit/nvidia-container-runtime"

HEAD = """version = 2
imports = ["/etc/containerd/conf.d/*.toml"]
disabled_plugins = ["io.containerd.internal.v1.opt"]
[plugins."io.containerd.grpc.v1.cri"]
restrict_oom_score_adj = true
sandbox_image = "localhost/pause:1"
"""
RUNTIMES = 'plugins."io.containerd.grpc.v1.cri".containerd'
AKS = f"""{HEAD}[{RUNTIMES}]
default_runtime_name = "nvidia-container-runtime"
[{RUNTIMES}.runtimes.nvidia-container-runtime]
runtime_type = "io.containerd.runc.v2"
[{RUNTIMES}.runtimes.nvidia-container-runtime.options]
BinaryName = "{PROVIDERS}"
SystemdCgroup = true
"""
KUBESPRAY = f"""{HEAD}[{RUNTIMES}.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[{RUNTIMES}.runtimes.runc.options]
systemdCgroup = true
binaryName = "/usr/local/bin/runc"
"""


@pytest.fixture(name="start")
def fixture_start(tmp_path_factory):
    hosts = []
    tmp_path = tmp_path_factory.mktemp("e")  # short: the path of a socket has 107 bytes at most

    def start(version: str, config: str, layout: Layout = Layout(), files=()) -> Host:
        path = tmp_path / f"h{len(hosts)}"
        for name in files:
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_text(files[name])
        hosts.append(Host(path, toolkit_host.programs(tmp_path / f"p{len(hosts)}", version), config, layout))
        return hosts[-1]

    yield start
    for host in hosts:
        host.close()


def load_pause(host: Host, folder) -> cri.Cri:
    program = folder / "pause"
    subprocess.run(["gcc", "-static", "-o", program, ROOT / "testbed/cluster/pause.c"], check=True)
    oci.write_archive(host.path / "tmp/pause.tar", "localhost/pause:1", [oci.Entry("pause", source=program)],
                      oci.Config(entrypoint=("/pause",)), False)
    loaded = host.run("chroot", host.path, "/usr/local/bin/ctr", "-n", "k8s.io", "images", "import", "/tmp/pause.tar")
    assert loaded.returncode == 0, loaded.stderr
    interface = cri.Cri(host.see("run/containerd/containerd.sock"))
    host.wait(lambda: interface.has_image("localhost/pause:1"), "the image")
    return interface


def called(host: Host, interface: cri.Cri, handler: str) -> str:
    """The program that containerd calls for a sandbox of a handler, with its words."""
    log = host.see("tmp/called")
    log.unlink(missing_ok=True)
    with pytest.raises(cri.Refused):
        cri.Pod(interface, f"pod-{handler}-{random.randrange(10**9)}", "localhost/pause:1", "/gantry.slice", handler)
    assert log.exists(), (host.path / "containerd.log").read_text()[-2000:]
    return log.read_text().splitlines()[0]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("config", [pytest.param(AKS, id="nct28-the-default-is-NVIDIAs"),
                                    pytest.param(KUBESPRAY, id="op1374-lower-case-options")])
def test_containerd_calls_our_program_with_the_default_runtimes_options(start, tmp_path, version, config):
    host = start(version, config)
    for name in ("hosts", "resolv.conf"):
        (host.path / "etc" / name).touch()
    (host.path / "bin").mkdir()
    shutil.copy("/bin/busybox", host.path / "bin/sh")
    installed = host.install()
    assert installed.returncode == 0, installed.stderr
    interface = load_pause(host, tmp_path)
    programs = {"nvidia": TOOLKITS, "nvidia-cdi": f"{TOOLKITS}.cdi", "nvidia-legacy": f"{TOOLKITS}.legacy"}
    for path in (*programs.values(), PROVIDERS, "/usr/local/bin/runc"):
        host.see(path[1:]).unlink(missing_ok=True)
        host.see(path[1:]).write_text(CALLED)
        host.see(path[1:]).chmod(0o755)
    for handler in HANDLERS:
        words = called(host, interface, handler).split()
        assert words[0] == programs[handler]
        assert "--systemd-cgroup" in words, "as the node's default runtime"
    assert called(host, interface, "").split()[0] == (PROVIDERS if config == AKS else "/usr/local/bin/runc")


CNI = """version = 2
imports = ["/etc/containerd/conf.d/*.toml"]
disabled_plugins = ["io.containerd.internal.v1.opt"]
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/home/provider/bin"
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_nct1222_an_imported_file_is_not_taken_for_the_root_file(start, version):
    host = start(version, CNI)
    before = host.snapshot()
    installed = host.install("--config=/etc/containerd/conf.d/nvidia.toml")
    assert installed.returncode == 0, installed.stderr
    assert host.handlers() == list(HANDLERS)
    assert "/home/provider/bin" in host.dump()
    assert host.see(DROP_IN).exists()
    assert not host.see("etc/containerd/conf.d/nvidia.toml").exists()
    assert host.see("etc/containerd/config.toml").read_text() == CNI
    assert host.clean().returncode == 0
    assert host.snapshot() == before


def test_a_file_that_containerd_does_not_read_is_refused_with_both_paths(start):
    host = start("", CNI)
    before = {path: found for path, found in host.snapshot().items() if path.startswith("/etc")}
    refused = host.install("--config=/etc/containerd/other.toml")
    assert refused.returncode == 1
    assert "/etc/containerd/other.toml" in refused.stderr and "/etc/containerd/config.toml" in refused.stderr
    assert {path: found for path, found in host.snapshot().items() if path.startswith("/etc")} == before
    assert host.restarts() == 0


K0S = "# k0s_managed=true\nversion = 3\nimports = [\"/run/k0s/containerd-cri.toml\"]\n"
K0S_CRI = "version = 3\n[plugins.'io.containerd.cri.v1.runtime']\nrestrict_oom_score_adj = true\n"
K0S_LAYOUT = Layout(
    root="etc/k0s/containerd.toml", drop_in="etc/k0s/containerd.d/99-nvidia.toml", program="var/lib/k0s/bin/containerd",
    words=("--config=/etc/k0s/containerd.toml --root=/var/lib/k0s/containerd --state=/run/k0s/containerd "
           "--address=/run/k0s/containerd.sock"),
    socket="run/k0s/containerd.sock",
    before_start="mkdir -p run/k0s etc/k0s/containerd.d; cp cri.toml run/k0s/containerd-cri.toml; "
                 "for f in etc/k0s/containerd.d/*.toml; do "
                 "[ -e $f ] && grep -v '^version' $f >> run/k0s/containerd-cri.toml; done; true")


@pytest.mark.parametrize("asked", ["", "/etc/k0s/containerd.d/nvidia.toml", "/etc/containerd/config.toml"])
def test_nct803_k0s_merges_its_folder_whatever_file_is_named(start, asked):
    host = start("", K0S, K0S_LAYOUT, files={"cri.toml": K0S_CRI})
    # k0s itself restarts containerd when that folder changes.
    k0s = f"until [ -e {host.path}/{K0S_LAYOUT.drop_in} ]; do sleep 0.05; done; sleep 0.2; pkill -HUP -x containerd"
    with host.kubelet("kubelet", "--container-runtime-endpoint=unix:///run/k0s/containerd.sock"), \
            host.enter("bash", "-c", k0s) as restarting:
        try:
            installed = host.install(*([f"--config={asked}"] if asked else []))
        finally:
            restarting.kill()
    assert installed.returncode == 0, installed.stderr
    assert host.see(K0S_LAYOUT.drop_in).exists()
    assert host.see("etc/k0s/containerd.toml").read_text() == K0S
    assert sorted(path.name for path in host.see("etc/k0s/containerd.d").iterdir()) == ["99-nvidia.toml"]
    assert all(f"runtimes.{name}.options]" in host.see("run/k0s/containerd-cri.toml").read_text() for name in HANDLERS)


@pytest.mark.parametrize(("version", "config"), [
    pytest.param(OLDEST, 'disabled_plugins = ["cri"]\n', id="docker-package", marks=pytest.mark.skipif(
        "GANTRY_BED_BIN" in os.environ, reason="there is one containerd")),
    pytest.param("", 'version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n', id="bed")])
def test_nct1430_a_containerd_without_its_cri_is_left_alone_and_named(start, version, config):
    host = start(version, config)
    before = host.snapshot()
    installed = host.install()
    assert installed.returncode == 1
    assert "disabled_plugins" in installed.stderr and "/etc/containerd/config.toml" in installed.stderr
    assert host.restarts() == 0
    assert host.see("etc/containerd/config.toml").read_text() == config
    assert not host.see(DROP_IN).exists()
    assert host.clean().returncode == 0
    assert host.snapshot() == before
