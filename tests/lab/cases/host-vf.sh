#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# host: vf
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

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
echo 0 >/sys/bus/pci/devices/0000:02:00.0/sriov_numvfs
gpupass rescan
"$here/define-vm" desk7 --no-guest --hostdev 0000:02:00.2
refused "a domain that is shut off has a vGPU: refused by its name" 9 HostInUse "desk7 has a vGPU of 0000:02:00.0" \
	gpupass assign vm42 pair0
promise "and the group is shown as foreign" until_true 20 sh -c 'gpupass list | grep -q "pair0.*foreign"'
virsh -q undefine desk7
gpupass rescan

# fault 2
# Users without a file: nothing hangs, and the GPU can be opened afterwards.
knobs=/sys/kernel/gpupass-lab
lock=/proc/driver/nvidia/gpus/0000:02:00.0/unbindLock
echo 1 >$knobs/0000:02:00.0/hold
refused "a GPU with users that have no file is refused by its unbindLock" 9 HostInUse unbindLock \
	gpupass assign vm42 pair0
promise "its lock is off" test "$(<$lock)" = 0
promise "and the other one's, which was taken, too" test "$(<${lock/02:/01:})" = 0
promise "both can be opened" sh -c ': </dev/nvidia0 && : </dev/nvidia1'
echo 0 >$knobs/0000:02:00.0/hold
promise "without users it is assigned" gpupass assign vm42 pair0
gpupass release vm42
promise "a GPU that came back is not locked" test "$(<$lock)" = 0
# A mover that was cut off has left it on.
echo 1 >$lock
promise "a lock that was left on does not keep it from going" gpupass assign vm42 pair0
gpupass release vm42
promise "and is off when it is back" sh -c ': </dev/nvidia1'
finish
