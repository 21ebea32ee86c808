#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 90
# host: pair-nic
# systemd
# timeout: 900
#
# A pair with its NIC: a whole e1000e, with its own driver and the kernel's own network around it, which
# a part in its sandbox looks at.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

nic=0000:03:00.0
with=(01:00.0 02:00.0 --with nic:03:00.0)
on_host+=$'\n'"$nic e1000e"
on_vfio+=$'\n'"$nic vfio-pci"
all+=$'\n'"$nic"
pair+=("$nic")
net_of_nic() { basename /sys/bus/pci/devices/$nic/net/*; }

install_gpupass
"$here/libvirt-up"
"$here/define-vm" vm42 --no-guest
promise "the NIC is on its own driver" until_true 20 test -e /sys/bus/pci/devices/$nic/net
eth=$(net_of_nic)

refused "a whole NIC is only given by --whole-nic" 3 NotBridged "--whole-nic" \
	gpupass declare pair0 "${with[@]}"
promise "with it the pair is declared with its NIC" gpupass declare pair0 "${with[@]}" --whole-nic
promise "the list shows it" sh -c 'gpupass list | grep -Eq "pair0 .* free"'
doctor_finds_the_hosts_faults

# promise M1
# used NAME TEXT CHECK: nobody gets the group while the host uses the NIC like that.
used() {
	refused "$1" 9 HostInUse "$2" gpupass assign vm42 pair0
	promise "and doctor finds it" sh -c "gpupass doctor --json=short |
		jq -e '.checks[] | select(.id == \"$3\" and .status == \"warn\")'"
}
ip link set "$eth" up
used "a NIC that is up is refused: who stands on it may not show" "$eth is up" nic-network
ip address add 192.0.2.5/24 dev "$eth"
used "one with an address is refused by that" "$eth has the address 192.0.2.5/24" nic-network
ip route add default via 192.0.2.1
used "one with the default route is refused by that" "$eth has a default route of the host" nic-default-route
ip route del default
ip address flush dev "$eth"
ip link add br0 type bridge
ip link set "$eth" master br0
used "a port of a bridge is refused by it" "$eth is a port of br0 (bridge)" nic-network
ip link del br0
ip link add link "$eth" name "$eth.5" type vlan id 5
used "one that carries a VLAN is refused by it" "$eth carries $eth.5 (vlan)" nic-network
ip link del "$eth.5"
ip netns add tenant
ip link set "$eth" down
ip link set "$eth" netns tenant
used "one whose device is in another name space is refused" "e1000e shows no device here" nic-network
ip netns exec tenant ip link set "$eth" netns 1
ip netns del tenant

before=$(world)
promise "a NIC that nobody uses goes with the pair" gpupass assign vm42
equal "all functions are on vfio-pci" "$on_vfio" "$(drivers "${pair[@]}")"
equal "the domain has exactly those hostdevs" "$all" "$(hostdevs --inactive vm42)"
promise "the host has no such network device any more" test ! -e "/sys/class/net/$eth"
# promise M10
"$here/define-vm" half --no-guest --hostdev "$nic"
promise "a domain with the NIC alone is not started" sh -c '! virsh -q start half'
virsh -q undefine half
promise "the domain starts with the pair and its NIC" virsh -q start vm42
equal "QEMU has them all" "$all" \
	"$(virsh -q qemu-monitor-command vm42 --hmp info qtree |
		sed -n 's/^ *host = "\(0000:.*\)"\r*$/\1/p' | sort)"
virsh -q destroy vm42
promise "release succeeds" gpupass release vm42
equal "all is as it was before" "$before" "$(world)"
equal "on the drivers of the host" "$on_host" "$(drivers "${pair[@]}")"
promise "which has its network device again" until_true 10 test -e "/sys/bus/pci/devices/$nic/net"
journalctl --sync
promise "the network part was a unit of its own" sh -c \
	"journalctl -u 'gpupass-network@*' | grep -q 'Started gpupass-network@'"
promise "and did not complain" sh -c "! journalctl -t gpupass-network | grep gpupass-"
finish
