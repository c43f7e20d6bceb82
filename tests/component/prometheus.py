# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus that scrapes exporters of this machine as it would behind a ServiceMonitor."""

import json
import signal
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import yaml
from control_plane import ROOT, free_port

# What the ServiceMonitor of the exporter gives its targets.
EXPORTER = "nvidia-dcgm-exporter"


def program(name):
    """Where the test bed has it: prometheus or promtool."""
    return subprocess.run(["./do", "bed", "path", name], cwd=ROOT, text=True, capture_output=True, check=True,
                          timeout=900).stdout.strip()


class Prometheus:
    """Scrapes the ports every second, with or without honorLabels, and evaluates rule files."""

    def __init__(self, folder, ports, honor_labels, rules=()):
        self.folder, self.port = folder, free_port()
        folder.mkdir()
        targets = [{"targets": [f"127.0.0.1:{port}"],
                    "labels": {"namespace": "gpu-operator", "service": EXPORTER, "endpoint": "gpu-metrics",
                               "pod": f"{EXPORTER}-{number}", "container": EXPORTER}}
                   for number, port in enumerate(ports)]
        (folder / "prometheus.yml").write_text(yaml.safe_dump({
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(path) for path in rules],
            "scrape_configs": [{"job_name": EXPORTER, "honor_labels": honor_labels, "static_configs": targets}]}))

    def __enter__(self):
        self.log = open(self.folder / "log", "wb")
        self.process = subprocess.Popen(
            [program("prometheus"), f"--config.file={self.folder}/prometheus.yml", f"--storage.tsdb.path={self.folder}/data",
             f"--web.listen-address=127.0.0.1:{self.port}"], stdout=self.log, stderr=subprocess.STDOUT)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)
        self.log.close()

    def api(self, path, **parameters):
        assert self.process.poll() is None, (self.folder / "log").read_text()[-2000:]
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path} {parameters}: {error.read().decode()}") from error

    def ready(self):
        assert self.process.poll() is None, (self.folder / "log").read_text()[-2000:]
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=10).status == 200
        except urllib.error.URLError:
            return False

    def query(self, expression):
        """Labels and value of each series of an instant query."""
        return [(one["metric"], float(one["value"][1])) for one in self.api("query", query=expression)["result"]]

    def range(self, expression, start, end, step=1):
        """Labels and (time, value) pairs of each series between two times."""
        result = self.api("query_range", query=expression, start=start, end=end, step=step)["result"]
        return [(one["metric"], [(at, float(value)) for at, value in one["values"]]) for one in result]

    def scraped(self, times):
        """Whether every target was scraped that often by now."""
        counts = self.query(f"count_over_time(up{{job='{EXPORTER}'}}[5m])")
        return bool(counts) and all(value >= times for _, value in counts)

    def selectors(self, expression):
        """(metric, selector) of each vector selector of an expression, as Prometheus itself parses it."""
        found = []

        def walk(node):
            if isinstance(node, dict):
                if node.get("type") == "vectorSelector":
                    matchers = ", ".join(f'{m["name"]}{m["type"]}{json.dumps(m["value"])}' for m in node["matchers"])
                    name = next(m["value"] for m in node["matchers"] if m["name"] == "__name__")
                    found.append((name, f"{{{matchers}}}"))
                for value in node.values():
                    walk(value)
            elif isinstance(node, list):
                for value in node:
                    walk(value)
        walk(self.api("parse_query", query=expression))
        return found

