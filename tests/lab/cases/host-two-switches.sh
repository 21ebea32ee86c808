#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 120
# host: two-switches
# timeout: 900
#
# A guest of two cells gets a mirror of a host with two switches: its own kernel sees the members as
# far apart as the host's does, and a release takes all of the tree out again.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

gpus=(0000:1d:00.0 0000:20:00.0)
nics=(0000:1e:00.0 0000:1f:00.0 0000:59:00.0 0000:99:00.0)
members=("${gpus[@]}" "${nics[@]}")

# Of lines "at /sys/devices/pci…/…/ADDRESS NODE SUBSYSTEM": "SUBSYSTEM on NODE", and of each two
# "SUBSYSTEM SUBSYSTEM DISTANCE". It knows nothing of gpupass.
distances() {
	sort -k4 | awk '$1 == "at" {
		n++
		depth[n] = split($2, part, "/")
		for (i = 1; i <= depth[n]; i++)
			path[n, i] = part[i]
		node[n] = $3
		who[n] = $4
		print who[n], "on", node[n]
		for (m = 1; m < n; m++) {
			for (i = 4; path[m, i] == path[n, i]; i++)
				;
			if (i == 4)
				word = node[m] == node[n] ? "NODE" : "SYS"
			else if (i == 5)
				word = "PHB"
			else
				word = depth[m] - i < 2 && depth[n] - i < 2 ? "PIX" : "PXB"
			print who[m], who[n], word
		}
	}'
}

host_places() {
	local one at
	for one in "${members[@]}"; do
		at=/sys/bus/pci/devices/$one
		echo "at $(realpath "$at") $(<"$at/numa_node") $(<"$at/subsystem_device")"
	done
}

# Where the guest of vm1 says that they are: once, and whole.
guest_places() { tr -d '\r' </run/lab/vm1.log | grep '^at '; }

findings() { gpupass reconcile --dry-run -j | jq -c .findings; }

up
with=()
for nic in "${nics[@]}"; do with+=(--with "nic:$nic"); done
promise "a pair is declared with four NICs" gpupass declare pair0 "${gpus[@]}" "${with[@]}" --whole-nic
doctor_finds_the_hosts_faults
"$here/define-vm" vm1 --linux --cells
host_places | distances >"$work/host"
equal "of six members two are in each distance, and they are on two nodes" "$(printf '%s\n' NODE PHB PIX PXB SYS) 0 1" \
	"$(awk 'NF == 3 && $2 != "on" { print $3 }' "$work/host" | sort -u) $(awk '$2 == "on" { print $3 }' "$work/host" |
		sort -u | xargs)"
before=$(world)
definition=$(virsh -q dumpxml --inactive vm1)

# It runs here by no KVM, which comes last of what is looked at.
qemu=$(qemu-system-x86_64 --version | sed -n 's/.*version \([0-9.]*\).*/\1/p')
refused "peer access is refused without KVM: an older board's is not refused for QEMU $qemu" 3 UnsupportedDomain \
	"its hypervisor is not KVM" gpupass assign vm1 pair0 --topology=mirror --peer-access
"$here/define-vm" vm2 --machine pc --no-guest
refused "a domain without PCI Express is refused" 3 UnsupportedDomain "for q35 only" \
	gpupass assign vm2 pair0 --topology=mirror
virsh -q undefine vm2

promise "the plan shows the guest's tree" sh -c \
	'gpupass plan vm1 pair0 --topology=mirror | grep -q "PCIe tree of the guest"'
promise "it is assigned with the host's topology" gpupass assign vm1 pair0 --topology=mirror -q
assigned=$(virsh -q dumpxml --inactive vm1)
promise "libvirt and QEMU take it" virsh -q start vm1
promise "the guest sees both boards" "$here/define-vm" --wait vm1 2 300
guest_places >"$work/guest"
equal "and six members in all" 6 "$(wc -l <"$work/guest")"
equal "its own kernel has them as far apart as the host, and on the same nodes" "$(cat "$work/host")" \
	"$(distances <"$work/guest")"
equal "nothing has drifted" "[]" "$(findings)"

virsh -q destroy vm1
stop_gpupassd
start_gpupassd
equal "nor for a gpupassd that starts anew" "[]" "$(findings)"
equal "the definition is as it was assigned" "$assigned" "$(virsh -q dumpxml --inactive vm1)"
promise "it is released" gpupass release --wait=60 vm1 -q
equal "the definition is as before, byte for byte" "$definition" "$(virsh -q dumpxml --inactive vm1)"
equal "and so is the world" "$before" "$(world)"
finish
