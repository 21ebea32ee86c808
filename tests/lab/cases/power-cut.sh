#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 330
# host: pair-3090
# saved
# timeout: 1200
# sample: --every=4
#
# The power fails at every flush of the disk during an assign of a shut-off and of a running domain
# and during a release. The disk is exact: a log of the block device says what was durable when. The
# machine's part of a boot is played: every function without driver, gpupass-bind, coldplug,
# gpupassd. (tests/lab/power-cuts boots for real, a few times.)
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

disk=$work/disk
# A small file system, so that its image is quickly copied, and one that writes nothing unasked.
# Without udev, dmsetup makes the device file itself.
make_disk() {
	local data log
	mkdir -p "$disk" && modprobe -a loop ext4 dm-log-writes &&
		truncate -s 8M "$work/empty.img" &&
		mkfs.ext4 -q -b 1024 -J size=1 -E lazy_itable_init=0,lazy_journal_init=0,nodiscard \
			"$work/empty.img" &&
		cp "$work/empty.img" "$work/disk.img" && truncate -s 256M "$work/log.img" &&
		data=$(losetup --show -f "$work/disk.img") && log=$(losetup --show -f "$work/log.img") &&
		echo "0 $(blockdev --getsz "$data") log-writes $data $log" |
		DM_DISABLE_UDEV=1 dmsetup create logged &&
		mount -t ext4 /dev/mapper/logged "$disk"
}
promise "a disk whose writes are logged" make_disk
[ "$failures" = 0 ] || finish

# libvirt's definitions lie on the same disk as gpupass's files.
install_gpupass
mkdir -p "$disk/definitions" /etc/libvirt/qemu
mount -o bind "$disk/definitions" /etc/libvirt/qemu
mkdir -p "$disk/etc/groups.d" "$disk/etc/assignments.d"
cp /etc/gpupass/gpupassd.conf "$disk/etc/"
"$here/libvirt-up"
"$here/define-vm" vm42 --free-ports 4 --no-guest

# fault 37
python3 "$here/lib/power_cut.py" "$work" "$@" || failures=$((failures + 1))
finish
