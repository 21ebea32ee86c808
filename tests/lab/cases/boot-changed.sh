#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# host: pair-3090
# before: tests/lab/before/changed.sh
# systemd
# timeout: 600
#
# A boot after somebody put another board into one of the slots: that one is not bound by its
# address. And a group that nobody has is kept on vfio-pci, although nvidia is loaded for that
# board.
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
promise "the journal says what it was and what it is" until_true 20 in_journal \
	"0000:02:00.0 (pair0, vm42): changed: .*10de:1467) now .*10de:1454) when" -b -u gpupass-bind.service
equal "the report has both functions" 2 "$(grep -c '"outcome": "changed"' /run/gpupass/boot.json)"
equal "the unit has failed, for all to see" failed "$(systemctl is-failed gpupass-bind.service)"

equal "a kept group is on vfio-pci" "0000:03:00.0 vfio-pci
0000:03:00.1 vfio-pci" "$(drivers 0000:03:00.0 0000:03:00.1)"
equal "nvidia has the changed board only, and never saw the kept one" "0000:02:00.0 " \
	"$(ls /proc/driver/nvidia/gpus) $(dmesg | grep -i -e nvidia -e snd_hda | grep 0000:03)"
"$here/libvirt-up"
equal "the domain was not started with it" "shut off" "$(virsh domstate vm42 | head -n 1)"
solo0() { gpupass list -j | jq -r '.groups[] | select(.name == "solo0") | "\(.state) \(.kept)"'; }
is_bound() { [ "$(solo0)" = "bound asked" ]; }
promise "the daemon shows the kept group as bound" until_true 30 is_bound
promise "an unbind ends that" gpupass unbind solo0
equal "its files are gone, and its functions with the host" "0000:03:00.0 nvidia
0000:03:00.1 snd_hda_intel " "$(drivers 0000:03:00.0 0000:03:00.1) $(ls /etc/gpupass/kept.d)"

# ---- from Ansible, with the collection as it is installed ----
"$here/define-vm" vm43 --no-guest
before=$(world)
# 20 s of a processor and more, emulated: Ansible runs once.
promise "Ansible assigns once, finds nothing to do, and releases" env ANSIBLE_PIPELINING=1 \
	ansible-playbook -i localhost, -c local -e ansible_python_interpreter=/usr/bin/python3 \
	-e domain=vm43 -e group=solo0 -e twice=true "$repo/tests/ansible/assign.yml"
equal "and all is as before" "$before" "$(world)"
equal "two jobs did it" "assign done true
release done true" "$(gpupass jobs -j |
	jq -r '.jobs[] | select(.domain == "vm43") | "\(.operation) \(.state) \(.changed)"' | sort)"
finish
