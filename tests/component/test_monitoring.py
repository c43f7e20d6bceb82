# SPDX-License-Identifier: Apache-2.0
"""What a real Prometheus makes of our metrics, rules and dashboard: every query that we ship, and every query of the
consumers in tests/golden/monitoring, finds series, with and without honorLabels.
"""

import json
import re
import subprocess

import prometheus
import pytest
import yaml
from control_plane import ROOT, wait
from test_metrics_exporter import COUNTERS, GAUGES, PROFILING, Exporter

RULES = ROOT / "deploy/chart/rules/gpus.yaml"
DASHBOARD = ROOT / "deploy/dashboards/gpus.json"
GOLDEN = ROOT / "tests/golden/monitoring"
CONSUMERS = yaml.safe_load((GOLDEN / "consumers.yaml").read_text())
PROFILES = sorted(path.stem for path in (ROOT / "testbed/fakegpu/profiles").glob("*.yaml"))
# Asked for by alerts, and silent until the exporter has it.
MAY_LACK = {"DCGM_EXP_GPU_HEALTH_STATUS"}
VARIABLES = {"node": ".*", "gpu": ".*"}


def promtool(*words, **options):
    return subprocess.run([prometheus.program("promtool"), *words], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, timeout=120, **options)


def panels():
    """(title, query) of each panel of our dashboard, with the variables filled in."""
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel.get("targets", []):
            query = target["expr"]
            for name, value in VARIABLES.items():
                query = query.replace(f"${name}", value)
            assert "$" not in re.sub(r"\$\d", "", query), f"{panel['title']}: a variable without a value"
            yield panel["title"], query


def rules(kind):
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"] if kind in rule]


def operators_rules():
    """The PrometheusRule that the operator makes of the exporter's metrics."""
    golden = ROOT / "tests/golden/operator/dcgm_exporter/expected.yaml"
    rule = next(o for o in yaml.safe_load_all(golden.read_text()) if o["kind"] == "PrometheusRule")
    return rule["spec"]


def all_queries():
    yield from (query for _, query in panels())
    yield from (rule["expr"] for kind in ("record", "alert") for rule in rules(kind))
    yield from (query for consumer in CONSUMERS for query in consumer["queries"])


def counters(path):
    """A file with the default counters, and all others that some query names."""
    named = set(re.findall(r"DCGM_(?:FI|EXP)_\w+", "\n".join(all_queries()))) | COUNTERS | GAUGES | PROFILING
    rows = [f"{name}, {'counter' if name in COUNTERS else 'gauge'}, help" for name in sorted(named)]
    path.write_text("\n".join([*rows, "DCGM_FI_DRIVER_VERSION, label, driver"]) + "\n")
    return path


@pytest.fixture(name="exporters", scope="module")
def _exporters(build, tmp_path_factory):
    """A node of whole GPUs and one with MIG, pods on some of each, and errors of which alerts warn."""
    file = str(counters(tmp_path_factory.mktemp("counters") / "counters.csv"))
    divided = {"gpus": [{"product": "NVIDIA H100 80GB HBM3", "mig_devices": ["3g.40gb", "1g.10gb"]}]}
    with (Exporter(tmp_path_factory.mktemp("whole"), build, "8xh100-80", ["-k", "-f", file]) as whole,
          Exporter(tmp_path_factory.mktemp("mig"), build, divided, ["-k", "-f", file, "--node-name=n2"]) as mig):
        whole.control("set", "all", "utilization_gpu=50")
        whole.control("xid", "1", "43")
        whole.control("xid", "2", "63")
        whole.pods(*[("team", f"job-{n}", "main", "nvidia.com/gpu", [gpu["uuid"]]) for n, gpu in enumerate(whole.gpus()[:4])])
        uuid = re.search(r"(MIG-\S+) 1g.10gb", mig.control("mig", "0", "list"))[1]
        mig.pods(("team", "part", "main", "nvidia.com/mig-1g.10gb", [uuid]))
        wait(lambda: whole.samples("DCGM_FI_PROF_GR_ENGINE_ACTIVE"), "performance counters", 30)
        wait(lambda: any("pod" in s.labels for s in mig.samples("DCGM_FI_DEV_FB_USED")), "the pod of an instance", 30)
        assert {s.labels["Hostname"] for one in (whole, mig) for s in one.samples("DCGM_FI_DEV_GPU_TEMP")} == {"n1", "n2"}
        yield [whole, mig]


@pytest.fixture(name="server", scope="module", params=[False, True], ids=["honorLabels=false", "honorLabels=true"])
def _server(request, exporters, tmp_path_factory):
    folder = tmp_path_factory.mktemp("prometheus")
    theirs = folder / "operator.yaml"
    theirs.write_text(yaml.safe_dump(operators_rules()))
    ports = [exporter.port for exporter in exporters]
    with prometheus.Prometheus(folder / "run", ports, request.param, [RULES, theirs]) as server:
        server.honor_labels = request.param
        wait(server.ready, "Prometheus", 30)
        wait(lambda: server.scraped(5), "scrapes", 60)
        yield server


def without_series(server, query, unserved=frozenset()):
    """Selectors of a query that select nothing."""
    return [selector for name, selector in server.selectors(query)
            if name not in unserved and not server.query(selector)]


@pytest.mark.parametrize("profile", PROFILES)
def test_prometheus_reads_the_metrics_of_every_machine(build, tmp_path, profile):
    with Exporter(tmp_path, build, profile, ["--enable-exporter-metrics"]) as exporter:
        text = wait(lambda: "DCGM_FI_DEV_GPU_TEMP" in exporter.get() and exporter.get(), "metrics", 30)
    done = promtool("check", "metrics", input=text)
    # 3: names that its authors would have chosen otherwise; they are NVIDIA's.
    assert done.returncode in (0, 3), done.stdout
    assert "error while linting" not in done.stdout
    broken = promtool("check", "metrics", input=text + 'x{a="1" 2\n')
    assert broken.returncode == 1, "a parse error is seen"


def test_each_alert_fires_and_stays_silent_as_it_should():
    done = promtool("test", "rules", str(GOLDEN / "alerts.yaml"))
    assert done.returncode == 0, done.stdout
    tested = set(re.findall(r'alertname="(\w+)", alertstate="firing"', (GOLDEN / "alerts.yaml").read_text()))
    assert tested == {rule["alert"] for rule in rules("alert")}


def test_an_alert_has_words_for_its_reader():
    for rule in rules("alert"):
        assert rule["labels"]["severity"] in ("critical", "warning", "info"), rule["alert"]
        assert rule["annotations"]["summary"].endswith(".") and rule["annotations"]["description"], rule["alert"]


def test_each_panel_of_the_dashboard_shows_something(server):
    empty = [title for title, query in panels() if not server.query(query)]
    assert not empty
    assert len(list(panels())) > 15


def test_panels_of_pods_have_the_pods_own_names(server, exporters):
    by_title = dict(panels())
    for title in ("Utilization by pod", "Memory by pod"):
        pods = {(labels["namespace"], labels["pod"]) for labels, _ in server.query(by_title[title])}
        held = {("team", f"job-{n}") for n in range(4)} | ({("team", "part")} if title.startswith("Memory") else set())
        assert pods == held, title
    assert server.query(by_title["GPUs and MIG instances in use"])[0][1] == 5
    uuids = {gpu["uuid"] for exporter in exporters for gpu in exporter.gpus()}
    assert server.query(by_title["GPUs"])[0][1] == len(uuids)


def test_rules_select_what_there_is(server, build):
    served = subprocess.run([build / "bin/gantry", "dcgm-exporter", "--list-fields"], text=True, capture_output=True,
                            check=True).stdout.split()
    unserved = MAY_LACK - set(served)
    for rule in (*rules("record"), *operators_rules()["groups"][0]["rules"]):
        assert server.query(rule["record"]), rule["record"]
    for rule in rules("alert"):
        nothing = without_series(server, rule["expr"].replace('err_code!~"0|13|31|43|45|68|69"', 'err_code="63"'), unserved)
        assert not nothing, rule["alert"]
    firing = {(labels["alertname"], labels.get("gpu")) for labels, _ in server.query('ALERTS{alertstate="firing"}')}
    assert {("GPUXidError", "2"), ("GPUProgramXid", "1")} <= firing


def test_consumers_find_what_they_ask_for(server):
    wrong = []
    asked = [c for c in CONSUMERS if c.get("honor_labels", server.honor_labels) == server.honor_labels]
    assert len(asked) > 8
    for consumer, query in ((consumer, query) for consumer in asked for query in consumer["queries"]):
        for _, selector in server.selectors(query):
            series = server.query(selector)
            missing = set(consumer["labels"]) - set(series[0][0]) if series else "no series"
            if missing:
                wrong.append((consumer["consumer"], selector, missing))
        if not server.query(query):
            wrong.append((consumer["consumer"], query, "no result"))
    assert not wrong
