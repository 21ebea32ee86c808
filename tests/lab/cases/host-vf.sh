#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# host: vf
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

host_is_as_promised
up
declare_pair0
doctor_finds_the_hosts_faults
"$here/define-vm" vm42
# fault 18
echo 2 >/sys/bus/pci/devices/0000:02:00.0/sriov_numvfs
gpupass rescan
doctor_finds "doctor finds the virtual functions" virtual-functions
refused "a GPU with virtual functions is refused, and named" 9 HostInUse "0000:02:00.0" \
	gpupass assign vm42 pair0
promise "the virtual functions are no GPUs of their own" \
	sh -c '! gpupass list | grep -q "0000:02:00.1"'
finish
