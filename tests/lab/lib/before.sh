# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# What --before scripts share: a host where gpupass is installed and enabled, pair0 is assigned to
# vm42, which is defined with the functions and started by libvirt itself. Sourced in the lab's root
# before its PID 1 runs, from the repository.
set -euo pipefail

uuid=3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242
record=/etc/gpupass/assignments.d/$uuid.json
functions=(0000:01:00.0 0000:01:00.1 0000:02:00.0 0000:02:00.1)

# By its packages, which enable it. "unpacked": by their files only, for a host that boots often.
install_enabled() {
	if [ "${1-}" = unpacked ]; then
		tar -C build/root -c --owner=root --group=root . | tar -C / -x --keep-directory-symlink
		SYSTEMD_OFFLINE=1 systemctl --quiet enable gpupassd.service
	elif ! tests/lab/install-packages >/run/lab/dpkg 2>&1; then
		cat /run/lab/dpkg >&2
		return 1
	fi
	mkdir -p /etc/gpupass/assignments.d
	printf '[Group]\nName=pair0\nGpu=01:00.0\nGpu=02:00.0\n' >/etc/gpupass/groups.d/pair0.conf
	# The lab does not get to sysinit's and multi-user's other units, nor need it.
	mkdir -p /etc/systemd/system/lab-command.service.d
	printf '[Unit]\nWants=gpupass-bind-verify.service\nAfter=gpupass-bind-verify.service\n' \
		>/etc/systemd/system/lab-command.service.d/gpupass.conf
}

# record_function BDF DEVICE DRIVER [SUBSYSTEM-DEVICE]
record_function() {
	cat <<-JSON
		{"bdf": "$1", "vendor": "10de", "device": "$2", "subsystem_vendor": "10de",
		 "subsystem_device": "${4:-1467}", "original_driver": "$3"}
	JSON
}

assign_pair0() {
	cat >"$record" <<-JSON
		{"schema": "org.gpupass1.assignment/1", "domain_uuid": "$uuid", "domain_name": "vm42",
		 "group": "pair0", "created_usec": 1700000000000000, "created_by": 0,
		 "functions": [
		 $(record_function 0000:01:00.0 2204 nvidia),
		 $(record_function 0000:01:00.1 1aef snd_hda_intel),
		 $(record_function 0000:02:00.0 2204 nvidia "${1-}"),
		 $(record_function 0000:02:00.1 1aef snd_hda_intel "${1-}")]}
	JSON
	fence_pair0 "$@"
}

# Beside pair0, as the daemon writes what a domain has besides its first group.
assign_solo0() {
	cat >"/etc/gpupass/assignments.d/${uuid}_0000:03:00.0.json" <<-JSON
		{"schema": "org.gpupass1.assignment/3", "domain_uuid": "$uuid", "domain_name": "vm42",
		 "group": "solo0", "created_usec": 1700000000000000, "created_by": 0,
		 "functions": [
		 $(record_function 0000:03:00.0 2684 nvidia 16f4),
		 $(record_function 0000:03:00.1 22ba snd_hda_intel 16f4)]}
	JSON
}

# For nobody: as `gpupass bind solo0 --persist` writes it.
keep_solo0() {
	printf '[Group]\nName=solo0\nGpu=03:00.0\n' >/etc/gpupass/groups.d/solo0.conf
	mkdir -p /etc/gpupass/kept.d
	cat >/etc/gpupass/kept.d/0000:03:00.0.json <<-JSON
		{"schema": "org.gpupass1.kept/1", "group": "solo0", "kept": "asked",
		 "created_usec": 1700000000000000, "created_by": 0, "functions": [
		 $(fence_function 0000:03:00.0 2684 16f4 | sed 's/"address"/"bdf"/'),
		 $(fence_function 0000:03:00.1 22ba 16f4 | sed 's/"address"/"bdf"/')]}
	JSON
}

# What the daemon wrote before this boot: libvirt's hook may run before the daemon does.
fence_pair0() {
	mkdir -p /var/lib/gpupass
	cat >/var/lib/gpupass/fence.json <<-JSON
		{"schema": "org.gpupass1.fence/1", "generation": 1, "written_usec": 1700000000000000,
		 "boot_id": "the boot before", "others": [], "groups": [
		 {"name": "pair0", "state": "open", "domain_uuid": "$uuid", "domain_name": "vm42",
		  "functions": [
		  $(fence_function 0000:01:00.0 2204),
		  $(fence_function 0000:01:00.1 1aef),
		  $(fence_function 0000:02:00.0 2204 "${1-}"),
		  $(fence_function 0000:02:00.1 1aef "${1-}")],
		  "boards": [
		  {"address": "0000:01:00.0", "tenant": "dirty", "domain_uuid": "$uuid", "domain_name": "vm42"},
		  {"address": "0000:02:00.0", "tenant": "dirty", "domain_uuid": "$uuid", "domain_name": "vm42"}]}]}
	JSON
}

# fence_function BDF DEVICE [SUBSYSTEM-DEVICE]
fence_function() {
	cat <<-JSON
		{"address": "$1", "vendor": "10de", "device": "$2", "subsystem_vendor": "10de",
		 "subsystem_device": "${3:-1467}"}
	JSON
}

# with_companion DECLARED BDF DEVICE [DRIVER]: a NIC, or a VF, which has no driver; pair0 is assigned already.
with_companion() {
	printf 'With=%s\n' "$1" >>/etc/gpupass/groups.d/pair0.conf
	local ids="{vendor: \"8086\", device: \"$3\", subsystem_vendor: \"8086\", subsystem_device: \"0000\"}"
	local file=/var/lib/gpupass/fence.json
	jq ".functions += [{bdf: \"$2\"} + $ids + (\"${4-}\" | if . == \"\" then {} else {original_driver: .} end)]" \
		"$record" >/run/lab/with
	cat /run/lab/with >"$record"
	jq ".groups[0].functions += [{address: \"$2\", companion: true} + $ids]" $file >/run/lab/with
	cat /run/lab/with >$file
}

define_vm42() {
	local f options=()
	tests/lab/libvirt-up --configure
	touch /run/lab/libvirt-configured
	for f in "${functions[@]}"; do options+=(--hostdev "$f"); done
	mkdir -p /etc/libvirt/qemu/autostart
	tests/lab/define-vm vm42 --uuid "$uuid" --no-guest --free-ports 1 "${options[@]}" --print \
		>/etc/libvirt/qemu/vm42.xml
	ln -s /etc/libvirt/qemu/vm42.xml /etc/libvirt/qemu/autostart/vm42.xml
}
