"""Draws docs/dashboard.png: the dashboard's panels over a minute of two fake machines that work, as Prometheus has them.

usage: ./do dashboard [OUTPUT.png]
Each panel is a query of deploy/dashboards/gpus.json that a real Prometheus answered; nothing is drawn by hand.
"""

import contextlib
import datetime
import json
import math
import pathlib
import re
import sys
import tempfile
import time

import matplotlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/component"))

import prometheus  # noqa: E402
from control_plane import wait  # noqa: E402
from test_metrics_exporter import Exporter  # noqa: E402

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

DASHBOARD = ROOT / "deploy/dashboards/gpus.json"
BUILD = ROOT / "build/release"
SECONDS = 60
DIVIDED = {"gpus": [{"product": "NVIDIA H100 80GB HBM3", "mig_devices": ["3g.40gb", "1g.10gb"]}]}
COLUMNS = 3
# What a unit of Grafana's is here: a factor and a text.
UNITS = {"percent": (1, "%"), "percentunit": (100, "%"), "bytes": (1 / 2**30, "GiB"), "celsius": (1, "°C"),
         "watt": (1, "W"), "hertz": (1e-9, "GHz"), "Bps": (1e-6, "MB/s"), "short": (1, "")}


def panels():
    """(title, unit, query, legend) of each panel that draws lines."""
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        if panel["type"] == "timeseries":
            target = panel["targets"][0]
            query = target["expr"].replace("$node", ".*").replace("$gpu", ".*")
            yield panel["title"], panel["fieldConfig"]["defaults"]["unit"], query, target["legendFormat"]


def work(exporter, second):
    """Four GPUs of a machine do what a training job does: each step ends with a pause."""
    for gpu in range(4):
        share = 55 + 40 * math.sin(second / 6 + gpu)
        exporter.control("set", str(gpu), f"utilization_gpu={share:.0f}", f"temperature={40 + share * 0.4:.0f}",
                         f"power={150 + share * 5:.0f}", f"clock_sm={1200 + share * 7:.0f}",
                         f"memory_used={20 + gpu * 9 + share / 10:.0f}GiB")


def measured(folder):
    """What Prometheus has of each panel after a while."""
    with contextlib.ExitStack() as ends:
        def exporter(name, profile):
            (folder / name).mkdir()
            return ends.enter_context(Exporter(folder / name, BUILD, profile, ["-k", f"--node-name={name}"]))
        whole, divided = exporter("gpu-node-1", "8xh100-80"), exporter("gpu-node-2", DIVIDED)
        whole.pods(*[("team-a" if n < 3 else "team-b", f"train-{n}", "main", "nvidia.com/gpu", [gpu["uuid"]])
                     for n, gpu in enumerate(whole.gpus()[:4])])
        part = re.search(r"(MIG-\S+) 1g.10gb", divided.control("mig", "0", "list"))[1]
        divided.pods(("team-b", "notebook", "main", "nvidia.com/mig-1g.10gb", [part]))
        server = ends.enter_context(prometheus.Prometheus(folder / "run", [whole.port, divided.port], False))
        wait(server.ready, "Prometheus", 30)
        start = time.time()
        for second in range(SECONDS // 2):
            work(whole, second * 2)
            time.sleep(2)
        return [(title, unit, legend, server.range(query, start, time.time())) for title, unit, query, legend in panels()]


def name_of(legend, labels):
    return " ".join(re.sub(r"{{(\w+)}}", lambda match: labels.get(match[1], ""), legend).split())


def draw(results, target):
    rows = math.ceil(len(results) / COLUMNS)
    figure, axes = pyplot.subplots(rows, COLUMNS, figsize=(15, 2.6 * rows), squeeze=False)
    for axis in axes.flat[len(results):]:
        axis.axis("off")
    for axis, (title, unit, legend, series) in zip(axes.flat, results, strict=False):
        factor, text = UNITS[unit]
        for labels, values in series:
            axis.plot([datetime.datetime.fromtimestamp(at) for at, _ in values], [value * factor for _, value in values],
                      linewidth=1, label=name_of(legend, labels))
        axis.set_title(f"{title} ({text})" if text else title, fontsize=11, loc="left")
        axis.tick_params(labelsize=8)
        axis.set_xticks([])
        axis.set_ylim(bottom=0)
        axis.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    figure.tight_layout()
    figure.savefig(target, dpi=64)


def main():
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs/dashboard.png"
    with tempfile.TemporaryDirectory() as folder:
        results = measured(pathlib.Path(folder))
    empty = [title for title, _, _, series in results if not series]
    if empty:
        sys.exit(f"dashboard: panels without series: {', '.join(empty)}")
    draw(results, target)
    print(f"{target}: {len(results)} panels, {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
