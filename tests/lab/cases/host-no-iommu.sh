#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# host: no-iommu
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

up
declare_pair0
doctor_finds_the_hosts_faults
"$here/define-vm" vm42
# fault 20
refused "without an IOMMU nothing is assigned, and the message says why" \
	6 IommuDisabled "the IOMMU is off" gpupass assign vm42 pair0
finish
