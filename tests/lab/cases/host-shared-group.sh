#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# host: shared-group
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

up
declare_pair0
doctor_finds_the_hosts_faults
"$here/define-vm" vm42
# fault 19
refused "a network card in a GPU's IOMMU group is refused, with its address" \
	6 IommuGroupNotViable "0000:03:00.0" gpupass assign vm42 pair0
promise "and its driver" grep -q e1000e "$work/err"
finish
