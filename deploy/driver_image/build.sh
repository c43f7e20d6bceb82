#!/bin/bash
# Builds a driver image as an OCI archive: what compiles a driver's kernel modules for the node's kernel and loads them.
# usage: deploy/driver_image/build.sh BUILD_DIR ARCHIVE DRIVER_VERSION [TREE...]
# Each TREE is laid over the image's root: a driver's sources (usr/src/nvidia-open-535.261.03), its libraries and
# programs, precompiled modules (opt/nvidia/precompiled), packages (opt/nvidia/packages). Its rights are the user's
# own: nothing of a driver is here. With KERNELS="RELEASE..." headers of Debian's kernels are in the image.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$1 archive=$2 version=$3
shift 3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
read -ra kernels <<< "${KERNELS:-}"
"$here/root.sh" "$root" "${kernels[@]}"
install -m 0755 "$build/bin/gantry" "$root/usr/bin/gantry"
for name in nvidia-driver driver-manager; do ln -s gantry "$root/usr/bin/$name"; done
for tree in "$@"; do cp -a "$tree/." "$root/"; done

# A store of its own: whatever else uses buildah on this machine stays untouched.
buildah() { command buildah --storage-driver vfs --root "$work/store" --runroot "$work/run" "$@"; }
container=$(buildah from scratch)
buildah copy -q "$container" "$root" / > /dev/null
buildah config --user 0:0 --entrypoint '["/usr/bin/nvidia-driver"]' --cmd init --workingdir / \
  --env PATH=/usr/sbin:/usr/bin:/sbin:/bin --env NVIDIA_VISIBLE_DEVICES=void --env "DRIVER_VERSION=$version" \
  --label org.opencontainers.image.title=gantry-driver --label "org.opencontainers.image.version=$version" "$container"
mkdir -p "$(dirname "$archive")"
rm -f "$archive"
reference=localhost/gantry-driver:$version-debian12
buildah commit -q --rm --timestamp 0 --disable-compression=false "$container" "oci-archive:$archive:$reference" > /dev/null
echo "$reference $(stat -c %s "$archive") bytes"
