#!/bin/bash
# Makes the root file system of the driver image, without Gantry and without a driver: Debian with what compiles kernel
# modules. Root, access to Debian's packages.
# usage: deploy/driver_image/root.sh FOLDER [KERNEL_RELEASE...]
# With releases of Debian's kernels (6.1.0-47-cloud-amd64) their headers are in it; without, a node's own are used.
set -euo pipefail
folder=$1
shift

# libkmod loads modules; curl, tar and xz get and unpack NVIDIA's installer. usr-is-merged keeps Perl out.
packages=usr-is-merged,gcc,make,kmod,libelf1,curl,ca-certificates,xz-utils
for release in "$@"; do packages+=,linux-headers-$release; done

# What no kernel module is compiled with.
options=()
for path in /usr/share/{doc,man,info,locale,zoneinfo,bash-completion}/'*' \
  /usr/bin/'*'{lto-dump,gcov,gprofng,-dwp}'*' /usr/lib/gcc/x86_64-linux-gnu/12/{lto1,g++-mapper-server} \
  /usr/lib/gcc/x86_64-linux-gnu/12/lib{asan,tsan,lsan,ubsan,gcov,gomp,itm,quadmath}'*' \
  /usr/lib/x86_64-linux-gnu/{lib{asan,tsan,lsan,ubsan,gprofng,quadmath}.so.,gprofng/,gconv/}'*'; do
  options+=("--dpkgopt=path-exclude=$path")
done

mmdebstrap --quiet --variant=essential --mode=root --include="$packages" "${options[@]}" bookworm "$folder"
rm -rf "$folder"/var/{lib/apt/lists,cache/apt,cache/debconf,log} "$folder"/etc/{machine-id,hostname,resolv.conf}
