# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's own nvidia-mig-parted and Gantry's on one machine: what one applies, the other asserts. Run by
`./do migparity`, which takes some minutes; the first time it builds NVIDIA's program out of the Go module proxy into
the cache, with one path changed: kernels without modules have no /proc/modules."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
import yaml
from mig_machine import FAKEGPU, default_layouts, gpus
from test_mig_parted import PRODUCTS

sys.path.insert(0, str(FAKEGPU))
from fake_node import Node  # noqa: E402

MODULE, VERSION = "github.com/NVIDIA/mig-parted", "0.14.4"
MODULES = "/opt/modules"  # in the place of /proc/modules


def nvidias_mig_parted() -> pathlib.Path:
    """NVIDIA's program, built if it is not in the cache."""
    cache = pathlib.Path(os.environ.get("GANTRY_CACHE", pathlib.Path.home() / ".cache/gantry"))
    program = cache / f"mig-parted-{VERSION}" / "nvidia-mig-parted"
    if program.exists():
        return program
    environment = os.environ | {"GOFLAGS": "-mod=mod", "GOWORK": "off", "CGO_ENABLED": "1"}

    def go(*words: str, folder: pathlib.Path) -> str:
        done = subprocess.run(["go", *words], cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    program.parent.mkdir(parents=True, exist_ok=True)
    source = program.parent / "source"
    shutil.rmtree(source, ignore_errors=True)
    downloaded = json.loads(go("mod", "download", "-json", f"{MODULE}@v{VERSION}", folder=program.parent))
    shutil.copytree(downloaded["Dir"], source)
    reader = source / "cmd/nvidia-mig-parted/util/nvml.go"
    for path in (source, reader.parent, reader):
        path.chmod(0o755)
    text = reader.read_text()
    assert text.count('ReadFile("/proc/modules")') == 1
    reader.write_text(text.replace('ReadFile("/proc/modules")', f'ReadFile("{MODULES}")'))
    go("build", "-o", str(program), "./cmd/nvidia-mig-parted", folder=source)
    shutil.rmtree(source, ignore_errors=True)
    return program


class Both:
    """A node with GPUs, and both programs on it."""

    CONFIG = "opt/config.yaml"

    def __init__(self, folder: pathlib.Path, product: str, gantry: pathlib.Path):
        profile = folder / "profile.yaml"
        profile.write_text(yaml.safe_dump(gpus(product, 2)))
        self.node = Node(folder / "node", str(profile))
        (self.node.root / MODULES[1:]).write_text("nvidia 1 0 - Live 0x0\n")
        self.ours, self.theirs = [gantry, "nvidia-mig-parted"], [nvidias_mig_parted()]

    def configure(self, configs: dict) -> None:
        (self.node.root / self.CONFIG).write_text(yaml.safe_dump({"version": "v1", "mig-configs": configs}))

    def run(self, program: list, word: str, *words: str) -> subprocess.CompletedProcess:
        return self.node.run(*map(str, program), word, *words)

    def on(self, program: list, word: str, name: str) -> subprocess.CompletedProcess:
        return self.run(program, word, "-f", f"/{self.CONFIG}", "-c", name)

    def exported(self, program: list) -> list:
        done = self.run(program, "export")
        assert done.returncode == 0, done.stderr
        entries = yaml.safe_load(done.stdout)["mig-configs"]["current"]
        return sorted(entries, key=lambda entry: yaml.safe_dump(entry))


@pytest.fixture(name="both")
def make_both(gantry, tmp_path):
    made = []

    def make(product: str) -> Both:
        made.append(Both(tmp_path, product, gantry))
        return made[-1]

    yield make
    for one in made:
        one.node.close()


@pytest.mark.parametrize("board", PRODUCTS)
def test_each_asserts_what_the_other_applies(both, board):
    """All of the 81 layouts. NVIDIA's program says that it applied a layout of profiles that no GPU has, and has
    destroyed what was there; by its own assertion it has not. Gantry's refuses such a layout and changes nothing."""
    layouts = default_layouts()["mig-configs"]
    here = both(PRODUCTS[board])
    here.configure(layouts)
    applied = 0
    for name in layouts:
        for first, second in ((here.ours, here.theirs), (here.theirs, here.ours)):
            assert here.on(here.ours, "apply", "all-disabled").returncode == 0
            done = here.on(first, "apply", name)
            held = here.on(second, "assert", name)
            assert held.returncode == here.on(first, "assert", name).returncode, (name, first, done, held)
            assert held.returncode == done.returncode or first is here.theirs, (name, done, held)
            assert here.exported(here.ours) == here.exported(here.theirs), name
            applied += held.returncode == 0
    assert applied >= 6, "each board has some of the layouts"
    assert applied % 2 == 0, "a layout that only one of them can apply"


CASES = {
    "a_filter_that_no_gpu_matches": [
        {"devices": "all", "device-filter": ["0x20B010DE"], "mig-enabled": True, "mig-devices": {"1g.10gb": 7}}],
    "one_of_two_filters_matches": [
        {"devices": "all", "device-filter": ["0x20B010DE"], "mig-enabled": True, "mig-devices": {"1g.5gb": 7}},
        {"devices": "all", "device-filter": ["0x233010DE"], "mig-enabled": True, "mig-devices": {"1g.10gb": 7}}],
    "gpus_by_index": [{"devices": [0], "mig-enabled": True, "mig-devices": {"3g.40gb": 2}},
                      {"devices": [1], "mig-enabled": False}],
    "an_index_that_no_gpu_has": [{"devices": [7], "mig-enabled": True, "mig-devices": {"3g.40gb": 2}}],
    "compute_instances": [{"devices": "all", "mig-enabled": True, "mig-devices": {"1c.3g.40gb": 3, "3g.40gb": 1}}],
    "more_than_fits": [{"devices": "all", "mig-enabled": True, "mig-devices": {"1g.10gb": 8}}],
    "all_counts_are_zero": [{"devices": "all", "mig-enabled": True, "mig-devices": {"1g.10gb": 0}}],
    "no_profile": [{"devices": "all", "mig-enabled": True, "mig-devices": {"foo": 1}}],
    "devices_without_mig": [{"devices": "all", "mig-enabled": False, "mig-devices": {"1g.10gb": 1}}],
}


@pytest.mark.parametrize("case", CASES)
def test_own_configurations(both, case):
    """Whatever was applied, and by whom, both see the same."""
    here = both("NVIDIA H100 80GB HBM3")
    here.configure({"wanted": CASES[case], "off": [{"devices": "all", "mig-enabled": False}]})
    for program in (here.ours, here.theirs):
        here.on(here.ours, "apply", "off")
        here.on(program, "apply", "wanted")
        held = [here.on(one, "assert", "wanted").returncode for one in (here.ours, here.theirs)]
        assert held[0] == held[1]
        assert here.exported(here.ours) == here.exported(here.theirs)


@pytest.mark.parametrize("board", PRODUCTS)
def test_generated_configurations(both, board):
    here = both(PRODUCTS[board])
    ours, theirs = (yaml.safe_load(here.run(one, "generate-config").stdout) for one in (here.ours, here.theirs))
    assert ours == theirs
