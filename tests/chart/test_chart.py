"""The chart renders with Helm 4 and Helm 3, maps values as upstream's does, and refuses what cannot be."""

import json
import pathlib
import subprocess

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", params=["helm", "helm3"])
def helm(request):
    return subprocess.run(["./do", "bed", "path", request.param], cwd=ROOT, text=True, capture_output=True,
                          check=True).stdout.strip()


def render(helm, *values):
    sets = [w for v in values for w in ("--set", v)]
    return subprocess.run([helm, "template", "gpu-operator", "deploy/chart", "-n", "gpu-operator", *sets],
                          cwd=ROOT, text=True, capture_output=True, check=False)


def objects(helm, *values):
    done = render(helm, *values)
    assert done.returncode == 0, done.stderr
    return {(o["kind"], o["metadata"]["name"]): o for o in yaml.safe_load_all(done.stdout) if o}


def spec(helm, *values):
    return objects(helm, *values)[("ClusterPolicy", "cluster-policy")]["spec"]


def test_operands_without_an_image_name_none(helm):
    policy = spec(helm)
    assert policy["driver"]["enabled"] is True and "image" not in policy["driver"]
    assert policy["daemonsets"]["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert policy["daemonsets"]["rollingUpdate"]["maxUnavailable"] == "1"
    assert policy["daemonsets"]["labels"]["app.kubernetes.io/managed-by"] == "gpu-operator"


def test_values_that_the_resource_calls_by_another_name(helm):
    policy = spec(helm, "driver.upgradePolicy.gpuPodDeletion.force=true", "devicePlugin.config.name=slices",
                  "devicePlugin.config.default=any", "mig.strategy=mixed", "toolkit.version=v1.16.1",
                  "operator.defaultRuntime=containerd")
    assert policy["driver"]["upgradePolicy"]["podDeletion"]["force"] is True
    assert "gpuPodDeletion" not in policy["driver"]["upgradePolicy"]
    assert policy["devicePlugin"]["config"] == {"name": "slices", "default": "any"}
    assert policy["mig"] == {"strategy": "mixed"}
    assert policy["toolkit"]["version"] == "v1.16.1"
    assert policy["operator"]["defaultRuntime"] == "containerd"


def test_the_crd_of_drivers_takes_the_driver_out_of_the_policy(helm):
    driver = spec(helm, "driver.nvidiaDriverCRD.enabled=true")["driver"]
    # A default of the resource is there in any case.
    assert set(driver) == {"enabled", "useNvidiaDriverCRD", "upgradePolicy", "hostNetwork", "kernelModuleType"}


def test_a_switch_of_a_drivers_part_is_enough(helm):
    policy = spec(helm, "driver.version=1", "gdrcopy.enabled=true", "gds.enabled=true")
    for section in ("gdrcopy", "gds"):
        assert {"repository", "image", "version"} <= policy[section].keys()
    assert "version" not in spec(helm, "driver.version=1")["gdrcopy"]


def test_secrets_for_the_operators_image_reach_what_runs_from_it(helm):
    made = objects(helm, "operator.imagePullSecrets={a,b}", "node-feature-discovery.imagePullSecrets[0].name=n")
    name = "OPERATOR_IMAGE_PULL_SECRETS"
    for key, secrets in ((("Deployment", "gpu-operator"), "a,b,n"), (("Job", "gpu-operator-cleanup"), "a,b")):
        env = made[key]["spec"]["template"]["spec"]["containers"][0]["env"]
        assert {"name": name, "value": secrets} in env
    plain = objects(helm)["Deployment", "gpu-operator"]["spec"]["template"]["spec"]["containers"][0]["env"]
    assert not [e for e in plain if e["name"] == name]


def test_n1_the_default_driver_is_made_if_both_switches_are_on(helm):
    on = "driver.nvidiaDriverCRD.enabled=true"
    key = ("NVIDIADriver", "default")
    made = objects(helm, on)[key]
    assert made["apiVersion"] == "nvidia.com/v1alpha1" and made["spec"]["default"] is True
    # Without them it would be refused for ever.
    assert {"repository", "image", "version"} <= made["spec"].keys()
    assert key not in objects(helm)
    assert key not in objects(helm, on, "driver.nvidiaDriverCRD.deployDefaultCR=false")
    assert key not in objects(helm, on, "driver.enabled=false")


def test_the_default_driver_has_the_values_under_its_own_names(helm):
    made = objects(helm, "driver.nvidiaDriverCRD.enabled=true", "driver.nvidiaDriverCRD.driverType=vgpu",
                   "driver.nvidiaDriverCRD.nodeSelector.a=b", "driver.repository=r", "driver.image=i", "driver.version=v1",
                   "driver.repoConfig.configMapName=repo", "driver.virtualTopology.config=topo",
                   "driver.licensingConfig.configMapName=lic", "driver.licensingConfig.nlsEnabled=false",
                   "driver.upgradePolicy.gpuPodDeletion.force=true", "daemonsets.labels.team=ml", "gds.version=v1")
    spec = made["NVIDIADriver", "default"]["spec"]
    assert (spec["driverType"], spec["repository"], spec["image"], spec["version"]) == ("vgpu", "r", "i", "v1")
    assert spec["repoConfig"] == {"name": "repo"} and spec["virtualTopologyConfig"] == {"name": "topo"}
    assert spec["licensingConfig"] == {"name": "lic", "nlsEnabled": False}
    assert spec["upgradePolicy"]["podDeletion"]["force"] is True and "gpuPodDeletion" not in spec["upgradePolicy"]
    # A label of the chart's version would bring a new driver's pod with every version of the chart.
    assert spec["labels"] == {"team": "ml"}
    assert "nodeSelector" not in spec and "gds" not in spec and "nvidiaDriverCRD" not in spec


def test_a_config_map_is_made_from_values(helm):
    made = objects(helm, "devicePlugin.config.create=true", "devicePlugin.config.name=slices",
                   "devicePlugin.config.data.any=version: v1")
    assert made[("ConfigMap", "slices")]["data"] == {"any": "version: v1"}
    assert made[("ClusterPolicy", "cluster-policy")]["spec"]["devicePlugin"]["config"] == {"name": "slices"}


def test_the_operator_runs_without_rights_on_its_node(helm):
    pod = objects(helm)[("Deployment", "gpu-operator")]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"} in pod["tolerations"]


def test_the_startup_taint_is_told_and_tolerated(helm):
    pod = objects(helm, "operator.startupTaint=example.com/starting")[("Deployment", "gpu-operator")]["spec"]["template"]["spec"]
    assert {"name": "STARTUP_TAINT", "value": "example.com/starting"} in pod["containers"][0]["env"]
    assert {"key": "example.com/starting", "operator": "Exists"} in pod["tolerations"]
    without = objects(helm)[("Deployment", "gpu-operator")]["spec"]["template"]["spec"]
    assert not [e for e in without["containers"][0]["env"] if e["name"] == "STARTUP_TAINT"]


@pytest.mark.parametrize(("values", "named"), [
    (["devicePlugin.config.create=true"], "devicePlugin.config.name"),
    (["devicePlugin.config.create=true", "devicePlugin.config.name=x"], "devicePlugin.config.data"),
    (["cdi.nriPluginEnabled=true", "cdi.enabled=false"], "cdi.enabled"),
    (["cdi.nriPluginEnabled=true", "toolkit.enabled=false"], "toolkit.enabled"),
    (["gpuCluster.deployCR=true"], "gpuCluster.deployCR"),
    (["gpuCluster.deployCR=true", "clusterPolicy.deployCR=false"], "driver.nvidiaDriverCRD.enabled"),
    # As helm upgrade --reuse-values has them after NVIDIA's chart.
    (["operator.repository=nvcr.io/nvidia", "operator.image=gpu-operator"], "--reset-then-reuse-values"),
    (["networkPolicy.enabled=true"], "networkPolicy.enabled"),
    (["operator.networkPolicy.enabled=true"], "networkPolicy.enabled"),
    (["nodeStatusExporter.networkPolicy.enabled=true"], "networkPolicy.enabled"),
    (["dcgmExporter.serviceAccount.name=metrics"], "dcgmExporter.serviceAccount.name"),
])
def test_what_cannot_be_is_refused_by_name(helm, values, named):
    done = render(helm, *values)
    assert done.returncode != 0 and named in done.stderr


def test_a_gpu_cluster_in_place_of_the_policy(helm):
    asked = ["gpuCluster.deployCR=true", "clusterPolicy.deployCR=false", "driver.enabled=false"]
    made = objects(helm, *asked, "draDriver.featureGates.ContextualLogging=true", "draDriver.repository=mirror",
                   "migManager.config.create=true", "migManager.config.name=mine", "migManager.config.data.a=b")
    assert not [name for kind, name in made if kind == "ClusterPolicy"]
    spec = made["GPUCluster", "gpu-cluster"]["spec"]
    assert spec["draDriver"] == {"imagePullPolicy": "IfNotPresent", "featureGates": {"ContextualLogging": True},
                                 "computeDomains": {"enabled": False}}
    assert set(spec) == {"daemonsets", "dcgm", "dcgmExporter", "draDriver", "gfd", "hostPaths", "migManager"}
    assert spec["hostPaths"]["kubeletRootDir"] == "/var/lib/kubelet" and "rootFS" not in spec["hostPaths"]
    assert spec["migManager"]["config"] == {"name": "mine", "default": "all-disabled"}
    theirs = objects(helm, *asked, "draDriver.version=v0.6.0")["GPUCluster", "gpu-cluster"]["spec"]["draDriver"]
    assert (theirs["repository"], theirs["image"], theirs["version"]) == ("nvcr.io/nvidia", "dra-driver-nvidia-gpu", "v0.6.0")


def test_node_feature_discoverys_configuration_reaches_the_operator(helm):
    key = "node-feature-discovery"
    found = objects(helm, f"{key}.master.config.enableTaints=true", f"{key}.master.instance=gpu",
                    f"{key}.worker.config.core.noPublish=true", "nfd.nodefeaturerules=true")
    container = found["Deployment", "gpu-operator"]["spec"]["template"]["spec"]["containers"][0]
    env = {entry["name"]: entry.get("value") for entry in container["env"]}
    assert yaml.safe_load(env["NFD_MASTER_CONFIG"]) == {"enableTaints": True}
    assert env["NFD_MASTER_INSTANCE"] == "gpu"
    cleanup = found["Job", "gpu-operator-cleanup"]["spec"]["template"]["spec"]["containers"][0]["env"]
    assert {"name": "NFD_MASTER_INSTANCE", "value": "gpu"} in cleanup
    assert yaml.safe_load(env["NFD_WORKER_CONFIG"]) == {"core": {"noPublish": True}}
    rules = found["NodeFeatureRule", "nvidia-kernel-modules"]["spec"]["rules"]
    assert {rule["name"]: rule["labels"] for rule in rules} == {
        f"kernel-module-{module}": {f"nvidia.com/{name}.capable": "true"}
        for module, name in (("gdrdrv", "gdrcopy"), ("nvidia_fs", "gds"), ("nvidia_peermem", "peermem"))}
    plain = objects(helm)["Deployment", "gpu-operator"]["spec"]["template"]["spec"]["containers"][0]["env"]
    assert not [entry for entry in plain if entry["name"].startswith("NFD_")]


def test_an_upgrade_brings_the_definitions_first(helm):
    made = objects(helm)
    hooks = [o for o in made.values() if o["metadata"].get("annotations", {}).get("helm.sh/hook") == "pre-upgrade"]
    weights = {o["kind"]: o["metadata"]["annotations"]["helm.sh/hook-weight"] for o in hooks}
    assert weights == {"ServiceAccount": "0", "ClusterRole": "0", "ClusterRoleBinding": "0", "Job": "1"}
    job = made["Job", "gpu-operator-upgrade-crd"]["spec"]
    pod = job["template"]["spec"]
    account = made["ServiceAccount", "gpu-operator-upgrade-crd-hook-sa"]["metadata"]
    binding = made["ClusterRoleBinding", "gpu-operator-upgrade-crd-hook-binding"]
    assert job["activeDeadlineSeconds"] < 300, "helm's own patience"
    assert pod["serviceAccountName"] == account["name"] == binding["subjects"][0]["name"]
    assert made["ClusterRole", binding["roleRef"]["name"]]["rules"][0]["resources"] == ["customresourcedefinitions"]
    assert pod["containers"][0]["command"] == ["manage-crds", "apply"]
    assert pod["containers"][0]["args"] == [
        f"--filepath=/opt/gpu-operator/{file.name}" for file in sorted((ROOT / "deploy/chart/crds").glob("*.yaml"))]
    assert ("Job", "gpu-operator-upgrade-crd") not in objects(helm, "operator.upgradeCRD=false")


def test_definitions_go_when_helm_has_taken_the_objects_of_their_kinds(helm):
    """op#2716: nothing is said to be kept that goes; and Argo CD takes the policy, and its operands, with an Application."""
    made = objects(helm, "driver.nvidiaDriverCRD.enabled=true", "nfd.nodefeaturerules=true")
    assert not [o for o in made.values() if "helm.sh/resource-policy" in o["metadata"].get("annotations", {})]
    hooks = [o for o in made.values() if o["metadata"].get("annotations", {}).get("helm.sh/hook") == "post-delete"]
    assert {o["kind"] for o in hooks} == {"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Job"}
    job = made["Job", "gpu-operator-cleanup-crd"]["spec"]["template"]["spec"]
    assert job["containers"][0]["command"] == ["manage-crds", "delete"]
    assert job["serviceAccountName"] == "gpu-operator-cleanup-crd-hook-sa"
    assert "delete" in made["ClusterRole", "gpu-operator-cleanup-crd-hook-role"]["rules"][0]["verbs"]
    assert ("Job", "gpu-operator-cleanup-crd") not in objects(helm, "operator.cleanupCRD=false")


def test_alerts_and_dashboard_come_with_their_switches(helm):
    rule, dashboard = ("PrometheusRule", "gantry-gpus"), ("ConfigMap", "gantry-gpu-dashboard")
    assert not {rule, dashboard} & set(objects(helm))
    made = objects(helm, "monitoring.prometheusRule.enabled=true", "monitoring.prometheusRule.additionalLabels.release=p",
                   "monitoring.dashboards.enabled=true", "monitoring.dashboards.namespace=grafana")
    assert made[rule]["metadata"]["labels"]["release"] == "p"
    assert made[rule]["spec"] == yaml.safe_load((ROOT / "deploy/chart/rules/gpus.yaml").read_text())
    assert made[dashboard]["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert made[dashboard]["metadata"]["namespace"] == "grafana"
    panels = json.loads((ROOT / "deploy/dashboards/gpus.json").read_text())
    assert json.loads(made[dashboard]["data"]["gpus.json"]) == panels
