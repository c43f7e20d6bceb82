# SPDX-License-Identifier: Apache-2.0
"""src/kube against a real etcd and kube-apiserver, under ThreadSanitizer: one test here for each
case of kube/kube_component.cc. The servers are the test bed's, or those in $GANTRY_BED_BIN.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "tests/component/kube/kube_component.cc"
CASES = [".".join(names) for names in re.findall(r"^TEST\((\w+), (\w+)\)", SOURCE.read_text(), re.M)]


def server_folder(scratch: pathlib.Path) -> pathlib.Path:
    """A folder with etcd and kube-apiserver."""
    if os.environ.get("GANTRY_BED_BIN"):
        return pathlib.Path(os.environ["GANTRY_BED_BIN"])
    sys.path.insert(0, str(ROOT / "testbed/cluster"))
    import build  # noqa: PLC0415
    import components  # noqa: PLC0415

    (scratch / "etcd").symlink_to(build.module(components.ETCD) / "bin/etcd")
    server = build.kubernetes(components.KUBERNETES) / "bin/kube-apiserver"
    (scratch / "kube-apiserver").symlink_to(server)
    return scratch


@pytest.fixture(scope="session")
def results(tmp_path_factory) -> dict[str, list]:
    """Each case's failures, from one run of them all: they share a control plane."""
    scratch = tmp_path_factory.mktemp("kube")
    built = subprocess.run([ROOT / "do", "build", "tsan", "kube_component"], cwd=ROOT, text=True,
                           capture_output=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    report = scratch / "report.json"
    environment = os.environ | {"GANTRY_BED_BIN": str(server_folder(scratch)),
                                "TSAN_OPTIONS": "halt_on_error=1"}
    program = ROOT / "build/tsan/bin/kube_component"
    ran = subprocess.run([program, f"--gtest_output=json:{report}"], env=environment, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
    assert report.exists() and ran.returncode in (0, 1), ran.stdout
    return {f"{suite['name']}.{case['name']}": case.get("failures", [])
            for suite in json.loads(report.read_text())["testsuites"] for case in suite["testsuite"]}


@pytest.mark.parametrize("case", CASES)
def test_kube(results, case):
    assert results[case] == []
