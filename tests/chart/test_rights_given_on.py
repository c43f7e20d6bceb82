# SPDX-License-Identifier: Apache-2.0
"""The operator has every right that it gives to operands: the API server refuses a role that asks for more."""

import pathlib
import subprocess

import pytest
import yaml

from test_chart import ROOT, objects

CASES = sorted((ROOT / "tests/golden/operator").glob("*/expected.yaml"))


def rules(role):
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                yield group, resource, tuple(rule.get("resourceNames", ())), set(rule["verbs"])


def missing(asked, roles):
    group, resource, names, verbs = asked
    for role in roles:
        for have_group, have_resource, have_names, have_verbs in rules(role):
            if (have_group == group and have_resource in (resource, "*")
                    and (not have_names or (names and set(names) <= set(have_names)))):
                verbs = verbs - have_verbs
    return verbs


@pytest.fixture(scope="module")
def own():
    helm = subprocess.run(["./do", "bed", "path", "helm"], cwd=ROOT, text=True, capture_output=True,
                          check=True).stdout.strip()
    made = objects(helm)
    return made["ClusterRole", "gpu-operator"], made["Role", "gpu-operator"]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.parent.name)
def test_roles_of_operands_are_within_the_operators(own, path: pathlib.Path):
    everywhere, here = own
    for made in yaml.safe_load_all(path.read_text()):
        if made and made["kind"] in ("Role", "ClusterRole"):
            roles = [everywhere] + ([here] if made["kind"] == "Role" else [])
            for asked in rules(made):
                assert not missing(asked, roles), (made["kind"], made["metadata"]["name"], asked)
