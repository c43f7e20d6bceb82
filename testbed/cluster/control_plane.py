# SPDX-License-Identifier: Apache-2.0
"""The control plane of a bed: one machine with etcd, the Kubernetes servers, CoreDNS and kwok as
its services.

It lives in a network namespace with a bridge on which the nodes are. The same addresses serve every
bed, because no two beds share a network; clients on the host come in through a relay on the
loopback.
"""

import pathlib
import socket
import sys

import build
import components
import machine
from api import Api
from paths import SOURCE
from pki import Authority

ADDRESS = "10.88.0.1"
PORT = 6443
SERVICE_RANGE = "10.96.0.0/16"
DNS_SERVICE = "10.96.0.10"
# Renewed every quarter of it: with 200, beyond the controllers' patience of 50 s.
KWOK_LEASE_S = 120
# From so many kwok nodes on they have no leases, whose renewals would be most of what the servers
# do, and no node is taken for lost.
LEASELESS_NODES = 1000

_AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
# A request is written when it arrives, and again with its answer; a watch's answer comes when it
# ends.
omitStages: [ResponseStarted, Panic]
rules: [{level: Metadata}]
"""

_COREFILE = """\
.:53 {{
    errors
    health 127.0.0.1:8080
    ready 127.0.0.1:8181
    hosts {{
{hosts}        fallthrough
    }}
    kubernetes cluster.local in-addr.arpa ip6.arpa {{
        kubeconfig {kubeconfig}
        pods insecure
        ttl 5
    }}
    cache 5
}}
"""


def node_address(number: int) -> str:
    return f"10.88.1.{number}"


def pod_range(number: int) -> str:
    return f"10.244.{number}.0/24"


class ControlPlane:
    NAME = "control-plane"

    def __init__(self, bed: pathlib.Path):
        self.folder = bed / self.NAME
        self.authority = Authority(bed / "pki")
        self.audit_log = self.folder / "audit.log"
        self.port_file = bed / "port"

    def prepare(self) -> None:
        """Makes the keys and files of the control plane."""
        self.folder.mkdir()
        self.authority.create()
        names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
        names.append("kubernetes.default.svc.cluster.local")
        addresses = [f"DNS:{name}" for name in names]
        addresses += [f"IP:{address}" for address in ("127.0.0.1", "10.96.0.1", ADDRESS)]
        self.authority.issue("apiserver", "kube-apiserver", addresses=tuple(addresses))
        self.authority.issue("admin", "admin", organization="system:masters")
        for name in ("controller-manager", "scheduler", "proxy"):
            self._credentials(name, f"system:kube-{name}")
        for name in ("coredns", "kwok"):
            self._credentials(name, name, "system:masters")
        (self.folder / "audit-policy.yaml").write_text(_AUDIT_POLICY)
        hosts = "".join(f"        {node_address(n)} node{n}\n" for n in range(1, 65))
        corefile = _COREFILE.format(hosts=hosts, kubeconfig=self.folder / "coredns.conf")
        (self.folder / "Corefile").write_text(corefile)

    def _credentials(self, name: str, common_name: str, organization: str = "") -> None:
        self.authority.issue(name, common_name, organization)
        self.authority.kubeconfig(self.folder / f"{name}.conf", name, f"https://{ADDRESS}:{PORT}")

    def start(self, bed_id: str, kubernetes: str, kwok: int) -> int:
        """Starts the machine, for so many kwok nodes, and returns the port on 127.0.0.1 at which it
        can be reached.
        """
        with socket.create_server(("127.0.0.1", 0), backlog=128) as listening:
            port = listening.getsockname()[1]
            self.port_file.write_text(f"{port}\n")
            fd = listening.fileno()
            spec = {
                "hostname": f"{bed_id}-{self.NAME}",
                "log": str(self.folder / "init.log"),
                "pids": str(self.folder / "pids"),
                "sysctl": {"net/ipv4/ip_forward": "1", "net/ipv4/conf/all/send_redirects": "0"},
                "services": self._services(kubernetes, fd, kwok),
            }
            machine.start(self.folder, spec, _attach_bridge, keep_fds=(fd,))
        return port

    def _services(self, kubernetes: str, relay_fd: int, kwok: int) -> list[dict]:
        programs = build.kubernetes(kubernetes) / "bin"
        pki = self.authority.folder
        etcd = {"tcp": ["127.0.0.1", 2379]}
        server = {
            "https": f"https://{ADDRESS}:{PORT}/readyz",
            "ca": str(pki / "ca.crt"),
            "certificate": str(pki / "admin.crt"),
            "key": str(pki / "admin.key"),
        }
        coredns = [build.module(components.CLIENTS) / "bin/coredns"]
        coredns.append(f"-conf={self.folder / 'Corefile'}")
        relay = [sys.executable, SOURCE / "relay.py", relay_fd, ADDRESS, PORT]
        services = [
            self._service("relay", relay) | {"keep_fds": [relay_fd]},
            self._service("etcd", self._etcd()),
            self._service("kube-apiserver", self._apiserver(programs), etcd),
            self._service("kube-controller-manager", self._controller_manager(programs, kwok), server),
            self._service("kube-scheduler", self._scheduler(programs), server),
            self._service("coredns", coredns, server),
        ]
        if kwok:
            services.append(self._service("kwok", self._kwok(kwok), server))
        return services

    def _service(self, name: str, argv: list, *after: dict) -> dict:
        log = str(self.folder / f"{name}.log")
        return {"name": name, "argv": [str(a) for a in argv], "after": after, "log": log}

    def _etcd(self) -> list:
        return [
            build.module(components.ETCD) / "bin/etcd",
            f"--data-dir={self.folder / 'etcd'}",
            "--unsafe-no-fsync",
            "--log-level=warn",
            "--listen-client-urls=http://127.0.0.1:2379",
            "--advertise-client-urls=http://127.0.0.1:2379",
        ]

    def _apiserver(self, programs: pathlib.Path) -> list:
        pki = self.authority.folder
        return [
            programs / "kube-apiserver",
            "--etcd-servers=http://127.0.0.1:2379",
            f"--advertise-address={ADDRESS}",  # without a default route it finds none itself
            f"--secure-port={PORT}",
            f"--tls-cert-file={pki / 'apiserver.crt'}",
            f"--tls-private-key-file={pki / 'apiserver.key'}",
            f"--client-ca-file={pki / 'ca.crt'}",
            f"--service-account-key-file={pki / 'service-account.pub'}",
            f"--service-account-signing-key-file={pki / 'service-account.key'}",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            f"--service-cluster-ip-range={SERVICE_RANGE}",
            "--allow-privileged=true",
            f"--kubelet-client-certificate={pki / 'admin.crt'}",
            f"--kubelet-client-key={pki / 'admin.key'}",
            f"--kubelet-certificate-authority={pki / 'ca.crt'}",
            "--kubelet-preferred-address-types=InternalIP",  # no DNS for host names here
            f"--audit-policy-file={self.folder / 'audit-policy.yaml'}",
            f"--audit-log-path={self.audit_log}",
            "--audit-log-maxsize=4000",
        ]

    def _controller_manager(self, programs: pathlib.Path, kwok: int) -> list:
        pki = self.authority.folder
        return [
            programs / "kube-controller-manager",
            *self._controller_flags("controller-manager"),
            f"--service-account-private-key-file={pki / 'service-account.key'}",
            f"--root-ca-file={pki / 'ca.crt'}",
            f"--cluster-signing-cert-file={pki / 'ca.crt'}",
            f"--cluster-signing-key-file={pki / 'ca.key'}",
            "--use-service-account-credentials=true",
            *(["--node-monitor-grace-period=24h"] if kwok >= LEASELESS_NODES else []),
        ]

    def _scheduler(self, programs: pathlib.Path) -> list:
        return [programs / "kube-scheduler", *self._controller_flags("scheduler")]

    def _kwok(self, nodes: int) -> list:
        folder = build.module(components.KWOK)
        return [
            folder / "bin/kwok",
            f"--kubeconfig={self.folder / 'kwok.conf'}",
            f"--config={folder / 'stages.yaml'}",
            "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
            f"--node-lease-duration-seconds={0 if nodes >= LEASELESS_NODES else KWOK_LEASE_S}",
            "--node-ip=10.88.2.1",
            "--cidr=10.245.0.0/16",
        ]

    def _controller_flags(self, name: str) -> list[str]:
        file = self.folder / f"{name}.conf"
        kinds = ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")
        # The default of 20 requests a second would make the controllers the slowest part of a test
        # with many nodes.
        pace = ["--kube-api-qps=1000", "--kube-api-burst=1000", "--leader-elect=false"]
        return [*(f"--{kind}={file}" for kind in kinds), *pace]

    def api(self) -> Api:
        return Api(self.authority.folder, int(self.port_file.read_text()))


def _attach_bridge(pid: int) -> None:
    commands = [
        "link set lo up",
        "link add br0 type bridge",
        f"addr add {ADDRESS}/16 dev br0",
        "link set br0 up",
    ]
    machine.in_network(pid, commands, "make bridge")


def create_dns_service(api: Api) -> None:
    """The service address of cluster DNS leads to CoreDNS, which is no pod: so its endpoint is
    written by hand.
    """
    namespace, labels = "kube-system", {"k8s-app": "kube-dns"}
    ports = [
        {"name": "dns", "port": 53, "protocol": "UDP"},
        {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
    ]
    api.create(
        f"/api/v1/namespaces/{namespace}/services",
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "kube-dns", "namespace": namespace, "labels": labels},
            "spec": {"clusterIP": DNS_SERVICE, "ports": ports},
        },
    )
    api.create(
        f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices",
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "name": "kube-dns-bed",
                "namespace": namespace,
                "labels": {"kubernetes.io/service-name": "kube-dns"},
            },
            "addressType": "IPv4",
            "endpoints": [{"addresses": [ADDRESS]}],
            "ports": ports,
        },
    )
