#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# host: one-missing
# before: tests/lab/before/several.sh
# systemd
# timeout: 600
#
# A boot with one assigned GPU gone: the other is bound all the same, so is the domain's second
# group, and the boot goes on.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

# fault 51
udevadm settle
equal "the one that is there is on vfio-pci" "0000:01:00.0 vfio-pci
0000:01:00.1 vfio-pci" "$(drivers 0000:01:00.0 0000:01:00.1)"
equal "udev knows that a part of the group is not there" "GPUPASS_PEERS=missing" \
	"$(udevadm info --query=property /sys/bus/pci/devices/0000:01:00.0 | grep '^GPUPASS_PEERS=')"
# After a real event gpupass-bind --peers waits for it, 30 s. An event that somebody asked for, as
# at coldplug, is followed by no other.
begin=$SECONDS
udevadm trigger --action=add --settle /sys/bus/pci/devices/0000:01:00.0
promise "an event as at coldplug does not wait for that part ($((SECONDS - begin)) s)" test $((SECONDS - begin)) -lt 20
equal "so is the group beside it" "0000:03:00.0 vfio-pci
0000:03:00.1 vfio-pci" "$(drivers 0000:03:00.0 0000:03:00.1)"
promise "the journal names the one that is not" until_true 20 in_journal \
	"0000:02:00.0 (pair0, vm42): missing: there is no device at this address" -b -u gpupass-bind.service
equal "the report has both functions" 2 "$(grep -c '"outcome": "missing"' /run/gpupass/boot.json)"
equal "the unit has failed, for all to see" failed "$(systemctl is-failed gpupass-bind.service)"
promise "the daemon serves, and shows it" until_true 20 sh -c 'gpupass list | grep -q "pair0 .*degraded"'
promise "the second group's record is read" sh -c 'gpupass status solo0 | grep -q vm42'
finish
