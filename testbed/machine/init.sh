#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first process of a machine: mounts each disk at the folder that its serial number names, then runs the commands
# that come over the second serial port, one base64 line each, and answers with their output and status.
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /run /tmp
mount -t devpts devpts /dev/pts
mount -t tmpfs run /run
mount -t tmpfs tmp /tmp
while read -r module; do insmod "/modules/$module"; done < /modules/order
for disk in /sys/block/vd*; do
  [ -e "$disk" ] || continue
  place=/$(cat "$disk/serial")
  mkdir -p "$place"
  if [ "$(cat "$disk/ro")" = 1 ]; then
    mount -t ext4 -o ro "/dev/${disk##*/}" "$place"
  else
    mount -t ext4 "/dev/${disk##*/}" "$place"
  fi
done
mount --make-rshared /
exec 3<> /dev/ttyS1
stty raw -echo <&3
echo ready >&3
while read -r line <&3; do
  echo "$line" | base64 -d > /tmp/.command
  sh /tmp/.command > /tmp/.output 2>&1 < /dev/null 3<&-
  status=$?
  { base64 -w0 /tmp/.output; echo " $status"; } >&3
done
