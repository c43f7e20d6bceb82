# SPDX-License-Identifier: Apache-2.0
"""The container toolkit with every line of containerd that is in use, each with the schemas of the root
file that it reads, with and without imports and a provider's CNI folders. `./do matrix` tries all of it;
without GANTRY_MATRIX=full the version that the test bed has, with few rounds.
"""

import hashlib
import os
import tomllib

import pytest
import toolkit_host
from toolkit_host import DROP_IN, HANDLERS, Host

import components

FULL = os.environ.get("GANTRY_MATRIX") == "full"
RESTARTS = 100 if FULL else 5
REINSTALLS = 20 if FULL else 2
# containerd 2.0 still migrates schema 1; 2.2 is the first that knows schema 4.
SCHEMAS = {"1.7": (1, 2), "2.0": (1, 2, 3), "2.1": (1, 2, 3), "2.4": (1, 2, 3, 4)}
PROVIDERS_CNI = "/home/provider/bin"


def plugin(schema: int, part: str) -> str:
    names = {1: "cri", 2: '"io.containerd.grpc.v1.cri"'}
    return f"plugins.{names.get(schema, chr(34) + 'io.containerd.cri.v1.runtime' + chr(34))}.{part}"


def root_file(schema: int, variant: str) -> tuple[str, str]:
    """The texts of the root file and of the file that it imports (empty: none)."""
    key = "bin_dir" if schema < 3 else "bin_dirs"
    value = f'"{PROVIDERS_CNI}"' if key == "bin_dir" else f'["{PROVIDERS_CNI}"]'
    version = "" if schema == 1 else f"version = {schema}\n"
    imports = 'imports = ["/etc/containerd/provider/*.toml"]\n' if "import" in variant else ""
    cni = f'[{plugin(schema, "cni")}]\n{key} = {value}  # of the provider\n'
    text = (f'{version}{imports}# written by the platform team\n'
            'disabled_plugins = ["io.containerd.internal.v1.opt"]\n'
            f'[{plugin(schema, "containerd.runtimes.runc")}]\n'
            'runtime_type = "io.containerd.runc.v2"\n')
    if variant == "provider's CNI in an import":
        return text, version + cni
    if variant == "imports":
        return text, f'{version}oom_score = -999\n'
    if variant == "provider's CNI":
        return text + cni, ""
    return text, ""


def cases():
    versions = components.CONTAINERD_MATRIX if FULL else components.CONTAINERD_MATRIX[-1:]
    for version in versions:
        for schema in SCHEMAS[version.rpartition(".")[0]] if FULL else (3,):
            for variant in ("plain", "provider's CNI", "imports", "provider's CNI in an import"):
                if schema == 1 and "import" in variant:
                    continue  # containerd refuses imports of a file of schema 1
                if FULL or variant == "provider's CNI in an import":
                    yield pytest.param(version, schema, variant,
                                       id=f"{version}-schema{schema}-{variant.replace(' ', '-')}")


@pytest.fixture(name="programs", scope="session")
def fixture_programs(tmp_path_factory):
    made = {}

    def of(version: str):
        if version not in made:
            folder = tmp_path_factory.mktemp("programs")
            made[version] = toolkit_host.programs(folder, "" if "GANTRY_BED_BIN" in os.environ else version)
        return made[version]

    return of


def without_defaults(value):
    """Without what says as much as its absence: containerd prints every option of a built-in runtime."""
    if not isinstance(value, dict):
        return value
    pruned = {key: without_defaults(inner) for key, inner in value.items()}
    return {key: inner for key, inner in pruned.items() if inner not in ("", 0, [], {}, "podsandbox")}


def without_ours(dump: str) -> dict:
    """An effective configuration without what the toolkit may add to it."""
    config = tomllib.loads(dump)
    config.pop("imports", None)
    for name in ("cri", "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime"):
        table = config["plugins"].get(name, {})
        table.pop("enable_cdi", None)
        for handler in HANDLERS:
            table.get("containerd", {}).get("runtimes", {}).pop(handler, None)
    return without_defaults(config)


def sums(host: Host) -> dict[str, str]:
    return {path: hashlib.sha256(host.see(path).read_bytes()).hexdigest()
            for path in ("etc/containerd/config.toml", DROP_IN) if host.see(path).exists()}


@pytest.mark.parametrize(("version", "schema", "variant"), cases())
def test_matrix(tmp_path, programs, version, schema, variant):
    text, imported = root_file(schema, variant)
    host_path = tmp_path / "h"  # the path of a socket has 107 characters at most
    if imported:
        (host_path / "etc/containerd/provider").mkdir(parents=True)
        (host_path / "etc/containerd/provider/10.toml").write_text(imported)
    host = Host(host_path, programs(version), text)
    try:
        check(host, schema, "CNI" in variant)
    finally:
        host.close()


def check(host: Host, schema: int, provider: bool):
    before = host.snapshot()
    effective = without_ours(host.dump())
    log = host.install()
    assert log.returncode == 0, log.stderr
    assert host.handlers() == list(HANDLERS), host.dump()
    assert host.restarts() == 1
    assert without_ours(host.dump()) == effective
    assert (PROVIDERS_CNI in host.dump()) == provider
    root = host.see("etc/containerd/config.toml").read_text()
    assert "# written by the platform team" in root

    wanted = sums(host)
    for _ in range(RESTARTS):
        assert host.install().returncode == 0
    assert sums(host) == wanted
    assert host.restarts() == 1

    # Drift is repaired, and containerd, which has read the right files, goes on.
    drifted = DROP_IN if schema > 1 else "etc/containerd/config.toml"
    for harm in ("[plugins\n", ""):
        whole = host.see(drifted).read_text()
        host.see(drifted).write_text(harm if schema > 1 else whole.replace("nvidia-legacy", "gone"))
        assert host.install().returncode == 0
        assert sums(host) == wanted
        assert host.answers()
    assert host.restarts() == 1

    # A drop-in that somebody else broke: nothing is changed, nothing restarted, the node stays ready.
    if schema > 1:
        folder = host.see("etc/containerd/provider")
        made = not folder.exists()
        folder.mkdir(exist_ok=True)
        (folder / "20-broken.toml").write_text("[plugins\n")
        host.see(DROP_IN).unlink(missing_ok=True)
        refused = host.install()
        if "/provider/*.toml" in root:
            assert refused.returncode == 1, refused.stderr
        assert host.answers()
        assert host.restarts() == 1
        (folder / "20-broken.toml").unlink()
        if made:
            folder.rmdir()
        assert host.install().returncode == 0
        assert sums(host) == wanted
        assert host.restarts() == 1

    for _ in range(REINSTALLS):
        assert host.clean().returncode == 0
        assert host.snapshot() == before
        assert host.handlers() == []
        assert host.install().returncode == 0
        assert host.handlers() == list(HANDLERS)
    assert host.clean().returncode == 0
    assert host.snapshot() == before
    assert host.restarts() == 2 + 2 * REINSTALLS
