# SPDX-License-Identifier: Apache-2.0
"""A driver root with GPUs that can be divided, and nvidia-mig-parted on it, for component tests about MIG."""

import contextlib
import os
import pathlib
import re
import subprocess
import sys
import time

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAKEGPU = ROOT / "testbed/fakegpu"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
LAYOUTS = ROOT / "src/operator/desired/mig_layouts.cc"
SUCCESS, IN_USE = 0, 19  # nvmlReturn_t


def gpus(product: str, count: int = 1, driver: str = "570.86.15", **more) -> dict:
    """A machine's profile with GPUs of one kind."""
    return {"driver_version": driver, "cuda_version": "12.8", "gpus": [{"product": product, "count": count} | more]}


class Machine:
    """A driver root; its GPUs are changed by the test and by programs that open its library."""

    def __init__(self, folder: pathlib.Path, build: pathlib.Path, profile: dict, node: str = "node"):
        sys.path.insert(0, str(FAKEGPU))
        from machine import control, image, layout, mig, profile as profiles  # noqa: PLC0415

        self.control, self.layout, self.mig, self.gantry = control, layout, mig, build / "bin/gantry"
        self.root, self.journal, self.status = folder / "root", folder / "mig/change.json", folder / "validations"
        built = build / "testbed/fakegpu/libnvidia-ml.so.1"
        known = layout.Layout(built)
        machine = profiles.compile_profile(profile, node, set(known.fields["gpu"]))
        self.library = self.root / LIBRARIES / f"libnvidia-ml.so.{machine.driver_version}"
        for path in (self.library.parent, self.root / "dev/nvidia-caps", self.status):
            path.mkdir(parents=True)
        layout.append(built, self.library, image.build(known, machine))
        (self.library.parent / "libnvidia-ml.so.1").symlink_to(self.library.name)
        self.uuids = [gpu.fields["uuid"] for gpu in machine.gpus]
        names = ["null", "nvidiactl", "nvidia-caps/nvidia-cap1", "nvidia-caps/nvidia-cap2"]
        for name in names + [f"nvidia{gpu.fields['minor']}" for gpu in machine.gpus]:
            os.mknod(self.root / "dev" / name, 0o020666, os.makedev(1, 3))
            (self.root / "dev" / name).chmod(0o666)

    @contextlib.contextmanager
    def gpu(self, index: int = 0):
        """One GPU of the machine, to be looked at and changed while programs run."""
        with self.layout.mapped(self.library) as state:
            yield state.gpu(index)

    def devices(self, index: int = 0) -> list[str]:
        """Its MIG devices' profiles, sorted."""
        with self.gpu(index) as gpu:
            return sorted(one["profile"] for one in self.mig.devices(gpu))

    def instances(self, index: int = 0) -> list[tuple]:
        """Its GPU instances: id, start, MIG devices."""
        with self.gpu(index) as gpu:
            return sorted((number, gpu.child("gpu_instance", number).get("start"),
                           tuple(one["uuid"] for one in self.mig.devices(gpu) if one["gpu_instance"] == number))
                          for number in self.mig.gpu_instances(gpu))

    def start(self, *words, environment=None, **options) -> subprocess.Popen:
        places = [f"--driver-root={self.root}", f"--dev-root={self.root}"]
        if words[0] in ("apply", "restore"):
            places.append(f"--journal={self.journal}")
        return subprocess.Popen([self.gantry, "nvidia-mig-parted", words[0], *places, *map(str, words[1:])], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | (environment or {}),
                                **options)

    def parted(self, *words, stdin: str = "", environment=None) -> subprocess.CompletedProcess:
        """Runs nvidia-mig-parted to its end."""
        process = self.start(*words, environment=environment, stdin=subprocess.PIPE)
        out, err = process.communicate(stdin, timeout=60)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def apply(self, config: dict, name: str, *words, **options) -> subprocess.CompletedProcess:
        return self.parted("apply", "-f", "-", "-c", name, *words, stdin=yaml.safe_dump(config), **options)


def layout_of(devices: dict | None, **more) -> dict:
    """A configuration `wanted` for all GPUs; None: MIG disabled."""
    entry = {"devices": "all", "mig-enabled": devices is not None} | more
    if devices is not None:
        entry["mig-devices"] = devices
    return {"version": "v1", "mig-configs": {"wanted": [entry]}}


def default_layouts() -> dict:
    """The operator's table of layouts, as nvidia-mig-parted reads it."""
    text = LAYOUTS.read_text()
    named = {name: "".join(re.findall(r'"([^"]*)"', value))
             for name, value in re.findall(r"constexpr std::string_view (k\w+) =([^;]*);", text)}
    configs = {"all-disabled": [{"devices": "all", "mig-enabled": False}],
               "all-enabled": [{"devices": "all", "mig-enabled": True, "mig-devices": {}}]}
    for name, devices, instances in re.findall(r'\{"(all-[^"]+)", ("[^"]*"|k\w+), "([^"]+)"\}', text):
        entry = {"devices": "all", "mig-enabled": True, "mig-devices": {
            profile: int(count) for profile, count in (one.split("*") for one in instances.split())}}
        if ids := named.get(devices, devices.strip('"')).split():
            entry["device-filter"] = ids
        configs.setdefault(name, []).append(entry)
    return {"version": "v1", "mig-configs": configs}


def wait(holds, what: str, seconds: float = 20):
    """Until holds() is true; its value."""
    deadline = time.monotonic() + seconds
    while not (value := holds()):
        assert time.monotonic() < deadline, f"{what}: not after {seconds} s"
        time.sleep(0.01)
    return value


def is_waiting(process: subprocess.Popen) -> bool:
    """Whether a process sleeps in a futex: in a call that the machine makes hang."""
    try:
        return "futex" in pathlib.Path(f"/proc/{process.pid}/wchan").read_text()
    except OSError:
        return False
