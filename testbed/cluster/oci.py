# SPDX-License-Identifier: Apache-2.0
"""Writes an OCI image archive: one layer from a list of entries, one manifest, one reference.

The same entries and configuration give the same bytes: no times, no owners, no order of a disk.
Read by `ctr images import`, skopeo and buildah (`oci-archive:`). Needs neither root nor a container
tool.
"""

import dataclasses
import gzip
import hashlib
import io
import json
import os
import pathlib
import tarfile
import tempfile
from collections.abc import Iterable


@dataclasses.dataclass(frozen=True)
class Entry:
    """A file (from `source` or with `content`), a symbolic link (`link`) or, with none of
    these, a folder.
    """

    name: str  # path in the image; a leading / is dropped
    source: pathlib.Path | None = None
    content: bytes | None = None
    link: str | None = None
    mode: int = 0o755


@dataclasses.dataclass(frozen=True)
class Config:
    """What a container of the image is started with, unless its pod says otherwise."""

    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    environment: dict[str, str] = dataclasses.field(
        default_factory=lambda: {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        }
    )
    labels: dict[str, str] = dataclasses.field(default_factory=dict)
    user: str = ""
    working_dir: str = "/"
    architecture: str = "amd64"


def tree(folder: pathlib.Path) -> list[Entry]:
    """Everything under a folder, with its modes, as entries."""
    entries = []
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        mode = path.lstat().st_mode & 0o7777
        if path.is_symlink():
            entries.append(Entry(name, link=os.readlink(path)))
        elif path.is_dir():
            entries.append(Entry(name, mode=mode))
        else:
            entries.append(Entry(name, source=path, mode=mode))
    return entries


def _with_folders(entries: Iterable[Entry]) -> list[Entry]:
    """Sorted by name, with every parent folder that no entry names."""
    by_name = {entry.name.strip("/"): entry for entry in entries}
    for name in list(by_name):
        for parent in pathlib.PurePosixPath(name).parents:
            if str(parent) != ".":
                by_name.setdefault(str(parent), Entry(str(parent)))
    return [dataclasses.replace(by_name[name], name=name) for name in sorted(by_name)]


def _write_layer(target, entries: list[Entry]) -> None:
    with tarfile.open(fileobj=target, mode="w", format=tarfile.GNU_FORMAT) as layer:
        for entry in entries:
            member = tarfile.TarInfo(entry.name)
            member.mode = entry.mode
            if entry.link is not None:
                member.type, member.linkname, member.mode = tarfile.SYMTYPE, entry.link, 0o777
                layer.addfile(member)
            elif entry.source is not None:
                member.size = entry.source.stat().st_size
                with open(entry.source, "rb") as content:
                    layer.addfile(member, content)
            elif entry.content is not None:
                member.size = len(entry.content)
                layer.addfile(member, io.BytesIO(entry.content))
            else:
                member.type = tarfile.DIRTYPE
                layer.addfile(member)


def _digest(file) -> str:
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()


def write_archive(
    path: pathlib.Path,
    reference: str,
    entries: Iterable[Entry],
    config: Config = Config(),
    compress: bool = True,
) -> str:
    """Writes the archive, whole or not at all, and returns the manifest's digest (sha256:...).

    `reference` is the image's full name, such as localhost/gantry:0.1.0. Without `compress` the
    layer is a plain tar: larger, and loaded faster.
    """
    path = pathlib.Path(path)
    with (
        tempfile.TemporaryFile(dir=path.parent) as plain,
        tempfile.TemporaryFile(dir=path.parent) as packed,
    ):
        _write_layer(plain, _with_folders(entries))
        diff_id = _digest(plain)
        layer, media_type = plain, "application/vnd.oci.image.layer.v1.tar"
        if compress:
            plain.seek(0)
            with gzip.GzipFile(
                filename="", fileobj=packed, mode="wb", compresslevel=9, mtime=0
            ) as gz:
                while block := plain.read(1 << 20):
                    gz.write(block)
            layer, media_type = packed, media_type + "+gzip"
        layer_digest = _digest(layer)
        layer_size = layer.seek(0, io.SEEK_END)

        blobs = {}

        def blob(document: dict, document_type: str) -> dict:
            data = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
            digest = hashlib.sha256(data).hexdigest()
            blobs[digest] = data
            return {"mediaType": document_type, "digest": f"sha256:{digest}", "size": len(data)}

        runtime = {
            "Entrypoint": list(config.entrypoint),
            "Cmd": list(config.command),
            "Env": [f"{name}={value}" for name, value in sorted(config.environment.items())],
            "Labels": config.labels,
            "User": config.user,
            "WorkingDir": config.working_dir,
        }
        image = blob(
            {
                "architecture": config.architecture,
                "os": "linux",
                "config": {name: value for name, value in runtime.items() if value},
                "rootfs": {"type": "layers", "diff_ids": [f"sha256:{diff_id}"]},
            },
            "application/vnd.oci.image.config.v1+json",
        )
        manifest_type = "application/vnd.oci.image.manifest.v1+json"
        manifest = blob(
            {
                "schemaVersion": 2,
                "mediaType": manifest_type,
                "config": image,
                "layers": [
                    {
                        "mediaType": media_type,
                        "digest": f"sha256:{layer_digest}",
                        "size": layer_size,
                    }
                ],
            },
            manifest_type,
        )
        # Tools look for the name under one or the other of these two keys.
        names = ("org.opencontainers.image.ref.name", "io.containerd.image.name")
        manifest_in_index = manifest | {
            "annotations": dict.fromkeys(names, reference),
            "platform": {"architecture": config.architecture, "os": "linux"},
        }
        index = {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": [manifest_in_index],
        }
        making = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            with tarfile.open(making, "w", format=tarfile.GNU_FORMAT) as archive:

                def add(name: str, data: bytes) -> None:
                    member = tarfile.TarInfo(name)
                    member.size, member.mode = len(data), 0o644
                    archive.addfile(member, io.BytesIO(data))

                add("oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
                add("index.json", json.dumps(index, sort_keys=True).encode())
                for digest, data in sorted(blobs.items()):
                    add(f"blobs/sha256/{digest}", data)
                member = tarfile.TarInfo(f"blobs/sha256/{layer_digest}")
                member.size, member.mode = layer_size, 0o644
                layer.seek(0)
                archive.addfile(member, layer)
            making.replace(path)
        finally:
            making.unlink(missing_ok=True)
    return manifest["digest"]


def reference_of(path: pathlib.Path) -> str:
    """The name that an archive gives its image, or an empty string."""
    with tarfile.open(path) as archive:
        index = json.load(archive.extractfile("index.json"))
    for manifest in index.get("manifests", []):
        annotations = manifest.get("annotations", {})
        for name in ("io.containerd.image.name", "org.opencontainers.image.ref.name"):
            if "/" in annotations.get(name, ""):
                return annotations[name]
    return ""
