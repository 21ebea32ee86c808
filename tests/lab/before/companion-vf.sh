#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# pair0 and a VF of a NIC are assigned to vm42, which libvirt starts by itself.
# shellcheck source=tests/lab/lib/before.sh
. tests/lab/lib/before.sh
install_enabled
assign_pair0
with_companion vf:03:00.1 0000:03:00.1 0f10
define_vm42
address="<address type='pci' domain='0x0000' bus='0x03' slot='0x00' function='0x1'/>"
interface="<interface type='hostdev' managed='no'><mac address='52:54:00:00:00:42'/><source>$address</source></interface>"
sed -i "s|</devices>|$interface&|" /etc/libvirt/qemu/vm42.xml
