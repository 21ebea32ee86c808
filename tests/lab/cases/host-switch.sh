#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# host: switch
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

host_is_as_promised
up
gpupass topology >"$work/topology"
promise "two GPUs below one switch, inferred as a pair, are shown by their link" \
	grep -Eq 'NV4\?' "$work/topology"
busctl call org.gpupass1 /org/gpupass1 org.gpupass1.Manager GetTopology 'a{sv}' 0 >"$work/distances"
promise "their way over PCIe is one switch" grep -q 'PIX' "$work/distances"
promise "the bridges of the switch do not make their IOMMU groups unviable" sh -c \
	'gpupass declare pair0 03:00.0 04:00.0 && gpupass bind pair0 && gpupass unbind pair0'
doctor_finds_the_hosts_faults
finish
