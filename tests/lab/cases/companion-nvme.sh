#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 120
# host: pair-nvme
# timeout: 900
#
# A pair with its NVMe: QEMU's own, with the kernel's block layer around it.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

nvme=0000:03:00.0
disk=/dev/nvme0n1
with=(01:00.0 02:00.0 --with nvme:03:00.0)
on_host+=$'\n'"$nvme nvme"
on_vfio+=$'\n'"$nvme vfio-pci"
all+=$'\n'"$nvme"
pair+=("$nvme")

# is_erased: nothing but zeros on it.
is_erased() { cmp -s -n $((64 << 20)) "$disk" /dev/zero; }

up
"$here/define-vm" vm42 --no-guest
promise "the pair is declared with its NVMe" gpupass declare pair0 "${with[@]}"
doctor_finds "doctor tells that nobody said it may be erased" nvme-data

# used NAME TEXT CHECK: nobody gets the group like that.
used() {
	refused "$1" 9 HostInUse "$2" gpupass assign vm42 pair0
	promise "and doctor finds it" sh -c "gpupass doctor --json=short |
		jq -e '.checks[] | select(.id == \"$3\" and .status == \"warn\")'"
}
used "an NVMe that nobody gave up is refused" "was not erased by gpupass" nvme-data
mkfs.ext4 -q -L srv "$disk"
mount "$disk" /mnt
used "one that is mounted is refused by that" "$disk is mounted at /mnt" nvme-use
unshare --mount --propagation private sleep 600 &
other=$!
until_true 10 grep -qx sleep "/proc/$other/comm"
umount /mnt
used "one that is mounted in another name space is refused by that" \
	"$disk is mounted at /mnt, in the mount name space of sleep" nvme-use
kill "$other"
wait "$other" || true
until_true 10 sh -c "! grep -q $disk /proc/[0-9]*/mounts"
used "a file system refuses what nobody gave up" 'ext4 "srv"' nvme-data
mkswap -q "$disk"
swapon "$disk"
used "swap space is refused as that" "$disk is swap space" nvme-use
swapoff "$disk"
modprobe md_mod
echo md_lab >/sys/module/md_mod/parameters/new_array
echo none >/sys/block/md_lab/md/metadata_version
cat "/sys/block/${disk#/dev/}/dev" >/sys/block/md_lab/md/new_dev
used "a part of a RAID is refused by it" "$disk is in the RAID md_lab" nvme-use
echo clear >/sys/block/md_lab/md/array_state
echo remove >"/sys/block/md_lab/md/dev-${disk#/dev/}/state" 2>/dev/null || true
wipefs -qa "$disk"
# What libblkid looks for: uberblocks (vdev_impl.h) in the first label's array.
for i in 0 1 2 3 4 5 6 7; do
	printf '\x0c\xb1\xba\x00\x00\x00\x00\x00' | dd of="$disk" bs=1024 seek=$((128 + i)) conv=notrunc status=none
done
sync
used "a ZFS label refuses what nobody gave up" "zfs_member" nvme-data
python3 -c "import os, time; os.open('$disk', os.O_RDONLY | os.O_EXCL); time.sleep(600)" &
zfs=$!
until_true 10 sh -c "ls -l /proc/$zfs/fd | grep -q $disk"
used "one that somebody claimed is refused" "$disk is claimed by something" nvme-use
kill "$zfs"
wait "$zfs" || true
stop_gpupassd
finish
