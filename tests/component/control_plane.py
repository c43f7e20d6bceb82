# SPDX-License-Identifier: Apache-2.0
"""A control plane for component tests: etcd, kube-apiserver and, if asked for, the controllers that
make DaemonSet pods and collect garbage. No node ever runs anything.
"""

import contextlib
import json
import os
import pathlib
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]


def wait(holds, what: str, seconds: float = 30):
    """Until holds() is true; its value."""
    deadline = time.monotonic() + seconds
    while True:
        value = holds()
        if value:
            return value
        assert time.monotonic() < deadline, f"{what}: not after {seconds} s"
        time.sleep(0.05)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def server_program(name: str) -> pathlib.Path:
    if os.environ.get("GANTRY_BED_BIN"):
        return pathlib.Path(os.environ["GANTRY_BED_BIN"]) / name
    sys.path.insert(0, str(ROOT / "testbed/cluster"))
    import build  # noqa: PLC0415
    import components  # noqa: PLC0415

    if name == "etcd":
        return build.module(components.ETCD) / "bin/etcd"
    return build.kubernetes(components.KUBERNETES) / "bin" / name


class Refused(Exception):
    """What the API server answered instead."""


class ControlPlane:
    TOKEN = "administrator"
    TRUST = ssl._create_unverified_context()  # noqa: S323

    def __init__(self, folder: pathlib.Path, controllers: str, *controller_flags: str, runtime_config: str = ""):
        self.folder = folder
        self.port = free_port()
        client, peer = free_port(), free_port()
        key = folder / "sa.key"
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        (folder / "tokens").write_text(f"{self.TOKEN},administrator,1,system:masters\n")
        (folder / "policy.yaml").write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\n"
                                            "omitStages: [RequestReceived]\nrules: [{level: Metadata}]\n")
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(json.dumps({
            "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{self.port}",
                                                   "insecure-skip-tls-verify": True}}],
            "users": [{"name": "u", "user": {"token": self.TOKEN}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x"}))
        self.processes = []
        self.start([server_program("etcd"), f"--data-dir={folder}/etcd",
                    f"--listen-client-urls=http://127.0.0.1:{client}",
                    f"--advertise-client-urls=http://127.0.0.1:{client}",
                    f"--listen-peer-urls=http://127.0.0.1:{peer}", "--unsafe-no-fsync"])
        self.start([server_program("kube-apiserver"), f"--etcd-servers=http://127.0.0.1:{client}",
                    "--bind-address=127.0.0.1", f"--secure-port={self.port}",
                    f"--cert-dir={folder}/certificates", f"--token-auth-file={folder}/tokens",
                    "--authorization-mode=RBAC", "--allow-privileged=true",
                    f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}",
                    "--service-account-issuer=https://test", "--disable-admission-plugins=ServiceAccount",
                    f"--runtime-config={runtime_config}",
                    f"--audit-policy-file={folder}/policy.yaml", f"--audit-log-path={folder}/audit"])
        wait(self.is_ready, "kube-apiserver", 60)
        self.start([server_program("kube-controller-manager"), f"--kubeconfig={self.kubeconfig}",
                    f"--controllers={controllers}", "--leader-elect=false", "--secure-port=0",
                    *controller_flags])

    def start(self, words) -> subprocess.Popen:
        log = open(self.folder / f"{pathlib.Path(words[0]).name}.log", "ab")
        self.processes.append(subprocess.Popen([str(w) for w in words], stdout=log, stderr=log))
        return self.processes[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            process.wait()

    def is_ready(self) -> bool:
        try:
            return bool(self.get("/api/v1/namespaces/kube-system"))
        except OSError:
            return False

    def open(self, verb: str, path: str, body=None, kind: str = "application/json"):
        text = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        request = urllib.request.Request(
            f"https://127.0.0.1:{self.port}{path}", data=text, method=verb,
            headers={"Authorization": f"Bearer {self.TOKEN}", "Content-Type": kind})
        return urllib.request.urlopen(request, context=self.TRUST)

    def call(self, verb: str, path: str, body=None, kind: str = "application/json"):
        """The answer, or None for what is not there; Refused for every other error."""
        try:
            with self.open(verb, path, body, kind) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            text = error.read().decode()
            # A server that is too busy, or not ready, answers in plain words.
            raise Refused(json.loads(text)["message"] if text.startswith("{") else text) from error

    def get(self, path: str):
        return self.call("GET", path)

    def watch(self, path: str, ended: threading.Event):
        """Each object as it is and then as it changes, with the kind of the change, until `ended`. Misses nothing."""
        listed = self.get(path)
        yield from (("ADDED", item) for item in listed["items"])
        version = listed["metadata"]["resourceVersion"]
        while not ended.is_set():
            with self.open("GET", f"{path}?watch=1&timeoutSeconds=1&resourceVersion={version}") as stream:
                for line in stream:
                    event = json.loads(line)
                    assert event["type"] != "ERROR", event
                    version = event["object"]["metadata"]["resourceVersion"]
                    yield event["type"], event["object"]

    def serves(self, path: str) -> bool:
        """Whether a list of that kind is answered: soon after its definition was created."""
        try:
            return self.get(path) is not None
        except Refused:
            return False

    def define_resources(self):
        """The chart's definitions, until they are served."""
        for crd in sorted((ROOT / "deploy/chart/crds").glob("*.yaml")):
            self.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd.read_bytes(),
                      "application/yaml")
        for path in ("/apis/nvidia.com/v1/clusterpolicies", "/apis/nfd.k8s-sigs.io/v1alpha1/nodefeatures"):
            wait(lambda: self.serves(path), path)

    def patch(self, path: str, body):
        kind = "application/json-patch+json" if isinstance(body, list) else "application/merge-patch+json"
        return self.call("PATCH", path, body, kind)

    def writes(self, agent: str) -> list[str]:
        """Verb and resource of each write that a component of ours made so far, but of leases and events."""
        lines = [json.loads(line) for line in (self.folder / "audit").read_text().splitlines()]
        return [f"{line['verb']} {line['objectRef']['resource']}/{line['objectRef'].get('name', '')}"
                for line in lines if f"({agent})" in line["userAgent"]
                and line["verb"] in ("create", "update", "patch", "delete")
                and line["objectRef"]["resource"] not in ("leases", "events")]
