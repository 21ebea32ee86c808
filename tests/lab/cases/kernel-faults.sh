#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# host: pair-3090
# timeout: 400
#
# A full and a read-only disk, a clock that jumps, a function that goes midway, and a program that
# keeps vfio-pci from letting go, all of a real kernel.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

state=/var/lib/gpupass
mkdir -p "$state"
mount -t tmpfs -o size=256k gpupass-state "$state"
up
declare_pair0
"$here/define-vm" vm42 --no-guest

# ---- the disk ----
dd if=/dev/zero of="$state/filler" bs=4k 2>/dev/null
refused "a full disk is refused before anything is written" 1 Internal "No space left" \
	gpupass assign vm42 pair0
rm "$state/filler"
mount -o remount,ro "$state"
refused "so is a read-only one" 1 Internal "Read-only file system" gpupass assign vm42 pair0
refused "and every job after it, by name" 5 StateReadOnly "Read-only file system" \
	gpupass bind pair0
promise "the list says why" sh -c 'gpupass list 2>&1 | grep -q "the journal could not be written"'
mount -o remount,rw "$state"
promise "when the disk can be written again, so can jobs" gpupass bind pair0
promise "and the list is quiet" sh -c '! gpupass list 2>&1 | grep -q "could not be written"'
promise "unbind" gpupass unbind pair0

# ---- the clock ----
knob 0000:02:00.0 hold 1
now=$(date +%s)
begin=$(cut -d. -f1 /proc/uptime)
gpupass assign vm42 pair0 --timeout=6 >/dev/null 2>"$work/err" &
job=$!
sleep 2
date -s "@$((now + 400000000))" >/dev/null
sleep 1
date -s "@$((now - 400000000))" >/dev/null
status=0
wait "$job" || status=$?
took=$(($(cut -d. -f1 /proc/uptime) - begin))
date -s "@$((now + took))" >/dev/null
equal "a deadline ends its job while the clock jumps by years" 11 "$status"
promise "neither early nor late ($took s)" test "$took" -ge 5 -a "$took" -le 14
knob 0000:02:00.0 hold 0
promise "the quarantine is lifted" until_true 15 gpupass clear pair0
promise "unbind again" gpupass unbind pair0

# ---- a function that goes midway ----
knob 0000:01:00.0 unbind_delay_ms 4000
gpupass bind pair0 --timeout=20 >/dev/null 2>"$work/err" &
job=$!
sleep 1.5
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

# ---- vfio without a request eventfd ----
cat >"$work/holder.py" <<'PY'
import fcntl, os, sys, time
SET_IOMMU, SET_CONTAINER, DEVICE_FD, TYPE1 = 0x3b66, 0x3b68, 0x3b6a, 1
container = os.open("/dev/vfio/vfio", os.O_RDWR)
group = os.open("/dev/vfio/" + sys.argv[1], os.O_RDWR)
fcntl.ioctl(group, SET_CONTAINER, container.to_bytes(4, "little"))
fcntl.ioctl(container, SET_IOMMU, TYPE1)
device = fcntl.ioctl(group, DEVICE_FD, sys.argv[2].encode() + b"\0")
print("holds", flush=True)
time.sleep(600)
PY
promise "bind" gpupass bind pair0
group=$(basename "$(readlink /sys/bus/pci/devices/0000:02:00.0/iommu_group)")
# The unbind has begun, and its last look at holders is over, when the program opens the device.
knob 0000:02:00.0 unbind_delay_ms 8000
knob 0000:02:00.1 unbind_delay_ms 8000
gpupass unbind pair0 --timeout=16 >/dev/null 2>"$work/err" &
job=$!
sleep 3
python3 "$work/holder.py" "$group" 0000:02:00.0 >"$work/holder" 2>&1 &
holder=$!
promise "a program has the device open through vfio" until_true 15 grep -q holds "$work/holder"
sed 's/^/     holder: /' "$work/holder"
status=0
wait "$job" || status=$?
equal "an unbind that it keeps waiting ends with exit code 11" 11 "$status"
promise "with UnbindTimeout" grep -q 'Error: *org.gpupass1.Error.UnbindTimeout$' "$work/err"
promise "and the group is quarantined" sh -c 'gpupass list | grep -Eq "pair0 .*quarantined"'
knob 0000:02:00.0 unbind_delay_ms 0
knob 0000:02:00.1 unbind_delay_ms 0
kill "$holder"
promise "when it has gone, the late result is taken as it is found" until_true 20 gpupass clear pair0
promise "and can be brought to an end" sh -c 'gpupass unbind pair0 || gpupass list | grep -Eq "pair0 .* free"'
equal "which is the host's drivers" "0000:01:00.0 nvidia
0000:02:00.0 nvidia" "$(drivers 0000:01:00.0 0000:02:00.0)"
stop_gpupassd
finish
