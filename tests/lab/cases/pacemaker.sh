#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 150
# only --long
# host: pair-3090
# saved
# timeout: 900
#
# Pacemaker's agent of a domain against the real daemon, libvirt and kernel: each action, twice, and
# what it refuses. How a cluster uses it, is in tests/lab/cluster.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

up
declare_pair0
uuid=3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242
other=3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4343
"$here/define-vm" vm1 --uuid "$uuid" --memory 128 --print >"$work/vm1.xml"
"$here/define-vm" vm2 --uuid "$other" --memory 128 --print >"$work/vm2.xml"

# agent RESOURCE ACTION [PARAMETER=VALUE…]: as Pacemaker calls it. probe is a monitor without
# interval.
agent() {
	local resource=$1 action=$2 interval=30000
	shift 2
	[ "$action" != probe ] || { action=monitor interval=0; }
	env OCF_ROOT=/usr/lib/ocf OCF_RESOURCE_INSTANCE="$resource" OCF_RA_VERSION_MAJOR=1 \
		OCF_RESKEY_CRM_meta_interval="$interval" OCF_RESKEY_CRM_meta_timeout="$(slow 300)000" \
		OCF_RESKEY_config="$work/$resource.xml" OCF_RESKEY_model="RTX 3090" \
		OCF_RESKEY_shutdown_timeout=2 "${@/#/OCF_RESKEY_}" \
		/usr/lib/ocf/resource.d/gpupass/domain "$action" </dev/null >"$work/agent" 2>&1
}
# gives NAME CODE RESOURCE ACTION…: the agent ends with this code.
gives() {
	local name=$1 want=$2 code=0
	shift 2
	agent "$@" || code=$?
	equal "$name" "$want" "$code"
	[ "$code" = "$want" ] || sed 's/^/     | /' "$work/agent"
}
# says NAME TEXT: so did the last one.
says() { promise "$1" grep -qF -- "$2" "$work/agent"; }
state() { gpupass list -q --no-legend -o group,state | sed -n 's/^pair0\t//p'; }
has_domain() { virsh -q list --all --uuid | grep -qx "$1"; }

before=$(world)
gives "a probe of what was never here: it does not run" 7 vm1 probe
gives "a stop of what was never here succeeds" 0 vm1 stop
gives "what the file has, is valid" 0 vm1 validate-all
equal "none of these changed anything" "$before" "$(world)"

gives "start" 0 vm1 start
equal "it runs" running "$(virsh domstate "$uuid" | head -n 1)"
equal "with both GPUs" 4 "$(hostdevs "$uuid" | wc -l)"
equal "its group is assigned" assigned "$(state)"
running=$(world)
gives "a second start succeeds" 0 vm1 start
gives "monitor" 0 vm1 monitor
gives "a probe" 0 vm1 probe
equal "none of these changed anything either" "$running" "$(world)"

gives "a second domain finds no group" 1 vm2 start
says "and says so" "no group of 2"
promise "and is not defined" sh -c "! virsh -q list --all --uuid | grep -qx $other"
gives "its stop succeeds" 0 vm2 stop

echo 1 >/sys/kernel/gpupass-lab/0000:02:00.0/gone
# fault R4
# The daemon looks again with the question, and answers by then with what it knew.
monitor_fails() {
	local code=0
	agent vm1 monitor || code=$?
	[ "$code" = 1 ]
}
promise "a GPU that is lost is a failure" until_true 20 monitor_fails
says "which names the group" "a GPU of pair0 is lost"
gives "not of a probe" 0 vm1 probe
echo 0 >/sys/kernel/gpupass-lab/0000:02:00.0/gone
promise "until it answers again" until_true 20 agent vm1 monitor
virsh -q suspend "$uuid"
gives "a paused guest is a warning" 190 vm1 monitor
virsh -q resume "$uuid"
# fault R5
stop_gpupassd
gives "so is a gpupassd that does not answer" 190 vm1 monitor
gives "without it no domain is stopped half" 1 vm1 stop
promise "it keeps its definition, and the mark" sh -c \
	"virsh -q dumpxml --inactive $uuid | grep -q 'resource=.vm1.'"
start_gpupassd
gives "which does not run any more" 7 vm1 monitor
gives "nor in a probe, though it has its group yet" 7 vm1 probe
equal "it does" assigned "$(state)"

# fault R3
# ---- what a stop, or a start, has left ----
gives "the start clears that away" 0 vm1 start
promise "by a release, with a reset" sh -c 'jq -e .good /var/lib/gpupass/receipts/*.json'
gives "stop" 0 vm1 stop
says "of a guest that does not listen" "is destroyed"
equal "everything is as it was before" "$before" "$(world)"
gives "a second stop succeeds" 0 vm1 stop

# fault R1
# ---- a release that fails ----
gives "start once more" 0 vm1 start
echo 1 >/sys/kernel/gpupass-lab/0000:02:00.0/gone
gives "a stop that cannot reset its group fails" 1 vm1 stop
says "and says what" "cannot release the GPUs"
equal "nobody else gets the group" assigned "$(state)"
echo 0 >/sys/kernel/gpupass-lab/0000:02:00.0/gone
gives "once it answers, stop goes through" 0 vm1 stop
equal "and the world is as before" "$before" "$(world)"

# fault R2
# ---- what it refuses ----
virsh -q define "$work/vm1.xml" >/dev/null
gives "a domain that somebody else has defined is not started" 1 vm1 start
says "which is said" "did not define"
virsh -q start "$uuid"
gives "running, a probe says that it runs" 0 vm1 probe
gives "and is not stopped" 1 vm1 stop
equal "it still runs" running "$(virsh domstate "$uuid" | head -n 1)"
virsh -q destroy "$uuid"
gives "shut off, stop leaves it alone" 0 vm1 stop
promise "it is still there" has_domain "$uuid"
virsh -q undefine "$uuid"
"$here/define-vm" vm1 --uuid "$other" --memory 128
gives "another domain of that name is not touched" 1 vm1 start
says "libvirt says why" "already exists"
gives "and a stop has nothing to do" 0 vm1 stop
promise "the other is still there" has_domain "$other"
virsh -q undefine "$other"
equal "the world is as before" "$before" "$(world)"

# promise T11
sed "s|<devices>|<metadata><gpupass:cluster xmlns:gpupass='urn:gpupass:pacemaker:1' resource='vm1'/></metadata>&|" \
	"$work/vm2.xml" >"$work/copy.xml"
virsh -q define "$work/copy.xml" >/dev/null
gives "a domain with a copy of the mark is not taken for it" 7 vm1 probe
gives "a stop has nothing to do" 0 vm1 stop
gives "nor does it keep the real one from its start" 0 vm1 start
gives "or from its stop" 0 vm1 stop
promise "the copy is still there" has_domain "$other"
virsh -q undefine "$other"
equal "the world is as before" "$before" "$(world)"

gives "a group by its name" 0 vm1 start model= group=pair0
rm "$work/vm1.xml"
gives "without its file it is monitored" 0 vm1 monitor model= group=pair0
virsh -q destroy "$uuid"
virsh -q autostart "$uuid"
"$here/define-vm" vm1 --uuid "$uuid" --memory 128 --print >"$work/vm1.xml"
gives "a domain that libvirt starts by itself is not started" 1 vm1 start
says "which is said" "virsh autostart --disable"
gives "stop takes that away, too" 0 vm1 stop
equal "the world is as before, at the end" "$before" "$(world)"

# ---- without a cluster: the example of docs/FLEET.md ----
gpupass -q forget pair0
"$here/define-vm" vm1 --uuid "$uuid" --memory 128
awk '/cases\/pacemaker.sh runs/ { of = 1; next } of && /^```/ { fences++; next } of && fences == 1' \
	"$repo/docs/FLEET.md" >"$work/example"
promise "the example of one host has its lines" test "$(wc -l <"$work/example")" -ge 5
promise "and goes through" bash -e "$work/example"
equal "to the end" free "$(state)"
stop_gpupassd
finish
