#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# host: two-pairs-a6000
# timeout: 400
#
# A GPU in use by something that no preflight can see: its unbind never returns. Meanwhile the other
# group is assigned and released, the list answers as fast as ever, and the daemon stops at once.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

up
gpupass declare pair0 41:00.0 61:00.0 >/dev/null
gpupass declare pair1 a1:00.0 c1:00.0 >/dev/null
for vm in vm1 vm2; do "$here/define-vm" "$vm" --no-guest; done
pair1=(0000:a1:00.0 0000:a1:00.1 0000:c1:00.0 0000:c1:00.1)

milliseconds() {
	local begin
	begin=$(date +%s%N)
	"$@" >/dev/null 2>&1
	echo $((($(date +%s%N) - begin) / 1000000))
}
# The fastest of fifteen: whatever waits for the hang would do so each time, and what else the emulator
# has to do does not count.
list_time() {
	for _ in {1..15}; do milliseconds gpupass list; done | sort -n | sed -n 1p
}
as_fast_as() { [ "$2" -lt $(($1 * 2 + 50)) ]; }

before=$(drivers "${pair1[@]}")
quiet=$(list_time)
knob 0000:61:00.0 hold 1
promise "a job begins whose unbind will not return" gpupass assign vm1 pair0 --no-block --timeout=600
promise "it hangs" until_true 20 sh -c '[ ! -e /sys/bus/pci/devices/0000:61:00.0/driver ]'
hung=$(list_time)
promise "gpupass list answers as fast as before ($hung ms, $quiet ms: $((hung * 100 / quiet)) %)" \
	as_fast_as "$quiet" "$hung"
promise "and says that the group is moving" sh -c 'gpupass list | grep -Eq "pair0 .*binding"'
took=$(milliseconds gpupass assign vm2 pair1)
equal "the other group is assigned meanwhile" 4 "$(hostdevs --inactive vm2 | wc -l)"
promise "and released ($took ms for the assign)" gpupass release vm2
equal "and is as before" "$before" "$(drivers "${pair1[@]}")"
promise "while the first job still waits" sh -c 'gpupass jobs --json=short |
	jq -e ".jobs[] | select(.group == \"pair0\" and .state == \"running\")"'
refused_group() { ! gpupass assign vm2 pair0 2>"$work/err" && grep -q GroupBusy "$work/err"; }
promise "the group itself is refused" refused_group

took=$(milliseconds stop_gpupassd)
promise "the daemon stops at once ($took ms)" test "$took" -lt 2000
worker=$(pgrep -f 'gpupass-worker.* 0000:61:00.0 ')
promise "the worker stays" kill -0 "$worker"
start_gpupassd
promise "the next one answers" gpupass list
promise "and serves the other group" gpupass assign vm2 pair1 -q
promise "both ways" gpupass release vm2 -q
# Its job is open, and shown as quarantined, until the worker has had its 10 s; then it is on disk.
promise "it finds the worker, and keeps the group apart" until_true 60 \
	test -e /var/lib/gpupass/quarantine/pair0.json
knob 0000:61:00.0 hold 0
promise "when it lets go, the quarantine can be lifted" until_true 30 gpupass clear pair0
promise "and the group is good again" sh -c 'gpupass bind pair0 -q && gpupass unbind pair0 -q'
equal "on the host's drivers" "0000:41:00.0 nvidia
0000:61:00.0 nvidia" "$(drivers 0000:41:00.0 0000:61:00.0)"
stop_gpupassd
finish
