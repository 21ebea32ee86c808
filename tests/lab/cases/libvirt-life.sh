#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 185
# host: pair-3090
# saved
# timeout: 1120
#
# libvirt restarts, freezes and loses domains; guests are destroyed, killed, renamed, redefined. No
# group is half done, none is given away, and what can be mended is mended.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

records=/etc/gpupass/assignments.d

# As systemd does it: its guests go on. Killed (-9) between QEMU's taking a device and its own
# record of it, libvirtd would forget the device, which nobody but QEMU could take out again: that
# is quarantined.
restart_libvirtd() {
	pkill -x libvirtd
	until_true 30 sh -c '! pgrep -x libvirtd'
	"$here/libvirt-up"
}
# As systemd does it (Restart=on-failure): libvirtd 9.0 has been seen to die when a client goes in
# the middle of its call (see lib/rounds.py), and once when it went on after having been frozen.
# That gpupassd connects again is promised of that, too.
revive_libvirtd() {
	! pgrep -x libvirtd || return 0
	touch "$work/libvirtd-died"
	"$here/libvirt-up"
}
state() { gpupass list -j | jq -r '.groups[] | select(.name == "pair0") | .state'; }
is() {
	local now
	now=$(state)
	[ "$now" = "$1" ] || { echo "it is: $now" && return 1; }
}
drift() { gpupass reconcile --dry-run -j | jq -r '.findings[] | .kind + "/" + .repair' | sort -u; }
has_hostdevs() { [ -n "$(hostdevs "$1")" ]; }
uuid_of() { virsh -q domuuid "$1" | tr -d '\n'; }

up
declare_pair0
"$here/define-vm" vm42 --free-ports 4 --no-guest --start

# ---- fault 27: libvirt is restarted in the middle of an attach ----
gpupass assign vm42 pair0 >"$work/assign" 2>&1 &
job=$!
promise "an assign to a running domain is under way" until_true 30 has_hostdevs vm42
restart_libvirtd
status=0
wait "$job" || status=$?
# Done, or put back; never something in between. Which of them is a matter of when it was hit.
case $status in
0)
	ok "libvirt restarted during the attach: the job ends as done"
	equal "the running guest has all of them" "$all" "$(hostdevs vm42)"
	equal "so has the definition" "$all" "$(hostdevs --inactive vm42)"
	;;
1)
	ok "libvirt restarted during the attach: the job ends as undone"
	equal "the running guest has none" "" "$(hostdevs vm42)"
	equal "and the host has them all" "$on_host" "$(drivers "${pair[@]}")"
	promise "a second try goes through" gpupass assign vm42 pair0
	;;
*)
	bad "libvirt restarted during the attach" "exit status $status"
	sed 's/^/     | /' "$work/assign"
	;;
esac
promise "nothing is quarantined" until_true 10 is assigned
equal "nothing has drifted" "" "$(drift)"

# ---- fault 33: a daemon that starts while the guest runs, and finds no record ----
stop_gpupassd
uuid=$(uuid_of vm42)
mv "$records/$uuid.json" "$work/record.json"
start_gpupassd
promise "its record is written again" until_true 20 test -s "$records/$uuid.json"
equal "with all functions" "$all" "$(jq -r '.functions[].bdf' "$records/$uuid.json")"
equal "the guest was not touched" "$all" "$(hostdevs vm42)"
promise "the log says so" until_true 20 grep -q "adopting pair0 for vm42" "$work/gpupassd.log"
# What it cannot know is what the functions were on before: the rest of this case can.
cp "$work/record.json" "$records/$uuid.json"
gpupass rescan -q

# ---- fault 35: QEMU is killed ----
pid=$(pgrep -f 'qemu.*guest=vm42')
kill -9 "$pid"
promise "a killed guest keeps its assignment" until_true 20 \
	sh -c 'virsh -q domstate vm42 | grep -q "shut off" && gpupass list | grep -Eq "pair0 .*assigned"'
promise "release waits for its process to be gone, and goes through" gpupass release vm42
equal "every GPU was reset" "true" \
	"$(jq -r '.good' "$(find /var/lib/gpupass/receipts -name '*.json' | sort | tail -n 1)")"
equal "the host has all of them" "$on_host" "$(drivers "${pair[@]}")"

# ---- fault 30: the domain is destroyed during an attach ----
receipts() { find /var/lib/gpupass/receipts -name '*.json' | sort; }
before=$(receipts | wc -l)
virsh -q start vm42
gpupass assign vm42 pair0 >"$work/assign" 2>&1 &
job=$!
until_true 30 has_hostdevs vm42
virsh -q destroy vm42
status=0
wait "$job" || status=$?
if [ "$status" = 0 ]; then
	# All four were in before it was destroyed, so the definition has them.
	equal "destroyed after the last attach: it is assigned" "$all" "$(hostdevs --inactive vm42)"
	gpupass release vm42 -q
else
	equal "destroyed during the attach: the job failed and was undone" 1 "$status"
fi
equal "the host has both GPUs whole" "$on_host" "$(drivers "${pair[@]}")"
# promise G10
equal "which were reset first" "$((before + 1)) true" \
	"$(receipts | wc -l) $(jq -r '.good' "$(receipts | tail -n 1)")"
promise "nothing is quarantined" is free
equal "and there is no record of it" "" "$(ls "$records")"

# ---- renamed, redefined ----
promise "assign to a shut-off domain" gpupass assign vm42 pair0
virsh -q domrename vm42 vm77
promise "a renamed domain is told" until_true 10 sh -c \
	'gpupass reconcile --dry-run | grep -q "domain vm42 is called vm77 now"'
promise "reconcile records its new name" gpupass reconcile pair0
equal "in the record" vm77 "$(jq -r .domain_name "$records/$uuid.json")"
virsh -q dumpxml --inactive vm77 >"$work/with.xml"
for f in 0 1 2 3; do virsh -q detach-device vm77 --config <(
	sed -n "/<hostdev /,/<\/hostdev>/p" "$work/with.xml" |
		awk -v n="$f" '/<hostdev /{i++} i==n+1'
); done
equal "its devices were taken out by hand" "" "$(hostdevs --inactive vm77)"
promise "that is told" until_true 10 sh -c 'gpupass reconcile --dry-run -j | grep -q lacks-all'
ends "changes are pending" 10 gpupass reconcile --dry-run --detailed-exitcode
promise "reconcile defines it again" gpupass reconcile
equal "with all of them" "$all" "$(hostdevs --inactive vm77)"
equal "nothing has drifted" "" "$(drift)"
promise "and it was logged when it came and when it went" until_true 20 sh -c \
	"grep -q 'drift of pair0: the definition of vm77 has none' '$work/gpupassd.log' &&
	grep -q 'drift of pair0 is gone: the definition' '$work/gpupassd.log'"

# ---- fault 34: libvirt freezes ----
kill -STOP "$(pgrep -x libvirtd)"
promise "list answers at once beside a frozen libvirt" timeout "$(slow 5)" gpupass list
promise "within the keepalive's half minute calls are refused by name" until_true 60 sh -c \
	'gpupass assign vm77 pair0 2>&1 | grep -q org.gpupass1.Error.LibvirtUnavailable'
promise "and the list says so" until_true 5 sh -c 'gpupass list 2>&1 | grep -q "libvirt does not answer"'
connected_again() {
	revive_libvirtd
	gpupass reconcile --dry-run -j | jq -e .domains_known
}
kill -CONT "$(pgrep -x libvirtd)"
promise "when it goes on, gpupassd connects again by itself" until_true 40 connected_again
[ ! -e "$work/libvirtd-died" ] || {
	echo "     libvirtd died when it went on, and was started again:"
	show_crashes
}

# ---- faults 31, 32: undefined, and the name used again ----
virsh -q undefine vm77
promise "an orphaned group is told" until_true 10 sh -c 'gpupass reconcile --dry-run -j | grep -q no-domain'
"$here/define-vm" vm77 --no-guest
promise "a domain of the same name is told apart" until_true 10 sh -c \
	'gpupass reconcile --dry-run -j | grep -q other-domain'
refused "and does not get it" 9 GroupBusy "which libvirt no longer has" gpupass assign vm77 pair0
ends "reconcile leaves it to a person" 9 gpupass reconcile
promise "and says what to do" grep -q "Remedy: gpupass release pair0" "$work/err"
promise "release by the group's name" gpupass release pair0
equal "the host has all of them" "$on_host" "$(drivers "${pair[@]}")"

# ---- fault 27: libvirt goes in the middle of a job, for longer than the job waits ----
knob 0000:02:00.0 bind_delay_ms "$(slow 3000)"
gpupass assign vm77 pair0 --timeout="$(slow 30)" >"$work/assign" 2>&1 &
job=$!
promise "an assign binds" until_true 30 sh -c \
	'[ -e /sys/bus/pci/drivers/vfio-pci/0000:01:00.0 ]'
pkill -9 -x libvirtd
status=0
wait "$job" || status=$?
equal "it ends as incomplete" 11 "$status"
promise "and says what it waits for" grep -q "recovered as soon as libvirt answers" "$work/assign"
promise "its group is kept apart" is quarantined
"$here/libvirt-up"
promise "when libvirt is back, the job is undone by itself" until_true 60 is free
equal "the host has all of them" "$on_host" "$(drivers "${pair[@]}")"
equal "nothing is left of it" "" \
	"$(open_jobs)$(find /var/lib/gpupass/quarantine -type f)"
stop_gpupassd
finish
