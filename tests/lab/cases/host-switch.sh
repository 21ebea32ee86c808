#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# host: switch
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

up
gpupass topology >"$work/topology"
promise "two GPUs below one switch, inferred as a pair, are shown by their link" \
	grep -Eq 'NV4\?' "$work/topology"
busctl call org.gpupass1 /org/gpupass1 org.gpupass1.Manager GetTopology 'a{sv}' 0 >"$work/distances"
promise "their way over PCIe is one switch" grep -q 'PIX' "$work/distances"
promise "the bridges of the switch do not make their IOMMU groups unviable" sh -c \
	'gpupass declare pair0 03:00.0 04:00.0 && gpupass bind pair0'
gpupass export --format=qemu pair0 >"$work/start"
# Its devices are there before its first instruction, which it never comes to.
printf 'info qtree\nquit\n' | timeout "$(slow 120)" sh "$work/start" -S -nodefaults -display none -m 64 \
	-monitor stdio >"$work/qtree" 2>&1
equal "QEMU starts with what export prints, each board behind a port of its own" \
	"port0 0000:03:00.0 00.0
port0 0000:03:00.1 00.1
port1 0000:04:00.0 00.0
port1 0000:04:00.1 00.1" "$(tr -d '\r",' <"$work/qtree" | awk '
		$1 == "bus:" { sub(/.*-/, "", $2); bus = $2 }
		$1 == "addr" { addr = $3 }
		$1 == "host" { host = $3 }
		$1 == "dev:" { vfio = $2 == "vfio-pci" }
		$1 == "class" && vfio { print bus, host, addr }' | sort)"
promise "when QEMU has ended the group goes back to the host" gpupass unbind pair0
doctor_finds_the_hosts_faults
finish
