# SPDX-License-Identifier: Apache-2.0
"""Nodes with machines in them, for the tests of this folder."""
import pathlib
import subprocess
import sys

import pytest
import yaml

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import fakegpu  # noqa: E402  they lie beside this file
from fake_node import Node  # noqa: E402


@pytest.fixture(scope="session")
def library():
    """The library under test: the one that was built, or built now."""
    if not list((HERE.parents[1] / "build").glob("*/testbed/fakegpu/libnvidia-ml.so.1")):
        subprocess.run(["./do", "build", "release", "fakegpu_nvml"], cwd=HERE.parents[1], check=True,
                       capture_output=True)
    return fakegpu.built_library(None)


@pytest.fixture
def node(library, tmp_path):
    nodes = []

    def make(machine: str | dict, name: str = "node1") -> Node:
        path = HERE / "profiles" / f"{machine}.yaml"
        if isinstance(machine, dict):
            path = tmp_path / f"profile{len(nodes)}.yaml"
            path.write_text(yaml.safe_dump(machine))
        nodes.append(Node(tmp_path / f"node{len(nodes)}", str(path), name))
        return nodes[-1]

    yield make
    for one in nodes:
        one.close()
