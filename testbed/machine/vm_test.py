# SPDX-License-Identifier: Apache-2.0
"""The machine's own tests: what it promises to those who test in it."""
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE))
import kernels  # noqa: E402  it lies beside this file
import vm  # noqa: E402


def test_a_disk_outlives_its_machine_and_a_panic_is_shown(tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "given").write_text("before\n")
    vm.images.disk(tree, tmp_path / "disk", 8)
    kernel = kernels.kernel(kernels.OLDER)
    with vm.Machine(kernel, [vm.Disk("disk", tmp_path / "disk")], tmp_path) as machine:
        done = machine.run("uname -r; cat /disk/given; echo kept > /disk/made; echo no >&2; exit 3")
        assert (done.status, done.output) == (3, f"{kernel.release}\nbefore\nno\n")
    with vm.Machine(kernel, [vm.Disk("disk", tmp_path / "disk", read_only=True)], tmp_path) as machine:
        assert machine.run("cat /disk/made; touch /disk/x").output == "kept\ntouch: /disk/x: Read-only file system\n"
        with pytest.raises(vm.MachineError, match="(?s)has ended.*Kernel panic"):
            machine.run("echo c > /proc/sysrq-trigger; sleep 60", 60)
    assert machine.process.returncode is not None


def test_what_is_wrong_is_said_in_one_line(tmp_path):
    done = subprocess.run([sys.executable, str(HERE / "vm.py"), "run", "--disk", f"x={tmp_path}/none", "true"],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("vm: start: the machine has ended") and "none" in done.stderr
