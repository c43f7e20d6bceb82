#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes deploy/chart/values.schema.json and known-values.json; with --check tells whether they are up to date.

Helm checks values against the schema before it renders anything: types and words. A key that is not known passes, as it
does with NVIDIA's chart, and a parent chart may have keys of its own there; the chart finds it by known-values.json and
names it. Most values are fields of ClusterPolicy under the same name, so their schema is made from that of the resource
(generate.py); what only the chart acts on, or calls by another name, stands here.
"""
import json
import pathlib
import sys

from generate import (IMAGE, array, block, cluster_policy_spec, enabled, flag, gpu_cluster_spec, number, quantities,
                      service_monitor, text, text_map)

CHART = pathlib.Path(__file__).resolve().parent.parent / "chart"
# Any fields of a core/v1 type or of another chart.
ANY = {"type": "object", "additionalProperties": True}
TOLERATIONS = array(ANY)
# Accepted instead of a value of another type (gantry.typed, gantry.text); patterns only apply to strings.
AS_OTHER_TYPES = {"string": {"type": ["string", "number", "null"]},
                  "boolean": {"type": ["boolean", "string", "null"], "pattern": "^(true|false)$"},
                  "integer": {"type": ["integer", "string", "null"], "pattern": "^-?[0-9]+$"}}
# Values of newer NVIDIA charts, which the chart accepts while they are disabled.
NETWORK_POLICY = {"networkPolicy": block(enabled() | {"ingress": ANY})}


def converted(field):
    """The same field, whose value the chart converts to the resource's type."""
    result = field | {"converted": True}
    for key in ("items", "additionalProperties"):
        if isinstance(field.get(key), dict):
            result[key] = converted(field[key])
    if "properties" in field:
        result["properties"] = {key: converted(value) for key, value in field["properties"].items()}
    return result


QUANTITIES = {"type": "object", "additionalProperties": {"anyOf": [{"type": "number"}, {"type": "string"}]}}


def operator():
    return block(converted(block(IMAGE))["properties"] | NETWORK_POLICY | {
        "env": array(ANY), "labels": text_map(), "annotations": text_map(), "nodeSelector": text_map(),
        "affinity": ANY, "tolerations": TOLERATIONS, "priorityClassName": text(),
        # The API server reads them directly; a custom resource allows no fractions.
        "resources": block({"limits": QUANTITIES, "requests": QUANTITIES}),
        "logging": block({"timeEncoding": text(), "level": converted(text()), "develMode": flag()}),
        "runtimeClass": text(), "defaultRuntime": text(), "defaultGPUMode": text(), "use_ocp_driver_toolkit": flag(),
        "initContainer": block(IMAGE), "metrics": block({"serviceMonitor": service_monitor()}),
        "cleanupCRD": flag(), "upgradeCRD": flag(), "cleanupTimeoutSeconds": number(), "startupTaint": text(),
    })


def dra_driver():
    section = converted(gpu_cluster_spec()["properties"]["draDriver"])
    section["properties"]["gpus"]["properties"] |= enabled()
    return section


# The values of node feature discovery's chart that the operator and its worker use. Its other values are accepted, and
# listed as without effect unless they are defaults of NVIDIA's chart, or of an older one.
FOLLOWED = {
    "imagePullSecrets": array(ANY), "priorityClassName": text(),
    "master": block({"config": ANY, "instance": text()}),
    "worker": block({"config": ANY, "nodeSelector": text_map(), "affinity": ANY, "tolerations": TOLERATIONS,
                     "resources": block({"limits": QUANTITIES, "requests": QUANTITIES}), "priorityClassName": text(),
                     "annotations": text_map()}),
}
ACCOUNTS = {"serviceAccount": {"name": "node-feature-discovery", "create": False}}
NOT_FOLLOWED = {
    "node-feature-discovery": {
        "enableNodeFeatureApi": True, "gc": {"enable": True, "replicaCount": 1} | ACCOUNTS,
        "worker": {"enable": True} | ACCOUNTS,
        "master": {"enable": True, "serviceAccount": {"name": "node-feature-discovery", "create": True}}},
    "draDriver": {"repository": "nvcr.io/nvidia", "image": "dra-driver-nvidia-gpu", "version": "v0.5.0",
                  "imagePullPolicy": "IfNotPresent", "computeDomains": {"enabled": True},
                  "gpus": {"kubeletPlugin": {"healthcheck": {"enabled": True}}}},
    "driver.nvidiaDriverCRD.nodeSelector": {},
}


def config_map(field, data):
    """A ConfigMap that the chart makes if `create` is true."""
    field["properties"] |= {"create": flag(), "data": data}


def values():
    sections = converted(cluster_policy_spec())["properties"]
    driver = sections["driver"]["properties"]
    driver["nvidiaDriverCRD"] = block(enabled() | {"deployDefaultCR": flag(), "driverType": text(),
                                                   "nodeSelector": text_map()})
    policy = driver["upgradePolicy"]["properties"]
    policy["gpuPodDeletion"] = policy["podDeletion"]
    config_map(sections["devicePlugin"]["properties"]["config"], ANY)
    config_map(sections["migManager"]["properties"]["config"], ANY)
    config_map(sections["dcgmExporter"]["properties"]["config"], text())
    sections["dcgmExporter"]["properties"] |= NETWORK_POLICY | {"serviceAccount": block({"name": text()})}
    sections["nodeStatusExporter"]["properties"] |= NETWORK_POLICY
    own = {
        "platform": block({"openshift": flag()}),
        "networkPolicy": block(enabled() | {"ingress": ANY, "labels": text_map(), "annotations": text_map()}),
        "nfd": block(enabled() | {"nodefeaturerules": flag()}),
        "operator": operator(),
        "cuda": block({"repository": text(), "image": text()}),
        "clusterPolicy": block({"deployCR": flag()}),
        "gpuCluster": block({"deployCR": flag()}),
        "draDriver": dra_driver(),
        "node-feature-discovery": block(FOLLOWED),
        "strictValues": flag(),
        "monitoring": block({
            "prometheusRule": block(enabled() | {"additionalLabels": text_map()}),
            "dashboards": block(enabled() | {"labels": text_map(), "annotations": text_map(), "namespace": text()}),
        }),
        "extraObjects": array({}),
        "nameOverride": text(), "fullnameOverride": text(),
        "global": ANY,  # Helm's own
    }
    return block(sections | own)


def json_schema(field):
    """JSON Schema of an OpenAPI field of a custom resource. Every value may be null or an empty string: then it is left out."""
    if "anyOf" in field:
        return {"anyOf": [*field["anyOf"], {"type": "null"}]}
    if "type" not in field:
        return {}
    result = {"type": [field["type"], "null"]}
    if field.get("converted") and "enum" not in field:
        result |= AS_OTHER_TYPES.get(field["type"], {})
    if "enum" in field:
        result["enum"] = sorted({*field["enum"], ""}) + [None]
    if "minimum" in field:
        result["minimum"] = field["minimum"]
    if "items" in field:
        result["items"] = json_schema(field["items"])
    if "properties" in field:
        result["properties"] = {key: json_schema(value) for key, value in sorted(field["properties"].items())}
    elif isinstance(field.get("additionalProperties"), dict):
        result["additionalProperties"] = json_schema(field["additionalProperties"])
    return result


def known(field):
    """Names of the values: of a map its keys, of a list its elements', "*" of what may have any, null of all else."""
    if "items" in field:
        return [known(field["items"])]
    if "properties" in field:
        return {key: known(value) for key, value in sorted(field["properties"].items())}
    return "*" if field.get("type") == "object" or "type" not in field else None


def known_values():
    """What the chart names: all names, and of the values below which it follows no more than `followed`, those that other
    charts have by default: nobody asks for these."""
    names = known(values())
    followed = {"node-feature-discovery": names["node-feature-discovery"]}
    names["node-feature-discovery"] = names["draDriver"] = "*"
    return {"known": names, "partly": {path: {"defaults": defaults, "followed": followed.get(path, {})}
                                       for path, defaults in NOT_FOLLOWED.items()}}


def share(document):
    """The same with every larger part that stands there more than once under `definitions`."""
    seen, names = {}, {}

    def text_of(part):
        return json.dumps(part, sort_keys=True)

    def count(part, key):
        if isinstance(part, dict):
            if isinstance(part.get("type"), list) and len(text_of(part)) > 60:
                seen.setdefault(text_of(part), []).append(key)
            for name, value in part.items():
                count(value, key if name in ("properties", "items", "additionalProperties") else name)

    def replace(part, top=False):
        if not isinstance(part, dict):
            return part
        name = names.get(text_of(part))
        if name and not top:
            return {"$ref": f"#/definitions/{name}"}
        return {key: replace(value) for key, value in part.items()}

    count(document, "")
    parts = {}
    for part, keys in seen.items():
        if len(keys) > 1:
            name = keys[0] if keys[0] not in names.values() else f"{keys[0]}{len(names)}"
            names[part], parts[name] = name, json.loads(part)
    return {**replace(document), "definitions": {name: replace(part, top=True) for name, part in parts.items()}}


def contents():
    document = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "Values of the GPU operator's chart",
                **json_schema(values())}
    yield CHART / "values.schema.json", json.dumps(share(document), indent=1) + "\n"
    yield CHART / "known-values.json", json.dumps(known_values(), separators=(",", ":")) + "\n"


def main():
    for file, content in contents():
        if sys.argv[1:] != ["--check"]:
            file.write_text(content)
        elif not file.exists() or file.read_text() != content:
            sys.exit(f"out of date: {file.name}; run deploy/crd_schema/values.py")


if __name__ == "__main__":
    main()
