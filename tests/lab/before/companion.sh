#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# pair0 and its NIC are assigned to vm42, which libvirt starts by itself.
# shellcheck source=tests/lab/lib/before.sh
. tests/lab/lib/before.sh
install_enabled
assign_pair0
with_companion nic:03:00.0 0000:03:00.0 10d3 e1000e
printf 'WholeNic=yes\n' >>/etc/gpupass/groups.d/pair0.conf
jq '.groups[0].boards += [.groups[0].boards[0] | .address = "0000:03:00.0"]' /var/lib/gpupass/fence.json >/run/lab/with
cat /run/lab/with >/var/lib/gpupass/fence.json
functions+=(0000:03:00.0)
define_vm42
