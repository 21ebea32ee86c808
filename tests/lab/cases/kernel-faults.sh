#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# host: pair-3090
# timeout: 400
#
# A full and a read-only disk, a clock that jumps, and a function that goes midway, all of a real kernel.
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

stop_gpupassd
finish
