#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 121
# host: two-pairs-a6000
# saved
# timeout: 800
#
# A GPU in use by something that no preflight can see: its unbind never returns. Meanwhile the other
# group is assigned and released, the list answers as fast as ever, and the daemon stops at once.
# The same with one on vfio-pci that a process has open.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

up
gpupass declare pair0 41:00.0 61:00.0 >/dev/null
gpupass declare pair1 a1:00.0 c1:00.0 >/dev/null
for vm in vm1 vm2; do "$here/define-vm" "$vm" --no-guest; done
pair1=(0000:a1:00.0 0000:a1:00.1 0000:c1:00.0 0000:c1:00.1)

# time_of COMMAND…: in milliseconds, in $took.
time_of() {
	local begin
	begin=$(date +%s%N)
	"$@" >/dev/null 2>&1
	took=$((($(date +%s%N) - begin) / 1000000))
}
# The fastest of nine, in $fastest.
list_time() {
	fastest=
	for _ in {1..9}; do
		time_of gpupass list
		[ -n "$fastest" ] && [ "$fastest" -le "$took" ] || fastest=$took
	done
}
# Whatever waits for the hang would do so each time, and what else the machine has to do does not
# count.
as_fast_as() {
	list_time
	hung=$fastest
	[ "$hung" -lt $(($1 * 2 + 50)) ]
}

before=$(drivers "${pair1[@]}")
list_time
quiet=$fastest
# faults 3, 6
knob 0000:61:00.0 hold 1
promise "a job begins whose unbind will not return" gpupass assign vm1 pair0 --no-block --timeout=600
promise "it hangs" until_true 20 sh -c '[ ! -e /sys/bus/pci/devices/0000:61:00.0/driver ]'
promise "gpupass list answers as fast as before" until_true 30 as_fast_as "$quiet"
echo "     gpupass list: $quiet ms before, $hung ms now: $((hung * 100 / quiet)) %"
promise "and says that the group is moving" sh -c 'gpupass list | grep -Eq "pair0 .*binding"'
time_of gpupass assign vm2 pair1
equal "the other group is assigned meanwhile" 4 "$(hostdevs --inactive vm2 | wc -l)"
promise "and released ($took ms for the assign)" gpupass release vm2
equal "and is as before" "$before" "$(drivers "${pair1[@]}")"
promise "while the first job still waits" sh -c 'gpupass jobs --json=short |
	jq -e ".jobs[] | select(.group == \"pair0\" and .state == \"running\")"'
refused_group() { ! gpupass assign vm2 pair0 2>"$work/err" && grep -q GroupBusy "$work/err"; }
promise "the group itself is refused" refused_group

# fault 50
time_of stop_gpupassd
promise "the daemon stops at once ($took ms)" test "$took" -lt "$(slow 2000)"
worker=$(pgrep -f 'gpupass-worker.* 0000:61:00.0 ')
promise "the worker stays" kill -0 "$worker"
start_gpupassd
promise "the next one answers" gpupass list
# fault 50
# Meanwhile what systemd-shutdown would run; it waits 5 s for the worker.
/usr/lib/systemd/system-shutdown/gpupass.shutdown poweroff &
powering_off=$!
promise "and serves the other group" gpupass assign vm2 pair1 -q
promise "both ways" gpupass release vm2 -q
# Its job is open, and shown as quarantined, until the worker has had its 10 s; then it is on disk.
promise "it finds the worker, and keeps the group apart" until_true 60 \
	test -e /var/lib/gpupass/quarantine/pair0.json
promise "a host that is powered off beside it is left to do so" wait "$powering_off"
promise "and told on the console that it cannot" until_true 5 \
	grep -q 'gpupass: a driver still holds a GPU' /run/lab/boot/console.log
knob 0000:61:00.0 hold 0
promise "when it lets go, the quarantine can be lifted" until_true 30 gpupass clear pair0
promise "and the group is good again" sh -c 'gpupass bind pair0 -q && gpupass unbind pair0 -q'
on_host="0000:41:00.0 nvidia
0000:61:00.0 nvidia"
equal "on the host's drivers" "$on_host" "$(drivers 0000:41:00.0 0000:61:00.0)"

# ---- fault 5: a process keeps vfio-pci from letting go, and nothing in /proc says which ----
promise "a group is bound" gpupass bind pair0 -q
/run/lab/hold-vfio 0000:61:00.0 >"$work/holder" &
holder=$!
promise "a process opens one of its functions, and keeps the device's file alone" until_true 10 \
	grep -q holding "$work/holder"
ends "to take it from vfio-pci ends with exit code 11" 11 gpupass unbind pair0 --timeout="$(slow 8)"
errs "with UnbindTimeout" UnbindTimeout
promise "the kernel waits for that process" sh -c 'dmesg |
	grep -q "0000:61:00.0: No device request channel registered, blocked until released by user"'
promise "the group is quarantined" sh -c 'gpupass list | grep -Eq "pair0 .*quarantined"'
promise "the other one is served" sh -c 'gpupass assign vm2 pair1 -q && gpupass release vm2 -q'
equal "and on its drivers again" "$before" "$(drivers "${pair1[@]}")"
worker=$(pgrep -f 'gpupass-worker.* 0000:61:00.0 ')
status=0
gpupass clear pair0 2>"$work/err" || status=$?
equal "the quarantine is not lifted while the worker waits, which is named" "9 $worker" \
	"$status $(grep -om1 "worker $worker" "$work/err" | cut -d' ' -f2)"
kill "$holder"
promise "when the process lets go, the worker ends what it began" until_true 20 \
	test -e /sys/bus/pci/drivers/nvidia/0000:61:00.0
promise "and the quarantine can be lifted" until_true 20 gpupass clear pair0
promise "the group is given back" gpupass unbind pair0 -q
equal "to the host's drivers" "$on_host" "$(drivers 0000:41:00.0 0000:61:00.0)"
stop_gpupassd
finish
