# SPDX-License-Identifier: Apache-2.0
"""The container toolkit on a host with a real containerd and runc: installed, kept right, killed,
refused, rolled back, removed.
"""

import concurrent.futures
import dataclasses
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

import cri
import pytest
import toolkit_host
from toolkit_host import DRIVER, DROP_IN, HANDLERS, LIBRARIES, ROOT, Host, Layout

import oci

CONFIGS = {
    "schema 3": """version = 3
# the platform team's
root = '/var/lib/containerd'
disabled_plugins = ['io.containerd.internal.v1.opt']
[plugins.'io.containerd.cri.v1.runtime']
restrict_oom_score_adj = true  # kept
""",
    "schema 2 with imports": """version = 2
imports = ["/etc/containerd/extra*.toml"]
disabled_plugins = ["io.containerd.internal.v1.opt"]
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/home/provider/bin"
""",
    "schema 1": """disabled_plugins = ["io.containerd.internal.v1.opt"]
[plugins.cri.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
""",
    "none": None,
}


@pytest.fixture(scope="session")
def programs(tmp_path_factory) -> pathlib.Path:
    return toolkit_host.programs(tmp_path_factory.mktemp("programs"))


@pytest.fixture(name="make_host")
def fixture_make_host(tmp_path_factory, programs):
    hosts = []
    tmp_path = tmp_path_factory.mktemp("h")  # short: the path of a socket has 107 bytes at most

    def make(config: str | None = CONFIGS["schema 3"], layout: Layout = Layout(), files=()) -> Host:
        path = tmp_path / f"host{len(hosts)}"
        for name in files:
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_text(files[name])
        hosts.append(Host(path, programs, config, layout))
        return hosts[-1]

    yield make
    for host in hosts:
        host.close()


@pytest.mark.parametrize("config", CONFIGS, ids=lambda name: name.replace(" ", "-"))
def test_installed_and_removed_without_a_trace(make_host, config):
    host = make_host(CONFIGS[config])
    before = host.snapshot()
    installed = host.install()
    assert installed.returncode == 0, installed.stderr
    assert host.handlers() == list(HANDLERS)
    assert host.restarts() == 1
    document = json.loads(host.see("run/cdi/management.nvidia.com-gpu.yaml").read_text())
    nodes = document["devices"][0]["containerEdits"]["deviceNodes"]
    assert {"path": "/dev/nvidia1"} in nodes
    hook = host.run("chroot", host.path, "/usr/local/nvidia/toolkit/nvidia-cdi-hook", "--version")
    assert hook.returncode == 0

    cleaned = host.clean()
    assert cleaned.returncode == 0, cleaned.stderr
    assert host.snapshot() == before
    assert host.handlers() == []
    assert host.restarts() == 2
    assert (host.path / "tmp/clean").exists()
    assert host.clean().returncode == 0
    assert host.restarts() == 2


def test_op594_fifty_restarts_write_nothing_and_restart_nothing(make_host):
    host = make_host()
    assert host.install().returncode == 0
    before = host.snapshot(times=True)
    for _ in range(50):
        assert host.install().returncode == 0
    assert host.snapshot(times=True) == before
    assert host.restarts() == 1


def test_the_nri_plugin_is_taken_by_containerd_and_by_the_next_one(make_host):
    host = make_host()
    log = host.path / "containerd.log"
    root = host.see("etc/containerd/config.toml").read_text()

    def taken() -> int:
        return sum("10-nvidia-container-toolkit" in line and "connected and synchronized" in line
                   for line in log.read_text().splitlines())

    with host.daemon("--enable-nri-plugin", "--nri-namespace=gpu-operator"):
        host.wait(lambda: taken() == 1, "containerd's plugin")
        host.run("pkill", "-TERM", "-x", "containerd")
        host.wait(lambda: taken() == 2, "the next containerd's plugin")
    assert host.restarts() == 1, "the toolkit itself restarts nothing"
    assert host.see("etc/containerd/config.toml").read_text() == root
    assert not host.see(DROP_IN).exists()


def test_drift_is_put_right_without_a_restart(make_host):
    host = make_host()

    def remove(folder):
        # In one step: what is deleted file by file comes back meanwhile.
        folder.rename(host.see("removed"))
        shutil.rmtree(host.see("removed"))

    with host.daemon() as daemon:
        host.wait(lambda: host.restarts() > 0 and host.answers() and host.handlers(), "install")
        host.wait(lambda: "the host has" in daemon.stderr.readline(), "the toolkit")
        wanted = host.snapshot()
        harm = {
            DROP_IN: lambda path: path.write_text("version = 3\n"),
            "usr/local/nvidia/toolkit/nvidia-cdi-hook": lambda path: path.chmod(0),
            "usr/local/nvidia/toolkit/nvidia-ctk": os.unlink,
            "run/cdi/management.nvidia.com-gpu.yaml": os.unlink,
            "etc/containerd/conf.d": remove,
            "usr/local/nvidia": remove,
        }
        for path, act in harm.items():
            time.sleep(0.3)  # what it does about its own writes could hide that it missed this one
            act(host.see(path))
            host.wait(lambda: host.snapshot() == wanted, f"repair of {path}", 5)
        for times in range(12):
            host.see(DROP_IN).write_text("version = 3\n")
            host.wait(lambda: host.snapshot() == wanted, f"repair {times} of the drop-in", 5)
        assert host.restarts() == 1
        host.run("pkill", "-TERM", "-f", "nvidia-ctk-installer --host-root")
        assert daemon.wait(10) == 0
    pid_file = "/run/nvidia/toolkit/toolkit.pid"
    assert pid_file in wanted
    assert host.snapshot() == {p: v for p, v in wanted.items() if p != pid_file}


def test_the_owners_edit_of_the_root_file_is_kept(make_host):
    host = make_host()
    before = CONFIGS["schema 3"]
    assert host.install().returncode == 0
    root = host.see("etc/containerd/config.toml")
    root.write_text(root.read_text() + "# added later\n")
    assert host.install().returncode == 0
    assert root.read_text().endswith("# added later\n")
    root.write_text(before + "# written anew by a configuration management\n")
    assert host.install().returncode == 0
    assert host.handlers() == list(HANDLERS)
    assert host.clean().returncode == 0
    assert root.read_text() == before + "# written anew by a configuration management\n"


def test_a_broken_root_file_is_left_alone(make_host):
    host = make_host()
    root = host.path / "etc/containerd/config.toml"
    root.write_text(CONFIGS["schema 3"] + "[plugins\n")
    before = root.read_text()
    installed = host.install()
    assert installed.returncode == 1
    assert "line 7" in installed.stderr
    assert root.read_text() == before
    assert not (host.path / DROP_IN).exists()
    assert host.restarts() == 0
    assert "line 7" in failure(host)["MESSAGE"]
    assert failure(host)["SERVES"] == "false"


def failure(host: Host) -> dict[str, str]:
    """What the validator is told of the container runtime; empty: all is well."""
    file = host.see("run/nvidia/validations/.toolkit-failed")
    return dict(line.partition("=")[::2] for line in file.read_text().splitlines()) if file.exists() else {}


def test_an_engine_that_has_to_be_restarted_by_others_is_not_ready(make_host):
    host = make_host()
    asked = host.install("--restart-mode=none")
    assert asked.returncode == 0, asked.stderr
    assert host.restarts() == 0
    told = failure(host)
    assert (told["SERVES"], told["NEEDS_RESTART"]) == ("false", "true")
    assert "containerd has not read its new configuration" in told["MESSAGE"]
    assert host.install().returncode == 0
    assert host.restarts() == 1
    assert not failure(host)


def test_what_breaks_later_takes_nothing_from_the_node(make_host):
    host = make_host()
    before = host.snapshot()
    root = host.see("etc/containerd/config.toml")
    assert host.install().returncode == 0
    assert not failure(host)
    whole = root.read_text()
    root.write_text(whole + "[plugins\n")
    assert host.install().returncode == 1
    assert failure(host)["SERVES"] == "true", "containerd answers, with the handlers"
    root.write_text(whole)
    assert host.install().returncode == 0
    assert not failure(host)
    assert host.clean().returncode == 0
    assert host.snapshot() == before
    root.write_text(CONFIGS["schema 3"] + "[plugins\n")
    assert host.install().returncode == 1
    assert failure(host)["SERVES"] == "false", "it has none any more"


def test_a_drop_in_that_moves_leaves_nothing_behind(make_host):
    host = make_host()
    before = host.snapshot()
    assert host.install("--drop-in-config=/etc/containerd/a/nvidia.toml").returncode == 0
    moved = host.install("--drop-in-config=/etc/containerd/b/nvidia.toml")
    assert moved.returncode == 0, moved.stderr
    assert host.handlers() == list(HANDLERS)
    assert not host.see("etc/containerd/a").exists()
    assert "/etc/containerd/a/" not in host.see("etc/containerd/config.toml").read_text()
    assert host.restarts() == 1, "it runs with the same as before"
    assert host.clean().returncode == 0
    assert host.snapshot() == before


@pytest.mark.parametrize("words", [("--no-runtime-config",),
                                   ("--enable-nri-plugin", "--nri-namespace=gpu-operator")], ids=["none", "nri"])
def test_a_runtime_that_is_to_be_left_alone_gets_its_own_files_back(make_host, words):
    host = make_host()
    assert host.install("--set-as-default").returncode == 0
    assert host.handlers() == list(HANDLERS)
    with host.daemon(*words):
        host.wait(lambda: host.restarts() == 2 and host.answers(), "containerd without them")
        host.wait(lambda: "runtime-serves" not in host.see("var/lib/nvidia-gpu-operator/journal.json").read_text(),
                  "the toolkit")
    assert host.handlers() == []
    assert host.see("etc/containerd/config.toml").read_text() == CONFIGS["schema 3"]
    assert not host.see(DROP_IN).exists()
    assert host.see("usr/local/nvidia/toolkit/nvidia-ctk").exists()


def test_a_configuration_that_containerd_refuses_is_not_put_in_place(make_host):
    # It is TOML, so only containerd itself can tell that it will not start with it.
    host = make_host()
    root = host.path / "etc/containerd/config.toml"
    root.write_text(CONFIGS["schema 3"].replace("version = 3", "version = 99"))
    before = host.snapshot()
    installed = host.install()
    assert installed.returncode == 1
    assert "99" in installed.stderr
    assert host.restarts() == 0
    after = host.snapshot()
    assert {p: v for p, v in after.items() if p.startswith("/etc")} == {
        p: v for p, v in before.items() if p.startswith("/etc")}


def test_a_runtime_that_does_not_come_back_gets_its_old_files(make_host):
    host = make_host()
    (host.path / "refuse").touch()
    before = host.snapshot()
    start = time.monotonic()
    installed = host.install()
    took = time.monotonic() - start
    assert installed.returncode == 1
    assert "taken back" in installed.stderr
    assert took < 10
    host.wait(host.answers, "containerd with its old files", 2)
    after = host.snapshot()
    assert {p: v for p, v in after.items() if p.startswith("/etc")} == {
        p: v for p, v in before.items() if p.startswith("/etc")}
    restarts = host.restarts()
    assert "before" in host.install().stderr  # not tried again and again
    assert host.restarts() == restarts


def test_killed_at_any_moment(make_host):
    host = make_host()
    before = host.snapshot()
    moments = random.Random(7)
    for _ in range(25):
        with host.enter(*host.toolkit_words("--no-daemon"), stderr=subprocess.DEVNULL) as process:
            time.sleep(moments.uniform(0, 0.4))
            host.kill_toolkit()
            process.wait(10)
        if moments.random() < 0.3:
            shutil.rmtree(host.see("usr/local/nvidia"), ignore_errors=True)
    host.wait(host.answers, "containerd")
    assert host.install().returncode == 0
    assert host.handlers() == list(HANDLERS)
    assert host.restarts() <= 3
    assert host.clean().returncode == 0
    assert host.snapshot() == before


def test_leftovers_of_other_operands_go(make_host):
    host = make_host()
    assert host.install().returncode == 0
    host.see("run/nvidia/validations/driver-ready").touch()
    host.see("run/nvidia/validations/.driver-ctr-failed").touch()
    host.see("run/nvidia/driver-cache/6.1_535_open_0").mkdir(parents=True)
    host.see("run/nvidia/driver/lib/firmware").mkdir(parents=True)
    host.see("run/nvidia/nvidia-driver.state").touch()
    host.see("run/cdi/k8s.device-plugin.nvidia.com-gpu.json").touch()
    host.see("run/cdi/other.json").touch()
    assert host.clean().returncode == 0
    assert not host.see("run/nvidia").exists()
    assert [p.name for p in host.see("run/cdi").iterdir()] == ["other.json"]


def test_without_inotify_instances_a_good_change_stays(make_host):
    host = make_host()
    installed = host.run(
        "unshare", "--user", "--map-root-user", "bash", "-c",
        'echo 0 > /proc/sys/user/max_inotify_instances && exec "$@"', "toolkit",
        # /proc/<pid>/exe of another user namespace can't be read.
        *host.toolkit_words("--no-daemon", "--executable-path=/usr/local/bin/containerd"))
    assert installed.returncode == 0, installed.stderr
    assert "max_user_instances" in installed.stderr
    assert host.handlers() == list(HANDLERS)
    assert host.restarts() == 1


# --- distributions ---------------------------------------------------------------------------------

K3S = "var/lib/rancher/k3s"
K3S_LAYOUT = Layout(
    root=f"{K3S}/agent/etc/containerd/config.toml",
    drop_in=f"{K3S}/agent/etc/containerd/config-v3.toml.d/99-nvidia.toml",
    program=f"{K3S}/data/0a1b/bin/containerd",
    words=(f"-c /{K3S}/agent/etc/containerd/config.toml -a /run/k3s/containerd/containerd.sock "
           f"--state /run/k3s/containerd --root /{K3S}/agent/containerd"),
    socket="run/k3s/containerd/containerd.sock",
    before_start=f"cp generated.toml {K3S}/agent/etc/containerd/config.toml",
)
K3S_CONFIG = f"""# File generated by k3s. DO NOT EDIT. Use config-v3.toml.tmpl instead.
version = 3
imports = ["/{K3S}/agent/etc/containerd/config-v3.toml.d/*.toml"]
disabled_plugins = ["io.containerd.internal.v1.opt"]
"""


def k3s_host(make_host, config: str, layout: Layout = K3S_LAYOUT) -> Host:
    return make_host(config, layout, files={"generated.toml": config})


def test_k3s_gets_a_file_in_the_folder_that_it_imports(make_host):
    host = k3s_host(make_host, K3S_CONFIG)
    before = host.snapshot()
    with host.kubelet("/usr/local/bin/k3s server"):
        assert host.install().returncode == 0
        assert (host.path / K3S_LAYOUT.drop_in).exists()
        assert (host.path / K3S_LAYOUT.root).read_text() == K3S_CONFIG
        assert host.handlers() == list(HANDLERS)
        assert host.restarts() == 1
        assert host.install().returncode == 0
        assert host.restarts() == 1
        assert host.clean().returncode == 0
    assert host.snapshot() == before


def test_op992_what_rke2_takes_for_its_template_is_never_written(make_host):
    host = k3s_host(make_host, K3S_CONFIG.replace("by k3s", "by rke2"))
    template = f"{K3S_LAYOUT.root}.tmpl"
    with host.kubelet("kubelet", "--container-runtime-endpoint=unix:///run/k3s/containerd/containerd.sock"):
        installed = host.install(f"--config=/{template}")
        assert installed.returncode == 0, installed.stderr
    assert "config.toml.tmpl is a template" in installed.stderr
    assert not (host.path / template).exists()
    assert host.handlers() == list(HANDLERS)


def test_nct982_the_kubelets_containerd_is_configured_and_no_other(make_host):
    host = k3s_host(make_host, K3S_CONFIG)
    with host.kubelet("/usr/local/bin/k3s server"):
        with host.enter("chroot", host.path, "/usr/local/bin/containerd", stderr=subprocess.DEVNULL) as other:
            try:
                host.wait(host.see("run/containerd/containerd.sock").exists, "the other containerd")
                installed = host.install()
                assert installed.returncode == 0, installed.stderr
                assert other.poll() is None
            finally:
                host.run("pkill", "-KILL", "-f", "^/usr/local/bin/containerd")
    assert not host.see("etc/containerd/config.toml").exists()
    assert not host.see(DROP_IN).exists()
    assert (host.path / K3S_LAYOUT.drop_in).exists()


def test_an_older_k3s_is_restarted_once_and_finds_the_toolkit(make_host):
    config = "# File generated by k3s. DO NOT EDIT.\nversion = 2\n"
    runtime = "usr/local/nvidia/toolkit/nvidia-container-runtime"
    found = (f"[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.nvidia]\\n"
             f"runtime_type = 'io.containerd.runc.v2'\\n"
             f"[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.nvidia.options]\\n"
             f"BinaryName = '/{runtime}'\\n")
    layout = dataclasses.replace(
        K3S_LAYOUT, before_start=K3S_LAYOUT.before_start
        + f'\n[ ! -e {runtime} ] || printf "{found}" >> {K3S_LAYOUT.root}\n')
    host = k3s_host(make_host, config, layout)
    with host.kubelet("/usr/local/bin/k3s server"):
        for _ in range(2):
            installed = host.install()
            assert installed.returncode == 0, installed.stderr
            assert host.handlers() == ["nvidia"]
            assert host.restarts() == 1


def test_microk8s_is_edited_in_its_template(make_host):
    args = "var/snap/microk8s/7964/args"
    template = ('version = 2\n# MicroK8s\ndisabled_plugins = ["io.containerd.internal.v1.opt"]\n'
                '[plugins."io.containerd.grpc.v1.cri".cni]\nbin_dir = "${SNAP_DATA}/opt/cni/bin"\n')
    layout = Layout(
        root=f"{args}/containerd.toml", drop_in="var/snap/microk8s/current/args/conf.d/99-nvidia.toml",
        program="snap/microk8s/7964/bin/containerd",
        words=(f"--config /{args}/containerd.toml --address /var/snap/microk8s/common/run/containerd.sock "
               "--state /run/containerd --root /var/lib/containerd"),
        socket="var/snap/microk8s/common/run/containerd.sock",
        before_start=(f"sed 's#${{SNAP_DATA}}#/var/snap/microk8s/7964#' {args}/containerd-template.toml "
                      f"> {args}/containerd.toml"))
    host = make_host(None, dataclasses.replace(layout, before_start=(
        f"mkdir -p {args} var/snap/microk8s/common/run; ln -sfn 7964 var/snap/microk8s/current; "
        f"[ -e {args}/containerd-template.toml ] || cp template.toml {args}/containerd-template.toml; "
        + layout.before_start)), files={"template.toml": template})
    here = host.path / args / "containerd-template.toml"
    assert here.read_text() == template
    with host.kubelet("/snap/microk8s/7964/kubelite"):
        installed = host.install()
        assert installed.returncode == 0, installed.stderr
        assert "# MicroK8s" in here.read_text() and "${SNAP_DATA}/opt/cni/bin" in here.read_text()
        assert host.handlers() == list(HANDLERS)
        assert host.restarts() == 1
        assert host.clean().returncode == 0
    assert here.read_text() == template


# --- what a container gets -------------------------------------------------------------------------


class Bundle:
    """A container in an image with nothing but ldconfig, whose cache knows no driver."""

    def __init__(self, host: Host, environment: list[str], words: list[str], *, privileged=True,
                 mounts: tuple[dict, ...] = (), annotations: dict | None = None):
        self.host = host
        self.name = f"bundle-{random.randrange(10**9)}"
        self.path = host.path / "tmp" / self.name
        rootfs = self.path / "rootfs"
        for folder in ("sbin", "etc", "usr/lib", "dev", "proc", "usr/bin"):
            (rootfs / folder).mkdir(parents=True)
        shutil.copy("/sbin/ldconfig", rootfs / "sbin/ldconfig")
        config = {
            "ociVersion": "1.0.2",
            "process": {"args": words, "cwd": "/", "user": {"uid": 0, "gid": 0},
                        "env": ["PATH=/sbin", *environment],
                        "capabilities": {"bounding": ["CAP_SYS_ADMIN"] if privileged else []}},
            "root": {"path": "rootfs"},
            "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
                       {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"}, *mounts],
            "annotations": annotations or {},
            "linux": {"namespaces": [{"type": t} for t in ("pid", "mount", "ipc", "uts")],
                      "cgroupsPath": f"/{self.name}"},
        }
        (self.path / "config.json").write_text(json.dumps(config))

    def runtime(self, *words) -> subprocess.CompletedProcess:
        program = "/usr/local/nvidia/toolkit/nvidia-container-runtime"
        return self.host.run("chroot", self.host.path, program, "--root", "/tmp/runc", *words)

    def output(self) -> str:
        log = f"/tmp/{self.name}.out"
        shell = (f'chroot {self.host.path} /usr/local/nvidia/toolkit/nvidia-container-runtime '
                 f'--root /tmp/runc create --bundle /tmp/{self.name} {self.name} '
                 f'> {self.host.path}{log} 2>&1')
        try:
            created = self.host.run("bash", "-c", shell)
            text = self.host.path / log[1:]
            if created.returncode != 0:
                return f"create: {text.read_text()}"
            started = self.runtime("start", self.name)
            if started.returncode != 0:
                return f"start: {started.stderr}"

            def ended() -> bool:
                return json.loads(self.runtime("state", self.name).stdout)["status"] == "stopped"

            self.host.wait(ended, "the container's end")
            return text.read_text()
        finally:
            self.runtime("delete", "--force", self.name)


def mount_cgroups(host: Host):
    host.run("mount", "-t", "sysfs", "sysfs", host.path / "sys")
    host.run("mount", "--rbind", "/sys/fs/cgroup", host.path / "sys/fs/cgroup")


def test_a_privileged_container_gets_the_driver_by_its_variable(make_host):
    host = make_host()
    assert host.install().returncode == 0
    mount_cgroups(host)
    bundle = Bundle(host, ["NVIDIA_VISIBLE_DEVICES=all"], ["/sbin/ldconfig", "-p"])
    listed = bundle.output()
    assert f"libcuda.so.1 (libc6,x86-64) => /{LIBRARIES}/libcuda.so.1" in listed, listed
    assert f"libcuda.so (libc6,x86-64) => /{LIBRARIES}/libcuda.so\n" in listed, listed
    link = bundle.path / "rootfs" / LIBRARIES / "libcuda.so.1"
    assert os.readlink(link) == f"libcuda.so.{DRIVER}"
    config = json.loads((bundle.path / "config.json").read_text())
    assert {d["path"] for d in config["linux"]["devices"]} == {
        "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia0", "/dev/nvidia1"}
    assert len(config["hooks"]["createContainer"]) == 1


def test_what_a_container_can_do_without_does_not_end_its_start(make_host):
    """Rights to MIG on a node without it (NVIDIA's device plugin asks for them), nct#2026's read-only folder."""
    host = make_host()
    assert host.install().returncode == 0
    mount_cgroups(host)
    bundle = Bundle(host, ["NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_MIG_MONITOR_DEVICES=all", "NVIDIA_MIG_CONFIG_DEVICES=all"],
                    ["/sbin/ldconfig", "-p"], mounts=(
                        {"destination": "/etc/ld.so.conf.d", "type": "tmpfs", "source": "tmpfs", "options": ["ro"]},))
    listed = bundle.output()
    assert f"libcuda.so.1 (libc6,x86-64) => /{LIBRARIES}/libcuda.so.1" in listed, listed
    assert "nvidia-cap2" in listed, "a warning of the runtime's names it"
    devices = {d["path"] for d in json.loads((bundle.path / "config.json").read_text())["linux"]["devices"]}
    assert "/dev/nvidia0" in devices and not any("caps" in path for path in devices)


def test_annotations_with_cdi_names_are_followed(make_host):
    host = make_host()
    assert host.install().returncode == 0
    mount_cgroups(host)
    bundle = Bundle(host, ["NVIDIA_VISIBLE_DEVICES=0"], ["/sbin/ldconfig", "-p"], privileged=False,
                    annotations={"cdi.k8s.io/x": "runtime.nvidia.com/gpu=1"})
    assert "libcuda.so.1" in bundle.output()
    devices = {d["path"] for d in json.loads((bundle.path / "config.json").read_text())["linux"]["devices"]}
    assert "/dev/nvidia1" in devices and "/dev/nvidia0" not in devices
    unknown = Bundle(host, [], ["/sbin/ldconfig", "-p"], annotations={"cdi.k8s.io/x": "nvidia.com/gpu=7"})
    assert "find device 7: no CDI document of nvidia.com/gpu" in unknown.output()


def test_a_container_gets_the_gpu_that_the_driver_knows_by_its_uuid(make_host):
    host = make_host()
    for library in host.see(LIBRARIES).glob("lib*.so*"):
        if "libcuda" in library.name or "libnvidia-ml" in library.name:
            library.unlink()
    subprocess.run([sys.executable, ROOT / "testbed/fakegpu/fakegpu.py", "install", "--root", host.path, "--profile",
                    ROOT / "testbed/fakegpu/profiles/8xa100-80.yaml", "--node", "component"],
                   check=True, stdout=subprocess.DEVNULL)
    assert host.install().returncode == 0
    gpus = json.loads(host.see("run/nvidia/toolkit/inventory.json").read_text())["gpus"]
    assert len(gpus) == 8
    mount_cgroups(host)
    asks = [f"NVIDIA_VISIBLE_DEVICES={gpus[3]['uuid']}", "NVIDIA_DRIVER_CAPABILITIES=utility"]
    bundle = Bundle(host, [*asks, "NVIDIA_REQUIRE_CUDA=cuda>=12.0,arch>=8.0"], ["/sbin/ldconfig", "-p"])
    listed = bundle.output()
    assert "libnvidia-ml.so.1" in listed, listed
    assert "libcuda.so.1" not in listed, "only utility was asked for"
    config = json.loads((bundle.path / "config.json").read_text())
    assert {d["path"] for d in config["linux"]["devices"]} == {"/dev/nvidiactl", f"/dev/nvidia{gpus[3]['minor']}"}
    refused = Bundle(host, [*asks, "NVIDIA_REQUIRE_ARCH=arch>=9.0"], ["/sbin/ldconfig", "-p"]).output()
    assert "arch 8.0" in refused


def test_an_unprivileged_container_gets_nothing_by_its_variable(make_host):
    host = make_host()
    assert host.install().returncode == 0
    mount_cgroups(host)
    bundle = Bundle(host, ["NVIDIA_VISIBLE_DEVICES=all"], ["/sbin/ldconfig", "--version"],
                    privileged=False)
    before = (bundle.path / "config.json").read_bytes()
    assert "not privileged" in bundle.output()
    assert (bundle.path / "config.json").read_bytes() == before


OF_ANOTHER_VENDOR = """cdiVersion: 0.5.0
kind: vendor.example/nic
devices:
- name: nic0
  containerEdits:
    env: [NIC=nic0]  # as yq writes it
"""


def test_a_document_in_yaml_is_for_the_program_that_reads_yaml(make_host):
    host = make_host()
    assert host.install().returncode == 0
    mount_cgroups(host)
    host.see("etc/cdi").mkdir()
    host.see("etc/cdi/nic.yaml").write_text(OF_ANOTHER_VENDOR)
    asks = ["NVIDIA_VISIBLE_DEVICES=vendor.example/nic=nic0"]
    bundle = Bundle(host, asks, ["/sbin/ldconfig", "--version"])
    assert "ldconfig" in bundle.output()
    assert "NIC=nic0" in json.loads((bundle.path / "config.json").read_text())["process"]["env"]
    host.see("usr/local/nvidia/toolkit/gantry-ctk").unlink()
    refused = Bundle(host, asks, ["/sbin/ldconfig", "--version"]).output()
    assert "gantry-ctk" in refused and "nic0" in refused, refused


def test_an_unknown_device_stops_the_container_with_its_name(make_host):
    host = make_host()
    assert host.install().returncode == 0
    mount_cgroups(host)
    bundle = Bundle(host, ["NVIDIA_VISIBLE_DEVICES=GPU-nowhere"], ["/sbin/ldconfig", "-p"])
    assert "GPU-nowhere" in bundle.output()


# --- containers that start while the toolkit comes -------------------------------------------------


# Its containers start once `hold` is gone, however long that takes.
HELD_RUNC = """#!/bin/sh
for word; do
  if [ "$word" = start ] && [ -e /tmp/hold ]; then
    : > /tmp/held
    while [ -e /tmp/hold ]; do sleep 0.02; done
  fi
done
exec /usr/local/bin/runc "$@"
"""
HELD = """version = 3
disabled_plugins = ["io.containerd.internal.v1.opt"]
[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = 'localhost/pause:1'
[plugins.'io.containerd.cri.v1.runtime']
restrict_oom_score_adj = true
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.held]
runtime_type = 'io.containerd.runc.v2'
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.held.options]
BinaryName = '/usr/local/bin/held-runc'
"""


@pytest.fixture(name="pod")
def fixture_pod(make_host, tmp_path):
    """A host, and a pod on it whose container was not made yet."""
    host = make_host(HELD, Layout(before_start=(
        "[ -e sys/fs/cgroup ] || { mkdir -p sys/fs/cgroup && mount --rbind /sys/fs/cgroup sys/fs/cgroup; }")))
    for name in ("hosts", "resolv.conf"):
        (host.path / "etc" / name).touch()
    (host.path / "bin").mkdir()
    shutil.copy("/bin/busybox", host.path / "bin/sh")
    shutil.copy("/bin/busybox", host.path / "bin/sleep")
    (host.path / "usr/local/bin/held-runc").write_text(HELD_RUNC)
    (host.path / "usr/local/bin/held-runc").chmod(0o755)
    program = tmp_path / "pause"
    subprocess.run(["gcc", "-static", "-o", program, ROOT / "testbed/cluster/pause.c"], check=True)
    oci.write_archive(host.path / "tmp/pause.tar", "localhost/pause:1", [oci.Entry("pause", source=program)],
                      oci.Config(entrypoint=("/pause",)), False)
    loaded = host.run("chroot", host.path, "/usr/local/bin/ctr", "-n", "k8s.io", "images", "import", "/tmp/pause.tar")
    assert loaded.returncode == 0, loaded.stderr
    cgroup = f"/gantry-component-{random.randrange(10**9)}"
    interface = cri.Cri(host.see("run/containerd/containerd.sock"))
    # containerd's CRI learns of the import by an event.
    host.wait(lambda: interface.has_image("localhost/pause:1"), "the image")
    made = cri.Pod(interface, "pod", "localhost/pause:1", cgroup, "held")
    yield host, made
    (host.path / "tmp/hold").unlink(missing_ok=True)
    made.remove()
    remove_cgroup(cgroup)


def remove_cgroup(cgroup: str):
    for controller in pathlib.Path("/sys/fs/cgroup").glob(f"*{cgroup}"):
        controller.rmdir()


def test_a_start_that_is_under_way_is_waited_for(pod):
    host, made = pod
    container = made.create()
    (host.path / "tmp/hold").touch()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        start = pool.submit(made.start, container)
        host.wait((host.path / "tmp/held").exists, "the start")
        with host.enter(*host.toolkit_words("--no-daemon"), stderr=subprocess.PIPE) as installing:
            said = ""
            while "start of default/pod main" not in said:
                said = installing.stderr.readline()
                assert said, "it restarted containerd at once"
            assert host.restarts() == 0
            (host.path / "tmp/hold").unlink()
            start.result(20)  # without the wait: an EOF, after which the kubelet starts another container
            assert installing.wait(20) == 0
    assert host.restarts() == 1
    assert made.state(container) == cri.RUNNING


def test_a_container_that_is_never_started_keeps_nobody_waiting(pod):
    host, made = pod
    made.create()
    begin = time.monotonic()
    assert host.install().returncode == 0
    assert time.monotonic() - begin < 10
    assert host.restarts() == 1
    begin = time.monotonic()
    assert host.clean().returncode == 0
    assert time.monotonic() - begin < 4, "it is no start any more"


def test_the_program_stays_for_the_containers_that_it_runs(pod):
    host, _ = pod
    before = host.snapshot()
    assert host.install().returncode == 0
    cgroup = f"/gantry-component-{random.randrange(10**9)}"
    interface = cri.Cri(host.see("run/containerd/containerd.sock"))
    gpu_pod = cri.Pod(interface, "gpu", "localhost/pause:1", cgroup, "nvidia")
    try:
        cleaned = host.clean()
        assert cleaned.returncode == 0, cleaned.stderr
        assert "containers run by it: default/gpu" in cleaned.stderr
        assert host.handlers() == []
        assert host.see("usr/local/nvidia/toolkit/nvidia-container-runtime").exists()
    finally:
        gpu_pod.remove()
        remove_cgroup(cgroup)
    restarts = host.restarts()
    assert host.clean().returncode == 0
    assert host.snapshot() == before
    assert host.restarts() == restarts
