# SPDX-License-Identifier: Apache-2.0
"""The bed's own tests: what it promises to those who test and measure on it. Needs root, and a
built cache or time.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import oci
import pytest

HERE = pathlib.Path(__file__).resolve().parent
POD = """
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: 0
  nodeName: node1
  containers:
  - {name: test, image: "localhost/test:1", command: [sleep, infinity]}
"""


class Beds:
    """The bed's command line, with a folder of beds of its own."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.environment = os.environ | {"GANTRY_BED_DIR": str(folder)}
        self.environment.pop("GANTRY_BED", None)

    def command(self, *words: str) -> list[str]:
        return [sys.executable, str(HERE / "bed.py"), *words]

    def __call__(self, *words: str, given: str | None = None, ok: bool = True) -> str:
        result = subprocess.run(
            self.command(*words),
            env=self.environment,
            input=given,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert not ok or result.returncode == 0, f"bed {' '.join(words)}: {result.stderr}"
        return result.stdout if ok else result.stderr

    def pod(self, bed: str, name: str) -> None:
        self("kubectl", "--name", bed, "apply", "-f", "-", given=POD % name)
        self(
            "kubectl",
            "--name",
            bed,
            "wait",
            "--for=condition=Ready",
            f"pod/{name}",
            "--timeout=60s",
        )

    def in_pod(self, bed: str, name: str, script: str) -> str:
        return self("kubectl", "--name", bed, "exec", name, "--", "bash", "-c", script)


def traces(bed: str) -> list[str]:
    """Whatever the machine still has of a bed."""
    found = [str(p) for p in pathlib.Path("/sys/fs/cgroup").glob(f"*/gantry-{bed}-*")]
    found += [
        line for line in pathlib.Path("/proc/mounts").read_text().splitlines() if f"/{bed}/" in line
    ]
    for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = entry.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if f"/{bed}/" in command:
            found.append(command)
    return found


@pytest.fixture(scope="module")
def beds(tmp_path_factory):
    beds = Beds(tmp_path_factory.mktemp("beds"))
    yield beds
    beds("down", "--all")
    assert [p.name for p in beds.folder.iterdir()] == [".lock"]


@pytest.fixture(scope="module")
def one(beds):
    """A bed with one node and a pod."""
    bed = f"t{os.getpid()}a"
    answer = beds("up", "--name", bed)
    assert answer.splitlines()[-1] == f"KUBECONFIG={beds.folder / bed / 'kubeconfig'}"
    beds.pod(bed, "first")
    return bed


def test_the_node_is_ready_and_says_what_it_is(beds, one):
    node = json.loads(beds("kubectl", "--name", one, "get", "node", "node1", "-o", "json"))
    ready = [c["status"] for c in node["status"]["conditions"] if c["type"] == "Ready"]
    assert ready == ["True"]
    info = node["status"]["nodeInfo"]
    assert (
        info["bootID"]
        == beds("exec", "--name", one, "node1", "cat", "/proc/sys/kernel/random/boot_id").strip()
    )
    assert info["bootID"] != pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert beds("exec", "--name", one, "node1", "hostname").strip() == f"{one}-node1"


def test_kubeconfig_works_from_the_host(beds, one):
    kubectl = next(p for p in pathlib.Path(beds("build").strip()).glob("kubernetes-*/bin/kubectl"))
    answer = subprocess.run(
        [kubectl, f"--kubeconfig={beds.folder / one / 'kubeconfig'}", "get", "--raw=/readyz"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert answer.stdout == "ok", answer.stderr


def test_names_and_service_addresses_work_in_a_pod(beds, one):
    assert (
        beds.in_pod(one, "first", "getent hosts kubernetes.default.svc").split()[0] == "10.96.0.1"
    )
    token = "/var/run/secrets/kubernetes.io/serviceaccount"
    check = "openssl s_client -verify_return_error -connect kubernetes.default.svc:443"
    answer = beds.in_pod(one, "first", f"{check} -CAfile {token}/ca.crt < /dev/null")
    assert "Verify return code: 0 (ok)" in answer


def test_a_service_leads_to_a_pod(beds, one):
    beds("kubectl", "--name", one, "label", "pod", "first", "app=first")
    beds("kubectl", "--name", one, "create", "service", "clusterip", "first", "--tcp=80:80")
    server = "openssl s_server -nocert -accept 80 > /dev/null 2>&1 < /dev/null & disown; sleep 1"
    beds.in_pod(one, "first", server)
    connect = "until exec 3<>/dev/tcp/first.default.svc/80; do sleep 0.2; done"
    beds.in_pod(one, "first", f"timeout 20 bash -c '{connect}' 2> /dev/null")


def test_options_of_other_programs_are_theirs(beds, one):
    assert "kube-dns" in beds("kubectl", f"--name={one}", "-n", "kube-system", "get", "service")
    assert beds("exec", "--name", one, "node1", "echo", "--name", "-h").strip() == "--name -h"
    assert "helm install" in beds("helm", "--name", one, "install", "--help")


def test_audit_counts_each_request_once(beds, one):
    beds("audit", "--name", one, "--reset")
    # One GET for the pod, and nothing else: a second kubectl has its discovery cached.
    beds("kubectl", "--name", one, "get", "--raw=/api/v1/namespaces/default/pods/first")
    rows = json.loads(beds("audit", "--name", one, "--json", "--by", "agent,verb,resource,code"))
    mine = [row for row in rows if row["agent"].startswith("kubectl/")]
    assert [(r["verb"], r["resource"], r["code"], r["count"]) for r in mine] == [
        ("get", "pods", "200", 1)
    ]


def test_services_come_back(beds, one):
    for service in ("containerd", "kubelet", "kube-proxy"):
        before = beds("exec", "--name", one, "node1", "cat", f"/run/{service}.pid")
        beds("restart", "--name", one, service, "node1")
        assert beds("exec", "--name", one, "node1", "cat", f"/run/{service}.pid") != before
    beds("restart", "--name", one, "apiserver")
    beds.in_pod(one, "first", "true")


def test_dump_has_objects_logs_and_node_state(beds, one, tmp_path):
    beds("dump", "--name", one, str(tmp_path / "dump"))
    for name in (
        "objects/nodes.yaml",
        "control-plane/kube-apiserver.log",
        "node1/kubelet.log",
        "node1/mounts.txt",
    ):
        assert (tmp_path / "dump" / name).stat().st_size > 0, name


def test_a_node_is_stopped_and_started(beds, one):
    beds("exec", "--name", one, "node1", "bash", "-c", "touch /run/lost /dev/lost /etc/kept")
    before = beds(
        "exec", "--name", one, "node1", "cat", "/proc/sys/kernel/random/boot_id", "/etc/machine-id"
    ).split()
    beds("stop-node", "--name", one, "node1")
    assert "does not run" in beds("exec", "--name", one, "node1", "true", ok=False)
    assert not list(pathlib.Path("/sys/fs/cgroup").glob(f"*/gantry-{one}-node1"))
    beds("start-node", "--name", one, "node1")
    after = beds(
        "exec", "--name", one, "node1", "cat", "/proc/sys/kernel/random/boot_id", "/etc/machine-id"
    ).split()
    assert after[0] != before[0] and after[1] == before[1]
    beds(
        "exec",
        "--name",
        one,
        "node1",
        "bash",
        "-c",
        "test ! -e /run/lost -a ! -e /dev/lost -a -e /etc/kept",
    )
    beds.pod(one, "second")
    assert (
        beds.in_pod(one, "second", "getent hosts kubernetes.default.svc").split()[0] == "10.96.0.1"
    )


def test_a_node_joins_late_with_its_taint_and_images(beds, one, tmp_path):
    entry = [oci.Entry("etc/late", content=b"late\n")]
    oci.write_archive(tmp_path / "nameless.tar", "", entry)
    oci.write_archive(tmp_path / "late.tar", "localhost/late:1", entry)
    nameless = ("add-node", "--name", one, "--load", str(tmp_path / "nameless.tar"))
    assert "doesn't name its image" in beds(*nameless, ok=False)
    name = beds(
        "add-node",
        "--name",
        one,
        "--load",
        str(tmp_path / "late.tar"),
        "--taint",
        "nvidia.com/gpu=present:NoSchedule",
        "--label",
        "pool=gpu",
    ).strip()
    node = json.loads(beds("kubectl", "--name", one, "get", "node", name, "-o", "json"))
    assert name == "node2" and node["metadata"]["labels"]["pool"] == "gpu"
    # The kubelet began after the last image.
    order = "ctr -n k8s.io images ls -q && test /var/lib/images-loaded -ot /run/kubelet.pid"
    assert "localhost/late:1" in beds("exec", "--name", one, name, "sh", "-c", order).split()
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    assert taint in node["spec"]["taints"]
    # Pods reach each other from node to node, by their own addresses.
    beds("kubectl", "--name", one, "apply", "-f", "-", given=(POD % "far").replace("node1", name))
    beds("kubectl", "--name", one, "wait", "--for=condition=Ready", "pod/far", "--timeout=60s")
    address = beds("kubectl", "--name", one, "get", "pod", "far", "-o", "jsonpath={.status.podIP}")
    beds.pod(one, "near")
    connect = f"timeout 10 bash -c '< /dev/tcp/{address}/9' 2>&1 || true"
    assert "Connection refused" in beds.in_pod(one, "near", connect)


def test_two_beds_side_by_side(beds, one):
    other = f"t{os.getpid()}b"
    beds("up", "--name", other, "--kwok", "3")
    names = beds("kubectl", "--name", other, "get", "nodes", "-o", "name").split()
    assert sorted(names) == ["node/kwok1", "node/kwok2", "node/kwok3", "node/node1"]
    beds.pod(other, "there")
    assert "there" not in beds("kubectl", "--name", one, "get", "pods", "-o", "name")
    beds("down", "--name", other)
    assert traces(other) == [] and not (beds.folder / other).exists()
    beds("kubectl", "--name", one, "get", "nodes")


def test_what_a_killed_start_left_is_removed_by_the_next(beds):
    cut, following = f"t{os.getpid()}c", f"t{os.getpid()}d"
    record = beds.folder / cut / "node1" / "machine.json"
    with subprocess.Popen(
        beds.command("up", "--name", cut), env=beds.environment, stderr=subprocess.DEVNULL
    ) as started:
        deadline = time.monotonic() + 60
        while not record.exists():
            assert time.monotonic() < deadline, "the node was not started"
            time.sleep(0.02)
        started.send_signal(signal.SIGKILL)
    assert traces(cut) != []
    beds("up", "--name", following)
    assert traces(cut) == [] and not (beds.folder / cut).exists()
    beds("down", "--name", following)
    assert traces(following) == []


def test_a_bed_goes_with_the_process_that_it_was_for(beds):
    owned, following = f"t{os.getpid()}e", f"t{os.getpid()}f"
    with subprocess.Popen(["sleep", "600"]) as owner:
        beds("up", "--name", owned, "--owner", str(owner.pid))
        owner.kill()
    beds("up", "--name", following)
    assert traces(owned) == [] and not (beds.folder / owned).exists()
    beds("down", "--name", following)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["up", "--nodes", "-1"], "--nodes -1"),
        (["up", "--gpus", "nowhere.yaml"], "nowhere.yaml: no such file"),
        (["up", "--gpus", str(HERE / "README.md")], "README.md"),
        (["up", "--name", "A b"], "--name 'A b'"),
        (["up", "--kubernetes", "1.36"], "kubernetes version '1.36'"),
        (["exec", "--name", "nobody", "node1"], "no bed 'nobody'"),
    ],
)
def test_wrong_words_are_refused_in_one_line(beds, words, complaint):
    assert complaint in beds(*words, ok=False)
