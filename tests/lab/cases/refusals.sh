#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 73
# host: pair-3090
# saved
# timeout: 800
#
# What only a real driver and a real vfio have in hand is seen before the first write, and named.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

up
declare_pair0
doctor_finds_the_hosts_faults
"$here/define-vm" vm42
gpu=/sys/bus/pci/devices/0000:02:00.0

# promise U11
# ---- fault 1: who holds it ----
hold_open /dev/nvidia1
doctor_finds "doctor finds the holder" holders
refused "an open /dev/nvidiaN is refused with the pid and name of its holder" 9 HostInUse \
	"$holder" gpupass assign vm42 pair0
promise "and the message names the command" grep -q sleep "$work/err"
kill "$holder"
wait "$holder" 2>/dev/null

# ---- faults N1, N2: nvidia_drm has the GPUs in use, and no process shows ----
release=/sys/module/nvidia/parameters/release
unbind() { echo 0000:02:00.0 >/sys/bus/pci/drivers/nvidia/unbind; }
echo 550.54.15 >$release
promise "nvidia_drm with modeset=1" modprobe nvidia_drm modeset=1
doctor_finds "doctor finds it" nvidia-drm
refused "a release that does not make it let go is refused by name" 9 HostInUse \
	"driver 550.54.15 does not make it let go" gpupass assign vm42 pair0
promise "with the remedy" grep -q "rmmod nvidia_drm; .*nvidia-drm.modeset=0" "$work/err"
echo 0.0.0 >$release
refused "so is one that is not known" 9 HostInUse "driver 0.0.0 is not known to make it let go" \
	gpupass assign vm42 pair0
echo 550.54.15 >$release
unbind &
unbinding=$!
until_true 10 test ! -e "$gpu/driver"
promise "the kernel would wait for ever" kill -0 "$unbinding"
promise "until nvidia_drm goes, with this release" rmmod nvidia_drm
promise "which frees the unbind" until_true 10 sh -c "! kill -0 $unbinding"
echo 0000:02:00.0 >/sys/bus/pci/drivers/nvidia/bind
echo 580.105.08 >$release
promise "nvidia_drm once more" modprobe nvidia_drm modeset=1
promise "a release that makes it let go is served" gpupass bind pair0
promise "both ways" gpupass unbind pair0
rmmod nvidia_drm
echo 0.0.0 >$release

# ---- fault 5: vfio in use by a guest that libvirt does not know ----
gpupass bind pair0 >/dev/null
group=$(basename "$(readlink "$gpu/iommu_group")")
hold_open "/dev/vfio/$group"
refused "an open vfio group is refused with its holder: a guest runs on it" 9 ForeignOwner "$holder" \
	gpupass assign vm42 pair0
refused "and its functions are not taken from vfio-pci either" 9 ForeignOwner "$holder" \
	gpupass unbind pair0
kill "$holder"
wait "$holder" 2>/dev/null
promise "unbind gives a bound group back" gpupass unbind pair0
equal "to the drivers it came from" "0000:02:00.0 nvidia" "$(drivers 0000:02:00.0)"

stop_gpupassd
ends "without the daemon the client says so with exit code 7" 7 gpupass list
finish
