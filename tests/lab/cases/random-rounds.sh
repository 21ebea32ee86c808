#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 88
# host: two-pairs-a6000
# saved
# timeout: 1800
# sample: --seconds=25
#
# Random rounds over two pairs and two domains, with the daemon killed in many of them: after each
# gpupass, sysfs and libvirt say the same. Without arguments a few with a fixed seed, and a few with
# another each time; with arguments only those. tests/lab/rounds gives arguments.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

install_gpupass
sed -i 's/.*DetachTimeoutSec.*/DetachTimeoutSec=3/' /etc/gpupass/gpupassd.conf
for group in "pair0 41:00.0 61:00.0" "pair1 a1:00.0 c1:00.0"; do
	read -r name one other <<<"$group"
	printf '[Group]\nName=%s\nGpu=%s\nGpu=%s\n' "$name" "$one" "$other" \
		>"/etc/gpupass/groups.d/$name.conf"
done
"$here/libvirt-up"
for vm in vm1 vm2; do "$here/define-vm" "$vm" --free-ports 4 --no-guest; done
before=$(world)

# fault 36
if [ $# -gt 0 ]; then
	python3 "$here/lib/rounds.py" "$@" || failures=$((failures + 1))
else
	python3 "$here/lib/rounds.py" --seed=1 --seconds=25 || failures=$((failures + 1))
	python3 "$here/lib/rounds.py" --seconds=25 || failures=$((failures + 1))
fi

# Whatever the last rounds left is taken back in order. Where all GPUs were on vfio-pci without a
# record, unbind has left them without a driver.
start_gpupassd
for vm in vm1 vm2; do gpupass -q release "$vm" 2>/dev/null; done
for group in pair0 pair1; do gpupass -q unbind "$group" 2>/dev/null; done
for f in /sys/bus/pci/devices/*; do
	[ "$(cat "$f/vendor")" != 0x10de ] || echo "${f##*/}" >/sys/bus/pci/drivers_probe
done
equal "when all is taken back, the host is as before the first round" "$before" "$(world)"
stop_gpupassd
finish
