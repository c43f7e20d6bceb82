# SPDX-License-Identifier: Apache-2.0
"""Every command and every YAML block of docs/guide is one that the chart, the definitions or the programs know.

What is not recognised is a mistake. Helm is the test bed's, gantry that of $GANTRY_BUILD (default build/release).
"""

import functools
import json
import os
import pathlib
import re
import shlex
import subprocess

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs/guide"
PAGES = sorted(GUIDE.glob("*.md"))
FENCE = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
# The first line of a YAML block that commands of its page call by name.
NAMED = re.compile(r"# ([\w.-]+\.yaml)$")
WIDEST = 120


class Mistake(Exception):
    """What is wrong with one command or one block, in words."""


def need(true, said):
    if not true:
        raise Mistake(said)


# --- programs -------------------------------------------------------------------------------------------------------

@functools.cache
def helm():
    return subprocess.run(["./do", "bed", "path", "helm"], cwd=ROOT, text=True, capture_output=True,
                          check=True).stdout.strip()


@functools.cache
def gantry():
    if "GANTRY_BUILD" in os.environ:
        return str(pathlib.Path(os.environ["GANTRY_BUILD"]) / "bin/gantry")
    subprocess.run([ROOT / "do", "build", "release", "gantry"], check=True)
    return str(ROOT / "build/release/bin/gantry")


@functools.cache
def flags_of(program, *words):
    """The flags that `program words --help` lists, and whether each takes a value; None: there is no such command."""
    done = subprocess.run([program, *words, "--help"], text=True, capture_output=True, check=False)
    if done.returncode != 0:
        return None
    found = {}
    for line in done.stdout.splitlines():
        # "  -n,--namespace TEXT    of ...", "      --wait     it waits", "      --dry-run string[="client"]     ..."
        match = re.match(r"\s+((?:--?[\w-]+(?:, ?)?)+)( \S+)?", line)
        for name in re.findall(r"--?[\w-]+", match.group(1)) if match else []:
            found[name] = match.group(2) is not None and "[=" not in match.group(2)
    return found


def split(words, flags, what):
    """Positional words, and flags as a list of (name, value); `flags`: name -> whether it takes a value."""
    plain, given, words = [], [], list(words)
    while words:
        word = words.pop(0)
        if not word.startswith("-") or word == "-":
            plain.append(word)
            continue
        name, equals, value = word.partition("=")
        need(name in flags, f"{what}: no flag {name}")
        if not equals and flags[name]:
            need(words, f"{what}: {name} wants a value")
            value = words.pop(0)
        given.append((name, value))
    return plain, given


# --- definitions ----------------------------------------------------------------------------------------------------

DEFINITIONS = [yaml.safe_load(path.read_text()) for path in sorted((ROOT / "deploy/chart/crds").glob("*.yaml"))]
SCHEMAS = {(f"{d['spec']['group']}/{v['name']}", d["spec"]["names"]["kind"]): v["schema"]["openAPIV3Schema"]
           for d in DEFINITIONS for v in d["spec"]["versions"]}
GROUPS = {d["spec"]["group"] for d in DEFINITIONS}
# Kinds of others, for which there is no schema here: apiVersion and kind must be a pair of these.
OTHERS = {("v1", "Pod"), ("v1", "ConfigMap"), ("v1", "Namespace"), ("v1", "ResourceQuota"), ("v1", "Secret"),
          ("apps/v1", "Deployment"), ("networking.k8s.io/v1", "NetworkPolicy"), ("scheduling.k8s.io/v1", "PriorityClass")}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}


def check(schema, value, path, patch=False):
    """`value` by a structural schema; in a merge patch null removes, and nothing is required."""
    if value is None and (patch or schema.get("nullable")):
        return
    if schema.get("x-kubernetes-int-or-string"):
        need(isinstance(value, (int, str)) and not isinstance(value, bool), f"{path}: neither a number nor a text")
        return
    kind = schema.get("type")
    right = isinstance(value, TYPES[kind]) if kind else True
    need(right and not (kind in ("integer", "number") and isinstance(value, bool)), f"{path}: is no {kind}")
    need("enum" not in schema or value in schema["enum"], f"{path}: {value} is none of {schema.get('enum')}")
    if "pattern" in schema:
        need(re.search(schema["pattern"], value), f"{path}: {value} does not match {schema['pattern']}")
    if kind == "integer":
        need(schema.get("minimum", value) <= value <= schema.get("maximum", value), f"{path}: {value} is out of range")
    if kind == "array":
        for index, inner in enumerate(value):
            check(schema["items"], inner, f"{path}[{index}]")
    if kind == "object" and ("properties" in schema or "additionalProperties" in schema):
        for key, inner in value.items():
            below = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
            need(below, f"{path}.{key}: there is no such field".lstrip("."))
            if isinstance(below, dict):
                check(below, inner, f"{path}.{key}".lstrip("."), patch)
        for key in schema.get("required", []):
            need(patch or key in value, f"{path}.{key}: is missing")


def check_manifest(document):
    need(isinstance(document, dict), "a manifest is a map")
    pair = document.get("apiVersion"), document.get("kind")
    need(all(pair) and isinstance(document.get("metadata"), dict), "a manifest has apiVersion, kind and metadata")
    need(document["metadata"].get("name"), "a manifest has a name")
    if pair in SCHEMAS:
        check(SCHEMAS[pair], document, "")
        return
    group = pair[0].partition("/")[0]
    need(group not in GROUPS and pair in OTHERS, f"{pair[0]} {pair[1]}: not a kind that this test knows")
    if pair[1] == "ConfigMap":
        for text in document.get("data", {}).values():
            check_plugin_config(text)
    for container in document.get("spec", {}).get("containers", []) if pair[1] == "Pod" else []:
        for name in container.get("resources", {}).get("limits", {}):
            need(is_resource(name), f"{name}: not a resource of ours")


@functools.cache
def plugin_keys():
    """The keys of the device plugin's configuration, as its parser spells them."""
    texts = "".join((ROOT / f"src/policy/{name}.cc").read_text() for name in ("plugin_config", "plugin_config_sharing"))
    return set(re.findall(r'"([A-Za-z]+)"', texts))


def check_plugin_config(text):
    def walk(value):
        if isinstance(value, list):
            for inner in value:
                walk(inner)
        if isinstance(value, dict):
            for key, inner in value.items():
                need(key in plugin_keys(), f"{key}: the device plugin's configuration has no such key")
                walk(inner)
    made = yaml.safe_load(text)
    need(isinstance(made, dict) and made.get("version") == "v1", "a device plugin's configuration has version: v1")
    walk(made)


# --- names ----------------------------------------------------------------------------------------------------------

NAMES = (ROOT / "src/policy/names.h").read_text()
CONSTANTS = dict(re.findall(r"constexpr char (k\w+)\[\] =\s*\"([^\"]+)\"", NAMES))
OPERANDS = (ROOT / "src/policy/operands.cc").read_text()
# Labels of Kubernetes and of the clouds that name nodes.
STANDARD_LABELS = {"kubernetes.io/os", "kubernetes.io/arch", "kubernetes.io/hostname", "node.kubernetes.io/instance-type",
                   "pod-security.kubernetes.io/enforce", "pod-security.kubernetes.io/audit",
                   "pod-security.kubernetes.io/warn", "app", "app.kubernetes.io/managed-by", "app.kubernetes.io/component"}


def is_label(key):
    deploy = CONSTANTS["kDeployPrefix"]
    if key.startswith(deploy):
        return key == CONSTANTS["kDeployOperands"] or f'"{key.removeprefix(deploy)}"' in OPERANDS or key in CONSTANTS.values()
    return key in STANDARD_LABELS or "/" in key and key in CONSTANTS.values()


def is_resource(name):
    return name in ("cpu", "memory") or re.fullmatch(r"nvidia\.com/(gpu(\.shared)?|mig-\d+g\.\d+gb(\.me)?(\.shared)?)", name)


@functools.cache
def objects():
    """What the operator makes and the chart has, by kind: names; and the values of the label app, and containers."""
    made = {"app": {"gpu-operator"}, "container": {"gpu-operator"}, "Deployment": {"gpu-operator"},
            "Job": {"gpu-operator-cleanup", "gpu-operator-cleanup-crd", "gpu-operator-upgrade-crd"}}
    for path in (ROOT / "tests/golden/operator").glob("*/expected.yaml"):
        for one in yaml.safe_load_all(path.read_text()):
            if not one:
                continue
            made.setdefault(one["kind"], set()).add(one["metadata"]["name"])
            if one["kind"] == "DaemonSet":
                template = one["spec"]["template"]
                made["app"].add(template["metadata"].get("labels", {}).get("app"))
                pod = template["spec"]
                made["container"] |= {c["name"] for c in pod["containers"] + pod.get("initContainers", [])}
    return made


# The resources of others that the guide asks for; their fields that it names, as a tree of keys ("*": any).
CORE = {
    "nodes": ("node", "no"), "pods": ("pod", "po"), "namespaces": ("namespace", "ns"), "events": ("event", "ev"),
    "daemonsets": ("daemonset", "ds"), "deployments": ("deployment", "deploy"), "configmaps": ("configmap", "cm"),
    "services": ("service", "svc"), "runtimeclasses": ("runtimeclass",), "resourcequotas": ("resourcequota", "quota"),
    "customresourcedefinitions": ("customresourcedefinition", "crd", "crds"), "serviceaccounts": ("serviceaccount", "sa"),
    "clusterroles": ("clusterrole",), "roles": ("role",), "poddisruptionbudgets": ("poddisruptionbudget", "pdb"),
    "servicemonitors": ("servicemonitor",), "prometheusrules": ("prometheusrule",),
    "jobs": ("job",), "securitycontextconstraints": ("scc",), "imagestreams": ("imagestream",)}
FIELDS = {
    "nodes": {"metadata": {"name": {}, "labels": "label", "annotations": "label"},
              "spec": {"taints": {"*": {}}, "unschedulable": {}},
              "status": {"allocatable": "resource", "capacity": "resource", "conditions": dict.fromkeys(
                  ("type", "status", "reason", "message"), {})}},
    "pods": {"metadata": {"name": {}, "namespace": {}}, "spec": {"nodeName": {}}, "status": {"phase": {}}},
    "daemonsets": {"metadata": {"name": {}}, "spec": {"template": {"*": {}}},
                   "status": {"numberReady": {}, "desiredNumberScheduled": {}}}}


def tree(schema):
    """The fields of a schema as FIELDS has them; lists are as their items."""
    while schema.get("type") == "array":
        schema = schema["items"]
    return {key: tree(inner) for key, inner in schema.get("properties", {}).items()}


@functools.cache
def resources():
    """Every name of a resource -> its plural name, kind and fields."""
    found = {name: (plural, kind_of(plural), FIELDS.get(plural)) for plural, names in CORE.items()
             for name in (plural, *names)}
    for definition in DEFINITIONS:
        spec = definition["spec"]
        names = spec["names"]
        version = spec["versions"][0]
        fields = tree(version["schema"]["openAPIV3Schema"]) | {"metadata": {"name": {}, "labels": "label"}}
        entry = names["plural"], (f"{spec['group']}/{version['name']}", names["kind"]), fields
        for name in (names["plural"], names["singular"], f"{names['plural']}.{spec['group']}", *names.get("shortNames", [])):
            found[name] = entry
    return found


def kind_of(plural):
    return {"daemonsets": "DaemonSet", "deployments": "Deployment", "services": "Service", "configmaps": "ConfigMap",
            "runtimeclasses": "RuntimeClass", "serviceaccounts": "ServiceAccount", "servicemonitors": "ServiceMonitor",
            "prometheusrules": "PrometheusRule", "securitycontextconstraints": "SecurityContextConstraints",
            "clusterroles": "ClusterRole", "roles": "Role", "jobs": "Job"}.get(plural)


def find_resource(word):
    need(word in resources(), f"{word}: not a resource that this test knows")
    return resources()[word]


def check_name(kind, name):
    """The name of an object that the operator makes; names in capitals are the reader's."""
    if kind == ("nvidia.com/v1", "ClusterPolicy"):
        need(name == "cluster-policy", f"ClusterPolicy {name}: the chart's is called cluster-policy")
    if isinstance(kind, str) and kind in objects() and not name.isupper():
        need(name in objects()[kind], f"{kind} {name}: neither the operator nor the chart makes one")


def steps_of(path):
    return [step.replace("\\.", ".") for step in re.split(r"(?<!\\)\.", re.sub(r"\[[^]]*\]", "", path)) if step]


def below(fields, path):
    here = fields
    for step in steps_of(path):
        if here == "label":
            need(is_label(step), f"{step}: not a label or annotation of ours")
            here = {}
        elif here == "resource":
            need(is_resource(step), f"{step}: not a resource of ours")
            here = {}
        elif isinstance(here, dict) and "*" in here:
            here = {"*": {}}
        else:
            need(isinstance(here, dict) and step in here, f"jsonpath {path}: there is no field {step}")
            here = here[step]
    return here


EXPRESSION = re.compile(r"\{((?:\"[^\"]*\"|[^{}\"]|\(@[^)]*\))*)\}")


def check_jsonpath(text, fields, single):
    """{.a.b}, {range .items[*]}...{end}, and text between."""
    need(fields, "jsonpath: this test does not know the fields of that resource")
    root = fields if single else {"items": fields}
    contexts = [root]
    parts = EXPRESSION.findall(text)
    left = EXPRESSION.sub("", text)
    need(parts and not {"{", "}"} & set(left), f"jsonpath {text}: a brace is missing")
    for part in parts:
        if part == "end":
            need(len(contexts) > 1, "jsonpath: an end without a range")
            contexts.pop()
        elif not part.startswith('"'):
            ranged = part.startswith("range ")
            where = below(contexts[-1], part.removeprefix("range ").lstrip("@"))
            if ranged:
                contexts.append(where)
    need(len(contexts) == 1, "jsonpath: a range without an end")


# --- commands -------------------------------------------------------------------------------------------------------

def table(text):
    """"-n: -w" -> whether each flag takes a value."""
    return {word.rstrip(":"): word.endswith(":") for word in text.split()}


SPACE = "-n: --namespace: "
KUBECTL = {
    "get": table(SPACE + "-A --all-namespaces -o: --output: -L: --label-columns: -l: --selector: -w --watch --field-selector: "
                 "--sort-by: --show-labels"),
    "describe": table(SPACE + "-l: --selector:"),
    "apply": table(SPACE + "-f: --server-side --force-conflicts"),
    "patch": table(SPACE + "--type: -p: --patch:"),
    "label": table(SPACE + "--overwrite --all -l:"),
    "annotate": table(SPACE + "--overwrite --all -l:"),
    "create": table(SPACE),
    "delete": table(SPACE + "-l: --ignore-not-found --now"),
    "logs": table(SPACE + "-l: -c: --tail: --previous -f --all-containers --prefix"),
    "exec": table(SPACE + "-c:"),
    "scale": table(SPACE + "--replicas:"),
    "port-forward": table(SPACE),
    "uncordon": {},
    "top": table(SPACE + "-l:"),
}
# Manifests of others that the guide applies.
URLS = {"https://raw.githubusercontent.com/GoogleCloudPlatform/container-engine-accelerators/master/"
        "nvidia-driver-installer/cos/daemonset-preloaded.yaml"}
# Programs of others, of which this test knows nothing but these words.
FOREIGN = {
    "az": [("aks", "nodepool", "add")],
    "eksctl": [("create", "nodegroup")],
    "gcloud": [("container", "node-pools", "create")],
    "talosctl": [("read",), ("get", "extensions"), ("patch", "mc")],
    "oc": [("new-project",)],
    "skopeo": [("copy",)],
    "systemctl": [("status",)],
    "journalctl": [("-u",)],
    "curl": [("-s", "http://localhost:8080/metrics"), ("-s", "http://localhost:9400/metrics")],
    "nvidia-smi": [(), ("-L",)],
}
HELM = {"install": 2, "upgrade": 2, "template": 2, "uninstall": 1, "get values": 1, "list": 0, "repo add": 2, "history": 1}
# Charts that are not ours: their values are not checked.
CHARTS = {"nvidia/gpu-operator"}


class Page:
    """One page of the guide; `mistakes` says what is wrong with it, with the line of each block."""

    def __init__(self, text, folder):
        self.text, self.folder = text, folder
        self.files, self.written, self.pods, self.mistakes = {}, set(), set(), []
        blocks = [(text.count("\n", 0, m.start()) + 1, m.group(2).strip(), m.group(3)) for m in FENCE.finditer(text)]
        fences = text.count("\n```") + text.startswith("```")
        if fences != 2 * len(blocks):
            self.mistakes.append("a fence that is indented or not closed")
        for line, language, block in blocks:
            if language == "yaml":
                self.see(line, lambda block=block: self.name(block))
        for line, language, block in blocks:
            if language == "yaml":
                self.see(line, lambda block=block: self.check_yaml(block))
            elif language == "sh":
                for command in block.replace("\\\n", " ").splitlines():
                    if command.strip() and not command.strip().startswith("#"):
                        self.see(line, lambda command=command: self.run(command))
            elif language != "text" or re.search(r"^\s*(\$ )?(helm|kubectl|gantry|oc) ", block, re.MULTILINE):
                self.mistakes.append(f"line {line}: a block of language {language!r}: sh, yaml, or text without commands")

    def see(self, line, of):
        try:
            of()
        except (Mistake, yaml.YAMLError, json.JSONDecodeError, ValueError) as mistake:
            self.mistakes.append(f"line {line}: {mistake}")

    def name(self, block):
        named = NAMED.match(block.splitlines()[0])
        if named:
            need(named.group(1) not in self.files, f"{named.group(1)} is there twice")
            (self.folder / named.group(1)).write_text(block)
            self.files[named.group(1)] = self.folder / named.group(1)

    def check_yaml(self, block):
        named = NAMED.match(block.splitlines()[0])
        if named and "values" in named.group(1):
            self.render(["-f", str(self.files[named.group(1)])])
            return
        for document in yaml.safe_load_all(block):
            check_manifest(document)
            if document["kind"] == "Pod":
                self.pods.add(document["metadata"]["name"])

    def render(self, words):
        done = subprocess.run([helm(), "template", "gpu-operator", "deploy/chart", "-n", "gpu-operator", *words, "--set",
                               "strictValues=true"], cwd=ROOT, text=True, capture_output=True, check=False)
        need(done.returncode == 0, f"helm template {' '.join(words)}: {done.stderr.strip()}")
        for document in yaml.safe_load_all(done.stdout):
            if document and (document["apiVersion"], document["kind"]) in SCHEMAS:
                check_manifest(document)
            if document and document["kind"] == "ConfigMap" and document["metadata"]["name"] != "gpu-operator":
                for key, text in document.get("data", {}).items():
                    if not key.endswith((".csv", ".json")):  # counters of the DCGM exporter, a dashboard
                        check_plugin_config(text)

    def run(self, command):
        words = shlex.split(command, comments=True)
        marks = {"|", "||", "&&", "&", "<", "2>", ">>"} & set(words)
        need(not marks and not any(word.endswith(";") or "$(" in word or "`" in word for word in words),
             f"{command.strip()}: one command a line, without pipes")
        if ">" in words:
            need(words.index(">") == len(words) - 2, f"{command}: nothing comes after the file's name")
            self.written.add(words[-1])
            words = words[:-2]
        self.dispatch(words)

    def dispatch(self, words):
        program, *rest = words
        if program == "helm":
            self.helm(rest)
        elif program == "kubectl" or (program == "oc" and rest[:1] != ["new-project"]):
            self.kubectl(rest)
        elif program == "gantry":
            self.gantry(rest)
        elif program == "./do":
            need(rest and f"\nword_{rest[0]}()" in (ROOT / "do").read_text(), f"./do has no word {rest}")
        else:
            need(any(tuple(rest[:len(known)]) == known for known in FOREIGN.get(program, []) if known or not rest),
                 f"{' '.join(words)}: not a command that this test knows")

    def gantry(self, words):
        need(words, "gantry: which command?")
        if words in (["--help"], ["--version"]):
            return
        commands = flags_of(gantry(), words[0])
        need(commands is not None and not words[0].startswith("-"), f"gantry: no command {words[0]}")
        plain, _ = split(words[1:], commands, f"gantry {words[0]}")
        need(not plain, f"gantry {words[0]}: {plain} is no flag")

    def helm(self, words):
        command = next((c for c in HELM if words[:len(c.split())] == c.split()), None)
        need(command, f"helm {' '.join(words)}: not a command that this test knows")
        flags = flags_of(helm(), *command.split())
        plain, given = split(words[len(command.split()):], flags, f"helm {command}")
        need(len(plain) == HELM[command], f"helm {command}: {plain} are not {HELM[command]} words")
        if command not in ("install", "upgrade", "template") or plain[1] in CHARTS:
            return
        need(plain[1] == "deploy/chart", f"helm {command}: {plain[1]} is not our chart")
        values = []
        for name, value in given:
            if name in ("-f", "--values"):
                if value in self.written:  # by a command of the page
                    continue
                file = self.files.get(value, ROOT / value)
                need(file.is_file(), f"helm {command}: there is no file {value}")
                values += ["-f", str(file)]
            elif name.startswith("--set"):
                values += [name, value]
        self.render(values)

    def kubectl(self, words):
        space = []
        if words[:1] in (["-n"], ["--namespace"]):
            space, words = words[:2], words[2:]
        need(words and words[0] in KUBECTL, f"kubectl {' '.join(words)}: not a command that this test knows")
        verb, inner = words[0], None
        if "--" in words:
            inner, words = words[words.index("--") + 1:], words[:words.index("--")]
            need(verb == "exec", f"kubectl {verb}: nothing is run")
        plain, given = split([*space, *words[1:]], KUBECTL[verb], f"kubectl {verb}")
        for name, value in given:
            if name in ("-l", "--selector"):
                for term in value.split(","):
                    key, equals, wanted = term.partition("=")
                    need(is_label(key.strip("!")), f"kubectl {verb}: {key} is no label of ours")
                    need(key != "app" or wanted in objects()["app"], f"kubectl {verb}: no pod has {term}")
            elif name in ("-L", "--label-columns"):
                for key in value.split(","):
                    need(is_label(key), f"kubectl {verb}: {key} is no label of ours")
            elif name == "-c":
                need(value in objects()["container"], f"kubectl {verb}: no container is called {value}")
        getattr(self, f"kubectl_{verb.replace('-', '_')}")(plain, given, inner)

    def kubectl_get(self, plain, given, _):
        need(plain, "kubectl get: what?")
        kinds = [find_resource(word.partition("/")[0]) for word in plain[0].split(",")]
        for name in plain[1:]:
            check_name(kinds[0][1], name)
        for name, value in given:
            if name in ("-o", "--output"):
                how, _, path = value.partition("=")
                need(how in ("yaml", "json", "wide", "name", "jsonpath"), f"kubectl get -o {value}")
                if how == "jsonpath":
                    check_jsonpath(path, kinds[0][2], len(plain) > 1 or "/" in plain[0])

    def kubectl_describe(self, plain, given, inner):
        self.kubectl_get(plain, [], inner)

    def kubectl_delete(self, plain, given, inner):
        self.kubectl_get(plain, [], inner)

    def kubectl_top(self, plain, *_):
        need(plain in (["pods"], ["nodes"]), f"kubectl top {plain}")

    def kubectl_apply(self, plain, given, _):
        files = [value for name, value in given if name == "-f"]
        need(len(files) == 1 and not plain, "kubectl apply: one -f")
        known = files[0] in self.files or files[0] in URLS or files[0] == "deploy/chart/crds"
        need(known, f"kubectl apply: there is no file {files[0]}")
        need("values" not in files[0], f"kubectl apply: {files[0]} are values")

    def kubectl_patch(self, plain, given, _):
        need(len(plain) == 2, f"kubectl patch: {plain} are not a resource and a name")
        kind = find_resource(plain[0])[1]
        need(kind in SCHEMAS, f"kubectl patch: {plain[0]} is no kind of ours")
        check_name(kind, plain[1])
        given = dict(given)
        document = json.loads(given.get("-p") or given.get("--patch") or "null")
        if given.get("--type") == "json":
            need(isinstance(document, list) and document, "kubectl patch: a list of operations")
            for one in document:
                schema = SCHEMAS[kind]
                for step in one["path"].strip("/").split("/"):
                    inner = schema.get("properties", {}).get(step, schema.get("additionalProperties"))
                    need(isinstance(inner, dict), f"kubectl patch: {one['path']}: there is no field {step}")
                    schema = inner
                if one["op"] in ("add", "replace"):
                    check(schema, one["value"], one["path"])
                else:
                    need(one["op"] == "remove", f"kubectl patch: {one['op']}")
            return
        need(given.get("--type") == "merge", "kubectl patch: a custom resource takes --type merge or json")
        need(isinstance(document, dict), "kubectl patch: a map")
        check(SCHEMAS[kind], document, "", patch=True)

    def kubectl_label(self, plain, given, _):
        need(len(plain) >= 2 or any(name in ("--all", "-l") for name, _ in given), "kubectl label: what?")
        find_resource(plain[0])
        changes = [word for word in plain[1:] if "=" in word or word.endswith("-")]
        need(changes, "kubectl label: no label")
        for change in changes:
            key = change.partition("=")[0].removesuffix("-")
            need(is_label(key), f"{key}: not a label or annotation of ours")

    kubectl_annotate = kubectl_label

    def kubectl_create(self, plain, *_):
        need(plain[:1] == ["namespace"] and len(plain) == 2, f"kubectl create {' '.join(plain)}")

    def target(self, word):
        kind, slash, name = word.partition("/")
        if slash:
            check_name(find_resource(kind)[1], name)
        else:
            need(word.isupper() or word in self.pods, f"{word}: a pod of the page, or the reader's, in capitals")

    def kubectl_logs(self, plain, given, _):
        need(bool(plain) != any(name == "-l" for name, _ in given), "kubectl logs: of a pod, or by -l")
        for word in plain:
            self.target(word)

    def kubectl_scale(self, plain, *_):
        need(len(plain) == 1, "kubectl scale: of what?")
        kind, _, name = plain[0].partition("/")
        if name != "gpu-operator-node-feature-discovery-master":  # of NVIDIA's chart
            check_name(find_resource(kind)[1], name)

    def kubectl_port_forward(self, plain, *_):
        need(len(plain) == 2, "kubectl port-forward: of what, and which port?")
        self.target(plain[0])
        service = plain[0].partition("/")[2]
        ports = {(one["metadata"]["name"], port["port"]) for path in (ROOT / "tests/golden/operator").glob("*/expected.yaml")
                 for one in yaml.safe_load_all(path.read_text()) if one and one["kind"] == "Service"
                 for port in one["spec"]["ports"]}
        need((service, int(plain[1].rpartition(":")[2])) in ports, f"kubectl port-forward: {service} has no port {plain[1]}")

    def kubectl_uncordon(self, plain, *_):
        need(len(plain) == 1, "kubectl uncordon: which node?")

    def kubectl_exec(self, plain, given, inner):
        need(len(plain) == 1 and inner, "kubectl exec: in which pod, and what after --?")
        self.target(plain[0])
        need(inner[0] in ("gantry", "nvidia-smi"), f"kubectl exec: {inner[0]}: not a command that this test knows")
        self.dispatch(inner)


# --- tests ----------------------------------------------------------------------------------------------------------

def mistakes(text, folder):
    return Page(text, folder).mistakes


def test_there_is_a_guide():
    assert len(PAGES) >= 14
    listed = (GUIDE / "README.md").read_text()
    assert not [page.name for page in PAGES if page.name != "README.md" and f"({page.name})" not in listed]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_each_command_and_each_block_is_known(path, tmp_path):
    assert mistakes(path.read_text(), tmp_path) == []


def prose(text):
    return FENCE.sub("", text)


def wrong_lines(text):
    """Links that lead nowhere, and lines that are too long."""
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        if not link.startswith("https://") and not (GUIDE / link).exists():
            yield link
    yield from (line for line in text.splitlines() if len(line) > WIDEST and not line.startswith("|"))


def wrong_values(text):
    """Of `driver.upgradePolicy.drain.enable`, also with a value behind it; the ClusterPolicy's own names count too."""
    known = json.loads((ROOT / "deploy/chart/known-values.json").read_text())["known"]
    spec = tree(SCHEMAS["nvidia.com/v1", "ClusterPolicy"])["spec"]
    for word in re.findall(r"`([A-Za-z][\w-]*(?:\.[\w-]+)+)(?:[=:][^`]*)?`", text):
        if word.partition(".")[0] in known and not any(leads(here, word.split(".")) for here in (known, spec)):
            yield word


def leads(here, steps):
    for step in steps:
        if here == "*":
            return True
        if not isinstance(here, dict) or step not in here:
            return False
        here = here[step]
    return True


def wrong_codes(text):
    """Codes in tables that neither the doctor's page nor an operand's has."""
    told = "".join((ROOT / f"docs/{name}.md").read_text() for name in ("doctor", "operands/driver", "operands/device_plugin"))
    for row in re.findall(r"^\|([^|]+)\|", text, re.MULTILINE):
        yield from (code for code in re.findall(r"`([A-Z][a-z]+(?:[A-Z][a-z]+)+)`", row) if f"`{code}`" not in told)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
@pytest.mark.parametrize("wrong", [wrong_lines, wrong_values, wrong_codes])
def test_what_the_prose_names_is_there(path, wrong):
    assert list(wrong(prose(path.read_text()))) == []


@pytest.mark.parametrize(("wrong", "text", "found"), [
    (wrong_lines, "see [a page](gone.md)", "gone.md"),
    (wrong_lines, "a" * 121, "a" * 121),
    (wrong_values, "`driver.upgradePolicy.maxParallel=2`", "driver.upgradePolicy.maxParallel"),
    (wrong_codes, "| `DriverGone` | x |", "DriverGone"),
])
def test_a_mistake_of_the_prose_is_found(wrong, text, found):
    assert list(wrong(text)) == [found]


def test_the_pod_that_cleans_a_node_is_as_the_operators():
    text = (GUIDE / "troubleshooting.md").read_text()
    [block] = [m.group(3) for m in FENCE.finditer(text) if m.group(3).startswith("# host-cleanup.yaml\n")]
    made = yaml.safe_load(block)["spec"]
    golden = yaml.safe_load_all((ROOT / "tests/golden/operator/defaults/expected.yaml").read_text())
    [wanted] = [one["spec"]["template"]["spec"] for one in golden
                if one and one["metadata"]["name"] == "nvidia-gpu-operator-cleanup"]
    assert {key: made[key] for key in ("hostPID", "volumes", "tolerations")} == {
        key: wanted[key] for key in ("hostPID", "volumes", "tolerations")}
    for key in ("command", "env", "securityContext", "volumeMounts"):
        assert made["containers"][0][key] == wanted["containers"][0][key], key


SH = "```sh\n{}\n```\n"
YAML = "```yaml\n{}\n```\n"
POLICY = "apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata: {name: cluster-policy}\n"


@pytest.mark.parametrize(("text", "named"), [
    (SH.format("helm install gpu-operator deploy/chart --set driver.enable=false"), "driver.enable"),
    (SH.format("helm install gpu-operator deploy/chart --sets driver.enabled=false"), "--sets"),
    (SH.format("helm install gpu-operator deploy/chart -f missing.yaml"), "missing.yaml"),
    (SH.format("helm install gpu-operator other/chart"), "other/chart"),
    (SH.format("helm upgrade gpu-operator deploy/chart \\\n  --set mig.strategy=both"), "strategy"),
    (SH.format("helm lint deploy/chart"), "lint"),
    (YAML.format("# my-values.yaml\ntoolkit: {enabled: true, installDirectory: /x}"), "installDirectory"),
    (YAML.format("# my-values.yaml\ndevicePlugin: {config: {create: true, name: a, data: {any: 'version: v1\nshares: {}'}}}"),
     "shares"),
    (YAML.format(POLICY + "spec: {devicePlugin: {enable: true}}"), "spec.devicePlugin.enable"),
    (YAML.format(POLICY + "spec: {mig: {strategy: both}}"), "spec.mig.strategy"),
    (YAML.format(POLICY + "spec: {driver: {upgradePolicy: {maxParallelUpgrades: many}}}"), "maxParallelUpgrades"),
    (YAML.format("apiVersion: nvidia.com/v2\nkind: ClusterPolicy\nmetadata: {name: a}"), "nvidia.com/v2"),
    (YAML.format("kind: Pod\nmetadata: {name: a}"), "apiVersion"),
    (YAML.format("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {any: 'version: v1\nsharing: {slices: {}}'}"),
     "slices"),
    (SH.format("kubectl get clusterpolicys"), "clusterpolicys"),
    (SH.format("kubectl get nodes -L nvidia.com/gpu.produkt"), "nvidia.com/gpu.produkt"),
    (SH.format("kubectl get clusterpolicy cluster-policy -o jsonpath='{.status.operand}'"), "operand"),
    (SH.format("kubectl get nodes -o jsonpath='{range .items[*]}{.metadata.nam}{end}'"), "nam"),
    (SH.format("kubectl patch clusterpolicy cluster-policy --type merge -p '{\"spec\":{\"mig\":{\"strategie\":\"a\"}}}'"),
     "strategie"),
    (SH.format("kubectl patch clusterpolicy cluster-policy --type json -p '[{\"op\":\"remove\",\"path\":\"/spec/mag\"}]'"),
     "mag"),
    (SH.format("kubectl label node NODE nvidia.com/gpu.deploy.operand=false"), "gpu.deploy.operand"),
    (SH.format("kubectl -n gpu-operator logs ds/nvidia-plugin-daemonset"), "nvidia-plugin-daemonset"),
    (SH.format("kubectl -n gpu-operator get pods -l app=nvidia-plugin"), "nvidia-plugin"),
    (SH.format("kubectl -n gpu-operator exec deploy/gpu-operator -- gantry doktor"), "doktor"),
    (SH.format("kubectl get pods --namespaces a"), "--namespaces"),
    (SH.format("kubectl drain NODE"), "drain"),
    (SH.format("kubectl get nodes | wc -l"), "pipes"),
    (SH.format("kubectl get nodes; kubectl get pods"), "pipes"),
    (SH.format("kubectl get nodes -o jsonpath='{.items[*].metadata.name'"), "brace"),
    (SH.format("kubectl get clusterpolicy gpu-policy"), "gpu-policy"),
    (SH.format("kubectl apply -f missing.yaml"), "missing.yaml"),
    (SH.format("kubectl -n gpu-operator port-forward svc/gpu-operator 8080:9090"), "9090"),
    (SH.format("oc adm drain NODE"), "adm"),
    (SH.format("helm upgrade gpu-operator deploy/chart --set operator.image=gpu-operator,operator.repository=nvcr.io/nvidia"),
     "--reset-then-reuse-values"),
    (SH.format("gantry doctor --json"), "--json"),
    (SH.format("gantry diagnose"), "diagnose"),
    (SH.format("./do deploy"), "deploy"),
    (SH.format("az aks delete"), "az aks delete"),
    (SH.format("nvidia-smi --help"), "nvidia-smi"),
    (SH.format("rm -rf /"), "rm"),
    ("```bash\nls\n```\n", "bash"),
    ("```text\nkubectl get nodes\n```\n", "text without commands"),
    ("```sh\nkubectl get nodes\n", "fence"),
])
def test_a_mistake_is_found(text, named, tmp_path):
    found = mistakes(text, tmp_path)
    assert len(found) == 1 and named in found[0], found


def test_what_is_right_is_no_mistake(tmp_path):
    text = (YAML.format("# values.yaml\ndriver: {enabled: false}") + YAML.format(POLICY + "spec: {mig: {strategy: mixed}}")
            + SH.format("helm install gpu-operator deploy/chart -n gpu-operator -f values.yaml --set mig.strategy=mixed\n"
                        "kubectl get nodes -o jsonpath='{range .items[*]}{.metadata.name} "
                        "{.status.allocatable.nvidia\\.com/gpu}{\"\\n\"}{end}'\n"
                        "kubectl -n gpu-operator exec deploy/gpu-operator -- gantry doctor -o json"))
    assert mistakes(text, tmp_path) == []
