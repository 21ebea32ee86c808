#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# host: pair-3090
# saved
# timeout: 600
#
# When the second GPU cannot be bound, nothing at all is changed.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

up
declare_pair0
"$here/define-vm" vm42
# fault 14
knob 0000:02:00.0 fail_bind vfio-pci
refused "the second GPU's bind fails: both GPUs and the domain are as before" 1 BindFailed \
	0000:02:00.0 gpupass assign vm42 pair0
knob 0000:02:00.0 fail_bind ''
knob 0000:02:00.1 fail_bind vfio-pci
refused "the same when only its audio function fails" 1 BindFailed 0000:02:00.1 \
	gpupass assign vm42 pair0
knob 0000:02:00.1 fail_bind ''
promise "and without the fault it succeeds" gpupass assign vm42 pair0

# A slow driver is waited for, a hung one is not.
promise "release" gpupass release vm42
knob 0000:01:00.0 unbind_delay_ms 1500
promise "an unbind that takes its time is waited for" gpupass assign vm42 pair0
promise "release again" gpupass release vm42

# fault 62
before=$(world)
knob 0000:01:00.0 unbind_delay_ms "$(slow 8000)"
job=$(gpupass assign vm42 pair0 --no-block --timeout="$(slow 30)" --json=short 2>/dev/null | jq .id)
binds() {
	gpupass jobs "$job" --json=short |
		jq -e '.steps[] | select(.name == "bind vfio-pci" and .state == "running")'
}
promise "a job waits for a driver" until_true 20 binds
promise "it is cancelled meanwhile, and undone when the driver is done" gpupass cancel "$job"
equal "then the whole world is as before" "$before" "$(world)"
equal "and the job says so" '"cancelled"' "$(gpupass jobs "$job" --json=short | jq .state)"
knob 0000:01:00.0 unbind_delay_ms 0

# faults 2, 3
knob 0000:02:00.0 hold 1
ends "an unbind that never returns ends with exit code 11" 11 gpupass assign vm42 pair0 --timeout="$(slow 4)"
errs "with UnbindTimeout" UnbindTimeout
equal "the other GPU was put back" "0000:01:00.0 nvidia" "$(drivers 0000:01:00.0)"
equal "the domain was not touched" "" "$(hostdevs --inactive vm42)"
promise "the group is quarantined" sh -c 'gpupass list | grep -Eq "pair0 .*quarantined"'
SECONDS=0
gpupass assign vm42 pair0 2>"$work/err"
errs "it is refused from then on" Quarantined
promise "and at once" test "$SECONDS" -lt "$(slow 5)"
knob 0000:02:00.0 hold 0
stop_gpupassd
finish
