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

# promises M5, M7
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
holder=$!
until_true 10 sh -c "ls -l /proc/$holder/fd | grep -q $disk"
used "one that a process has for itself is refused by its name" "$disk by python3 (pid $holder" holders
promise "and as claimed, too, which is all that ZFS shows" sh -c "gpupass doctor --json=short |
	jq -r '.checks[] | select(.id == \"nvme-use\").what[]' | grep -q 'is claimed by something'"
kill "$holder"
wait "$holder" || true

is_free() { gpupass list | grep -Eq "pair0 .* free"; }
mark=/var/lib/gpupass/tenants/$nvme.json
promise "it is declared once more, as one that may be erased" sh -c \
	"gpupass forget pair0 && gpupass declare pair0 ${with[*]} --erase"
promise "then gpupassd makes it ready by itself" until_true 60 is_free
promise "nothing is on it any more" is_erased
promise "its mark has the receipt" sh -c "jq -e '.state == \"clean\" and .erases[0].way == \"format-user\"' $mark"
doctor_finds "doctor finds nothing"
mkfs.ext4 -q -L hosts "$disk"
refused "what the host has written on it since refuses" 9 HostInUse 'ext4 "hosts"' gpupass assign vm42 pair0
promise "a prepare erases it once more" gpupass prepare pair0
promise "that is gone, too" is_erased

before=$(world)
promise "the NVMe goes with the pair" gpupass assign vm42 pair0
equal "all functions are on vfio-pci" "$on_vfio" "$(drivers "${pair[@]}")"
equal "the domain has exactly those hostdevs" "$all" "$(hostdevs --inactive vm42)"
"$here/define-vm" half --no-guest --hostdev "$nvme"
promise "a domain with the NVMe alone is not started" sh -c '! virsh -q start half'
virsh -q undefine half
promise "the domain starts with the pair and its NVMe" virsh -q start vm42
equal "QEMU has them all" "$all" \
	"$(virsh -q qemu-monitor-command vm42 --hmp info qtree |
		sed -n 's/^ *host = "\(0000:.*\)"\r*$/\1/p' | sort)"
virsh -q destroy vm42

# promise M6
# What a tenant writes: here the host does, with the function in its hand for a moment.
move() {
	echo "$nvme" >"/sys/bus/pci/devices/$nvme/driver/unbind"
	echo "$1" >"/sys/bus/pci/devices/$nvme/driver_override"
	echo "$nvme" >/sys/bus/pci/drivers_probe
}
move nvme
until_true 10 test -b "$disk"
mkfs.ext4 -q -L tenant "$disk"
move vfio-pci
promise "release succeeds" gpupass release vm42
promise "the group is free when it was erased, and not before" until_true 60 is_free
promise "nothing of the tenant is left" is_erased
equal "all is as it was before" "$before" "$(world)"
promise "its mark has the receipt, and whose it was" sh -c \
	"jq -e '.state == \"clean\" and .domain_name == \"vm42\" and (.erases | length) == 1' $mark"
stop_gpupassd
finish
