#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 224
# host: pair-3090
# systemd
# timeout: 600
#
# gpupassd as a service of a real systemd: started by the first call, confined, watched, and told by
# udev what changes.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"
# shellcheck source=tests/lab/lib/polkit.sh
. "$(dirname "$0")/../lib/polkit.sh"

install_gpupass
equal "the package has started the daemon" active "$(systemctl is-active gpupassd)"
systemctl stop gpupassd
"$here/libvirt-up"
"$here/define-vm" vm42 --no-guest

promise "the first call starts the daemon" gpupass list
equal "as a unit that has notified" "active notify" \
	"$(systemctl show -P ActiveState gpupassd) $(systemctl show -P Type gpupassd)"
promise "it logs to the journal with its fields" until_true 20 \
	in_journal "ready: 1 groups" -u gpupassd -o json
declare_pair0
before=$(world)
promise "assign succeeds under the unit's confinement" gpupass assign vm42
equal "the functions are on vfio-pci" "0000:01:00.0 vfio-pci
0000:02:00.1 vfio-pci" "$(drivers 0000:01:00.0 0000:02:00.1)"
promise "the job is in the journal under its message id and group" until_true 10 sh -c \
	'journalctl GPUPASS_GROUP=pair0 MESSAGE_ID=3f0d5b1c6a0e4f0ba3d05b8f5c1c6f01 | grep -q "job 2\|job 1"'
echo 1 >/sys/module/nvidia/parameters/unbind_lock
promise "release succeeds too" gpupass release vm42
equal "and all is as before" "$before" "$(world)"
# What the mover sees of /proc is the folder of drivers, and it may write there.
knob 0000:02:00.0 hold 1
refused "under its confinement the mover asks for unbindLock" 9 HostInUse unbindLock gpupass assign vm42
knob 0000:02:00.0 hold 0
echo 0 >/sys/module/nvidia/parameters/unbind_lock
# Bound again, a GPU may have another minor than before.
runuser -u nobody -- sleep 300 3<"$(gpu_file 0000:01:00.0)" &
holder=$!
promise "holders of other users are seen" until_true 10 sh -c 'gpupass show 01:00.0 | grep -q sleep'
promise "and stay on record" until_true 10 sh -c 'gpupass audit --holders | grep -q sleep'
pkill -P "$holder" -x sleep

# promise U5
runuser -u nobody -- gpupass list >"$work/out" 2>"$work/err"
equal "who is not in the group is told so, in one line" "4 1 1" \
	"$? $(wc -l <"$work/err") $(grep -c "usermod -aG gpupass" "$work/err")"
# Her session begins now, and so with the group.
usermod -aG gpupass nobody
runuser -u nobody -- gpupass list >"$work/list" 2>&1
promise "a member may look" grep -q pair0 "$work/list"
ends "acting without privilege is refused with exit code 4" 4 runuser -u nobody -- gpupass assign vm42
# /proc shows a caller's unit to a daemon without capabilities only where its unit does not hide it.
unit=$(sed 's,.*/,,' /proc/self/cgroup | head -n 1)
equal "the refusal is on record with who called, and in which unit" "$(id -u nobody) $unit" \
	"$(gpupass audit -j | jq -r '[.records[] | select(.verdict == "denied")][-1] | "\(.uid) \(.unit)"')"
# fault 45
# promises U1, O5
polkit_decides

echo 1 >/sys/bus/pci/devices/0000:03:00.1/remove
promise "a function that goes is seen without asking" until_true 10 sh -c \
	'! gpupass show 03:00.0 | grep -q 0000:03:00.1'
echo 1 >/sys/bus/pci/rescan
promise "and so is its return" until_true 15 sh -c 'gpupass show 03:00.0 | grep -q 0000:03:00.1'

main=$(systemctl show -P MainPID gpupassd)
kill -9 "$main"
promise "killed, it is started again" until_true 20 sh -c \
	"[ \"\$(systemctl show -P MainPID gpupassd)\" != $main ] && gpupass list"

# What goes into a bundle is read from a real journal here, and only here.
promise "a bundle of this host is written" gpupass doctor -q --bundle="$work/bundle.tar"
tar -xf "$work/bundle.tar" -C "$work"
promise "with what the daemon logged" grep -q "ready: 1 groups" "$work/gpupass-bundle/journal-gpupass.txt"
promise "with what the kernel said about the function that went and came" \
	grep -q "0000:03:00.1" "$work/gpupass-bundle/journal-kernel.txt"
promise "without what the kernel said about anything else" sh -c \
	"! grep -q 'Linux version' '$work/gpupass-bundle/journal-kernel.txt'"
promise "and without this host's machine id" sh -c \
	"! grep -rq \"\$(cat /etc/machine-id)\" '$work/gpupass-bundle'"

promise "its audit trail is whole" gpupass audit --verify
promise "and the hashes of its records are in the journal" until_true 10 sh -c \
	'journalctl -u gpupassd -o json GPUPASS_AUDIT=job-ended |
	grep -q "$(grep "\"kind\":\"job-ended\"" /var/lib/gpupass/audit/1.log | tail -n 1 | cut -c 1-64)"'

# All that was logged until now is to be read now.
journalctl --sync
for part in mover inspector config; do
	promise "$part was a unit of its own" sh -c \
		"journalctl -u 'gpupass-$part@*' | grep -q 'Started gpupass-$part@'"
done
promise "and no worker was a child" sh -c "! journalctl -u gpupassd | grep -q 'workers are children'"
# A late answer is the busy machine's. And the daemon was killed above, perhaps while it asked: a
# part that then begins says so, and does nothing.
promise "no part complained" sh -c "! journalctl -t gpupass-mover -t gpupass-inspector \
	-t gpupass-config -t gpupass-examiner -t gpupass-initramfs -t gpupass-prober |
	grep -v -e 'nobody waits any more' -e 'whoever asked has gone' | grep gpupass-"
is_alone() {
	[ "$(cat /sys/fs/cgroup/system.slice/gpupassd.service/cgroup.procs)" = \
		"$(systemctl show -P MainPID gpupassd)" ]
}
promise "none of the daemon's children is left" until_true 10 is_alone

# ---- parts that wait to be asked ----
# promise C12
# waiting PART: how many instances there are.
waiting() { systemctl list-units --no-legend --plain --state=running "gpupass-$1@*" | wc -l; }
all_wait() { [ "$(waiting mover) $(waiting inspector) $(waiting config) $(waiting prober)" = "2 2 2 1" ]; }
none_waits() { [ "$(waiting mover) $(waiting inspector) $(waiting config) $(waiting prober)" = "0 0 0 0" ]; }
pids_waiting() { cat /sys/fs/cgroup/system.slice/gpupass-{mover,inspector,config,prober}@*/cgroup.procs; }
promise "at rest parts wait that have begun nothing" until_true 20 all_wait
first=$(systemctl list-units --no-legend --plain 'gpupass-inspector@*' | tr -s ' ' | cut -d' ' -f1 | sort)
promise "one of them does what is to be done" gpupass bind pair0
promise "and does not live on for another job" until_true 20 sh -c \
	"[ \$(systemctl list-units --no-legend --plain --state=running $(echo $first) | wc -l) = 1 ]"
promise "another one is there in its place" until_true 20 all_wait
gpupass unbind pair0
promise "and another mover in the place of each" until_true 20 all_wait
movers_before=$(systemctl list-units --no-legend --plain 'gpupass-mover@*' | cut -d' ' -f1)
promise "the driver is loaded anew" sh -c 'rmmod nvidia && modprobe nvidia unbind_lock=1'
knob 0000:02:00.0 hold 1
refused "a mover that waited before that finds its unbindLock" 9 HostInUse unbindLock gpupass bind pair0
promise "and was one of those" until_true 20 sh -c \
	"[ \$(systemctl list-units --no-legend --plain --state=running $(echo $movers_before) | wc -l) = 1 ]"
knob 0000:02:00.0 hold 0
echo 0 >/sys/module/nvidia/parameters/unbind_lock
gpupass bind pair0
promise "until all wait again" until_true 20 all_wait
gpupass unbind pair0
promise "a prober waits, too" until_true 20 all_wait
# At rest one is started for each that was asked.
probers() { journalctl --sync && journalctl -b -u 'gpupass-prober@*' | grep -c 'Started gpupass-prober@'; }
probers_before=$(probers)
gpupass bind pair0
promise "it is asked" until_true 20 all_wait
equal "and no other" 1 $(($(probers) - probers_before))
gpupass unbind pair0
promise "the loader's cache is made anew" ldconfig
probers_before=$(probers)
gpupass bind pair0
promise "all wait again" until_true 20 all_wait
equal "a prober that sees the old one is not asked, but another" 2 $(($(probers) - probers_before))
for how in "kill --signal=KILL" "stop"; do
	# shellcheck disable=SC2086 # words
	systemctl $how 'gpupass-mover@*' 'gpupass-inspector@*' 'gpupass-config@*' 'gpupass-prober@*'
	promise "without them ($how) it is done all the same" gpupass unbind pair0
	promise "and in both directions" gpupass bind pair0
	promise "until they wait again" until_true 20 all_wait
done
systemctl stop gpupass-mover.socket
promise "where a socket is stopped, nothing is done" sh -c '! gpupass unbind pair0'
systemctl start gpupass-mover.socket
promise "and it is when it listens again" gpupass unbind pair0
promise "which wait" until_true 20 all_wait
waited=$(pids_waiting)
kill -9 "$(systemctl show -P MainPID gpupassd)"
promise "killed, the daemon leaves none of them" until_true 20 sh -c \
	'for pid in '"$(echo $waited)"'; do ! kill -0 $pid 2>/dev/null || exit 1; done'
promise "the next one has its own" until_true 20 sh -c 'gpupass list >/dev/null'
promise "waiting" until_true 20 all_wait
systemctl stop gpupassd
promise "stopped, it leaves none for a shutdown to wait for" until_true 20 none_waits
journalctl --sync
promise "none of them complained" sh -c "! journalctl -t gpupass-mover -t gpupass-inspector \
	-t gpupass-config -t gpupass-prober |
	grep -v -e 'nobody waits any more' -e 'whoever asked has gone' | grep gpupass-"
promise "and none failed" sh -c '[ -z "$(systemctl --failed --no-legend "gpupass-*")" ]'
promise "the next call starts the daemon again" gpupass list

# ---- metrics: see docs/MONITORING.md ----
textfiles=/var/lib/prometheus/node-exporter
equal "no metrics are written where nobody reads them" "no" \
	"$(systemctl start gpupass-metrics.service && systemctl show -P ConditionResult gpupass-metrics.service)"
mkdir -p "$textfiles"
promise "the timer has metrics written" systemctl start gpupass-metrics.timer
promise "at once" until_true 20 grep -qx "gpupass_up 1" "$textfiles/gpupass.prom"
# A start of the service while it ends would be the end of that one.
until_true 20 sh -c '[ "$(systemctl is-active gpupass-metrics.service)" = inactive ]'
equal "for anybody to read, and nothing else is left there" "644 gpupass.prom" \
	"$(stat -c %a "$textfiles/gpupass.prom") $(ls "$textfiles")"
promise "they count jobs" grep -q 'gpupass_jobs_total{operation="assign",result="done"} [0-9]' \
	"$textfiles/gpupass.prom"
systemctl stop gpupass-metrics.timer gpupassd
promise "of a stopped daemon they are written, too" systemctl start gpupass-metrics.service
equal "which say so, and do not start it" "gpupass_up 0 inactive" \
	"$(grep -x 'gpupass_up .' "$textfiles/gpupass.prom") $(systemctl is-active gpupassd)"
rm -r "$textfiles"
promise "the next call starts it again" gpupass list

# fault P9
# ---- nvidia-persistenced, whose socket the parts see, and no other ----
# The NVML of this host cannot write the modes it is told of: /sys is for reading in a part.
cp /run/lab/libnvidia-ml.so.1 "$nvml"
printf 'gpu 0000:0%d:00.0 220410de 145910de - - -\n' 1 2 >"$nvml.scenario"
echo "persistence /sys/kernel/gpupass-lab" >>"$nvml.scenario"
install_nvidia_smi
promise "nvidia-persistenced keeps two GPUs" keep_gpus none 0000:01:00.0 0000:03:00.0
promise "assign, which makes it let go of one" gpupass assign vm42
equal "and of no other" "ready
off 0000:01:00.0" "$(cat "$work/keeper")"
promise "release" gpupass release vm42
kill "$keeper"
rm "$nvml" "$nvml.scenario" /usr/bin/nvidia-smi*

# ---- each part taken over ----
# promise C6
intruder=/usr/libexec/gpupass/intruder
promise "an intruder is there" cp /run/lab/intruder "$intruder"
declare -A reach=(
	[mover]="write-sysfs run-program"
	[inspector]="read-shadow read-settings read-daemon signal run-program"
	[config]="" [examiner]="" [initramfs]=""
	[prober]="socket-unix run-program"
	[persistence]="socket-unix run-program"
	[network]="socket-netlink"
	[rules]="socket-netlink"
	[uevents]="socket-netlink"
)
main=$(systemctl show -P MainPID gpupassd)
touch /etc/to-remove
for part in "${!reach[@]}"; do
	# What only looks confines itself before it reads its request.
	case $part in
	mover | prober | persistence) confined= ;;
	*) confined=read-only ;;
	esac
	mkdir -p "/run/systemd/system/gpupass-$part@.service.d"
	printf '[Service]\nExecStart=\nExecStart=%s %s %s\n' "$intruder" "$main" "$confined" \
		>"/run/systemd/system/gpupass-$part@.service.d/intruder.conf"
done
systemctl daemon-reload
for part in "${!reach[@]}"; do
	equal "in the place of $part somebody reaches: ${reach[$part]:-nothing}" "${reach[$part]}" \
		"$(python3 - "$part" <<-'END'
			import socket, sys
			s = socket.socket(socket.AF_UNIX)
			s.connect("/run/gpupass/parts/" + sys.argv[1])
			s.shutdown(socket.SHUT_WR)
			print(s.makefile().read(), end="")
		END
		)"
done
runuser -u nobody -- python3 -c \
	'import socket; socket.socket(socket.AF_UNIX).connect("/run/gpupass/parts/mover")' 2>"$work/err"
# promise C11
promise "nobody but root can ask a part" grep -q PermissionError "$work/err"
systemctl stop gpupassd
mkdir -p /run/systemd/system/gpupassd.service.d
printf '[Service]\nType=exec\nExecStart=\nExecStart=%s %s\nStandardOutput=file:%s\nRestart=no\n' \
	"$intruder" "$(systemctl show -P MainPID systemd-journald)" "$work/reached" \
	>/run/systemd/system/gpupassd.service.d/intruder.conf
systemctl daemon-reload
systemctl start gpupassd
until_true 20 test -s "$work/reached"
equal "and in the place of the daemon" \
	"read-settings write-state socket-unix reach-bus run-program" "$(cat "$work/reached")"
rm -r /run/systemd/system/gpupass*.service.d
systemctl daemon-reload
systemctl reset-failed gpupassd 2>/dev/null || true # systemd may have forgotten it
promise "the daemon itself is there again" gpupass list
# promise C5
promise "the daemon as it runs is exposed to no more than 1.2" \
	systemd-analyze security --threshold=12 gpupassd.service

# ---- faults 2, 3: a worker that never comes back ----
knob 0000:02:00.0 hold 1
ends "an unbind that never returns ends with exit code 11" 11 gpupass assign vm42 --timeout="$(slow 4)"
worker=$(mover_of 0000:02:00.0)
unit=$(sed 's,.*/,,' "/proc/$worker/cgroup")
# systemd takes its time to notice that the others have ended.
# At work it has a process for each function. One that waits to be asked is alone.
movers() {
	local cgroup
	for cgroup in /sys/fs/cgroup/system.slice/gpupass-mover@*; do
		[ "$(wc -l <"$cgroup/cgroup.procs")" -lt 2 ] ||
			systemctl list-units --no-legend --plain "${cgroup##*/}" | tr -s ' ' | cut -d' ' -f1-4
	done
}
is_only_mover() { [ "$(movers)" = "$unit loaded active running" ]; }
until_true 20 is_only_mover
equal "its worker is a unit of its own, the only one left" "$unit loaded active running" \
	"$(movers)"
equal "whose main process waits for the worker" "$(cut -d' ' -f4 "/proc/$worker/stat")" \
	"$(systemctl show -P MainPID "$unit")"
equal "in a control group of its own" "0::/system.slice/$unit" "$(cat "/proc/$worker/cgroup")"
promise "and not in the daemon's" sh -c \
	"! grep -qx $worker /sys/fs/cgroup/system.slice/gpupassd.service/cgroup.procs"
# fault 50
# What else runs on the machine that emulates this one only adds to it: the quickest of three
# counts.
stop_by_signal() {
	local main begin
	main=$(systemctl show -P MainPID gpupassd)
	begin=$(date +%s%N)
	kill "$main"
	while kill -0 "$main" 2>/dev/null; do sleep 0.02; done
	took=$((($(date +%s%N) - begin) / 1000000))
}
stop_by_systemd() {
	local begin
	begin=$(date +%s%N)
	systemctl stop gpupassd
	took=$((($(date +%s%N) - begin) / 1000000))
}
# ends_within MILLISECONDS COMMAND
ends_within() {
	local try
	for try in 1 2 3; do
		"$2"
		echo "try $try: $took ms"
		[ "$took" -ge "$1" ] || return 0
		gpupass list >/dev/null # starts the next
	done
	return 1
}
promise "the daemon ends within a second of emulated time beside it" ends_within "$(slow 1000)" stop_by_signal
promise "the next one starts beside it" gpupass list
promise "systemctl, too, stops it within two" ends_within "$(slow 2000)" stop_by_systemd
promise "and leaves the worker alone" kill -0 "$worker"
# faults 6, 49
promise "the next daemon starts beside it" gpupass list
promise "and still has the group quarantined" sh -c 'gpupass list | grep -Eq "pair0 .*quarantined"'
# Not refused(): what it compares cannot be read while the driver is in remove().
ends "which is not lifted while the worker waits" 9 gpupass clear pair0
promise "and the worker is named" grep -q "$worker" "$work/err"
systemctl stop "$unit"
promise "also who stops its unit does not hurt it" kill -0 "$worker"
status=0
gpupass clear pair0 2>"$work/err" || status=$?
equal "nor is it lost sight of" "9 $worker" "$status $(grep -om1 "$worker" "$work/err")"
# fault 4
knob 0000:02:00.0 hold 0
promise "when it has ended, the quarantine is lifted" until_true 15 gpupass clear pair0
promise "its unit goes with it" until_true 10 sh -c \
	"[ -z \"\$(systemctl list-units --all --no-legend '$unit')\" ]"
promise "and what the worker did late is taken as it is found" sh -c \
	'gpupass unbind pair0 && gpupass list | grep -Eq "pair0 .* free"'
finish
