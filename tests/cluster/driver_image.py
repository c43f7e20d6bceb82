"""Images that stand for NVIDIA's driver and driver manager on nodes with fake GPUs. The node has the driver's files as a
package in /opt/driver; the manager takes the last driver away and fetches the package, and the driver mounts it where
everybody else looks for it, and shows its module.
"""

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

MANAGER = b"""#!/bin/bash
set -e
[ "$1" = uninstall_driver ]
while umount -l /run/nvidia/driver 2> /dev/null; do :; done
rm -rf /run/nvidia/package
cp -a /host/opt/driver /run/nvidia/package
"""
DRIVER = b"""#!/bin/bash
set -e
[ "$1" = init ]
trap 'umount -l /run/nvidia/driver; exit 0' TERM
mount --bind /run/nvidia/package /run/nvidia/driver
mount -t tmpfs modules /sys/module
mkdir /sys/module/nvidia
echo 0 > /sys/module/nvidia/refcnt
sleep infinity &
wait
"""
SMI = b"""#!/bin/bash
export LD_LIBRARY_PATH=/run/nvidia/driver/usr/lib/x86_64-linux-gnu
exec /run/nvidia/driver/usr/bin/nvidia-smi "$@"
"""
# What a host has of the driver becomes its package: there is no driver on the host any more.
PACK = """set -e
cd /
grep -E '^usr/(lib/x86_64-linux-gnu|bin)/' /opt/fakegpu/installed | while read -r name; do
  mkdir -p "opt/driver/${name%/*}"
  mv "$name" "opt/driver/$name"
done
"""
# Back again.
UNPACK = """set -e
cp -a /opt/driver/. /
rm -rf /opt/driver /run/nvidia/driver /run/nvidia/package
ldconfig
"""


def _userland():
    """What the bed's test image is made of, and mount."""
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
    root = base.root_fs()
    programs = ["/usr/bin/mount", "/usr/bin/umount"]
    listed = subprocess.run(["chroot", root, "ldd", *programs], capture_output=True, text=True, check=True)
    for name in programs + re.findall(r"(/\S+) \(0x", listed.stdout):
        place = name.lstrip("/")
        yield oci.Entry(place if place.startswith("usr/") else f"usr/{place}", source=(root / place).resolve())


def load(bed, references):
    """One image under several names, in every node."""
    programs = {"driver-manager": MANAGER, "nvidia-driver": DRIVER, "nvidia-smi": SMI}
    entries = {entry.name: entry for entry in _userland()}
    entries |= {name: oci.Entry(f"usr/bin/{name}", content=text) for name, text in programs.items()}
    with tempfile.TemporaryDirectory() as folder:
        archive = pathlib.Path(folder) / "driver.tar"
        oci.write_archive(archive, references[0], entries.values(), compress=False)
        for reference in references:
            bed.do("load", "all", str(archive), "--ref", reference)
