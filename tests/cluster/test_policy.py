"""ClusterPolicy: what upstream's users wrote is accepted as written; what is wrong is refused by name."""

import pytest
import yaml

# The three texts' examples, field for field.
BLOG = """
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: cluster-policy-of-a-text}
spec:
  operator: {defaultRuntime: containerd}
  driver: {enabled: true, version: '550.90.07', repository: nvcr.io/nvidia, image: driver}
  toolkit: {enabled: true, version: v1.16.1-ubuntu20.04}
  devicePlugin: {enabled: true, version: v0.16.1}
  dcgm: {enabled: true}
  dcgmExporter: {enabled: true, version: 3.3.7-3.5.0-ubuntu22.04}
  gfd: {enabled: true, version: v0.16.1}
  migManager: {enabled: true, version: v0.8.0}
  nodeStatusExporter: {enabled: true}
  validator: {version: v24.6.2}
"""
OLDER = """
apiVersion: gpu.nvidia.com/v1
kind: GPUClusterPolicy
metadata: {name: gpu-cluster-policy}
spec:
  driver: {enabled: true, version: "470.82.01"}
  cuda: {enabled: true, version: "11.4"}
  devicePlugin: {enabled: true}
  migManager: {enabled: false}
"""


@pytest.mark.parametrize("text", [BLOG, OLDER], ids=["clusterpolicy", "gpuclusterpolicy"])
def test_examples_of_the_texts_are_accepted(bed, text):
    assert "created" in bed.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", text=text)


@pytest.mark.parametrize(("path", "value", "named"), [
    ("mig.strategy", "tripel", "spec.mig.strategy"),
    ("driver.version", 5, "spec.driver.version"),
    ("devicePlugin.enabled", "maybe", "spec.devicePlugin.enabled"),
    ("driver.verison", "1", 'spec.driver.verison'),
    ("daemonsets.updateStrategy", "Sometimes", "spec.daemonsets.updateStrategy"),
])
def test_a_wrong_field_is_refused_by_name(bed, path, value, named):
    policy = yaml.safe_load(BLOG)
    here = policy["spec"]
    *parents, last = path.split(".")
    for key in parents:
        here = here.setdefault(key, {})
    here[last] = value
    refused = bed.refused("kubectl", "apply", "--dry-run=server", "-f", "-", text=yaml.safe_dump(policy))
    assert named in refused
