#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# host: pair-3090
# saved
#
# What is in the initramfs: doctor reads the image of the running kernel, finds in it what would
# take assigned GPUs before gpupass-bind does, and is content once gpupass's own hook has equipped
# it.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

release=$(uname -r)
image=/boot/initrd.img-$release
root=$work/image
hook=/usr/share/initramfs-tools/hooks/gpupass

# make_image COMPRESSOR…: microcode in a part of its own, zeros, and $root.
make_image() {
	{
		(cd "$work/early" && find . | cpio --quiet -o -H newc)
		head -c 512 /dev/zero
		(cd "$root" && find . | cpio --quiet -o -H newc) | "$@"
	} >"$image.new"
	mv "$image.new" "$image"
}

initramfs() { gpupass doctor --json=short | jq -r '.checks[] | select(.id == "initramfs") | '"$1"; }

mkdir -p "$work/early/kernel/x86/microcode" "$root/conf" "$root/usr/lib/modules/$release" "$root/etc"
echo microcode >"$work/early/kernel/x86/microcode/GenuineIntel.bin"
echo MODULES=most >"$root/conf/initramfs.conf"
cp -r /etc/passwd "$root/etc/"

up
declare_pair0
"$here/define-vm" vm42 --no-guest
equal "without an image nothing is known" unknown "$(initramfs .status)"
promise "and says why" sh -c "gpupass doctor --verbose | grep -q 'there is none of kernel'"

# fault 52
cp "$(modinfo -n nvidia)" "$root/usr/lib/modules/$release/"
make_image gzip -1
doctor_finds "a driver in the image is no fault while nothing is assigned"
gpupass assign vm42 pair0 -q
doctor_finds "it is one once a GPU is assigned that it takes" initramfs
promise "named with the image, the module and the function" sh -c \
	"gpupass doctor | grep -q '$image has nvidia, which takes 0000:01:00.0 of pair0'"

# What initramfs-tools has for its hooks, as far as ours uses it. Not its own where it is installed:
# those only note the modules, for a mkinitramfs that sets up what they need.
functions=/usr/share/initramfs-tools/hook-functions
cat >"$functions" <<'END'
manual_add_modules() {
	for m; do find -L "/lib/modules/$(uname -r)" -name "$m.ko*" -exec cp --parents {} "$DESTDIR" \;; done
}
copy_exec() { cp --parents "$1" "$DESTDIR"; }
END
promise "gpupass's hook runs" env DESTDIR="$root" sh "$hook"
for compressor in "gzip -1" "zstd -q -1" "xz -0 --check=crc32"; do
	# shellcheck disable=SC2086
	make_image $compressor
	doctor_finds "and with it the image is in order (${compressor%% *})"
	equal "as it was read (${compressor%% *})" pass "$(initramfs .status)"
done

# fault 59
head -c $(($(stat -c %s "$image") - 1000)) "$image" >"$image.new"
mv "$image.new" "$image"
doctor_finds "an image that is cut off is no fault"
equal "but nothing has passed either" unknown "$(initramfs .status)"

make_image gzip -1
gpupass release vm42 -q
doctor_finds "after a release its copy of the assignments is old" initramfs
promise "which is told" sh -c "gpupass doctor | grep -q 'old copy of the assignments: the next boot puts 0000:0[12]:00'"
finish
