# SPDX-License-Identifier: Apache-2.0
"""Packages of Debian that a test looks into without installing them, fetched with an apt state and source list of
their own: the machine's apt configuration stays as it is."""
import os
import pathlib
import shutil
import subprocess

SUITE, KEYRING = "bookworm", "/usr/share/keyrings/debian-archive-keyring.gpg"


class DebianError(Exception):
    """A package could not be fetched, or a program that reads it failed."""


def run(command: list[str], **options) -> str:
    """What a command prints; DebianError if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise DebianError(f"{' '.join(command[:3])}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def _mirror(suite: str) -> str:
    """The mirror of a suite that the machine uses itself."""
    if suite == SUITE and os.environ.get("GANTRY_DEBIAN_MIRROR"):
        return os.environ["GANTRY_DEBIAN_MIRROR"]
    targets = run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)", "Created-By: Packages"])
    for line in targets.splitlines():
        address, codename = line.split()
        if codename == suite:
            return address
    raise DebianError(f"this machine's apt has no Debian {suite}"
                      + ("; set GANTRY_DEBIAN_MIRROR" if suite == SUITE else ""))


def unpack(packages: tuple[str, ...], into: pathlib.Path, suites: tuple[str, ...] = (SUITE,)) -> None:
    """Downloads packages of main, contrib and non-free and unpacks them into a folder, which is there only when it is
    whole. A package that several suites have is taken in its newest version."""
    state = into.with_name(f"{into.name}.apt")
    for name in ("state/lists/partial", "cache/archives/partial", "packages"):
        (state / name).mkdir(parents=True, exist_ok=True)
    (state / "state/status").touch()
    (state / "sources.list").write_text(
        "".join(f"deb [signed-by={KEYRING}] {_mirror(suite)} {suite} main contrib non-free\n" for suite in suites),
        encoding="utf-8")
    (state / "apt.conf").write_text(
        f'Dir::State "{state}/state";\nDir::State::status "{state}/state/status";\nDir::Cache "{state}/cache";\n'
        f'Dir::Etc::SourceList "{state}/sources.list";\nDir::Etc::SourceParts "-";\nAcquire::Languages "none";\n'
        'APT::Sandbox::User "root";\nAPT::Architecture "amd64";\n', encoding="utf-8")
    environment = {**os.environ, "APT_CONFIG": str(state / "apt.conf")}
    run(["apt-get", "-q", "update"], env=environment)
    run(["apt-get", "-q", "download", *packages], env=environment, cwd=state / "packages")
    part = into.with_name(f"{into.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    for package in sorted((state / "packages").glob("*.deb")):
        run(["dpkg-deb", "-x", str(package), str(part)])
    part.replace(into)
    shutil.rmtree(state)
