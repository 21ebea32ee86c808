#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 420
# host: pair-3090
# saved
# guest
# timeout: 900
#
# gpupass verify asks a real guest agent in a real guest, where a stand-in for nvidia-smi prints
# what the guests of tests/fixtures/guests print. Its guest runs Linux, the only one of the lab's
# that does: so it is here that a guest's own kernel takes a group in while it runs, and lets go of
# it. It was booted on the machine, and goes on here.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

uuids='"GPU-3090aaaa-0001-4c1d-8a00-000000000001","GPU-3090bbbb-0002-4c1d-8a00-000000000002"'

# An answer that came too late would be lost.
agent() { virsh -q qemu-agent-command vm42 --timeout "$(slow 60)" "$1"; }
# mode NAME: what nvidia-smi in vm42 does from now on.
mode() {
	local pid
	pid=$(agent "{\"execute\":\"guest-exec\",\"arguments\":{\"path\":\"/bin/lab-mode\",\"arg\":[\"$1\",$uuids]}}" |
		jq .return.pid)
	until_ended "$pid" 30 || bad "mode $1" "it was not set"
}
# until_ended PID SECONDS: asks ever more seldom, since each question takes the guest as long as a
# short program. The agent forgets a program once it has told of its end.
until_ended() {
	local pause=1 end=$((SECONDS + $2 * slowness * 4))
	until has_ended "$1" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep "$pause"
		[ "$pause" = 4 ] || pause=$((pause + 1))
	done
}
has_ended() {
	agent "{\"execute\":\"guest-exec-status\",\"arguments\":{\"pid\":$1}}" >"$work/ended" &&
		jq -e .return.exited "$work/ended"
}
# verdict [OPTION…]: exit status, verdict and cause.
verdict() {
	local status=0
	gpupass verify vm42 -q -j "$@" >"$work/verdict" 2>"$work/err" || status=$?
	echo "$status $(jq -r '"\(.verdict) \(.cause)"' "$work/verdict" 2>&1)"
	cat "$work/err"
}
reason() { jq -r .reason "$work/verdict"; }

install_gpupass
# In an emulator in an emulator a kernel takes longer to let go than any guest.
sed -i "s/.*DetachTimeoutSec.*/DetachTimeoutSec=$(slow 120)/" /etc/gpupass/gpupassd.conf
"$here/libvirt-up"
start_gpupassd
declare_pair0
refused "a domain that is not there is an error" 8 NoSuchDomain "" gpupass verify vm42

"$here/define-vm" vm42 --channel --no-guest
promise "the group is assigned to a domain whose guest has no agent" gpupass assign vm42 pair0
equal "a domain that is shut off is not asked" "1 unknown not-running" "$(verdict)"
virsh -q start vm42
equal "without an agent the verdict is unknown" "1 unknown no-agent" "$(verdict)"
promise "and says what to do" grep -q "qemu-guest-agent" "$work/verdict"
virsh -q destroy vm42
promise "the group is released" gpupass release vm42
virsh -q undefine vm42

"$here/define-vm" vm42 --agent --free-ports 5 --booted # one for the channel
promise "a guest with an agent is up" until_true 400 agent '{"execute":"guest-ping"}'
promise "the group is assigned to it while it runs" gpupass assign vm42 pair0
before=$(world)
promise "the guest's own kernel lists all four functions" "$here/define-vm" --wait vm42 4 120
equal "as two RTX 3090 with their audio" "$(printf '10de:1aef\n10de:1aef\n10de:2204\n10de:2204')" \
	"$(tr -d '\r' </run/lab/vm42.log | grep '^gpu +' | awk '{print $4}' | sort)"
promise "its agent answers" until_true 60 agent '{"execute":"guest-ping"}'

mode ga102-rtx-a6000
equal "all links and peer-to-peer: verified" "0 verified none" "$(verdict)"
equal "its GPUs were told by their UUIDs" "uuid" "$(jq -r .matched_by "$work/verdict")"
promise "people see it in words" sh -c 'gpupass verify vm42 | grep -q "pair0 in vm42: VERIFIED"'
promise "and the group shows it" sh -c 'gpupass status pair0 | grep -q "In guest: verified, 20"'
# promise G9
# (A guest's own report, and slow links, are bus guest's and unit verify's: here a program takes seconds.)
equal "measured on request, its links pass" 'pass nvbandwidth 52790' "$(verdict --workload >/dev/null
	jq -r '.workload | "\(.verdict) \(.program) \(.copies[0].mbps)"' "$work/verdict")"

mode ga102-half
equal "half the links: degraded" "1 degraded few-links" "$(verdict)"
equal "it says which" "2 of 4 links are active on 0000:01:00.0" "$(reason)"
# (What else a guest may print, and what it means, is unit verify's.)
mode no-driver
equal "without a driver: unknown" "1 unknown no-driver" "$(verdict)"
# promise G1
# fault 54
mode garbage
equal "garbage proves nothing" "1 unknown bad-output" "$(verdict)"
mode flood100
equal "more than 64 KiB is not taken" "1 unknown too-much-output" "$(verdict)"

# fault 53
mode hang
begin=$SECONDS
verdict --timeout="$(slow 12)" >"$work/hang" &
sleep 2
promise "while nvidia-smi hangs, gpupassd answers" timeout "$(slow 5)" gpupass list
wait $!
equal "the verdict comes with the deadline" "1 unknown timeout" "$(cat "$work/hang")"
equal "and not much later" 1 $((SECONDS - begin < $(slow 60)))

mode none
equal "without nvidia-smi: unknown" "1 unknown no-nvidia-smi" "$(verdict)"
promise "libvirt's words name the program" grep -q "nvidia-smi" "$work/verdict"
equal "nothing was changed by any of it" "$before" "$(world)"

# fault 53
# Its answer may not come any more.
virsh -q qemu-agent-command vm42 --timeout "$(slow 20)" \
	'{"execute":"guest-exec","arguments":{"path":"/bin/lab-mode","arg":["freeze"]}}' >/dev/null || true
promise "an agent is frozen" until_true 60 grep -q "agent stopped" /run/lab/vm42.log
begin=$SECONDS
verdict --timeout="$(slow 200)" >"$work/freeze" &
sleep 2
promise "while the agent hangs, libvirt and gpupassd answer" sh -c \
	"timeout $(slow 5) gpupass list && timeout $(slow 5) virsh -q list"
wait $!
equal "an agent that hangs is none" "1 unknown no-agent" "$(cat "$work/freeze")"
equal "and is not waited for until the deadline" 1 $((SECONDS - begin < $(slow 180)))
promise "and the group is released while it runs" gpupass release vm42
promise "the guest's own kernel has let go of all of them" "$here/define-vm" --wait vm42 0 120
virsh -q destroy vm42
equal "the group has no verdict any more" "null" "$(gpupass list -j | jq -r '.groups[] | select(.name == "pair0").verified')"
stop_gpupassd
finish
