"""Images that stand for programs which a bed can't have: the bed's test image with scripts."""

import io
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

from bed import ROOT

sys.path.insert(0, str(ROOT / "testbed" / "cluster"))

import base  # noqa: E402
import oci  # noqa: E402


def _userland(programs):
    """What the bed's test image is made of, and programs of a node."""
    with tarfile.open(base.images() / "test.tar") as archive:
        def blob(digest):
            return archive.extractfile(f"blobs/sha256/{digest.removeprefix('sha256:')}").read()

        index = json.load(archive.extractfile("index.json"))
        manifest = json.loads(blob(index["manifests"][0]["digest"]))
        layer = tarfile.open(fileobj=io.BytesIO(blob(manifest["layers"][0]["digest"])))
        for member in layer:
            if member.issym():
                yield oci.Entry(member.name, link=member.linkname)
            elif member.isfile():
                yield oci.Entry(member.name, content=layer.extractfile(member).read(), mode=member.mode)
            else:
                yield oci.Entry(member.name, mode=member.mode)
    if not programs:
        return
    root = base.root_fs()
    listed = subprocess.run(["chroot", root, "ldd", *programs], capture_output=True, text=True, check=True)
    for name in programs + re.findall(r"(/\S+) \(0x", listed.stdout):
        place = name.lstrip("/")
        yield oci.Entry(place if place.startswith("usr/") else f"usr/{place}", source=(root / place).resolve())


def load(bed, references, scripts, programs=()):
    """One image under several names, in every node. It runs the first script unless its pod says otherwise."""
    entries = {entry.name: entry for entry in _userland(list(programs))}
    entries |= {name: oci.Entry(f"usr/bin/{name}", content=text) for name, text in scripts.items()}
    with tempfile.TemporaryDirectory() as folder:
        archive = pathlib.Path(folder) / "image.tar"
        oci.write_archive(archive, references[0], entries.values(), oci.Config(entrypoint=(next(iter(scripts)),)),
                          compress=False)
        for reference in references:
            bed.do("load", "all", str(archive), "--ref", reference)
