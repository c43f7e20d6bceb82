# SPDX-License-Identifier: Apache-2.0
"""Every value that NVIDIA's chart has had since v23.9 is accepted; what is spelled wrong is refused by name."""

import pathlib
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
         "operator.metrics.serviceMonitor": {"enabled": True, "interval": "15s"}}


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

    def run(values, *arguments):
        file.write_text(yaml.safe_dump(values))
        return subprocess.run([helm, "template", "gpu-operator", "deploy/chart", "-f", file, *arguments], cwd=ROOT,
                              text=True, capture_output=True, check=False)
    return run


def policy(done):
    assert done.returncode == 0, done.stderr
    return next(o for o in yaml.safe_load_all(done.stdout) if o and o["kind"] == "ClusterPolicy")["spec"]


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
    ("driver.verison", "1", "verison"),
    ("operator.imagee", "x", "imagee"),
    ("devicePlugins.enabled", True, "devicePlugins"),
    ("dcgmExporter.serviceMonitor.intervall", "1s", "intervall"),
    ("driver.upgradePolicy.drain.enabled", True, "drain"),
    ("toolkit.enabled", "yes", "toolkit"),
    ("mig.strategy", "tripel", "strategy"),
    ("driver.version", 535, "version"),
    ("devicePlugin.env", {"A": "b"}, "env"),
])
def test_what_is_not_known_is_refused_by_name(render, path, value, named):
    done = render(nested([(path, value)]))
    assert done.returncode != 0
    assert named in done.stderr and path.split(".", maxsplit=1)[0] in done.stderr


def test_a_null_takes_a_default_away(render):
    spec = policy(render({"driver": {"startupProbe": None, "certConfig": {"name": None}}, "psa": None}))
    assert "startupProbe" not in spec["driver"] and "psa" not in spec


def test_the_operator_is_told_where_cuda_is(render):
    def image(values):
        done = render(values)
        assert done.returncode == 0, done.stderr
        operator = next(o for o in yaml.safe_load_all(done.stdout) if o and o["kind"] == "Deployment")
        told = {e["name"]: e.get("value") for e in operator["spec"]["template"]["spec"]["containers"][0]["env"]}
        return told.get("CUDA_IMAGE")

    assert image({}) == "nvcr.io/nvidia/cuda"
    assert image({"cuda": {"repository": "mirror/nvidia"}}) == "mirror/nvidia/cuda"
    assert image({"cuda": None}) is image({"cuda": {"image": ""}}) is None


def test_the_file_of_nvidias_operands_names_an_image_for_each(render):
    spec = policy(render({}, "-f", "deploy/nvidia-operands.yaml"))
    for section in ("driver", "dcgm", "dcgmExporter", "migManager", "vgpuDeviceManager", "vfioManager",
                    "sandboxDevicePlugin", "kataSandboxDevicePlugin", "ccManager", "gds", "gdrcopy"):
        assert all(spec[section].get(key) for key in ("repository", "image", "version")), section
    assert spec["driver"]["manager"]["image"] == spec["vfioManager"]["driverManager"]["image"] == "k8s-driver-manager"
    # Our own operands stay ours.
    for section in ("toolkit", "devicePlugin", "gfd", "validator"):
        assert "image" not in spec[section], section
