# SPDX-License-Identifier: Apache-2.0
"""`dcgmi` beside dcgm-exporter: what people and scripts ask NVIDIA's tool for, over the exporter's socket."""

import json
import re
import stat
import subprocess
import threading
import time

import pytest

from control_plane import wait
from test_metrics_exporter import exporter  # noqa: F401 (a fixture)


class Tool:
    def __init__(self, one, folder):
        self.one, self.socket = one, folder / "state/dcgmi.sock"

    def run(self, *words, status=0):
        place = [] if words[0].startswith("-") else [f"--socket={self.socket}"]
        done = subprocess.run([self.one.build / "bin/gantry", "dcgmi", *words, *place], text=True, capture_output=True,
                              timeout=60, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout if status == 0 else done.stderr

    def rows(self, *words):
        """Of dmon: the values of each entity, of the last row that it has."""
        text = self.run("dmon", *words)
        assert text.startswith("#Entity") and text.splitlines()[1].startswith("ID")
        return {match[1]: match[2].split() for match in re.finditer(r"^(GPU(?:-I)? \d+) +(.*)$", text, re.M)}


@pytest.fixture
def tool(exporter, tmp_path):  # noqa: F811
    def make(profile="2xt4", *words):
        one = exporter(profile, f"--state-dir={tmp_path}/state", *words)
        made = Tool(one, tmp_path)
        wait(made.socket.exists, "the socket", 20)
        wait(lambda: one.samples("DCGM_FI_DEV_GPU_TEMP"), "metrics", 30)
        return made
    return make


def test_discovery_lists_the_gpus(tool):
    dcgmi = tool()
    text = dcgmi.run("discovery", "-l")
    assert text.startswith("2 GPUs found.\n")
    for gpu in dcgmi.one.gpus():
        assert f"|        | Device UUID: {gpu['uuid']} " in text
    assert stat.S_IMODE(dcgmi.socket.stat().st_mode) == 0o600, "whoever is root on the node, and no other"
    assert "dcgmi  version: 4." in dcgmi.run("--version")


def test_dmon_prints_fields_that_no_counter_asks_for(tool):
    """As often as it is asked to, while the counters are read once an hour."""
    dcgmi = tool("8xh100-80", "--collect-interval=3600000")
    dcgmi.one.control("set", "all", "utilization_gpu=50")
    dcgmi.one.control("set", "3", "temperature=71", "power=350")
    before = dcgmi.one.get()
    rows = dcgmi.rows("-e", "150,155,112,1001", "-c", "3", "-d", "100")
    assert set(rows) == {f"GPU {n}" for n in range(8)}
    assert rows["GPU 3"][:2] == ["71", "350.000"] and rows["GPU 3"][3] == "0.500", rows["GPU 3"]
    assert dcgmi.one.get() == before, "the counters' values and rates are as they were"
    assert set(dcgmi.rows("-e", "150", "-c", "1", "-i", "0,5")) == {"GPU 0", "GPU 5"}
    assert "DCGM_FI_DEV_GPU_TEMP_CELSIUS" in dcgmi.run("dmon", "-l")


def test_dmon_has_rows_of_gpu_instances(tool):
    dcgmi = tool({"gpus": [{"product": "NVIDIA H100 80GB HBM3", "mig_devices": ["3g.40gb", "1g.10gb"]},
                           {"product": "NVIDIA H100 80GB HBM3"}]})
    rows = dcgmi.rows("-e", "150,251", "-c", "1")
    assert set(rows) == {"GPU 0", "GPU-I 0", "GPU-I 1", "GPU 1"}
    assert rows["GPU 0"][1] == "N/A" and rows["GPU-I 0"][0] == "N/A"
    assert sorted((int(rows["GPU-I 0"][1]), int(rows["GPU-I 1"][1])))[1] < int(rows["GPU 1"][1])


def test_several_tools_at_once(tool):
    dcgmi = tool("8xh100-80")
    answers = []
    threads = [threading.Thread(target=lambda ids=ids: answers.append(dcgmi.rows("-e", ids, "-c", "5", "-d", "50")))
               for ids in ("150", "155", "150", "1001,1002")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 4 and all(len(rows) == 8 for rows in answers)


def test_a_gpu_that_hangs_or_is_lost_costs_its_own_row(tool):
    dcgmi = tool()
    dcgmi.one.control("hang", "0", "nvmlDeviceGetPowerUsage")
    started = time.monotonic()
    rows = dcgmi.rows("-e", "150,155", "-c", "1")
    assert time.monotonic() - started < 12
    assert rows["GPU 1"][0] != "N/A"
    started = time.monotonic()
    dcgmi.rows("-e", "150,155", "-c", "3", "-d", "10")
    assert time.monotonic() - started < 4, "it is not waited for again"
    dcgmi.one.control("unhang", "0")
    wait(lambda: dcgmi.rows("-e", "150", "-c", "1").get("GPU 0", ["N/A"])[0] != "N/A", "both", 30)
    dcgmi.one.control("lose", "1")
    wait(lambda: dcgmi.rows("-e", "150", "-c", "1").get("GPU 1", ["N/A"])[0] == "N/A", "the other one is lost", 15)


def test_health_is_judged_without_a_counter_for_it(tool):
    dcgmi = tool("2xt4", "--collect-interval=3600000")
    assert re.search(r"Overall Health +\| Healthy", dcgmi.run("health", "-g", "0", "-c"))
    assert "DCGM_EXP_GPU_HEALTH_STATUS" not in dcgmi.one.get()
    dcgmi.one.control("set", "1", "ecc_volatile_uncorrected.dram=1")
    dcgmi.one.control("xid", "0", "79")
    time.sleep(1.5)
    report = json.loads(dcgmi.run("health", "-c", "-j"))["body"]
    assert report["Overall Health"]["value"] == "Failure"
    failing = {gpu: set(of["children"]["Errors"]["children"]) for gpu, of in report["GPU"]["children"].items()}
    assert failing == {"0": {"All systems"}, "1": {"Memory system"}}
    assert "DCGM_FR_VOLATILE_DBE_DETECTED" in dcgmi.run("health", "-c")
    assert "On" in dcgmi.run("health", "-f") and "successfully" in dcgmi.run("health", "-s", "a")


def test_a_lost_gpu_is_no_healthy_one(tool):
    dcgmi = tool()
    dcgmi.one.control("lose", "1", "--quiet")
    wait(lambda: "the GPU does not answer" in dcgmi.run("health", "-c"), "it says so", 15)


def test_mistakes_and_an_absent_exporter_are_told(tool):
    dcgmi = tool()
    assert 'field "9999"' in dcgmi.run("dmon", "-e", "9999", "-c", "1", status=1)
    assert "no such GPU" in dcgmi.run("dmon", "-e", "150", "-i", "7", "-c", "1", status=1)
    dcgmi.one.process.kill()
    dcgmi.one.process.wait()
    assert "can't be asked" in dcgmi.run("discovery", "-l", status=1)
    dcgmi.one.log.write_text("")
    dcgmi.one.start()
    wait(lambda: dcgmi.run("discovery", "-l").startswith("2 GPUs"), "in the place of the socket that was left", 20)
