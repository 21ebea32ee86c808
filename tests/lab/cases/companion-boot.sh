#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# host: pair-nic
# before: tests/lab/before/companion.sh
# systemd
# timeout: 960
#
# A boot with a pair and its NIC: that is on vfio-pci before udev loads its driver, and again when it
# is found later.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

nic=0000:03:00.0
on_vfio+=$'\n'"$nic vfio-pci"
all+=$'\n'"$nic"
pair+=("$nic")

udevadm settle
# promise M10
equal "all functions are on vfio-pci" "$on_vfio" "$(drivers "${pair[@]}")"
equal "and e1000e never saw the NIC" "" "$(dmesg | grep "e1000e $nic")"
promise "gpupass-bind.service has bound them" until_true 20 \
	in_journal "5 of 5 assigned functions are on vfio-pci" -b -u gpupass-bind.service
"$here/libvirt-up"
promise "libvirt's autostart finds them" until_true 30 sh -c 'virsh domstate vm42 | grep -q running'
equal "all in the guest" "$all" "$(hostdevs vm42)"
promise "and the daemon shows the group with its domain" until_true 20 sh -c \
	'gpupass list | grep -Eq "pair0 .*assigned .*vm42"'
virsh -q destroy vm42

# all_on_vfio: for until_true.
all_on_vfio() { [ "$(drivers "${pair[@]}")" = "$on_vfio" ]; }
find_again() {
	echo 1 >"/sys/bus/pci/devices/$nic/remove"
	echo 1 >/sys/bus/pci/rescan
	udevadm settle
}
rmmod e1000e 2>/dev/null || true
find_again
promise "removed and found again, it is on vfio-pci: the rule is ahead of its driver" until_true 20 all_on_vfio
finish
