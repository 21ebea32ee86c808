# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # boot's
#
# A lab host that goes on from where another one was saved: with its drivers bound, and libvirtd
# answering. Sourced by boot, whose variables these are. pid1/saved is the other side.
#
# 9p keeps QEMU from saving a host, but only while it is mounted (v9fs_attach()). So the root of
# such a host is an image (files.sh), and the machine's shares come when it goes on.

# What such a host has beside any other: the image, and a line on which the two sides talk.
saved_devices() {
	find_files
	qemu+=(-drive "if=none,id=files,format=raw,readonly=on,file=${lab_files//,/,,}")
	qemu+=(-device "virtio-blk-pci,drive=files,bus=pcie.0,addr=19")
	mkfifo "$run/line.in" "$run/line.out"
	qemu+=(-chardev "pipe,id=line,path=${run//,/,,}/line" -serial chardev:line)
	kernel_args=${kernel_args/8250.nr_uarts=1/8250.nr_uarts=2}" lab.saved"
	needed_folders >"$run/folders"
}

# The repository first, then what else is not below it.
needed_folders() {
	local folder
	echo "$repo"
	for folder in "$build" "$PWD"; do
		case $folder/ in
		/ | "$repo"/*) ;;
		*) echo "$folder" ;;
		esac
	done
}

# The image, made again when the machine's packages or settings are others.
find_files() {
	local etc
	etc=$({ find /etc -printf '%p %s %T@\n' 2>/dev/null || true; } | sort | sha256sum | cut -c1-12)
	exec 9>"$build/lock"
	flock 9
	lab_files=$(made "$build/files-$etc-$(hash_of /var/lib/dpkg/status "$lab/lib/files.sh" \
		"$repo/tests/lib/deps.sh")" make_files)/image
	exec 9>&-
}

# Prints the file with the state of the saved host, which it makes if there is none. The lock is of
# this host alone: making it takes a minute, and other hosts need not wait for that.
saved_state() {
	local key dir
	key=$({
		printf '%s\n' "$lab_initrd" "$lab_kernel" "$lab_files" "$accel"
		cat "$host" "$lab"/{boot,libvirt-up,lib/host.sh,lib/save.sh}
	} | sha256sum | cut -c1-12)
	exec 9>"$build/lock-saved-$key"
	flock 9
	dir=$(made "$build/saved-$key" save_host)
	echo "$dir/state"
}

# save_host DIR: a host that hangs while it boots, as any may under emulation, is booted again.
save_host() {
	local try
	for try in 1 2 3; do
		! save_host_once "$1/state" || return 0
		echo "lab: the host could not be saved (try $try of 3); see $run" >&2
	done
	keep=yes
	return 1
}

# await_ready: until the host says so on its line; fails when QEMU has ended, when one of its CPUs
# is dead, and when it has had its time.
await_ready() {
	local begin=$SECONDS said='' part qemu_pid='' silent_calls=6
	local -A last=() silence=()
	while [ $((SECONDS - begin)) -lt $((boot_timeout * slowness * 4)) ]; do
		# What came of a line before the time was over is in $part.
		if IFS= read -r -t 4 part <&7; then
			said+=${part%$'\r'}
			[ "$said" != ready ] || return 0
			said=''
			continue
		fi
		said+=$part
		[ -d "/proc/$job" ] || return 1
		[ -n "$qemu_pid" ] || qemu_pid=$(as_root cat "$run/pid" 2>/dev/null) || continue
		! note_silence || return 1
	done
	return 1
}

# Boots a host, and saves it once it says that it is ready.
save_host_once() {
	local file=$1 reader=''
	rm -f "$run"/monitor.*
	mkfifo "$run/monitor.in" "$run/monitor.out"
	# Opened both ways, so that neither side waits for the other to open it.
	exec 7<>"$run/line.out" 8<>"$run/monitor.in"
	as_root qemu-system-x86_64 "${qemu[@]}" -append "$kernel_args quiet" \
		-chardev "pipe,id=monitor,path=${run//,/,,}/monitor" -mon chardev=monitor,mode=readline \
		</dev/null >"$run/qemu.log" 2>&1 &
	job=$!
	if await_ready; then
		cat "$run/monitor.out" >"$run/monitor.log" &
		reader=$!
		printf '%s\n' 'migrate_set_parameter max-bandwidth 100G' \
			"migrate \"exec:cat >'$file'\"" 'info migrate' quit >&8
	else
		stop_lab
	fi
	exec 7>&- 8>&-
	wait "$job" || true
	job=''
	[ -z "$reader" ] || wait "$reader" || true
	grep -aqs 'Migration status: completed' "$run/monitor.log"
}

# Tells it that it may go on; again and again, because what comes while QEMU still reads the saved
# state is lost. Descriptor 7 is the line.
wake_host() { echo go >&7; }
