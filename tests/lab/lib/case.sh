# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# What the cases share; sourced inside the lab. A case prints "ok NAME" or "FAIL NAME: why" for
# each promise, and goes on after a failure.

here=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
repo=$(realpath "$here/../..")
staged=$repo/build/root # the content of the packages, unpacked outside the lab
work=/run/lab/case
mkdir -p "$work"

read -r slowness </run/lab/boot/slowness

failures=0
ok() { echo "ok   $1"; }
bad() {
	failures=$((failures + 1))
	echo "FAIL $1: $2"
}

# On a host that was saved there is only what lib/files.sh knows of.
command_not_found_handle() {
	echo "FAIL $1: there is no such command here" >&2
	return 127
}

# promise NAME COMMAND…: holds when the command succeeds; its output is shown when not.
promise() {
	local name=$1
	shift
	if "$@" >"$work/out" 2>&1; then
		ok "$name"
	else
		bad "$name" "exit status $? of: $*"
		tail -n 30 "$work/out" | sed 's/^/     | /'
	fi
}

# equal NAME EXPECTED ACTUAL
equal() {
	if [ "$2" = "$3" ]; then
		ok "$1"
	else
		bad "$1" "differs"
		diff <(printf '%s\n' "$2") <(printf '%s\n' "$3") | sed 's/^/     | /'
	fi
}

# refused NAME EXIT-CODE ERROR TEXT COMMAND…: fails with this code and D-Bus error, its message has
# TEXT, and the world is as it was.
refused() {
	local name=$1 code=$2 error=$3 text=$4 before after status=0
	shift 4
	before=$(world)
	"$@" >"$work/out" 2>"$work/err" || status=$?
	after=$(world)
	if [ "$status" != "$code" ]; then
		bad "$name" "exit status $status instead of $code"
	elif [ -n "$error" ] && ! grep -q "Error: *org.gpupass1.Error.$error\$" "$work/err"; then
		bad "$name" "the error is not $error"
	elif ! grep -qF -- "$text" "$work/err"; then
		bad "$name" "the message lacks \"$text\""
	elif [ "$before" != "$after" ]; then
		bad "$name" "the world changed"
		diff <(echo "$before") <(echo "$after") | sed 's/^/     | /'
		return
	else
		ok "$name"
		return
	fi
	sed 's/^/     | /' "$work/err"
}

# ends NAME EXIT-CODE COMMAND…: its words are in $work/out and $work/err.
ends() {
	local name=$1 code=$2 status=0
	shift 2
	"$@" >"$work/out" 2>"$work/err" || status=$?
	equal "$name" "$code" "$status"
}
# errs NAME ERROR: what ended last did so by this D-Bus error.
errs() { promise "$1" grep -q "Error: *org.gpupass1.Error.$2\$" "$work/err"; }

# slow N: N of whatever an idle machine needs, as this one needs them; see slowness.sh.
slow() { echo $(($1 * slowness)); }

# until_true SECONDS COMMAND…: SECONDS as an idle machine needs them; this
# one gets more.
until_true() {
	local deadline=$((SECONDS + $1 * slowness * 4))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$deadline" ] || return 1
		sleep 0.2
	done
}

# Files of gpupass's journal whose last job has not ended.
open_jobs() {
	local file
	for file in /var/lib/gpupass/journal/*.log; do
		[ -f "$file" ] || continue
		case $(grep -o '"record":"\(begin\|end\)"' "$file" | tail -n 1) in
		*begin*) echo "$file" ;;
		esac
	done
	find /var/lib/gpupass/journal -name '*.journal'
}
# in_journal TEXT OPTION…: what journalctl prints with these options has it. What a service logs is
# there a moment after it has answered: for until_true.
in_journal() {
	local text=$1
	shift
	journalctl "$@" | grep -q -- "$text"
}

# hold_open FILE: `sleep`, in $holder, has it open. Until it runs the process is a shell's.
hold_open() {
	sleep 600 3<"$1" &
	holder=$!
	until_true 10 grep -qx sleep "/proc/$holder/comm"
}

# ---- the world: all that gpupass may change ----

# Only builtins: under emulation a process costs a hundred times what a file does, and the world is
# looked at before and after each refusal.

# read_driver BDF: its driver's name, or none, in $driver.
read_driver() {
	local back=$PWD
	driver=none
	! cd -P "/sys/bus/pci/devices/$1/driver" 2>/dev/null || driver=${PWD##*/}
	cd "$back" || exit 2
}

driver_of() {
	local driver
	read_driver "$1"
	echo "$driver"
}

drivers() {
	local f driver
	for f in "$@"; do
		read_driver "$f"
		echo "$f $driver"
	done
}

# show_files FILE…: each one's path and text.
show_files() {
	local f text
	for f in "$@"; do
		[ -f "$f" ] || continue
		IFS= read -r -d '' text <"$f"
		printf '== %s\n%s' "$f" "$text"
	done
}

# A domain's definition is read from the file that libvirt keeps of it, not asked of libvirt.
world() {
	local f class override driver
	for f in /sys/bus/pci/devices/*; do
		read -r class <"$f/class"
		[[ $class != 0x06* ]] || continue # a bridge
		read -r override <"$f/driver_override"
		read_driver "${f##*/}"
		echo "${f##*/} $driver $override"
	done
	show_files /etc/libvirt/qemu/*.xml /etc/gpupass/{assignments.d,kept.d}/{.[!.],}*
}

# ---- gpupass in the lab ----

# The functions of pair0 on the host pair-3090: as an array, a line each, and with their drivers.
# shellcheck disable=SC2034 # of those who source this
{
	pair=(0000:01:00.0 0000:01:00.1 0000:02:00.0 0000:02:00.1)
	all=$(printf '%s\n' "${pair[@]}")
	on_vfio=$(printf '%s vfio-pci\n' "${pair[@]}")
	on_host=$(printf '%s.0 nvidia\n%s.1 snd_hda_intel\n' 0000:01:00{,} 0000:02:00{,})
}

# By its packages where systemd runs; elsewhere their files are enough, which is quicker.
install_gpupass() {
	[ -d "$staged" ] || {
		echo "no $staged: run tests/lab/run-cases" >&2
		exit 2
	}
	if [ -d /run/systemd/system ]; then
		"$here/install-packages" >"$work/dpkg" 2>&1 && return
		cat "$work/dpkg" >&2
		exit 1
	fi
	# By tar: /lib may be a link, which cp would not follow. As of root, whoever made it.
	tar -C "$staged" -c --owner=root --group=root . | tar -C / -x --keep-directory-symlink
	mkdir -p /etc/gpupass/groups.d
}

# That it is this one, and not one that is about to end.
gpupassd_has_its_name() {
	dbus-send --system --print-reply --dest=org.freedesktop.DBus / \
		org.freedesktop.DBus.GetConnectionUnixProcessID string:org.gpupass1 |
		grep -qw "uint32 $gpupassd_pid"
}
start_gpupassd() {
	gpupassd 2>>"$work/gpupassd.log" &
	gpupassd_pid=$!
	# Long beside a busy machine: emulated, and with whatever else is booted there.
	until_true 120 gpupassd_has_its_name || {
		echo "gpupassd did not come up:" >&2
		cat "$work/gpupassd.log" >&2
		exit 1
	}
}

# Not in a subshell: only the shell that has started it can wait for it.
stop_gpupassd() {
	kill "$gpupassd_pid"
	wait "$gpupassd_pid" || true
}

# knob BDF NAME VALUE: see tests/lab/README.md.
knob() { echo "$3" >"/sys/kernel/gpupass-lab/$1/$2"; }

# A stand-in, which turns off the mode of labpci's GPUs, or has nvidia-persistenced's let go.
install_nvidia_smi() {
	install -m 755 "$repo/tests/nvml/nvidia-smi" /usr/bin/nvidia-smi &&
		echo /sys/kernel/gpupass-lab >/usr/bin/nvidia-smi.modes
}

# shellcheck disable=SC2034 # of the cases
nvml=/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1
gpu_file() { echo "/dev/nvidia$(sed -n 's/^Device Minor:[ \t]*//p' "/proc/driver/nvidia/gpus/$1/information")"; }

# keep_gpus FAULT BDF…: nvidia-persistenced, in $keeper, has these open.
keep_gpus() {
	local fault=$1 gpu files=()
	shift
	for gpu; do files+=("$gpu=$(gpu_file "$gpu")"); done
	mkdir -p /run/nvidia-persistenced
	rm -f /run/nvidia-persistenced/socket
	: >"$work/keeper"
	/usr/bin/nvidia-smi keep /run/nvidia-persistenced/socket "$fault" "${files[@]}" >>"$work/keeper" &
	# shellcheck disable=SC2034 # of the cases
	keeper=$!
	until_true 10 grep -q ready "$work/keeper"
}

# mover_of BDF: the pid of the mover that is at work on it, which has its lock.
mover_of() {
	local inode
	inode=$(stat -c %i "/run/gpupass/at-work/$1") || return
	sed -n "s/^[0-9]*: POSIX *ADVISORY *WRITE *\([0-9]*\) [^ ]*:$inode .*/\1/p" /proc/locks
}

# The host with bus, libvirt and daemon, and one shut-off domain vm42.
up() {
	install_gpupass
	"$here/libvirt-up"
	start_gpupassd
}

declare_pair0() {
	gpupass declare pair0 01:00.0 02:00.0 >/dev/null
}

hostdevs() {
	virsh -q dumpxml "$@" |
		sed -n "/<hostdev /,/<\/hostdev>/s/.*<address domain='0x\(....\)' bus='0x\(..\)' slot='0x\(..\)' function='0x\(.\)'\/>.*/\1:\2:\3.\4/p" |
		sort
}

# doctor_finds NAME [ID…]: `gpupass doctor` finds exactly these checks not in order, no other.
doctor_finds() {
	local name=$1
	shift
	gpupass doctor --verbose >"$work/doctor" 2>&1
	equal "$name" "$(printf '%s\n' "$@" | sort)" \
		"$(gpupass doctor --json=short |
			jq -r '.checks[] | select(.status == "warn" or .status == "fail") | .id' | sort)"
}

# What the host file of this case says is wrong with it, once its groups are declared.
doctor_finds_the_hosts_faults() {
	local host faults
	host=$(sed -n 's/^# host: *//p' "$0" | head -n 1)
	faults=$(sed -n 's/^# doctor: *//p' "$here/hosts/$host.conf")
	# shellcheck disable=SC2086
	doctor_finds "doctor finds exactly what is wrong with this host: ${faults:-nothing}" $faults
}

# What the kernel says of programs that crashed, ours or not.
show_crashes() { dmesg | grep -aE 'segfault|general protection|trap ' | sed 's/^/     kernel: /'; }

finish() {
	if [ "$failures" -gt 0 ]; then
		[ ! -s "$work/gpupassd.log" ] ||
			sed 's/^/     gpupassd: /' "$work/gpupassd.log" | tail -n 40
		show_crashes
	fi
	[ "$failures" = 0 ]
	exit
}
