#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 80
# host: pair-3090
# saved
# timeout: 800
#
# A disk that is full, and one that gives errors, a clock that jumps, a function that goes midway
# and one that does not wake up, all of a real kernel.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

state=/var/lib/gpupass
device=
# The file system has no journal, and goes on after an error: with one it would turn read-only at
# the first, and nothing would fail at an fsync any more. Without udev, dmsetup makes the device
# file itself.
make_disk() {
	mkdir -p "$state" && modprobe -a loop ext4 dm-flakey && truncate -s 2M "$work/disk.img" &&
		mkfs.ext4 -q -b 1024 -m 0 -O ^has_journal -e continue \
			-E lazy_itable_init=0,nodiscard "$work/disk.img" &&
		device=$(losetup --show -f "$work/disk.img") &&
		echo "0 4096 linear $device 0" | DM_DISABLE_UDEV=1 dmsetup create state &&
		mount -t ext4 /dev/mapper/state "$state"
}
# disk good|bad: bad, each write gives EIO, and reads go on.
disk() {
	local table="linear $device 0"
	[ "$1" = good ] || table="flakey $device 0 0 1 1 error_writes"
	DM_DISABLE_UDEV=1 dmsetup load state --table "0 4096 $table" &&
		DM_DISABLE_UDEV=1 dmsetup suspend --nolockfs state &&
		DM_DISABLE_UDEV=1 dmsetup resume state
}
promise "a disk that can be made to give errors" make_disk
[ "$failures" = 0 ] || finish
up
declare_pair0
"$here/define-vm" vm42 --no-guest

# ---- faults 38, 39: the disk ----
dd if=/dev/zero of="$state/filler" bs=4k 2>/dev/null
refused "a full disk is refused before anything is written" 5 StateReadOnly \
	"could not be written: No space left" gpupass assign vm42 pair0
rm "$state/filler"
disk bad
refused "so is one that fails at fsync" 5 StateReadOnly \
	"could not be written: Input/output error" gpupass assign vm42 pair0
refused "and every job after it, by name" 5 StateReadOnly "Input/output error" gpupass bind pair0
promise "the list goes on, and says why" sh -c 'gpupass list 2>"$0" | grep -q "pair0 .*free" &&
	grep -q "could not be written: Input/output error" "$0"' "$work/warned"
disk good
# What the kernel wrote behind their back while it was bad may be told at the first fsync after
# that.
promise "when the disk takes writes again, so can jobs" until_true 20 gpupass bind pair0
promise "and the list is quiet" sh -c '! gpupass list 2>&1 | grep -q "could not be written"'
promise "unbind" gpupass unbind pair0

# Long enough for the disk to fail meanwhile, whatever else the machine has to do.
knob 0000:02:00.0 bind_delay_ms "$(slow 4000)"
gpupass bind pair0 --timeout="$(slow 30)" >/dev/null 2>"$work/err" &
job=$!
promise "a job is at work" until_true 10 test -e /sys/bus/pci/drivers/vfio-pci/0000:01:00.1
disk bad
status=0
wait "$job" || status=$?
knob 0000:02:00.0 bind_delay_ms 0
promise "a disk that fails in the midst of a job is named at its end ($status)" grep -q \
	"the journal could not be written: Input/output error" "$work/err"
promise "the job was done" grep -q "the job itself was done" "$work/err"
promise "its journal is still open on that disk, so that the group is kept apart" sh -c \
	'[ "$1" = 11 ] && gpupass list | grep -q "pair0.*quarantined"' sh "$status"
disk good
promise "until the disk takes writes again" until_true 20 gpupass clear pair0
promise "and all of it goes back" gpupass unbind pair0
equal "to the host's drivers" "$on_host" "$(drivers "${pair[@]}")"

# ---- fault 43: the clock ----
knob 0000:02:00.0 hold 1
now=$(date +%s)
begin=$(cut -d. -f1 /proc/uptime)
gpupass assign vm42 pair0 --timeout="$(slow 6)" >/dev/null 2>"$work/err" &
job=$!
until_true 10 test ! -e /sys/bus/pci/devices/0000:02:00.0/driver
date -s "@$((now + 400000000))" >/dev/null
sleep 1
date -s "@$((now - 400000000))" >/dev/null
status=0
wait "$job" || status=$?
took=$(($(cut -d. -f1 /proc/uptime) - begin))
date -s "@$((now + took))" >/dev/null
equal "a deadline ends its job while the clock jumps by years" 11 "$status"
# A deadline of that clock would be years early or late.
promise "neither early nor late ($took s)" test "$took" -ge "$(slow 5)" -a "$took" -le "$(slow 60)"
knob 0000:02:00.0 hold 0
promise "the quarantine is lifted" until_true 15 gpupass clear pair0
promise "unbind again" gpupass unbind pair0

# ---- fault 12: a function that goes midway ----
knob 0000:01:00.0 unbind_delay_ms "$(slow 4000)"
gpupass bind pair0 --timeout="$(slow 20)" >/dev/null 2>"$work/err" &
job=$!
# Its unbind is under way, and takes its time.
until_true 10 test ! -e /sys/bus/pci/devices/0000:01:00.0/driver
echo 1 >/sys/bus/pci/devices/0000:02:00.1/remove
status=0
wait "$job" || status=$?
knob 0000:01:00.0 unbind_delay_ms 0
promise "a function that goes midway fails its job by name ($status)" grep -q 0000:02:00.1 "$work/err"
equal "and its peers were put back" "0000:01:00.0 nvidia
0000:01:00.1 snd_hda_intel
0000:02:00.0 nvidia" "$(drivers 0000:01:00.0 0000:01:00.1 0000:02:00.0)"
echo 1 >/sys/bus/pci/rescan
promise "when it is back" until_true 15 sh -c \
	'gpupass rescan >/dev/null 2>&1; gpupass clear pair0; gpupass list | grep -Eq "pair0 .* free"'

# ---- faults 24, 25: one that does not wake up ----
knob 0000:02:00.0 gone 1
status=0
gpupass bind pair0 >"$work/out" 2>"$work/err" || status=$?
equal "a GPU that does not answer is refused, and none is bound" "1 $on_host" \
	"$status $(drivers "${pair[@]}")"
promise "by name" grep -q "0000:02:00.0 does not answer: its config space reads all ones" "$work/err"
knob 0000:02:00.0 gone 0
knob 0000:02:00.0 bind_delay_ms "$(slow 4000)"
gpupass bind pair0 --timeout="$(slow 30)" >/dev/null 2>"$work/err" &
job=$!
until_true 10 test -e /sys/bus/pci/drivers/vfio-pci/0000:01:00.1
knob 0000:02:00.0 gone 1
status=0
wait "$job" || status=$?
knob 0000:02:00.0 bind_delay_ms 0
equal "the kernel cannot wake one up" D3cold "$(cat /sys/bus/pci/devices/0000:02:00.0/power_state)"
promise "vfio-pci took it all the same" sh -c 'dmesg | grep -q \
	"vfio-pci 0000:02:00.0: Unable to change power state from D3cold to D0, device inaccessible"'
promise "its job fails by name ($status)" grep -q \
	"0000:02:00.0 does not answer since it was moved to vfio-pci" "$work/err"
equal "and all was put back" "1 $on_host" "$status $(drivers "${pair[@]}")"
knob 0000:02:00.0 gone 0

stop_gpupassd
finish
