# SPDX-License-Identifier: Apache-2.0
"""The custom resource definitions are those that their generator writes, and ask for nothing inside spec."""

import pathlib
import subprocess
import sys

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
CRDS = sorted((ROOT / "deploy/chart/crds").glob("*.yaml"))


def test_definitions_are_up_to_date():
    done = subprocess.run([sys.executable, ROOT / "deploy/crd_schema/generate.py", "--check"], text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", CRDS, ids=lambda path: path.stem)
def test_a_spec_may_name_only_what_it_changes(path):
    definition = yaml.safe_load(path.read_text())
    # By this label an uninstallation knows that the definition is ours.
    assert definition["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "gpu-operator"
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    spec = schema["properties"]["spec"]
    assert "required" not in spec
    assert not any("required" in section for section in spec["properties"].values())
    assert "x-kubernetes-preserve-unknown-fields" not in path.read_text()
