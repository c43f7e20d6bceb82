# SPDX-License-Identifier: Apache-2.0
"""Every value that NVIDIA's chart has had since v23.9 is accepted; what is not known, or not followed, is named."""

import json
import pathlib
import shutil
import subprocess
import sys

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = {"bool": True, "int": 1, "text": "x", "list": [], "map": {}}
# Where only certain words, or other shapes, make sense.
WORDS = {"sandboxWorkloads.defaultWorkload": "vm-vgpu", "sandboxWorkloads.mode": "kata",
         "daemonsets.updateStrategy": "OnDelete", "mig.strategy": "mixed", "driver.kernelModuleType": "open",
         "migManager.config.default": "all-disabled", "ccManager.defaultMode": "devtools", "gpuCluster.deployCR": False,
         "devicePlugin.config.data": {"any": "version: v1"}, "daemonsets.tolerations": [{"operator": "Exists"}],
         "kataManager.config.runtimeClasses": [{"name": "a", "nodeSelector": {}, "artifacts": {"url": "b"}}],
         "operator.metrics.serviceMonitor": {"enabled": True, "interval": "15s"},
         # What this chart takes while it is off.
         "dcgmExporter.serviceAccount.name": "", "networkPolicy.enabled": False, "operator.networkPolicy.enabled": False,
         "dcgmExporter.networkPolicy.enabled": False, "nodeStatusExporter.networkPolicy.enabled": False}


def upstream_values():
    for line in (ROOT / "tests/chart/upstream_values.txt").read_text().splitlines():
        if not line.startswith("#"):
            path, kind = line.split()
            yield path, WORDS.get(path, SAMPLES[kind])


def nested(pairs):
    values = {}
    for path, value in pairs:
        # A map of its own may stand in front of its parts.
        *parents, last = path.split(".")
        here = values
        for key in parents:
            here = here.setdefault(key, {})
        if not (isinstance(value, dict) and last in here):
            here[last] = value
    return values


@pytest.fixture(scope="module", params=["helm", "helm3"])
def render(request, tmp_path_factory):
    helm = subprocess.run(["./do", "bed", "path", request.param], cwd=ROOT, text=True, capture_output=True,
                          check=True).stdout.strip()
    file = tmp_path_factory.mktemp("values") / "values.yaml"

    def run(values, *arguments, chart="deploy/chart"):
        file.write_text(yaml.safe_dump(values))
        return subprocess.run([helm, "template", "gpu-operator", chart, "-f", file, *arguments], cwd=ROOT,
                              text=True, capture_output=True, check=False)
    return run


def documents(done):
    assert done.returncode == 0, done.stderr
    return [o for o in yaml.safe_load_all(done.stdout) if o]


def policy(done):
    return next(o for o in documents(done) if o["kind"] == "ClusterPolicy")["spec"]


def test_the_schema_is_up_to_date():
    done = subprocess.run([sys.executable, ROOT / "deploy/crd_schema/values.py", "--check"], text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_value_of_upstream_is_accepted(render):
    values = nested(upstream_values())
    assert len(values) > 30
    spec = policy(render(values))
    assert spec["driver"]["upgradePolicy"]["drain"]["podSelector"] == "x"
    assert spec["ccManager"]["defaultMode"] == "devtools"
    assert spec["dcgm"]["hostPort"] == 1


def test_every_value_of_upstream_alone_is_accepted_or_needs_another(render):
    # One by one would take minutes: a handful, each from another corner, with the versions that had it.
    for path, value in [("psp.enabled", True), ("operator.initContainer.version", "12.3.1-base-ubi8"),  # v23.9
                        ("driver.useOpenKernelModules", True), ("driver.licensingConfig.configMapName", "x"),  # v24.3
                        ("dcgm.hostPort", 5555), ("cdi.default", True),  # v24.6
                        ("devicePlugin.mps.root", "/mps"), ("nfd.nodefeaturerules", True),  # v24.9
                        ("hostPaths.rootFS", "/host"), ("driver.kernelModuleType", "open"),  # v25.3
                        ("cdi.nriPluginEnabled", True), ("draDriver.computeDomains.enabled", False)]:  # v25.10
        done = render(nested([(path, value)]))
        assert done.returncode == 0, (path, done.stderr)


@pytest.mark.parametrize(("path", "value", "named"), [
    ("toolkit.enabled", "yes", "toolkit"),
    ("mig.strategy", "tripel", "strategy"),
    ("toolkit.enabled", 1, "toolkit"),
    ("dcgm.hostPort", "many", "hostPort"),
    ("devicePlugin.env", {"A": "b"}, "env"),
    ("node-feature-discovery.worker.tolerations", "all", "tolerations"),
])
def test_what_cannot_be_a_known_value_is_refused_by_name(render, path, value, named):
    done = render(nested([(path, value)]))
    assert done.returncode != 0
    assert named in done.stderr and path.split(".", maxsplit=1)[0] in done.stderr


# Of NVIDIA/aicr, op#575, op#644 and an umbrella chart with an alias.
NOT_KNOWN = {"driver": {"maxParallelUpgrades": 5, "verison": "1", "env": [{"name": "A", "valeu": "b"}]},
             "validator": {"tolerations": []}, "fakeToolkitReady": {"enabled": True}, "nothing": None,
             "dcgmExporter": {"serviceMonitor": {"intervall": "1s"}}, "vgpuDeviceManager": {"tolerations": [{"key": "a"}]},
             "global": {"imageRegistry": "r"}, "devicePlugin": {"config": {"data": {"any": "x"}}},
             "operator": {"nodeSelector": {"a": "b"}, "affinity": {"nodeAffinity": {}}}}
NAMES = ["dcgmExporter.serviceMonitor.intervall", "driver.env[].valeu", "driver.maxParallelUpgrades", "driver.verison",
         "fakeToolkitReady", "validator.tolerations", "vgpuDeviceManager.tolerations"]


def test_what_is_not_known_is_named_and_left_out(render, told):
    made = documents(render(NOT_KNOWN))
    assert json.loads(told(NOT_KNOWN, "VALUES_NOT_KNOWN")) == NAMES
    spec = next(o for o in made if o["kind"] == "ClusterPolicy")["spec"]
    assert "maxParallelUpgrades" not in spec["driver"] and "tolerations" not in spec["validator"]
    assert told({}, "VALUES_NOT_KNOWN") is told(nested(upstream_values()), "VALUES_NOT_KNOWN") is None


def test_what_is_not_known_is_refused_where_that_is_asked_for(render):
    done = render(NOT_KNOWN | {"strictValues": True})
    assert done.returncode != 0 and "strictValues" in done.stderr and ", ".join(NAMES) in done.stderr
    assert render({"strictValues": True}).returncode == 0


def test_a_parent_chart_may_have_values_of_its_own_below_an_alias(render, told, tmp_path):
    parent = tmp_path / "parent"
    (parent / "templates").mkdir(parents=True)
    shutil.copytree(ROOT / "deploy/chart", parent / "charts/gpu-operator")
    (parent / "Chart.yaml").write_text(yaml.safe_dump({
        "apiVersion": "v2", "name": "parent", "version": "1.0.0",
        "dependencies": [{"name": "gpu-operator", "version": "0.1.0", "alias": "gpus"}]}))
    made = documents(render({"gpus": {"fakeToolkitReady": True}, "global": {"a": "b"}}, chart=str(parent)))
    operator = next(o for o in made if o["kind"] == "Deployment")["spec"]["template"]["spec"]["containers"][0]
    assert {"name": "VALUES_NOT_KNOWN", "value": '["fakeToolkitReady"]'} in operator["env"]


@pytest.mark.parametrize(("values", "names"), [
    ({"node-feature-discovery": {"gc": {"nodeSelector": {"a": "b"}, "resources": {"limits": {"cpu": 1}}}}},
     ["node-feature-discovery.gc.nodeSelector", "node-feature-discovery.gc.resources"]),
    ({"node-feature-discovery": {"master": {"tolerations": [{"operator": "Exists"}], "config": {"noPublish": True}}}},
     ["node-feature-discovery.master.tolerations"]),
    ({"node-feature-discovery": {"worker": {"hostNetwork": True, "nodeSelector": {"a": "b"}}}},
     ["node-feature-discovery.worker.hostNetwork"]),
    ({"draDriver": {"gpus": {"kubeletPlugin": {"env": [{"name": "a", "value": "b"}]}}, "version": "v0.6.0"}},
     ["draDriver.gpus.kubeletPlugin", "draDriver.version"]),
    ({"driver": {"nvidiaDriverCRD": {"nodeSelector": {"a": "b"}}}}, ["driver.nvidiaDriverCRD.nodeSelector"]),
    ({"operator": {"repository": "r"}, "toolkit": {"repository": "mirror"}, "gfd": {"repository": "r"}},
     ["toolkit.repository"]),
    # What NVIDIA's chart has by default.
    ({"node-feature-discovery": {
        "priorityClassName": "system-node-critical", "enableNodeFeatureApi": True,
        "gc": {"enable": True, "replicaCount": 1, "serviceAccount": {"name": "node-feature-discovery", "create": False}},
        "worker": {"serviceAccount": {"name": "node-feature-discovery", "create": False}},
        "master": {"serviceAccount": {"name": "node-feature-discovery", "create": True}}},
      "draDriver": {"repository": "nvcr.io/nvidia", "image": "dra-driver-nvidia-gpu", "version": "v0.5.0",
                    "imagePullPolicy": "IfNotPresent", "computeDomains": {"enabled": True, "controller": {}}}}, None),
    ({}, None),
])
def test_what_is_not_followed_is_named(told, values, names):
    found = told(values, "VALUES_NOT_FOLLOWED")
    assert (found and json.loads(found)) == names


def test_node_feature_discoverys_workers_are_where_and_as_they_are_asked_for(told):
    worker = {"nodeSelector": {"pool": "gpu"}, "tolerations": [], "affinity": {"nodeAffinity": {}},
              "resources": {"requests": {"cpu": "10m"}}, "annotations": {"a": "b"}}
    found = told({"node-feature-discovery": {"priorityClassName": "p", "worker": worker | {"config": {"a": 1}}}},
                 "NFD_WORKER_POD")
    assert json.loads(found) == worker | {"priorityClassName": "p"}
    assert told({}, "NFD_WORKER_POD") is None


def definitions():
    for kind, plural in (("ClusterPolicy", "clusterpolicies"), ("NVIDIADriver", "nvidiadrivers")):
        crd = yaml.safe_load((ROOT / f"deploy/chart/crds/nvidia.com_{plural}.yaml").read_text())
        yield kind, crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]


def stored(value, schema):
    """What the API server makes of it: fields that are not known go, defaults come."""
    if isinstance(value, dict):
        fields = schema.get("properties", {})
        known = {key: stored(inner, fields.get(key) or schema["additionalProperties"]) for key, inner in value.items()
                 if key in fields or "additionalProperties" in schema}
        return known | {key: stored(field["default"], field) for key, field in fields.items()
                        if "default" in field and key not in value}
    return [stored(inner, schema["items"]) for inner in value] if isinstance(value, list) else value


def filled(schema, name=""):
    """A value for every field that has no default, so that each map is there whose fields have some."""
    if schema["type"] == "object":
        fields = {key: filled(field, key) for key, field in schema.get("properties", {}).items() if "default" not in field}
        return fields or {"a": "b"}
    if schema["type"] == "array":
        return [filled(schema["items"])]
    return schema["enum"][0] if "enum" in schema else {"boolean": True, "integer": 1}.get(schema["type"], "1s")


@pytest.mark.parametrize("values", [{}, nested(upstream_values()), NOT_KNOWN, "filled"], ids=["none", "upstream", "typos", "filled"])
@pytest.mark.parametrize("crd", [False, True], ids=["policy", "driver"])
def test_what_is_rendered_is_what_is_stored(render, values, crd):
    """op#2795: every default of the definition whose map is there."""
    schemas = dict(definitions())
    if values == "filled":
        values = filled(schemas["ClusterPolicy"])
        values["driver"]["upgradePolicy"]["gpuPodDeletion"] = values["driver"]["upgradePolicy"].pop("podDeletion")
        for section in ("operator", "driver", "daemonsets"):
            values[section].pop("initContainer", None)
    values = json.loads(json.dumps(values))
    if crd:
        values.setdefault("driver", {})["nvidiaDriverCRD"] = {"enabled": True}
        values.setdefault("driver", {})["enabled"] = True
    rendered = {o["kind"]: o.get("spec") for o in documents(render(values))}
    for kind, schema in schemas.items():
        if kind in rendered:
            assert stored(rendered[kind], schema) == rendered[kind], kind
    assert not crd or "NVIDIADriver" in rendered


def test_images_of_charts_before_25_10_that_are_no_more(render):
    validator = {"repository": "nvcr.io/nvidia/cloud-native", "image": "gpu-operator-validator"}
    ours = {"repository": "r", "image": "gantry", "version": "1"}
    vfio = {"repository": "nvcr.io/nvidia", "image": "cuda", "version": "12.8.1-base-ubi9"}
    values = {"operator": ours | {"initContainer": {"image": "cuda"}}, "validator": validator,
              "nodeStatusExporter": validator | {"enabled": True}, "vfioManager": vfio}
    spec = policy(render(values))
    assert spec["validator"].items() >= ours.items() and spec["nodeStatusExporter"].items() >= ours.items()
    assert spec["operator"]["initContainer"] == {"image": "cuda"}
    assert spec["vfioManager"]["image"] == "k8s-driver-manager" and spec["vfioManager"]["version"].startswith("v0.")
    # A version says which of NVIDIA's.
    spec = policy(render(values | {"validator": validator | {"version": "v25.3.4"}}))
    assert spec["validator"].items() >= (validator | {"version": "v25.3.4"}).items()


@pytest.mark.parametrize(("path", "value", "type_of_the_resource"), [
    ("driver.version", 535, "535"),
    ("driver.version", 20240101, "20240101"),
    ("driver.version", 550.54, "550.54"),
    ("daemonsets.labels.zone", 7, "7"),
    ("daemonsets.rollingUpdate.maxUnavailable", 2, "2"),
    ("driver.env", [{"name": "MAX_THREADS", "value": 4}], [{"name": "MAX_THREADS", "value": "4"}]),
    ("toolkit.enabled", "false", False),
    ("cdi.nriPluginEnabled", "true", True),
    ("driver.startupProbe.periodSeconds", "30", 30),
    ("driver.upgradePolicy.gpuPodDeletion.force", "true", True),
])
def test_a_value_gets_the_type_of_the_resource(render, path, value, type_of_the_resource):
    found = policy(render(nested([(path, value)])))
    for key in path.replace("gpuPodDeletion", "podDeletion").split("."):
        found = found[key]
    assert found == type_of_the_resource and isinstance(found, type(type_of_the_resource))


def test_a_switch_as_text_counts_for_the_chart_too(render):
    off = [o["kind"] for o in documents(render({"driver": {"enabled": "false", "nvidiaDriverCRD": {"enabled": True}}}))]
    assert "NVIDIADriver" not in off


def test_the_operators_numbers_are_texts(render):
    made = documents(render({"operator": {"version": 20240101, "logging": {"level": 2}}}))
    container = next(o for o in made if o["kind"] == "Deployment")["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "localhost/gantry:20240101" and "--zap-log-level=2" in container["args"]


def test_the_operator_may_have_a_fraction_of_a_processor(render):
    made = documents(render({"operator": {"resources": {"limits": {"cpu": 0.5}}}}))
    container = next(o for o in made if o["kind"] == "Deployment")["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"]["limits"]["cpu"] == 0.5


def test_a_null_takes_a_default_away(render):
    spec = policy(render({"driver": {"startupProbe": None, "certConfig": {"name": None}}, "psa": None}))
    assert "startupProbe" not in spec["driver"] and "psa" not in spec
    for without in ({"rollingUpdate": None}, {"rollingUpdate": {"maxUnavailable": None}}):
        assert "rollingUpdate" not in policy(render({"daemonsets": without}))["daemonsets"]


def test_the_values_of_another_chart_are_enough(tmp_path, render):
    """With --reuse-values an upgrade has nothing but what the release was installed with."""
    chart = shutil.copytree(ROOT / "deploy/chart", tmp_path / "chart")
    (chart / "values.yaml").write_text("operator: {repository: r, image: i}\n")
    made = documents(render({}, chart=chart))
    assert "daemonsets" in next(o for o in made if o["kind"] == "ClusterPolicy")["spec"]
    cleanup = next(o for o in made if o["kind"] == "Job" and o["metadata"]["name"] == "gpu-operator-cleanup")["spec"]
    assert cleanup["template"]["spec"]["containers"][0]["args"] == ["--timeout=120"]
    assert cleanup["activeDeadlineSeconds"] == 240
    operator = next(o for o in made if o["kind"] == "Deployment")["spec"]["template"]["spec"]["containers"][0]
    assert {"name": "NODE_FEATURES_ENABLED", "value": "true"} in operator["env"]


def test_a_chart_is_a_label_whatever_its_version_is(tmp_path, render):
    chart = shutil.copytree(ROOT / "deploy/chart", tmp_path / "chart")
    (chart / "Chart.yaml").write_text((chart / "Chart.yaml").read_text().replace("version: 0.1.0", "version: 0.1.0+b", 1))
    made = next(o for o in documents(render({"nameOverride": "gpus"}, chart=chart)) if o["kind"] == "ClusterPolicy")
    assert made["metadata"]["labels"]["helm.sh/chart"] == "gpu-operator-0.1.0_b"
    assert made["spec"]["daemonsets"]["labels"]["helm.sh/chart"] == "gpu-operator-0.1.0_b"
    assert made["metadata"]["labels"]["app.kubernetes.io/name"] == "gpus"


@pytest.mark.parametrize(("section", "default"), [("migManager", "all-disabled"), ("vgpuDeviceManager", "default")])
def test_an_empty_text_switches_the_resources_default_off(render, section, default):
    assert policy(render({section: {"config": {"default": ""}}}))[section]["config"] == {"default": ""}
    assert policy(render({}))[section]["config"] == {"default": default}


@pytest.fixture(name="told")
def _told(render):
    """A variable of the operator."""
    def told(values, name):
        operator = next(o for o in documents(render(values)) if o["kind"] == "Deployment")
        variables = operator["spec"]["template"]["spec"]["containers"][0]["env"]
        named = [e["name"] for e in variables]
        assert len(named) == len(set(named))
        return {e["name"]: e.get("value") for e in variables}.get(name)

    return told


@pytest.mark.parametrize(("section", "name", "known"), [
    ("driver", "DRIVER_IMAGE", "nvcr.io/nvidia/driver"),
    ("migManager", "MIG_MANAGER_IMAGE", "nvcr.io/nvidia/cloud-native/k8s-mig-manager"),
])
def test_the_operator_is_told_where_a_version_is(told, section, name, known):
    assert told({}, name) == told({section: {"image": "r.io/own:1"}}, name) == known
    assert told({section: {"repository": "mirror"}}, name) == f"mirror/{known.rsplit('/', 1)[1]}"
    assert told({"operator": {"env": [{"name": name, "value": "r.io/own:1"}]}}, name) == "r.io/own:1"


def test_the_operator_is_told_where_cuda_is(told):
    def image(values):
        return told(values, "CUDA_IMAGE")

    assert image({}) == "nvcr.io/nvidia/cuda"
    assert image({"cuda": {"repository": "mirror/nvidia"}}) == "mirror/nvidia/cuda"
    assert image({"cuda": None}) is image({"cuda": {"image": ""}}) is None


def test_the_file_of_nvidias_operands_names_an_image_for_each(render):
    spec = policy(render({}, "-f", "deploy/chart/nvidia-operands.yaml"))
    for section in ("driver", "dcgm", "dcgmExporter", "migManager", "vgpuDeviceManager", "vfioManager",
                    "sandboxDevicePlugin", "kataSandboxDevicePlugin", "ccManager", "gds", "gdrcopy"):
        assert all(spec[section].get(key) for key in ("repository", "image", "version")), section
    assert spec["driver"]["manager"]["image"] == spec["vfioManager"]["driverManager"]["image"] == "k8s-driver-manager"
    # Our own operands stay ours.
    for section in ("toolkit", "devicePlugin", "gfd", "validator"):
        assert "image" not in spec[section], section


def parts(section):
    return tuple(section.get(key) for key in ("repository", "image", "version"))


NONE = (None, None, None)


@pytest.mark.parametrize(("values", "section", "named"), [
    # What NVIDIA's end-to-end script sets.
    ({"operator": {"repository": "r.io", "version": "v2"}, "validator": {"repository": "r.io", "version": "v2"}},
     "validator", ("r.io", "gantry", "v2")),
    # A mirror alone names no other operand: those that we have run from the operator's image.
    ({"nodeStatusExporter": {"repository": "mirror"}}, "nodeStatusExporter", (None, None, None)),
    ({"operator": {"image": "gpu-operator", "version": "v2"}, "validator": {"repository": "mirror"}}, "validator",
     (None, None, None)),
    ({"toolkit": {"repository": "mirror"}}, "toolkit", (None, None, None)),
    ({"devicePlugin": {"repository": "mirror"}}, "devicePlugin", (None, None, None)),
    ({"toolkit": {"repository": "nvcr.io/nvidia/k8s"}}, "toolkit", ("nvcr.io/nvidia/k8s", "container-toolkit", "v1.20.0")),
    # What NVIDIA's chart has of its validator, which is not of Gantry's version.
    ({"validator": {"repository": "nvcr.io/nvidia", "image": "gpu-operator"}}, "validator",
     ("nvcr.io/nvidia", "gpu-operator", "v26.7.0")),
    ({"nodeStatusExporter": {"repository": "mirror", "image": "gpu-operator"}}, "nodeStatusExporter",
     ("mirror", "gpu-operator", "v26.7.0")),
    # A version alone, or an image that is a reference, of one of ours is left to the operator.
    ({"validator": {"version": "v24.9.0"}}, "validator", (None, None, "v24.9.0")),
    ({"toolkit": {"version": "v1.16.1"}}, "toolkit", (None, None, "v1.16.1")),
    ({"validator": {"image": "r.io/validator:1"}}, "validator", (None, "r.io/validator:1", None)),
    # NVIDIA's operands, from a mirror or of another version.
    ({"driver": {"version": "550.90.07"}}, "driver", ("nvcr.io/nvidia", "driver", "550.90.07")),
    ({"driver": {"repository": "mirror"}}, "driver", ("mirror", "driver", "595.91.07")),
    ({"driver": {"image": "r.io/driver:1"}}, "driver", (None, "r.io/driver:1", None)),
    # Ours too: a mirror alone does not ask for NVIDIA's, a version does.
    ({"dcgmExporter": {"repository": "mirror"}}, "dcgmExporter", NONE),
    ({"dcgmExporter": {"image": "gantry"}}, "dcgmExporter", NONE),
    ({"migManager": {"repository": "mirror"}}, "migManager", NONE),
    ({"migManager": {"image": "gantry"}}, "migManager", NONE),
    ({"migManager": {"version": "v0.14.0"}}, "migManager", ("nvcr.io/nvidia/cloud-native", "k8s-mig-manager", "v0.14.0")),
    ({"dcgmExporter": {"version": "4.8"}}, "dcgmExporter", ("nvcr.io/nvidia/k8s", "dcgm-exporter", "4.8")),
    ({"dcgmExporter": {"image": "exporter"}}, "dcgmExporter", ("nvcr.io/nvidia/k8s", "exporter", "4.6.0-4.8.3-distroless")),
    ({"toolkit": {"repository": "mirror", "image": "container-toolkit"}}, "toolkit",
     ("mirror", "container-toolkit", "v1.20.0")),
    ({"gfd": {"repository": "mirror", "version": "v0.17.0"}}, "gfd", ("mirror", "k8s-device-plugin", "v0.17.0")),
    ({"vgpuManager": {"repository": "mirror", "version": "570"}}, "vgpuManager", ("mirror", "vgpu-manager", "570")),
    # Whole, or none.
    ({"driver": {"repository": "r", "image": "i", "version": "v"}}, "driver", ("r", "i", "v")),
    ({}, "driver", NONE), ({}, "validator", NONE), ({}, "toolkit", NONE), ({}, "dcgmExporter", NONE), ({}, "migManager", NONE),
])
def test_an_image_that_is_named_in_part_is_completed(render, values, section, named):
    assert parts(policy(render(values))[section]) == named


def test_a_part_of_the_driver_managers_image_is_enough(render):
    values = {"driver": {"manager": {"repository": "mirror"}}, "vfioManager": {"driverManager": {"version": "v0.1"}}}
    spec = policy(render(values))
    assert parts(spec["driver"]["manager"]) == ("mirror", "k8s-driver-manager", "v0.12.0")
    assert parts(spec["vfioManager"]["driverManager"]) == ("nvcr.io/nvidia/cloud-native", "k8s-driver-manager", "v0.1")

    def told(values):
        operator = next(o for o in documents(render(values)) if o["kind"] == "Deployment")
        env = operator["spec"]["template"]["spec"]["containers"][0]["env"]
        return next(e["value"] for e in env if e["name"] == "DRIVER_MANAGER_IMAGE")
    assert told(values) == "mirror/k8s-driver-manager:v0.12.0"
    assert told({}) == "nvcr.io/nvidia/cloud-native/k8s-driver-manager:v0.12.0"
    assert told({"driver": {"manager": {"image": "r.io/manager@sha256:ab"}}}) == "r.io/manager@sha256:ab"
