#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# host: two-switches
# timeout: 900
#
# A guest of two cells gets a mirror of two switches and their four boards: its own kernel sees the
# host's distances, and a release takes all of the tree out again.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

boards="0000:1b:00.0 0000:1c:00.0 0000:9b:00.0 0000:9c:00.0"

# Of lines "at /sys/devices/pci…/…/ADDRESS NODE" which two boards are how far apart, in their order.
distances() {
	awk '$1 == "at" {
		n++
		depth[n] = split($2, part, "/")
		for (i = 1; i <= depth[n]; i++)
			path[n, i] = part[i]
		node[n] = $3
		for (m = 1; m < n; m++) {
			for (i = 4; path[m, i] == path[n, i]; i++)
				;
			if (i == 4)
				word = node[m] == node[n] ? "NODE" : "SYS"
			else if (i == 5)
				word = "PHB"
			else
				word = depth[m] - i < 2 && depth[n] - i < 2 ? "PIX" : "PXB"
			print m, n, word
		}
	}'
}

host_places() {
	local board
	for board in $boards; do
		echo "at $(realpath "/sys/bus/pci/devices/$board") $(cat "/sys/bus/pci/devices/$board/numa_node")"
	done
}

up
# shellcheck disable=SC2086
promise "four boards are declared" gpupass declare quad0 $boards
"$here/define-vm" vm1 --linux --cells
before=$(virsh dumpxml --inactive vm1)
host_places | distances >"$work/host"
equal "the host has two pairs, each below a switch of its own node" "1 2 PIX
1 3 SYS
2 3 SYS
1 4 SYS
2 4 SYS
3 4 PIX" "$(cat "$work/host")"
promise "the plan shows the guest's tree" sh -c \
	'gpupass plan vm1 quad0 --topology=mirror | grep -q "PCIe tree of the guest"'
promise "it is assigned with the host's topology" gpupass assign vm1 quad0 --topology=mirror -q
virsh -q start vm1
promise "the guest sees four boards" "$here/define-vm" --wait vm1 4 300
tr -d '\r' </run/lab/vm1.log | grep '^at ' | sort -u >"$work/places"
equal "as far apart as the host does" "$(cat "$work/host")" "$(distances <"$work/places")"
promise "nothing has drifted" sh -c 'gpupass reconcile --dry-run; ! gpupass status quad0 | grep -qi drift'
virsh -q destroy vm1
promise "it is released" gpupass release vm1 -q
equal "the definition is as before, byte for byte" "$before" "$(virsh dumpxml --inactive vm1)"
"$here/define-vm" vm2 --machine pc --no-guest
refused "a domain without PCI Express is refused" 3 UnsupportedDomain "for q35 only" \
	gpupass assign vm2 quad0 --topology=mirror
finish
