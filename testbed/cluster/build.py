# SPDX-License-Identifier: Apache-2.0
"""Builds the bed's programs out of the Go module proxy into the cache; what is there already is not
built again.

k8s.io/kubernetes cannot be required as other modules can: its go.mod names its own published parts
as v0.0.0 and replaces them by folders. So the bed writes a module with the replacements that hold
outside.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import components
from paths import SOURCE, BedError, cache, locked, made_whole, say

sys.path.append(str(SOURCE.parents[1] / "tools"))
import progress  # noqa: E402 (its folder is not this one)


def _key(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]


def _go(arguments: list[str], folder: pathlib.Path, cgo: bool = False, tags: str = "") -> str:
    environment = os.environ | {
        "GOFLAGS": "-mod=mod" + (f" -tags={tags}" if tags else ""),
        "CGO_ENABLED": "1" if cgo else "0",
        "GOWORK": "off",
        "GOGC": "400",  # the compiler collects garbage less often: a fifth less processor time
    }
    result = subprocess.run(
        ["go", *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )
    if result.returncode:
        raise BedError(
            f"go {' '.join(arguments[:2])} in {folder.name}: {result.stderr.strip()[-2000:]}"
        )
    return result.stdout


def _template(name: str) -> str:
    return (SOURCE / "go" / f"{name}.go").read_text()


def _place_template(folder: pathlib.Path, name: str) -> None:
    (folder / name).mkdir()
    (folder / name / "main.go").write_text(_template(name))


def _go_mod(requires: dict[str, str], replaces: dict[str, str]) -> str:
    lines = ["module gantry-bed", "", "go 1.26.0", ""]
    lines += [f"require {path} v{version}" for path, version in requires.items()]
    lines += [f"replace {path} => {path} v{version}" for path, version in replaces.items()]
    return "\n".join(lines) + "\n"


def kubernetes_dir(version: str) -> pathlib.Path:
    key = _key(_template("hyperkube"))
    return cache() / f"kubernetes-{version}-{key}"


def _build_kubernetes(version: str, into: pathlib.Path) -> None:
    scratch = into / "module"
    scratch.mkdir()
    downloaded = _go(["mod", "download", "-json", f"k8s.io/kubernetes@v{version}"], scratch)
    upstream = pathlib.Path(json.loads(downloaded)["GoMod"]).read_text()
    published = version.replace("1.", "0.", 1)
    parts = re.findall(r"^\t(k8s\.io/[a-z-]+) v0\.0\.0$", upstream, re.MULTILINE)
    (scratch / "go.mod").write_text(
        _go_mod({"k8s.io/kubernetes": version}, dict.fromkeys(parts, published))
    )
    _place_template(scratch, "hyperkube")
    _go(["mod", "tidy"], scratch)
    # Clients parse the version that the servers report, so it has to be set.
    stamp = {
        "gitVersion": f"v{version}",
        "gitMajor": "1",
        "gitMinor": version.split(".")[1],
        "gitTreeState": "clean",
    }
    flags = ["-s", "-w"]
    for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
        flags += [f"-X {package}.{name}={value}" for name, value in stamp.items()]
    (into / "bin").mkdir()
    _go(
        ["build", "-ldflags", " ".join(flags), "-o", str(into / "bin/hyperkube"), "./hyperkube"],
        scratch,
    )
    for name in components.HYPERKUBE_COMMANDS:
        (into / "bin" / name).symlink_to("hyperkube")
    shutil.rmtree(scratch)


def module_dir(module: components.GoModule) -> pathlib.Path:
    local = [_template(p[2:]) for p in module.programs.values() if p.startswith("./")]
    version = next(iter(module.requires.values()))
    return cache() / f"{module.name}-{version}-{_key(module, local)}"


def _version_of(package: str, module: components.GoModule) -> str:
    """The version of the required module that a package is of."""
    return max(
        (path, version)
        for path, version in module.requires.items()
        if package == path or package.startswith(f"{path}/")
    )[1]


def _build_module(module: components.GoModule, into: pathlib.Path) -> None:
    scratch = into / "module"
    scratch.mkdir()
    (scratch / "go.mod").write_text(_go_mod(module.requires, {}))
    for package in module.programs.values():
        if package.startswith("./"):
            _place_template(scratch, package[2:])
    remote = [
        f"{package}@v{_version_of(package, module)}"  # without one `go get` takes the newest
        for package in module.programs.values()
        if not package.startswith("./")
    ]
    # A file that imports the programs would not compile; `go get` records their dependencies just
    # as well.
    _go(["get", *remote, *(["./..."] if len(remote) < len(module.programs) else [])], scratch)
    (into / "bin").mkdir()
    version = next(iter(module.requires.values()))
    flags = "-s -w" + (f" -X {module.stamp}={version}" if module.stamp else "")
    for program, package in module.programs.items():
        target = str(into / "bin" / program)
        _go(["build", "-ldflags", flags, "-o", target, package], scratch, module.cgo, module.tags)
    if module is components.KWOK:
        _copy_kwok_stages(scratch, into / "stages.yaml")
    shutil.rmtree(scratch)


def _copy_kwok_stages(scratch: pathlib.Path, target: pathlib.Path) -> None:
    """kwok does nothing without its stages; they are in its module, not in its program."""
    listed = _go(["list", "-m", "-f", "{{.Dir}}", next(iter(components.KWOK.requires))], scratch)
    module = pathlib.Path(listed.strip())
    documents = []
    for folder in components.KWOK_STAGES:
        for path in sorted((module / folder).glob("*.yaml")):
            if "kind: Stage" in path.read_text():
                documents.append(path.read_text().strip())
    if not documents:
        raise BedError(f"find kwok stages: none under {module}")
    target.write_text("\n---\n".join(documents) + "\n")


def ensure(target: pathlib.Path, what: str, make) -> pathlib.Path:
    """Returns `target`, made by make(folder) if it is not there. Safe beside another process
    that does the same.
    """
    if target.exists():
        return target
    with locked(cache() / ".lock", "another build"):
        if target.exists():
            return target
        started = time.monotonic()
        say(f"building {what}")
        with progress.shown(f"building {what}"), made_whole(target) as folder:
            make(folder)
        say(f"built {what} in {time.monotonic() - started:.0f} s")
    return target


def kubernetes(version: str) -> pathlib.Path:
    """The folder with hyperkube and its links, built if need be."""
    if not re.fullmatch(r"1\.\d+\.\d+", version):
        raise BedError(f"kubernetes version {version!r}: want MAJOR.MINOR.PATCH, such as 1.36.3")
    target = kubernetes_dir(version)
    return ensure(target, f"kubernetes {version}", lambda into: _build_kubernetes(version, into))


def module(which: components.GoModule) -> pathlib.Path:
    """The folder that holds bin/ with a module's programs, built if need be."""
    versions = ", ".join(f"{path.split('/')[-1]} {v}" for path, v in which.requires.items())
    what = which.name if len(which.requires) == 1 else f"{which.name} ({versions})"
    if len(which.requires) == 1:
        what += f" {next(iter(which.requires.values()))}"
    return ensure(module_dir(which), what, lambda into: _build_module(which, into))
