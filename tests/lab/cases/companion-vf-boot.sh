#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# host: pair-vf
# before: tests/lab/before/companion-vf.sh
# systemd
# timeout: 960
#
# A boot with a pair and a VF: that is made, and has its rules, before libvirt starts a domain with it.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

nic=0000:03:00.0
vf=0000:03:00.1
on_vfio+=$'\n'"$vf vfio-pci"
all+=$'\n'"$vf"

# promises M4, M10
equal "all functions are on vfio-pci" "$on_vfio" "$(drivers "${pair[@]}" "$vf")"
promise "gpupass-bind-verify.service has bound them" until_true 20 \
	in_journal "5 of 5 assigned functions are on vfio-pci" -b -u gpupass-bind-verify.service
eth=$(basename /sys/bus/pci/devices/$nic/net/*)
promise "the VF is kept to its own address" sh -c "ip -d link show $eth | grep -q 'vf 0.*spoof checking on.*trust off'"
# libvirt sets MAC and VLAN through a NIC that is up; a host's own units have done that by then.
ip link set "$eth" up
"$here/libvirt-up"
promise "libvirt's autostart finds them" until_true 30 sh -c 'virsh domstate vm42 | grep -q running'
equal "all in the guest" "$all" \
	"$(virsh -q qemu-monitor-command vm42 --hmp info qtree |
		sed -n 's/^ *host = "\(0000:.*\)"\r*$/\1/p' | sort)"
promise "and the daemon shows the group with its domain" until_true 20 sh -c \
	'gpupass list | grep -Eq "pair0 .*assigned .*vm42"'
finish
