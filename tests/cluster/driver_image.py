"""Images that stand for NVIDIA's driver and driver manager on nodes with fake GPUs. The node has the driver's files as
a package in /opt/driver; the manager takes the last driver away and fetches the package, and the driver mounts it where
everybody else looks for it, and shows its module. Beside a driver of the host it ends as NVIDIA's installer does.
"""

import images

MANAGER = b"""#!/bin/bash
set -e
[ "$1" = uninstall_driver ]
while umount -l /run/nvidia/driver 2> /dev/null; do :; done
rm -rf /run/nvidia/package
[ ! -e /host/opt/driver ] || cp -a /host/opt/driver /run/nvidia/package
"""
DRIVER = b"""#!/bin/bash
set -e
[ "$1" = init ]
if [ -e /proc/1/root/usr/bin/nvidia-smi ]; then
  echo "An NVIDIA kernel module appears to already be loaded" >&2
  exit 1
fi
trap 'umount -l /run/nvidia/driver; exit 0' TERM
mount --bind /run/nvidia/package /run/nvidia/driver
mount -t tmpfs modules /sys/module
mkdir /sys/module/nvidia
echo 0 > /sys/module/nvidia/refcnt
sleep infinity &
wait
"""
# One whose modules are for other kernels.
FOR_OTHER_KERNELS = b"""#!/bin/bash
echo "No precompiled package found for kernel $(uname -r)" >&2
exit 1
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


def load(bed, references, driver=DRIVER):
    """One image under several names, in every node."""
    images.load(bed, references, {"driver-manager": MANAGER, "nvidia-driver": driver, "nvidia-smi": SMI},
                programs=["/usr/bin/mount", "/usr/bin/umount"])
