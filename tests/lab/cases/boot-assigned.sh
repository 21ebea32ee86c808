#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# host: pair-3090
# before: tests/lab/before/assigned.sh
# systemd
# timeout: 960
#
# A boot with an assignment: its functions are on vfio-pci before udev loads nvidia for the others,
# and before libvirt starts the domain that has them.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

# Of a unit: when it became active, in microseconds since the boot.
active_at() { systemctl show -P ActiveEnterTimestampMonotonic "$1"; }

udevadm settle
promise "coldplug loads nvidia for the GPU that nobody has" until_true 30 \
	test -e /proc/driver/nvidia/gpus/0000:03:00.0
equal "the assigned functions are on vfio-pci" "$on_vfio" "$(drivers "${pair[@]}")"
equal "nvidia has the other GPU only" "0000:03:00.0" "$(ls /proc/driver/nvidia/gpus)"
# The kernel tells of a quirk of its own that took over 10 ms: do_one_fixup_debug().
equal "and never saw an assigned one" "" "$(dmesg | grep -i -e nvidia -e snd_hda |
	grep -v ' quirk_nvidia_hda+[^ ]* took [0-9]* usecs$' | grep -e 0000:01 -e 0000:02)"
promise "gpupass-bind.service has bound them" until_true 20 \
	in_journal "4 of 4 assigned functions are on vfio-pci" -b -u gpupass-bind.service
promise "before coldplug" test "$(active_at gpupass-bind.service)" -lt \
	"$(systemctl show -P ExecMainStartTimestampMonotonic systemd-udev-trigger.service)"
promise "and it was verified" systemctl is-active gpupass-bind-verify.service
equal "the report says so" 4 "$(grep -c '"outcome": "bound"' /run/gpupass/boot.json)"
journalctl -b -u gpupass-bind.service -o short-monotonic --no-hostname | sed 's/^/     | /'

"$here/libvirt-up"
promise "libvirt's autostart finds them" until_true 30 sh -c 'virsh domstate vm42 | grep -q running'
equal "all four in the guest" 4 "$(hostdevs vm42 | wc -l)"
promise "and the daemon shows the group with its domain" until_true 20 sh -c \
	'gpupass status pair0 | grep -q vm42'

promise "a second run writes nothing while the guest runs" /usr/libexec/gpupass/gpupass-bind --all
equal "and the guest still runs" running "$(virsh domstate vm42 | head -n 1)"
virsh -q destroy vm42

# fault 21
# all_on_vfio: for until_true.
all_on_vfio() { [ "$(drivers "${pair[@]}")" = "$on_vfio" ]; }
find_again() {
	local f
	for f in "${pair[@]}"; do echo 1 >"/sys/bus/pci/devices/$f/remove"; done
	echo 1 >/sys/bus/pci/rescan
	udevadm settle
}
# come_to_vfio: what speaks against it is printed.
come_to_vfio() {
	until_true 20 all_on_vfio && return
	journalctl -b -n 25 --no-hostname -o short-monotonic _COMM=gpupass-bind + _COMM=systemd-udevd + _TRANSPORT=kernel |
		grep -v BAR
	lsmod | grep -e nvidia -e snd_hda
	grep -H . /sys/bus/pci/devices/0000:0[12]:00.?/driver_override
	drivers "${pair[@]}"
	return 1
}
# Not its dependencies: the lab's own module is in use. Whoever looks at a GPU at this moment has
# it, and a driver that stays would be ahead of every rule.
unload() {
	rmmod nvidia snd_hda_intel
	! grep -E '^(nvidia|snd_hda_intel) ' /proc/modules
}
promise "the usual drivers are unloaded" until_true 10 unload
find_again
promise "removed and found again, they are on vfio-pci: the rule is ahead of the drivers" come_to_vfio

# With nvidia loaded the kernel mostly binds a new device before any program hears of it; which of
# them is first is a race at each function. Bound again, or degraded and told: nothing else.
is_degraded() { gpupass list | grep -q "pair0 .*degraded"; }
# Each function that is not on vfio-pci is in the journal with the driver that has it.
is_told() {
	local f driver
	journalctl -b >"$work/journal"
	for f in "${pair[@]}"; do
		driver=$(driver_of "$f")
		[ "$driver" = vfio-pci ] ||
			grep -q "$f (pair0, vm42): taken: $driver had it first" "$work/journal" || return 1
	done
}
modprobe -a nvidia snd_hda_intel
find_again
# What the rule starts may still be at work.
is_either() { all_on_vfio || is_degraded; }
until_true 20 is_either
if all_on_vfio; then
	ok "with nvidia loaded, a group found again is on vfio-pci: the rule was ahead of it"
else
	promise "with nvidia loaded, a group found again is degraded, or has come to vfio-pci" until_true 20 is_either
fi
promise "the journal names each driver that was first" until_true 60 is_told
promise "and bind puts it right" gpupass bind pair0
promise "all on vfio-pci again" all_on_vfio
finish
