# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # boot's
#
# A guest with Linux and an agent, booted on the machine by libvirt itself, and saved: in a lab it
# goes on from there (define-vm --booted). Booted in the lab, by an emulator in an emulator, the
# same kernel takes 25 times as long. Sourced by boot.

booted_uuid=0d6b7c4e-5b1f-4e55-8a55-6a7061737301

# Settings as libvirt-up has them in the lab.
libvirt_settings() {
	cat <<-'CONF'
		stdio_handler = "file"
		security_driver = "none"
		security_default_confined = 0
		user = "root"
		group = "root"
		dynamic_ownership = 0
		remember_owner = 0
		namespaces = []
		cgroup_controllers = []
		max_core = 0
	CONF
}

# soon COMMAND…: it comes true before a minute of an idle machine has passed.
soon() {
	local end=$((SECONDS + 60 * slowness * 4))
	until "$@" 2>/dev/null; do
		[ "$SECONDS" -lt "$end" ] && [ -d "/proc/$virsh" ] || return 1
		! grep -q '^error: Failed to create' "$virsh_log" || return 1
		sleep 0.2
	done
}

# Asked again and again: until it has opened its port, libvirt refuses.
agent_answers() {
	echo "qemu-agent-command vm42 --timeout 60 '{\"execute\":\"guest-ping\"}'" >&6
	sleep 0.5
	grep -q '^{"return"' "$virsh_log"
}

# With a virsh that has libvirt's driver in itself, and all its files in a folder (with a short
# name, for sockets): no libvirtd is asked.
boot_guest() {
	local dir=$1 root virsh virsh_log=$1/virsh.log
	root=$(mktemp -d /tmp/lab-XXXXXX)
	mkdir "$root/etc"
	libvirt_settings >"$root/etc/qemu.conf"
	LAB_BOOT_FOLDER=$run "$lab/define-vm" vm42 --uuid "$booted_uuid" --agent --free-ports 5 --print |
		sed "s,/run/lab/vm42.log,$dir/console," >"$dir/guest.xml"
	mkfifo "$dir/commands"
	# Opened both ways, so that neither side waits for the other, nor minds when it is gone.
	exec 6<>"$dir/commands"
	as_root virsh -q -c "qemu:///embed?root=$root" <"$dir/commands" >"$virsh_log" 2>&1 6>&- 9>&- &
	virsh=$!
	echo "create $dir/guest.xml" >&6
	if soon grep -q '^gpus 0' "$dir/console" && soon agent_answers; then
		echo "save vm42 $dir/image.new" >&6
	fi
	printf '%s\n' "destroy vm42" quit >&6
	wait "$virsh" || true
	exec 6>&-
	as_root rm -rf "$root"
	[ ! -e "$dir/image.new" ] || mv "$dir/image.new" "$dir/image"
}

# Prints the file; there is none where the machine's libvirt cannot do that.
booted_guest() {
	local key dir
	key=$({
		printf '%s\n' "$lab_kernel" "$lab_agent_initrd"
		qemu-system-x86_64 --version
		virsh --version
		cat "$lab/define-vm" "$lab/lib/guest.sh"
	} | sha256sum | cut -c1-12)
	dir=$build/booted-$key
	exec 9>"$build/lock-booted-$key"
	flock 9
	dir=$(made "$dir" boot_guest)
	if [ ! -e "$dir/image" ]; then
		echo "lab: no guest could be booted on the machine, so it boots in the lab:" >&2
		cat "$dir/virsh.log" >&2
		rm -rf "$dir"
	fi
	exec 9>&-
	echo "$dir/image"
}
