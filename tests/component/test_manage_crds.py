# SPDX-License-Identifier: Apache-2.0
"""manage-crds and cleanup-gpuclusters beside a real API server: definitions come, follow their files and go, and
another's stay; a GPUCluster is waited for."""

import concurrent.futures
import subprocess

import pytest
import yaml
from control_plane import ROOT, ControlPlane, wait
from ours import release

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FILES = sorted((ROOT / "deploy/chart/crds").glob("*.yaml"))
POLICIES = "clusterpolicies.nvidia.com"
FEATURES = "nodefeatures.nfd.k8s-sigs.io"


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    with ControlPlane(tmp_path_factory.mktemp("plane"), "namespace") as running:
        yield running


def gantry(plane, *words, **more):
    return subprocess.run([release("gantry") / "bin/gantry", *words, f"--kubeconfig={plane.kubeconfig}"], text=True,
                          capture_output=True, check=False, **more)


def manage(plane, *files, command="apply"):
    return gantry(plane, "manage-crds", command, *(f"--filepath={file}" for file in files))


def there(plane):
    return {d["metadata"]["name"]: d for d in plane.get(DEFINITIONS)["items"]}


def wanted():
    definitions = [yaml.safe_load(file.read_text()) for file in FILES]
    return {d["metadata"]["name"]: {key: d[key] for key in ("metadata", "spec")} for d in definitions}


def missing(whole, part, path=""):
    """Where the first differs from the second, but for what the API server adds."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return [place for key, value in part.items() for place in missing(whole.get(key), value, f"{path}.{key}")]
    if isinstance(part, list) and isinstance(whole, list) and len(whole) == len(part):
        return [place for index, value in enumerate(part) for place in missing(whole[index], value, f"{path}.{index}")]
    return [] if whole == part else [f"{path}: {whole!r} instead of {part!r}"]


def test_definitions_come_and_are_established(plane):
    done = manage(plane, *FILES)
    assert done.returncode == 0, done.stderr
    found = there(plane)
    assert all({"Established": "True"}.items() <= {c["type"]: c["status"] for c in d["status"]["conditions"]}.items()
               for d in found.values())
    assert [place for name, definition in wanted().items() for place in missing(found[name], definition)] == []


def test_what_is_up_to_date_is_not_written(plane):
    assert manage(plane, *FILES).returncode == 0
    before = {name: d["metadata"]["resourceVersion"] for name, d in there(plane).items()}
    assert manage(plane, *FILES).returncode == 0
    assert {name: d["metadata"]["resourceVersion"] for name, d in there(plane).items()} == before


def test_an_older_definition_follows_its_file_and_another_nfds_stays(plane):
    assert manage(plane, *FILES).returncode == 0
    spec = "/spec/versions/0/schema/openAPIV3Schema"
    plane.patch(f"{DEFINITIONS}/{POLICIES}", [
        {"op": "remove", "path": f"{spec}/properties/spec/properties/driver"},
        {"op": "add", "path": f"{spec}/properties/spec/required", "value": ["operator"]},
        {"op": "remove", "path": "/metadata/labels"},
        {"op": "add", "path": "/metadata/annotations", "value": {"of": "its owner"}}])
    plane.patch(f"{DEFINITIONS}/{FEATURES}", [
        {"op": "remove", "path": "/metadata/labels"},
        {"op": "add", "path": f"{spec}/description", "value": "another's"}])
    done = manage(plane, *FILES)
    assert done.returncode == 0 and FEATURES in done.stderr, done.stderr
    found = there(plane)
    assert missing(found[POLICIES], wanted()[POLICIES]) == []
    schema = found[POLICIES]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert "required" not in schema["properties"]["spec"]
    assert found[POLICIES]["metadata"]["annotations"] == {"of": "its owner"}
    assert "labels" not in found[FEATURES]["metadata"]
    assert found[FEATURES]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] == "another's"


def test_a_wrong_file_is_named(plane, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text("kind: ConfigMap\n")
    for file in (other, tmp_path / "absent.yaml"):
        done = manage(plane, file)
        assert done.returncode == 1 and str(file) in done.stderr, done.stderr


def test_a_folder_stands_for_what_is_below_it_and_definitions_go(plane, tmp_path):
    inner = tmp_path / "some" / "inner"
    inner.mkdir(parents=True)
    texts = [file.read_text() for file in FILES]
    (tmp_path / "first.yaml").write_text(texts[0])
    (inner / "others.yml").write_text("\n---\n".join([*texts[1:], "kind: ConfigMap\nmetadata: {name: a}\n"]))
    (inner / "notes.txt").write_text("a: [")
    done = gantry(plane, "manage-crds", "apply", "-d", "-f", tmp_path)
    assert done.returncode == 0 and f"{len(FILES)} definitions" in done.stderr, done.stderr
    assert set(there(plane)) >= set(wanted())
    plane.patch(f"{DEFINITIONS}/{FEATURES}", {"metadata": {"labels": None}})
    # The second time most are gone already.
    for _ in range(2):
        done = gantry(plane, "manage-crds", "--debug", "delete", "--timeout=180", "-f", tmp_path / "first.yaml", "-f",
                      inner)
        assert done.returncode == 0 and FEATURES in done.stderr, done.stderr
        assert set(there(plane)) & set(wanted()) == {FEATURES}, done.stderr


@pytest.fixture
def held(plane):
    """The file of a definition that is being deleted, and that a finalizer holds; and what lets it go."""
    file = next(file for file in FILES if "nodefeaturerules" in file.name)
    assert manage(plane, file).returncode == 0
    name = yaml.safe_load(file.read_text())["metadata"]["name"]
    plane.patch(f"{DEFINITIONS}/{name}", {"metadata": {"finalizers": ["example.com/hold"]}})
    done = gantry(plane, "manage-crds", "delete", "--timeout=1", "-f", file)
    assert done.returncode == 0 and f"still there: {name}" in done.stderr, done.stderr
    return file, name, lambda: plane.patch(f"{DEFINITIONS}/{name}", {"metadata": {"finalizers": None}})


def test_the_api_server_is_asked_again_about_a_definition_that_does_not_go(plane, held):
    file, name, let_go = held
    with concurrent.futures.ThreadPoolExecutor() as pool:
        running = pool.submit(gantry, plane, "manage-crds", "delete", "--timeout=60", "-f", file)
        wait(lambda: "nvidia.com/gpu-operator.asked-to-go" in there(plane)[name]["metadata"].get("annotations", {}),
             "the API server is asked again")
        assert not running.done()
        let_go()
        done = running.result()
    assert done.returncode == 0 and "still there" not in done.stderr, done.stderr
    assert name not in there(plane)


def test_a_definition_that_is_being_deleted_is_made_again(plane, held):
    file, name, let_go = held
    before = there(plane)[name]["metadata"]["uid"]
    done = gantry(plane, "manage-crds", "apply", "--timeout=1", "-f", file)
    assert done.returncode == 1 and f"still there: {name}" in done.stderr, done.stderr
    with concurrent.futures.ThreadPoolExecutor() as pool:
        running = pool.submit(gantry, plane, "manage-crds", "apply", "--timeout=60", "-f", file)
        wait(lambda: "nvidia.com/gpu-operator.asked-to-go" in there(plane)[name]["metadata"].get("annotations", {}),
             "the API server is asked again")
        let_go()
        done = running.result()
    assert done.returncode == 0, done.stderr
    after = there(plane)[name]["metadata"]
    assert after["uid"] != before and "deletionTimestamp" not in after


def test_a_gpu_cluster_is_waited_for(plane):
    def cleanup(**more):
        return gantry(plane, "cleanup-gpuclusters", "--gpucluster-name=gpu-cluster", **more)

    assert cleanup().returncode == 0, "there is no such kind"
    assert manage(plane, next(file for file in FILES if "gpuclusters" in file.name)).returncode == 0
    clusters = "/apis/nvidia.com/v1alpha1/gpuclusters"
    wait(lambda: plane.serves(clusters), "the kind is served")
    assert cleanup().returncode == 0, "there is none"
    plane.call("POST", clusters, {"apiVersion": "nvidia.com/v1alpha1", "kind": "GPUCluster", "metadata": {
        "name": "gpu-cluster", "finalizers": ["gpucluster.nvidia.com/dra-resourceclaim"]}})
    one = f"{clusters}/gpu-cluster"
    with concurrent.futures.ThreadPoolExecutor() as pool:
        running = pool.submit(cleanup, timeout=30)
        wait(lambda: plane.get(one)["metadata"].get("deletionTimestamp"), "it is being deleted")
        assert not running.done()
        plane.patch(one, [{"op": "remove", "path": "/metadata/finalizers"}])
        done = running.result()
    assert done.returncode == 0 and "is gone" in done.stderr, done.stderr
