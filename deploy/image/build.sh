#!/bin/bash
# Builds the one image of all operands from a release build, as an OCI archive.
# usage: deploy/image/build.sh BUILD_DIR ARCHIVE [REFERENCE]
# The image has no distribution in it: our programs, glibc as they were linked with (NVIDIA's
# libraries are opened from the host's driver and need nothing else), a static busybox for people
# who look inside, the names of NVIDIA's PCI devices, and the custom resource definitions.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$1 archive=$2 reference=${3:-localhost/gantry:$("$1/bin/gantry" --version | awk '{print $NF; exit}')}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root"/{usr/bin,bin,busybox,lib64,lib/x86_64-linux-gnu,etc,tmp,opt/gpu-operator,opt/gantry}
chmod 1777 "$root/tmp"

install -m 0755 "$build/bin/gantry" "$root/usr/bin/gantry"
"$build/bin/gantry" --names | while read -r name; do ln -s gantry "$root/usr/bin/$name"; done
install -m 0755 "$build"/bin/gantry-{runtime,ctk,cuda} "$root/opt/gantry/"
install -m 0644 "$here"/../chart/{crds/*.yaml,known-values.json} "$here"/../crd_schema/definition-fields.json \
  "$root/opt/gpu-operator/"

install -D -m 0644 "$here/pci.ids" "$root/usr/share/misc/pci.ids"

for library in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 libresolv.so.2; do
  install -m 0755 "/lib/x86_64-linux-gnu/$library" "$root/lib/x86_64-linux-gnu/$library"
done
install -m 0755 /lib64/ld-linux-x86-64.so.2 "$root/lib64/ld-linux-x86-64.so.2"

install -m 0755 "$(command -v busybox)" "$root/busybox/busybox"
for applet in sh cat ls ps sleep rm stat grep env; do
  ln -s /busybox/busybox "$root/busybox/$applet"
done
ln -s /busybox/busybox "$root/bin/sh"

printf 'root:x:0:0:root:/:/bin/sh\nnonroot:x:1000:1000:nonroot:/:/bin/sh\n' > "$root/etc/passwd"
printf 'root:x:0:\nnonroot:x:1000:\n' > "$root/etc/group"
printf 'hosts: files dns\n' > "$root/etc/nsswitch.conf"

# A store of its own: whatever else uses buildah on this machine stays untouched.
buildah() { command buildah --storage-driver vfs --root "$work/store" --runroot "$work/run" "$@"; }
container=$(buildah from scratch)
buildah copy -q "$container" "$root" / > /dev/null
buildah config --user 0:0 --entrypoint '["/usr/bin/gantry"]' --workingdir / \
  --env PATH=/usr/bin:/bin:/busybox --env NVIDIA_VISIBLE_DEVICES=void \
  --label org.opencontainers.image.title=gantry --label org.opencontainers.image.licenses=Apache-2.0 \
  "$container"
mkdir -p "$(dirname "$archive")"
rm -f "$archive"
buildah commit -q --rm --timestamp 0 --disable-compression=false "$container" "oci-archive:$archive:$reference" > /dev/null
echo "$reference $(stat -c %s "$archive") bytes"
