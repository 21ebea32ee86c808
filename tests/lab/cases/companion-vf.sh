#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 90
# host: pair-vf
# timeout: 900
#
# A pair with a VF: the kernel's own SR-IOV on QEMU's NVMe, by a stand-in for a NIC's driver, and libvirt's
# own way to set what the NIC knows of it.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

nic=0000:03:00.0
vf=0000:03:00.1
sysfs=/sys/bus/pci/devices
on_vfio+=$'\n'"$vf vfio-pci"
all+=$'\n'"$vf"

up
"$here/define-vm" vm42 --no-guest
promise "the NIC is on its driver" until_true 20 test -e $sysfs/$nic/net
eth=$(basename $sysfs/$nic/net/*)
ip link set "$eth" up
is_free() { gpupass list | grep -Eq "pair0 .* free"; }

# promises M3, M4
promise "the pair is declared with the NIC's next VF" \
	gpupass declare pair0 01:00.0 02:00.0 --with vf:03:00.0 --vlan=42
promise "which is stored by its own address" grep -qx "With=vf:$vf" /etc/gpupass/groups.d/pair0.conf
promise "gpupassd makes it by itself" until_true 60 is_free
equal "so many as are declared" 1 "$(<$sysfs/$nic/sriov_numvfs)"
promise "no driver takes it" test ! -e $sysfs/$vf/driver
promise "it is kept to its own address" sh -c "ip -d link show $eth | grep -q 'vf 0.*spoof checking on.*trust off'"
doctor_finds_the_hosts_faults

before=$(world)
ip link set "$eth" vf 0 spoofchk off
refused "one that could send as another is refused" 9 HostInUse "$vf may send as another: spoof check off" \
	gpupass assign vm42 pair0
promise "which gpupassd mends by itself, once it has seen that" until_true 60 sh -c \
	"ip -d link show $eth | grep -q 'vf 0.*spoof checking on'"
promise "and the group is free again" until_true 60 is_free
promise "prepare by hand finds nothing left to do" gpupass prepare --wait=60 pair0
promise "the VF goes with the pair" gpupass assign vm42 pair0
equal "all functions are on vfio-pci" "$on_vfio" "$(drivers "${pair[@]}" "$vf")"
mac=$(virsh -q dumpxml --inactive vm42 | sed -n "s/.*<mac address='\(.*\)'.*/\1/p")
promise "as an interface with a MAC and a VLAN" test -n "$mac"
promise "the domain starts with it" virsh -q start vm42
promise "its NIC knows its MAC and VLAN, and still checks" sh -c \
	"ip -d link show $eth | grep 'vf 0' | grep -i '$mac' | grep 'vlan 42' | grep 'spoof checking on' | grep -q 'trust off'"
equal "QEMU has them all" "$all" \
	"$(virsh -q qemu-monitor-command vm42 --hmp info qtree |
		sed -n 's/^ *host = "\(0000:.*\)"\r*$/\1/p' | sort)"

virsh -q destroy vm42
promise "release succeeds" gpupass release vm42
equal "all is as it was before" "$before" "$(world)"
promise "no driver of the host has the VF" test ! -e $sysfs/$vf/driver

promise "it is assigned once more" gpupass assign vm42 pair0
stop_gpupassd
echo >"$sysfs/$vf/driver_override"
echo $vf >"$sysfs/$vf/driver/unbind"
echo 0 >$sysfs/$nic/sriov_numvfs
start_gpupassd
promise "what a boot takes is made again for the domain that has it" until_true 60 test -e $sysfs/$vf
promise "with its rules" until_true 30 sh -c "ip -d link show $eth | grep -q 'vf 0.*spoof checking on.*trust off'"
promise "and bound" until_true 30 sh -c "readlink $sysfs/$vf/driver | grep -q vfio-pci"
equal "all functions are on vfio-pci again" "$on_vfio" "$(drivers "${pair[@]}" "$vf")"
promise "and it is released" gpupass release --wait=60 vm42
stop_gpupassd
finish
