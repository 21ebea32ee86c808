#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# host: pair-3090
# before: tests/lab/before/changed.sh
# systemd
# timeout: 600
#
# A boot after somebody put another board into one of the slots: that one is not bound by its
# address.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

# fault 22
udevadm settle
promise "the changed board is with the host" until_true 30 \
	test -e /proc/driver/nvidia/gpus/0000:02:00.0
equal "the recorded one is on vfio-pci" "0000:01:00.0 vfio-pci
0000:01:00.1 vfio-pci
0000:02:00.0 nvidia
0000:02:00.1 snd_hda_intel" "$(drivers 0000:01:00.0 0000:01:00.1 0000:02:00.0 0000:02:00.1)"
equal "no override was left on the changed one" "(null)" \
	"$(cat /sys/bus/pci/devices/0000:02:00.0/driver_override)"
promise "the journal says what it was and what it is" sh -c \
	'journalctl -b -u gpupass-bind.service |
	 grep -q "0000:02:00.0 (pair0, vm42): changed: .*10de:1467) now .*10de:1454) when"'
equal "the report has both functions" 2 "$(grep -c '"outcome": "changed"' /run/gpupass/boot.json)"
equal "the unit has failed, for all to see" failed "$(systemctl is-failed gpupass-bind.service)"
"$here/libvirt-up"
equal "the domain was not started with it" "shut off" "$(virsh domstate vm42 | head -n 1)"
finish
