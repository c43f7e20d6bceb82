"""Gantry's own programs, for all component tests."""

import pathlib

import pytest
from ours import release


@pytest.fixture(scope="session")
def build() -> pathlib.Path:
    """The folder of the build; its programs are in bin/."""
    return release("gantry", "device_plugin_component", "fake_dra_kubelet", "nvml_component", "fake_pod_resources",
                   "fake_kubelet", "fakegpu_nvml")


@pytest.fixture(scope="session")
def gantry(build) -> pathlib.Path:
    return build / "bin/gantry"
