#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the GPUs of this node visible: device nodes, /proc/driver, /proc/devices, and what the kernel would show in /sys.
# Runs as root inside the node's mount namespace once /proc, /sys and /dev are mounted. usage: mount.sh [load|unload]
#
# procfs and sysfs cannot be written, so an overlay of the prepared tree and the kernel's own is mounted over each
# folder. An overlay is read-only, so the kernel's own folders below /sys/devices are bound over it again.
set -eu
here=$(dirname "$(readlink -f "$0")")

nodes() {  # the driver's own last: nothing finds a GPU before all are there
  { grep -v '^nvidiactl$' "$here/nodes"; echo nvidiactl; } | while read -r name; do
    mkdir -p "$(dirname "/dev/$name")"
    # A node of another number was made by a container toolkit, which knows only the real driver's.
    # It may make one between two commands here, so the new node replaces it in one step.
    [ "$(stat -c %t:%T "/dev/$name" 2> /dev/null)" = 1:3 ] ||
      { mknod -m 0666 /dev/fakegpu-new c 1 3 && mv -f /dev/fakegpu-new "/dev/$name"; }
    chmod 0666 "/dev/$name"
  done
}

over() {  # TREE FOLDER: shows both
  mkdir -p "$here/$1"
  [ -d "$2" ] || return 0
  mount -t overlay -o "lowerdir=$here/$1:$2" fakegpu "$2"
}

mounted() { grep -q "^fakegpu $1 " /proc/self/mounts; }

driver() {  # what is there only while the modules are loaded
  mount -t tmpfs -o mode=755 fakegpu /proc/driver
  cp -r "$here/proc/driver/." /proc/driver/
  if [ -e /proc/devices ]; then
    awk -v file="$here/proc/devices" '{ print } /^Character devices:/ { while ((getline line < file) > 0) print line }' \
      /proc/devices > "$here/live-devices"
    mount --bind "$here/live-devices" /proc/devices
  fi
  if [ -e /proc/modules ]; then
    cat "$here/proc/modules" /proc/modules > "$here/live-modules"
    mount --bind "$here/live-modules" /proc/modules
  fi
  over sys/bus-pci-drivers /sys/bus/pci/drivers
  over sys/module /sys/module
}

devices() {  # what the bus shows, with or without the driver
  mkdir -p "$here/kernel"
  mount --bind /sys/devices "$here/kernel"
  over sys/devices /sys/devices
  for folder in "$here/kernel"/*/; do
    name=$(basename "$folder")
    [ -e "$here/sys/devices/$name" ] || mount --bind "$folder" "/sys/devices/$name"
  done
  umount "$here/kernel"
  over sys/bus-pci-devices /sys/bus/pci/devices
}

keeper() {  # the process that follows MIG with files and device nodes; it stays in the background
  [ -d /proc/driver/nvidia/capabilities ] || return 0
  stop_keeper
  "$here/capabilities" /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1 /run/fakegpu.pid
}

stop_keeper() {
  [ -e /run/fakegpu.pid ] || return 0
  read -r pid < /run/fakegpu.pid
  if [ "$(readlink "/proc/$pid/exe")" = "$here/capabilities" ]; then kill "$pid"; fi
  rm -f /run/fakegpu.pid
}

case "${1:-load}" in
  load)
    mounted /sys/devices || devices
    mounted /proc/driver || driver
    nodes
    keeper ;;
  unload)
    stop_keeper
    while read -r name; do rm -f "/dev/$name"; done < "$here/nodes"
    rm -rf /dev/nvidia-caps /dev/nvidia-caps-imex-channels
    for folder in /sys/module /sys/bus/pci/drivers /proc/driver; do
      if mounted "$folder"; then umount "$folder"; fi
    done
    for file in devices modules; do
      if grep -q " /proc/$file " /proc/self/mounts; then umount "/proc/$file"; fi
    done ;;
  *) echo "usage: $0 [load|unload]" >&2; exit 2 ;;
esac
