#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# Stands for NVIDIA's nvidia-cuda-mps-control in a driver root: `-f` is the daemon, and without words
# it hands what it reads to the daemon. What each is given lies in /mps/seen; a file `hold` in there
# keeps the daemon from coming up, and one named `refuse` makes it complain.
seen=/mps/seen
pipe=$CUDA_MPS_PIPE_DIRECTORY
if [ "$1" = -f ]; then
  /bin/busybox env | /bin/busybox sort > $seen/environment
  echo started >> $seen/starts
  echo "$CUDA_VISIBLE_DEVICES" > /dev/shm/server
  while [ -e $seen/hold ]; do /bin/busybox sleep 0.1; done
  echo log > "$CUDA_MPS_LOG_DIRECTORY/control.log"
  echo $$ > "$pipe/nvidia-cuda-mps-control.pid"
  : > "$pipe/control"
  while [ -e "$pipe/control" ]; do /bin/busybox sleep 0.1; done
  exit 0
fi
while read -r line; do
  if [ ! -e "$pipe/control" ]; then
    echo "Cannot find MPS control daemon process"
    exit 1
  fi
  echo "$line" >> $seen/commands
  if [ -e $seen/refuse ]; then
    echo "Failed to set: $line"
    exit 1
  fi
  case $line in
    quit) /bin/busybox rm "$pipe/control" ;;
    get_default_active_thread_percentage) echo 100.0 ;;
  esac
done
