#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# pair0 and its NIC are assigned to vm42, which libvirt starts by itself.
# shellcheck source=tests/lab/lib/before.sh
. tests/lab/lib/before.sh
nic='"vendor": "8086", "device": "10d3", "subsystem_vendor": "8086", "subsystem_device": "0000"'
# with_nic FILE FILTER: jq's, in which $nic has the NIC's ids.
with_nic() {
	jq --argjson nic "{$nic}" "$2" "$1" >/run/lab/with-nic
	cat /run/lab/with-nic >"$1"
}
install_enabled
printf 'With=nic:03:00.0\nWholeNic=yes\n' >>/etc/gpupass/groups.d/pair0.conf
assign_pair0
with_nic "$record" '.functions += [{bdf: "0000:03:00.0", original_driver: "e1000e"} + $nic]'
with_nic /var/lib/gpupass/fence.json '.groups[0] |= (.functions += [{address: "0000:03:00.0", companion: true} + $nic] |
	.boards += [.boards[0] | .address = "0000:03:00.0"])'
functions+=(0000:03:00.0)
define_vm42
