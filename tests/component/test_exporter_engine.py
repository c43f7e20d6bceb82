# SPDX-License-Identifier: Apache-2.0
"""dcgm-exporter's engine and its HTTP side, as test_metrics_exporter.py: what threads in its users' trackers ask for is
named `thread_NN` after the row of the threads' list.
"""

import base64
import http.client
import pathlib
import random
import re
import signal
import ssl
import subprocess
import threading
import time
import warnings

import pytest

from control_plane import wait
from test_device_plugin import ROOT
from test_metrics_exporter import exporter  # noqa: F401 (a fixture)

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import crypt

PAIR = "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n"
# A hash that takes so long that a scrape would show it.
USERS = f"basic_auth_users:\n  prometheus: {crypt.crypt('secret', '$2b$11$abcdefghijklmnopqrstuu')}\n"


def certificate(folder):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=exporter", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "server.key",
                    "-out", folder / "server.crt"], check=True, capture_output=True)
    return ssl.create_default_context(cafile=folder / "server.crt")


def ask(one, tls=None, password=None, path="/metrics"):
    """Status, body and headers; with TLS if there is a context for it."""
    make = (lambda: http.client.HTTPSConnection("127.0.0.1", one.port, context=tls, timeout=10)) if tls else (
        lambda: http.client.HTTPConnection("127.0.0.1", one.port, timeout=10))
    connection = make()
    login = {"Authorization": "Basic " + base64.b64encode(f"prometheus:{password}".encode()).decode()} if password else {}
    try:
        connection.request("GET", path, headers=login)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), dict(answer.getheaders())
    finally:
        connection.close()


def processor_time(one) -> int:
    """That the exporter has used, in ticks of the clock (proc_pid_stat(5), utime and stime)."""
    fields = pathlib.Path(f"/proc/{one.process.pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_tls_and_passwords(exporter, tmp_path):
    tls = certificate(tmp_path)
    config = tmp_path / "web.yml"
    config.write_text(PAIR)
    one = exporter("2xt4", f"--web-config-file={config}")
    status, body, _ = ask(one)
    assert status == 400 and body == "Client sent an HTTP request to an HTTPS server.\n"
    wait(lambda: "DCGM_FI_DEV_GPU_TEMP" in ask(one, tls)[1], "metrics by TLS", 30)
    # Both, in the file that has changed.
    config.write_text(PAIR + USERS)
    status, body, headers = ask(one, tls)
    assert (status, body.strip(), headers["WWW-Authenticate"]) == (401, "Unauthorized", "Basic")
    assert ask(one, tls, "secret")[0] == 200
    started = processor_time(one)
    assert {ask(one, tls, "wrong")[0] for _ in range(3)} == {401}
    computed = processor_time(one)
    assert {ask(one, tls, "secret")[0] for _ in range(9)} == {200}
    assert processor_time(one) - computed < computed - started, "a right password is not computed again"
    # Passwords alone; a file with a mistake changes nothing.
    config.write_text(USERS)
    assert ask(one)[0] == 401 and ask(one, None, "secret")[0] == 200
    config.write_text("basic_auth_user: {}\n")
    assert ask(one)[0] == 401 and ask(one, None, "secret")[0] == 200
    assert "basic_auth_user: unknown field" in one.log.read_text()


def test_a_web_configuration_with_a_mistake_ends_the_program(exporter, tmp_path):
    (tmp_path / "web.yml").write_text("tls_server_config: {cert_file: none.crt, key_file: none.key}\n")
    one = exporter("2xt4", f"--web-config-file={tmp_path}/web.yml", start=False)
    one.start(await_up=False)
    assert one.process.wait(20) == 1
    assert "tls_server_config.cert_file" in one.log.read_text()


def test_health_says_whether_counters_are_read_again(exporter):
    one = exporter("2xt4")
    status, body, headers = ask(one, path="/health")
    assert (status, body) == (200, "OK")
    assert (headers["X-Registry-Available"], headers["X-Reload-In-Progress"]) == ("true", "false")
    wait(lambda: len(one.samples("DCGM_FI_DEV_GPU_TEMP")) == 2, "metrics", 30)
    # A GPU that does not answer keeps the reload from its end.
    one.control("hang", "all", "nvmlDeviceGetPowerUsage")
    one.process.send_signal(1)
    wait(lambda: ask(one, path="/health")[2]["X-Reload-In-Progress"] == "true", "the reload", 5)
    assert one.get() != "", "the series of before"
    one.control("unhang", "all")
    wait(lambda: ask(one, path="/health")[2]["X-Reload-In-Progress"] == "false", "its end", 30)


def test_many_scrapes_at_once(exporter):
    one = exporter("8xh100-80")
    wait(lambda: len(one.samples("DCGM_FI_DEV_GPU_TEMP")) == 8, "metrics", 30)
    answers, gate = [], threading.Barrier(30)

    def scrape():
        gate.wait()
        answers.append(ask(one))
    threads = [threading.Thread(target=scrape) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 30
    assert all(status == 200 and "DCGM_FI_DEV_GPU_TEMP" in body for status, body, _ in answers)


def parts(one, name):
    return {(s.labels["gpu"], s.labels.get("GPU_I_PROFILE")) for s in one.samples(name)}


@pytest.mark.parametrize(("devices", "memory", "temperature"), [
    ("g", {("0", None), ("1", None)}, {("0", None), ("1", None)}),
    ("i", {("0", "3g.20gb"), ("0", "1g.5gb")}, set()),
    ("g:1", {("1", None)}, {("1", None)}),
    ("g:1+i:1", {("0", "1g.5gb"), ("1", None)}, {("1", None)})])
def test_selected_devices(exporter, devices, memory, temperature):
    one = exporter({"gpus": [{"product": "NVIDIA A100-SXM4-40GB", "mig_devices": ["3g.20gb", "1g.5gb"]},
                             {"product": "NVIDIA A100-SXM4-40GB"}]}, f"--devices={devices}", "-s", "f")
    # GPU instances are numbered by NVML's ids: here 1g.5gb's is the higher one.
    wait(lambda: parts(one, "DCGM_FI_DEV_FB_FREE") == memory, "the selected devices", 30)
    assert parts(one, "DCGM_FI_DEV_GPU_TEMP") == temperature


def test_a_device_that_does_not_exist_ends_the_program(exporter):
    one = exporter("2xt4", "--devices=g:0,5", start=False)
    one.start(await_up=False)
    assert one.process.wait(20) == 1
    assert "--devices: there is no GPU 5; there are: 0, 1" in one.log.read_text()


def test_a_configuration_in_yaml(exporter, tmp_path):
    config = tmp_path / "exporter.yaml"
    config.write_text("""
version: 2
metrics:
  fields:
    - {name: DCGM_FI_DEV_GPU_TEMP, prometheusType: gauge, help: "Temperature, in C."}
collections:
  - {name: all, every: 1h, metrics: {include: ["*"]}}
  - {name: fast, every: 200ms, metrics: {include: ["DCGM_FI_DEV_GPU_*"]}}
""")
    one = exporter("2xt4", f"--config-file={config}", "--collect-interval=3600000")
    wait(lambda: set(one.values("DCGM_FI_DEV_GPU_TEMP")) == {"0", "1"}, "metrics", 30)
    assert set(one.families()[0]) == {"DCGM_FI_DEV_GPU_TEMP"}
    assert "# HELP DCGM_FI_DEV_GPU_TEMP Temperature, in C.\n" in one.get()
    one.control("set", "0", "temperature=66")
    wait(lambda: one.values("DCGM_FI_DEV_GPU_TEMP")["0"] == 66, "the shortest interval counts", 5)


@pytest.mark.parametrize(("text", "status", "said"), [
    ("version: 2\nmetrics: {files: x}\n", 2, "metrics.files: unknown key in version 2"),
    ("version: 1\ncollection: {watchGroups: [{name: a, interval: 1s, fields: [X]}]}\n", 1,
     "collection.watchGroups[0]: none of the counters is X")])
def test_a_configuration_with_a_mistake_ends_the_program(exporter, tmp_path, text, status, said):
    (tmp_path / "exporter.yaml").write_text(text)
    one = exporter("2xt4", f"--config-file={tmp_path}/exporter.yaml", start=False)
    one.start(await_up=False)
    assert one.process.wait(20) == status
    assert said in one.log.read_text()


def test_the_shipped_names_of_articles(exporter):
    """deploy/counters/nvidia_gpu_names.csv: the queries of an article work as they stand there."""
    one = exporter("8xh100-80", "-f", str(ROOT / "deploy/counters/nvidia_gpu_names.csv"))
    one.control("set", "0", "temperature=86", "utilization_gpu=40", "memory_used=4GiB", "ecc_aggregate_corrected.dram=3")
    wait(lambda: one.values("nvidia_gpu_temperature_celsius").get("0") == 86, "the temperature", 30)
    wait(lambda: one.values("nvidia_gpu_ecc_errors_corrected_total")["0"] == 3, "corrected errors", 5)
    assert one.values("nvidia_gpu_utilization")["0"] == 40
    used, total = one.samples("nvidia_gpu_memory_used_bytes")[0], one.samples("nvidia_gpu_memory_total_bytes")[0]
    assert used.value == 4 << 30 and 79 << 30 < total.value < 81 << 30
    assert used.labels == total.labels, "one divided by the other matches"
    types, families = one.families()
    assert types["nvidia_nvlink_bandwidth_total_bytes"] == "counter" and types["nvidia_gpu_utilization"] == "gauge"
    assert types["nvidia_gpu_ecc_errors_corrected_total"] == "counter"
    assert len(families["nvidia_nvlink_bandwidth_total_bytes"]) == 8
    assert "DCGM_FI_PROF_GR_ENGINE_ACTIVE" in types, "the default ones too"


def test_health_has_eleven_watches(exporter, tmp_path):
    (tmp_path / "counters.csv").write_text("DCGM_EXP_GPU_HEALTH_STATUS, gauge, health\nDCGM_FI_DEV_XID_ERRORS, gauge, last\n"
                                           "DCGM_EXP_XID_ERRORS_TOTAL, counter, all\n")
    one = exporter("2xt4", "-f", str(tmp_path / "counters.csv"))

    def health(gpu="0"):
        return {s.labels["health_watch"]: (s.value, s.labels["health_error_code"])
                for s in one.samples("DCGM_EXP_GPU_HEALTH_STATUS") if s.labels["gpu"] == gpu}
    passed = dict.fromkeys(["PCIE", "NVLINK", "PMU", "MCU", "MEM", "SM", "INFOROM", "THERMAL", "POWER", "DRIVER", "ALL"],
                           (0, "DCGM_FR_OK"))
    wait(lambda: health() == passed, "eleven watches that pass", 30)
    one.control("set", "0", "ecc_volatile_uncorrected.dram=1")
    wait(lambda: health()["MEM"] == (20, "DCGM_FR_VOLATILE_DBE_DETECTED"), "memory", 5)
    one.control("xid", "0", "48")
    wait(lambda: health()["ALL"] == (20, "DCGM_FR_XID_ERROR"), "an XID that concerns all", 5)
    assert health()["PCIE"] == (0, "DCGM_FR_OK"), "it says nothing of the others"
    assert health("1") == passed
    wait(lambda: one.values("DCGM_FI_DEV_XID_ERRORS")["0"] == 48, "the last XID", 5)
    one.control("reset", "0")
    wait(lambda: health() == passed, "health after a reset", 5)
    assert one.values("DCGM_FI_DEV_XID_ERRORS") == {"0": 0, "1": 0}
    assert [(s.labels["xid"], s.value) for s in one.samples("DCGM_EXP_XID_ERRORS_TOTAL")] == [("48", 1)]


def test_peers_over_nvlink(exporter, tmp_path):
    (tmp_path / "counters.csv").write_text("DCGM_EXP_P2P_STATUS, gauge, peers\n")
    one = exporter({"gpus": [{"product": "NVIDIA H100 80GB HBM3", "count": 2}, {"product": "Tesla T4"}],
                    "nvlink": {"pairs": [[0, 1, 4]]}}, "-f", str(tmp_path / "counters.csv"))
    samples = wait(lambda: one.samples("DCGM_EXP_P2P_STATUS"), "peers", 30)
    assert {(s.labels["gpu"], s.labels["peer_gpu"]): (s.value, s.labels["link_status"]) for s in samples} == {
        ("0", "1"): (0, "OK"), ("1", "0"): (0, "OK"), **{pair: (1, "ChipsetNotSupported") for pair in (
            ("0", "2"), ("1", "2"), ("2", "0"), ("2", "1"))}}


def test_a_lost_gpu_keeps_the_xid_that_says_so(exporter):
    one = exporter("2xt4")
    wait(lambda: len(one.samples("DCGM_FI_DEV_GPU_TEMP")) == 2, "metrics", 30)
    one.control("lose", "1")
    wait(lambda: one.values("DCGM_FI_DEV_GPU_TEMP").keys() == {"0"}, "the GPU is lost", 10)
    for _ in range(5):  # the driver does not even say which GPU it is
        assert one.values("DCGM_FI_DEV_XID_ERRORS")["1"] == 79
        time.sleep(0.3)
    one.control("recover", "1")
    wait(lambda: one.values("DCGM_FI_DEV_GPU_TEMP").keys() == {"0", "1"}, "it is back", 10)
    assert one.values("DCGM_FI_DEV_XID_ERRORS")["1"] == 79, "until it is reset"


def test_an_xid_counts_once_while_listeners_change(exporter, tmp_path):
    """Each look at the driver has a listener of its own; the one before ends some seconds later."""
    (tmp_path / "counters.csv").write_text("DCGM_EXP_XID_ERRORS_TOTAL, counter, all\nDCGM_FI_DEV_GPU_TEMP, gauge, t\n")
    one = exporter("2xt4", "-f", str(tmp_path / "counters.csv"))
    wait(lambda: len(one.samples("DCGM_FI_DEV_GPU_TEMP")) == 2, "metrics", 30)
    one.control("lose", "1", "--quiet")  # looked for in each interval
    time.sleep(1)
    for _ in range(5):
        one.control("xid", "0", "43")
        time.sleep(0.1)
    wait(lambda: [(s.labels["xid"], s.value) for s in one.samples("DCGM_EXP_XID_ERRORS_TOTAL")] == [("43", 5)], "five XIDs", 5)
    time.sleep(1)
    assert [(s.labels["xid"], s.value) for s in one.samples("DCGM_EXP_XID_ERRORS_TOTAL")] == [("43", 5)]


TOTALS = "DCGM_EXP_XID_ERRORS_TOTAL, counter, all\nDCGM_FI_DEV_XID_ERRORS, gauge, last\nDCGM_FI_DEV_GPU_TEMP, gauge, t\n"


def totals(one):
    return {(s.labels["gpu"], s.labels["xid"]): s.value for s in one.samples("DCGM_EXP_XID_ERRORS_TOTAL")}


def write_xid(log, one, gpu, xid):
    address = one.gpus()[gpu]["pci"].removesuffix(".0")
    with log.open("a") as kmsg:
        kmsg.write(f"4,1,2,-;NVRM: Xid (PCI:{address}): {xid}, pid=1\n")


@pytest.fixture
def kernel_log(tmp_path, monkeypatch):
    log = tmp_path / "kmsg"
    log.touch()
    monkeypatch.setenv("__DCGM_TEST_KMSG_FILENAME__", str(log))
    return log


def test_thread_04_an_xid_of_the_kernels_log_alone(exporter, tmp_path, kernel_log):
    """Two XIDs in one second, of which NVML tells one; and some that count at once."""
    (tmp_path / "counters.csv").write_text(TOTALS)
    one = exporter("2xt4", "-f", str(tmp_path / "counters.csv"))
    wait(lambda: len(one.samples("DCGM_FI_DEV_GPU_TEMP")) == 2, "metrics", 30)
    write_xid(kernel_log, one, 0, 62)
    one.control("xid", "0", "43")
    write_xid(kernel_log, one, 0, 43)
    write_xid(kernel_log, one, 1, 119)
    wait(lambda: totals(one) == {("0", "43"): 1, ("1", "119"): 1}, "what counts at once", 1.5)
    wait(lambda: totals(one) == {("0", "43"): 1, ("0", "62"): 1, ("1", "119"): 1}, "the one of the log", 5)
    time.sleep(0.5)
    assert totals(one)["0", "43"] == 1, "both named it"
    assert one.values("DCGM_FI_DEV_XID_ERRORS") == {"0": 62, "1": 119}


def test_counts_go_on_after_a_kill(exporter, tmp_path):
    """SIGKILL while events come: what was counted stays, and nothing is counted twice."""
    (tmp_path / "counters.csv").write_text(TOTALS)
    one = exporter("2xt4", "-f", str(tmp_path / "counters.csv"), f"--state-dir={tmp_path}/state")
    wait(lambda: len(one.samples("DCGM_FI_DEV_GPU_TEMP")) == 2, "metrics", 30)
    raised = 0
    for _ in range(3):
        for _ in range(5):
            one.control("xid", "0", "43")
            raised += 1
        wait(lambda: totals(one).get(("0", "43")) == raised, f"{raised} XIDs", 10)
        one.process.kill()
        one.process.wait()
        (tmp_path / "log").write_text("")
        one.start()
        assert one.get() is not None
        wait(lambda: totals(one).get(("0", "43")) == raised, "the same after the kill", 30)
        assert one.values("DCGM_FI_DEV_XID_ERRORS")["0"] == 43
        wait(lambda: len(one.samples("DCGM_FI_DEV_GPU_TEMP")) == 2, "metrics", 30)
        time.sleep(0.3)  # the listener
    one.process.kill()
    one.process.wait()
    (tmp_path / "state/events.json").write_text("{")
    (tmp_path / "log").write_text("")
    one.start()
    wait(lambda: len(one.samples("DCGM_FI_DEV_GPU_TEMP")) == 2, "metrics without the state", 30)
    assert totals(one) == {} and "counts begin anew" in one.log.read_text()


def test_a_hundred_kills_at_random_moments(exporter, tmp_path, kernel_log):
    """Whatever it was about to do: no total is less than what was served once, and none is more than what happened."""
    chance = random.Random(22)
    (tmp_path / "counters.csv").write_text(TOTALS)
    one = exporter("2xt4", "-f", str(tmp_path / "counters.csv"), f"--state-dir={tmp_path}/state")
    raised = served = 0
    for _ in range(100):
        wait(lambda: len(one.samples("DCGM_FI_DEV_GPU_TEMP")) == 2, "metrics", 30)
        total = totals(one).get(("0", "119"), 0)
        assert served <= total <= raised
        for _ in range(3):
            write_xid(kernel_log, one, 0, 119)
            raised += 1
        time.sleep(chance.random() * 0.03)
        if chance.random() < 0.5:
            served = totals(one).get(("0", "119"), 0)
            time.sleep(chance.random() * 0.01)
        one.process.kill()
        one.process.wait()
        one.log.write_text("")
        one.start()
    assert served > 100, "events came between kills"


def test_dcgm_exporter_84_a_kill_disturbs_no_other_program(exporter):
    """Another program has the same GPUs open and waits for their events, while the exporter is killed again and again."""
    one = exporter("2xt4", "--collect-interval=50")
    other, other_port = one.process, one.port
    try:
        for number in range(20):
            one.log.write_text("")
            one.start()
            wait(lambda: len(one.samples("DCGM_FI_DEV_GPU_TEMP")) == 2, "metrics", 30)
            time.sleep(number % 5 * 0.01)
            one.process.kill()
            one.process.wait()
        one.process, one.port = other, other_port
        one.control("xid", "1", "43")
        one.control("set", "0", "temperature=77")
        wait(lambda: one.values("DCGM_FI_DEV_XID_ERRORS") == {"0": 0, "1": 43}, "its events", 2)
        wait(lambda: one.values("DCGM_FI_DEV_GPU_TEMP")["0"] == 77, "its values", 2)
        assert not re.search("no metrics|no GPUs", one.log.read_text())
    finally:
        other.kill()
        other.wait()


def test_dcgm_exporter_702_memory_does_not_grow(exporter):
    one = exporter("8xh100-80", "-k", "--collect-interval=20")
    one.pods(*[("team", f"p{n}", "c", "nvidia.com/gpu", [gpu["uuid"]]) for n, gpu in enumerate(one.gpus())])
    wait(lambda: len(one.samples("DCGM_FI_PROF_GR_ENGINE_ACTIVE")) == 8, "metrics", 30)

    def load(times):
        for _ in range(times):
            one.process.send_signal(signal.SIGHUP)
            for _ in range(5):
                one.get()
        time.sleep(0.5)
        status = pathlib.Path(f"/proc/{one.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1])
    before = load(40)
    after = load(200)
    print(f"VmRSS {before} KB, {after} KB")
    if "asan" not in str(one.build):  # which keeps freed memory for a while
        assert after - before < 1024


def test_thread_03_a_reset_clears_the_last_xid_and_no_total(exporter, tmp_path):
    (tmp_path / "counters.csv").write_text(TOTALS)
    one = exporter("2xt4", "-f", str(tmp_path / "counters.csv"))
    wait(lambda: len(one.samples("DCGM_FI_DEV_GPU_TEMP")) == 2, "metrics", 30)
    one.control("xid", "1", "13")
    wait(lambda: one.values("DCGM_FI_DEV_XID_ERRORS")["1"] == 13, "the XID", 5)
    time.sleep(0.5)
    assert one.values("DCGM_FI_DEV_XID_ERRORS")["1"] == 13
    one.control("reset", "1")
    wait(lambda: one.values("DCGM_FI_DEV_XID_ERRORS")["1"] == 0, "no XID since the reset", 5)
    assert totals(one) == {("1", "13"): 1}


def test_thread_01_counters_that_stand_still_are_not_0(exporter):
    """GPM shows no work of a GPU that is in use: its series vanish, and come back with the next samples."""
    one = exporter("8xh100-80")
    one.control("set", "all", "utilization_gpu=100")
    wait(lambda: set(one.values("DCGM_FI_PROF_GR_ENGINE_ACTIVE").values()) == {1}, "work", 30)
    one.control("set", "3", "counters_frozen=1")
    seen = set()
    wait(lambda: seen.add(one.values("DCGM_FI_PROF_GR_ENGINE_ACTIVE").get("3")) or None in seen, "no series", 10)
    assert 0 not in seen
    assert len(one.samples("DCGM_FI_PROF_GR_ENGINE_ACTIVE")) == 7 and len(one.samples("DCGM_FI_DEV_GPU_UTIL")) == 8
    assert one.log.read_text().count("performance counters stand still") == 1
    one.control("set", "3", "counters_frozen=0")
    wait(lambda: one.values("DCGM_FI_PROF_GR_ENGINE_ACTIVE").get("3") == 1, "they move again", 10)
    one.control("set", "3", "counters_frozen=1", "utilization_gpu=0")
    wait(lambda: one.values("DCGM_FI_PROF_GR_ENGINE_ACTIVE").get("3") == 0, "an idle GPU has 0", 10)


def test_thread_02_counters_come_back_after_a_call_failed(exporter):
    one = exporter("8xh100-80")
    one.control("set", "all", "utilization_gpu=50")
    wait(lambda: set(one.values("DCGM_FI_PROF_GR_ENGINE_ACTIVE").values()) == {0.5}, "work", 30)
    one.control("xid", "0", "31")
    one.control("fail", "0", "--call", "nvmlGpmSampleGet", "--code", "999")
    wait(lambda: "0" not in one.values("DCGM_FI_PROF_GR_ENGINE_ACTIVE"), "no series", 10)
    assert "0" in one.values("DCGM_FI_DEV_GPU_UTIL")
    one.control("recover", "0")
    wait(lambda: one.values("DCGM_FI_PROF_GR_ENGINE_ACTIVE").get("0") == 0.5, "work again", 10)


def test_thread_05_one_field_that_fails_blanks_no_other_of_its_batch(exporter, tmp_path):
    fields = ["DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", "DCGM_FI_DEV_POWER_VIOLATION"]
    (tmp_path / "counters.csv").write_text("".join(f"{field}, counter, h\n" for field in fields))
    one = exporter("8xh100-80", "-f", str(tmp_path / "counters.csv"))
    wait(lambda: set(one.families()[0]) == set(fields), "all", 30)
    one.control("set", "0", "failing_field=3")  # NVML_FI_DEV_ECC_SBE_VOL_TOTAL
    wait(lambda: "0" not in one.values(fields[0]), "the field is gone", 5)
    assert len(one.samples(fields[0])) == 7 and len(one.samples(fields[1])) == len(one.samples(fields[2])) == 8


def test_thread_06_fields_that_a_gpu_lacks_are_named_and_the_rest_stays(exporter, tmp_path):
    (tmp_path / "counters.csv").write_text("DCGM_FI_DEV_GPU_TEMP, gauge, t\nDCGM_FI_DEV_NVSWITCH_POWER_VDD, gauge, p\n"
                                           "DCGM_FI_DEV_FAN_SPEED, gauge, f\nDCGM_FI_DEV_APP_SM_CLOCK, gauge, c\n")
    one = exporter("8xh100-80", "-f", str(tmp_path / "counters.csv"))
    wait(lambda: len(one.samples("DCGM_FI_DEV_GPU_TEMP")) == 8, "the temperature", 30)
    assert "DCGM_FI_DEV_NVSWITCH_POWER_VDD can't be had without DCGM" in one.log.read_text()


def test_thread_07_and_11_performance_counters_of_each_gpu_by_its_model(exporter):
    """Before Hopper there are none; a GPU that has them keeps them beside one that has none."""
    one = exporter({"gpus": [{"product": "NVIDIA A100-SXM4-40GB", "mig_devices": ["3g.20gb"]}, {"product": "Tesla T4"},
                             {"product": "NVIDIA H100 80GB HBM3"}]})
    wait(lambda: set(one.values("DCGM_FI_PROF_GR_ENGINE_ACTIVE")) == {"2"}, "the H100's", 30)
    assert set(one.values("DCGM_FI_DEV_GPU_TEMP")) == {"0", "1", "2"}


def test_thread_14_and_18_power_limits_and_violations(exporter, tmp_path):
    (tmp_path / "counters.csv").write_text("DCGM_FI_DEV_POWER_MGMT_LIMIT, gauge, W\nDCGM_FI_DEV_ENFORCED_POWER_LIMIT, gauge, W\n"
                                           "DCGM_FI_DEV_POWER_VIOLATION, counter, ns\n")
    one = exporter("2xt4", "-f", str(tmp_path / "counters.csv"))
    wait(lambda: one.values("DCGM_FI_DEV_POWER_MGMT_LIMIT") == {"0": 70, "1": 70}, "limits in W", 30)
    assert one.values("DCGM_FI_DEV_ENFORCED_POWER_LIMIT") == {"0": 70, "1": 70}
    before, started = one.values("DCGM_FI_DEV_POWER_VIOLATION")["0"], time.monotonic()
    one.control("set", "0", "throttle_reasons=0x4")
    time.sleep(1)
    grown = wait(lambda: one.values("DCGM_FI_DEV_POWER_VIOLATION")["0"] - before, "violations", 5)
    assert 0.3e9 < grown <= (time.monotonic() - started) * 1e9, "nanoseconds"


def test_bytes_over_nvlink_are_a_counter(exporter, tmp_path):
    (tmp_path / "counters.csv").write_text("DCGM_EXP_NVLINK_BYTES_TOTAL, counter, bytes\n"
                                           "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL, gauge, rate\n")
    one = exporter("8xh100-80", "-f", str(tmp_path / "counters.csv"))
    wait(lambda: len(one.samples("DCGM_EXP_NVLINK_BYTES_TOTAL")) == 8, "bytes", 30)
    one.control("set", "0", "link_rate=1000000")
    wait(lambda: one.values("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL").get("0", 0) > 30000, "KiB/s / 1000 of 18 links both ways", 5)
    assert one.values("DCGM_EXP_NVLINK_BYTES_TOTAL")["0"] > one.values("DCGM_EXP_NVLINK_BYTES_TOTAL")["1"]


def test_each_nvlink_has_series_of_its_own(exporter, tmp_path):
    names = ["DCGM_FI_DEV_NVLINK_LINK_STATUS", "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_PER_LINK_TOTAL",
             "DCGM_FI_DEV_NVLINK_TX_THROUGHPUT_PER_LINK", "DCGM_FI_PROF_NVLINK_RX_BYTES_PER_LINK"]
    (tmp_path / "counters.csv").write_text("DCGM_FI_DEV_GPU_TEMP, gauge, t\n" + "".join(f"{name}, gauge, h\n" for name in names))
    one = exporter({"gpus": [{"product": "NVIDIA H100 80GB HBM3", "count": 2}, {"product": "Tesla T4"}],
                    "nvlink": {"pairs": [[0, 1, 4]]}}, "-f", str(tmp_path / "counters.csv"))
    links = {(gpu, str(link)) for gpu in "01" for link in range(1, 5)}
    one.control("set", "0", "link_rate=1048576")  # KiB/s
    for name in names:
        wait(lambda name=name: {(s.labels["gpu"], s.labels["nvlink"]) for s in one.samples(name)} == links, name, 30)
    sample = one.samples(names[0])[0]
    assert list(sample.labels) == ["nvlink", "gpu", "gpu_uuid", "pci_bus_id", "device", "model_name", "Hostname"]
    assert sample.labels["gpu_uuid"] == one.gpus()[0]["uuid"] and sample.value == 1
    rate = lambda name, gpu: [s.value for s in one.samples(name) if s.labels["gpu"] == gpu]  # noqa: E731
    wait(lambda: all(900 < value < 1200 for value in rate(names[2], "0")), "KiB/s / 1000 of each link", 5)
    wait(lambda: all(0.9 * 2**30 < value < 1.1 * 2**30 for value in rate(names[3], "0")), "bytes/s of each link", 5)
    assert set(rate(names[2], "1")) == {0}
    assert len(one.samples("DCGM_FI_DEV_GPU_TEMP")) == 3, "fields of GPUs have no series of links"


def test_thread_15_gpus_come_and_go(exporter):
    one = exporter("2xt4")
    wait(lambda: len(one.samples("DCGM_FI_DEV_GPU_TEMP")) == 2, "metrics", 30)
    for _ in range(3):
        one.control("lose", "0", "--quiet")
        wait(lambda: set(one.values("DCGM_FI_DEV_GPU_TEMP")) == {"1"}, "one", 10)
        one.control("recover", "0")
        wait(lambda: set(one.values("DCGM_FI_DEV_GPU_TEMP")) == {"0", "1"}, "both", 10)


def test_thread_12_the_host_label_is_the_nodes_name_with_a_local_engine_too(exporter, monkeypatch):
    monkeypatch.setenv("DCGM_REMOTE_HOSTENGINE_INFO", "localhost:5555")
    one = exporter("2xt4")
    sample = wait(lambda: one.samples("DCGM_FI_DEV_GPU_TEMP"), "metrics", 30)[0]
    assert sample.labels["Hostname"] == "n1"
    assert "no effect without DCGM: --remote-hostengine-info" in one.log.read_text()


def test_thread_13_series_have_the_labels_of_the_dashboards(exporter):
    """What NVIDIA's dashboard and its copies select and print: instance is Prometheus' own."""
    one = exporter("8xh100-80")
    wait(lambda: len(one.samples("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE")) == 8, "metrics", 30)
    for name in ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_GPU_UTIL",
                 "DCGM_FI_DEV_FB_USED", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"):
        for sample in one.samples(name):
            assert {"gpu", "UUID", "modelName", "Hostname"} <= set(sample.labels), name


def test_thread_17_between_two_looks_it_sleeps_and_opens_nothing(exporter):
    one = exporter("2xt4", "--collect-interval=3600000")
    wait(lambda: len(one.samples("DCGM_FI_DEV_GPU_TEMP")) == 2, "metrics", 30)
    process = pathlib.Path(f"/proc/{one.process.pid}")
    time.sleep(1)

    def used():
        wakes = sum(int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", (task / "status").read_text(), re.M)[1])
                    for task in (process / "task").iterdir())
        return len(list((process / "fd").iterdir())), wakes
    files, wakes = used()
    time.sleep(3)
    files_later, wakes_later = used()
    assert files_later == files
    assert wakes_later - wakes <= 3, "events wake it once in 5 s"
