# SPDX-License-Identifier: Apache-2.0
"""The operator on a cluster that has OpenShift's kinds: what OpenShift itself would do with them is not there. On a real
API server, with definitions made here.
"""

import pytest
from control_plane import ControlPlane, wait
from test_operator import POLICIES, Operator, policy, prometheus_kind, settled, status  # noqa: F401

SPACE = "nvidia-gpu-operator"
SETS = f"/apis/apps/v1/namespaces/{SPACE}/daemonsets"
CONSTRAINTS = "/apis/security.openshift.io/v1/securitycontextconstraints"
STREAM = "/apis/image.openshift.io/v1/namespaces/openshift/imagestreams/driver-toolkit"
PROXY = "/apis/config.openshift.io/v1/proxies/cluster"
FEATURE = "feature.node.kubernetes.io/"
RHCOS = f"{FEATURE}system-os_release.OSTREE_VERSION"
KINDS = (("security.openshift.io", "SecurityContextConstraints", "securitycontextconstraints", "Cluster"),
         ("config.openshift.io", "ClusterVersion", "clusterversions", "Cluster"),
         ("config.openshift.io", "Proxy", "proxies", "Cluster"),
         ("image.openshift.io", "ImageStream", "imagestreams", "Namespaced"))
IMAGE = {"repository": "nvcr.io/nvidia", "image": "driver", "version": "580.1"}


def definition(group, kind, plural, scope):
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "scope": scope,
                     "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                         "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}


def add_node(plane, name, rhcos):
    plane.call("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": {
        "kubernetes.io/os": "linux", f"{FEATURE}pci-10de.present": "true", f"{FEATURE}system-os_release.ID": "rhcos",
        f"{FEATURE}system-os_release.VERSION_ID": "4.13", RHCOS: rhcos}}})


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    with ControlPlane(tmp_path_factory.mktemp("plane"), "daemonset-controller,garbage-collector-controller") as plane:
        plane.define_resources()
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        for group, kind, plural, scope in KINDS:
            plane.call("POST", definitions, definition(group, kind, plural, scope))
        for plural, kind in {"servicemonitors": "ServiceMonitor", "prometheusrules": "PrometheusRule"}.items():
            plane.call("POST", definitions, prometheus_kind(kind, plural))
        for group, _, plural, _ in KINDS:
            wait(lambda: plane.serves(f"/apis/{group}/v1/{plural}"), plural)
        for space in (SPACE, "openshift"):
            plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": space}})
        plane.call("POST", "/apis/config.openshift.io/v1/clusterversions", {
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
            "status": {"history": [{"state": "Completed", "version": "4.13.7"}]}})
        plane.call("POST", PROXY.rsplit("/", 1)[0], {
            "apiVersion": "config.openshift.io/v1", "kind": "Proxy", "metadata": {"name": "cluster"},
            "spec": {"httpsProxy": "https://proxy:8085", "trustedCA": {"name": "user-ca-bundle"}}})
        plane.call("POST", STREAM.rsplit("/", 1)[0], {
            "apiVersion": "image.openshift.io/v1", "kind": "ImageStream", "metadata": {"name": "driver-toolkit"},
            "spec": {"tags": [{"name": "latest", "from": {"name": "i:0"}}, {"name": "413.92", "from": {"name": "i:1"}}]}})
        add_node(plane, "a", "413.92")
        yield plane


@pytest.fixture(scope="module")
def operator(plane, build, tmp_path_factory):  # noqa: F811
    plane.call("POST", POLICIES, policy("cluster-policy", psa={"enabled": True}, driver=IMAGE | {
        "manager": IMAGE | {"image": "manager"}}))
    with Operator(plane, build, tmp_path_factory.mktemp("operator"), SPACE) as operator:
        wait(lambda: plane.get(f"{SETS}/nvidia-driver-daemonset-413.92"), "the driver's DaemonSet")
        settled(plane)
        yield operator


def containers(made):
    return {c["name"]: c for c in made["spec"]["template"]["spec"]["containers"]}


def variables(container):
    return {e["name"]: e.get("value") for e in container["env"]}


def test_a_driver_is_built_with_the_toolkit_of_its_nodes(plane, operator):
    made = plane.get(f"{SETS}/nvidia-driver-daemonset-413.92")
    assert made["spec"]["template"]["spec"]["nodeSelector"][RHCOS] == "413.92"
    assert made["metadata"]["labels"]["openshift.driver-toolkit.rhcos"] == "413.92"
    inside = containers(made)
    assert inside["openshift-driver-toolkit-ctr"]["image"] == "i:1"
    main = inside["nvidia-driver-ctr"]
    assert main["command"] == ["ocp_dtk_entrypoint"] and main["image"].endswith("-rhcos4.13")
    told = variables(main)
    assert told["OPENSHIFT_VERSION"] == "4.13"
    assert told["HTTPS_PROXY"] == told["https_proxy"] == "https://proxy:8085" and "HTTP_PROXY" not in told
    assert told["DRIVER_CONFIG_DIGEST"] == variables(inside["openshift-driver-toolkit-ctr"])["DRIVER_CONFIG_DIGEST"]
    # There never was one that is built otherwise.
    assert plane.get(f"{SETS}/nvidia-driver-daemonset") is None
    assert not [line for line in plane.writes("gpu-operator") if line.startswith("delete daemonsets")]


def test_a_version_without_an_image_says_so(plane, operator):
    add_node(plane, "b", "414.92")
    made = wait(lambda: plane.get(f"{SETS}/nvidia-driver-daemonset-414.92"), "a DaemonSet for it")
    assert made["metadata"]["labels"]["openshift.driver-toolkit.rhcos-image-missing"] == "true"
    plane.patch(STREAM, {"spec": {"tags": [{"name": "413.92", "from": {"name": "i:1"}},
                                           {"name": "414.92", "from": {"name": "i:2"}}]}})
    wait(lambda: containers(plane.get(f"{SETS}/nvidia-driver-daemonset-414.92"))[
        "openshift-driver-toolkit-ctr"]["image"] == "i:2", "its image")
    plane.call("DELETE", "/api/v1/nodes/b")
    wait(lambda: plane.get(f"{SETS}/nvidia-driver-daemonset-414.92") is None, "it is gone")


def test_the_certificates_are_openshifts_to_write(plane, operator):
    path = f"/api/v1/namespaces/{SPACE}/configmaps/gpu-operator-trusted-ca"
    assert plane.get(path)["metadata"]["labels"]["config.openshift.io/inject-trusted-cabundle"] == "true"
    plane.patch(path, {"data": {"ca-bundle.crt": "a certificate"}})
    count = settled(plane)
    plane.patch(PROXY, {"spec": {"noProxy": "internal.example.com"}})
    wait(lambda: variables(containers(plane.get(f"{SETS}/nvidia-driver-daemonset-413.92"))["nvidia-driver-ctr"]).get(
        "NO_PROXY") == "internal.example.com", "the new proxy")
    assert plane.get(path)["data"]["ca-bundle.crt"] == "a certificate"
    assert not [line for line in plane.writes("gpu-operator")[count:] if "configmaps" in line]


def test_pods_are_let_by_constraints_of_their_own(plane, operator):
    made = wait(lambda: plane.get(f"{CONSTRAINTS}/nvidia-driver"), "the driver's constraints")
    assert made["users"] == [f"system:serviceaccount:{SPACE}:nvidia-driver"]
    assert made["allowHostPID"] and made["allowPrivilegedContainer"] and not made["allowHostNetwork"]
    plane.patch(f"{CONSTRAINTS}/nvidia-driver", {"users": []})
    wait(lambda: plane.get(f"{CONSTRAINTS}/nvidia-driver")["users"] == made["users"], "the account is let again")


def test_openshifts_prometheus_may_look_in(plane, operator):
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{SPACE}"
    assert plane.get(f"{rbac}/rolebindings/prometheus-k8s")["subjects"][0]["namespace"] == "openshift-monitoring"
    told = wait(lambda: plane.get(f"/api/v1/namespaces/{SPACE}")["metadata"]["labels"], "labels")
    assert told["openshift.io/cluster-monitoring"] == "true"
    assert told["pod-security.kubernetes.io/enforce"] == "privileged"
    rule = wait(lambda: plane.get(f"/apis/monitoring.coreos.com/v1/namespaces/{SPACE}/prometheusrules/"
                                  "nvidia-gpu-operator-metrics"), "its rules")
    names = [one["alert"] for one in rule["spec"]["groups"][0]["rules"]]
    assert "GPUOperatorOpenshiftDriverToolkitEnabledImageStreamMissing" in names


def test_the_toolkit_can_be_switched_off(plane, operator):
    plane.patch(f"{POLICIES}/cluster-policy", {"spec": {"operator": {"use_ocp_driver_toolkit": False}}})
    wait(lambda: plane.get(f"{SETS}/nvidia-driver-daemonset"), "a driver that needs none")
    wait(lambda: plane.get(f"{SETS}/nvidia-driver-daemonset-413.92") is None, "the other one is gone")
    assert variables(containers(plane.get(f"{SETS}/nvidia-driver-daemonset"))["nvidia-driver-ctr"])[
        "HTTPS_PROXY"] == "https://proxy:8085"


def test_uninstalling_takes_them_too(plane, operator):
    operator.stop()
    done = operator.uninstall("--timeout=60")
    assert done.returncode == 0, done.stderr
    assert plane.get(CONSTRAINTS)["items"] == []
    assert plane.get(f"/api/v1/namespaces/{SPACE}/configmaps/gpu-operator-trusted-ca") is None
