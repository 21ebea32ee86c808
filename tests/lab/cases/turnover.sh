#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 114
# host: pair-3090
# saved
# timeout: 1200
#
# Between two tenants every function is reset by the real kernel, must answer again, and a receipt
# says so; a group whose GPU does not answer goes to nobody.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

receipts=/var/lib/gpupass/receipts
newest() { find "$receipts" -name '*.json' | sort | tail -n 1; }
count() { find "$receipts" -name '*.json' | wc -l; }

up
"$here/define-vm" vm42
"$here/define-vm" vm43
declare_pair0
before=$(world)

promise "assign succeeds" gpupass assign vm42 pair0
knob 0000:02:00.0 reset_ms 1500
started=$(date +%s%N)
promise "release succeeds although a GPU takes 1.5 s to answer again" gpupass release vm42
equal "it waited for it" 1 $((($(date +%s%N) - started) / 1000000 >= 1500))
knob 0000:02:00.0 reset_ms 0
equal "everything is as it was before" "$before" "$(world)"
equal "there is one receipt" 1 "$(count)"
equal "it names the domain, the group and that all is well" "vm42 pair0 true" \
	"$(jq -r '"\(.domain.name) \(.group) \(.good)"' "$(newest)")"
equal "every GPU was reset by the kernel's first method and answers with the same link" \
	"$(printf '0000:01:00.0 reset flr same\n0000:02:00.0 reset flr same')" \
	"$(jq -r '.functions[] | select(.address | endswith(".0")) | [.address, .result, .method,
		if .before.link_speed == .after.link_speed and
			.before.link_width == .after.link_width then "same" else "other" end] |
		join(" ")' "$(newest)")"

promise "a next tenant gets it" gpupass assign vm43 pair0
promise "release --keep-vfio resets, too" gpupass release --keep-vfio vm43
equal "and leaves it on vfio-pci" "vfio-pci vfio-pci" \
	"$(driver_of 0000:01:00.0) $(driver_of 0000:02:00.0)"
equal "there are two receipts" 2 "$(count)"

# Boards whose functions have no reset of their own, as most with an audio function: the kernel
# refuses, and the slot is reset through vfio. What the tenant left in the device is then gone:
# a register of the emulated device (e1000e's multicast table) stands for its memory.
for f in "${pair[@]}"; do echo >"/sys/bus/pci/devices/$f/reset_method"; done
register() { # BDF [VALUE]
	local base
	read -r base _ <"/sys/bus/pci/devices/$1/resource"
	setpci -s "$1" COMMAND=2:2
	busybox devmem $((base + 0x5200)) 32 ${2:+"$2"}
	setpci -s "$1" COMMAND=0:2
}
promise "a group without resets of its own is assigned" gpupass assign vm42 pair0
register 0000:02:00.0 0x5a5a5a5a
equal "the tenant leaves something in a GPU" 0x5A5A5A5A "$(register 0000:02:00.0)"
promise "release resets its slots through vfio" gpupass release --keep-vfio vm42
equal "the receipt says so, for both boards whole" \
	"$(printf '%s\n' '0000:01:00.0 reset slot' '0000:01:00.1 with its leader' \
		'0000:02:00.0 reset slot' '0000:02:00.1 with its leader')" \
	"$(jq -r '.functions[] | [.address, .result, .method // empty] | join(" ")' "$(newest)")"
equal "what the tenant left is gone" 0x00000000 "$(register 0000:02:00.0)"
for f in "${pair[@]}"; do echo default >"/sys/bus/pci/devices/$f/reset_method"; done

# fault 24: the board fell off its bus while the tenant had it.
promise "the group is assigned again" gpupass assign vm42 pair0
knob 0000:02:00.0 gone 1
refused "a release with a GPU that does not answer fails" 1 ResetFailed \
	"0000:02:00.0: does not answer" gpupass release vm42
equal "its receipt says so" "false does not answer" \
	"$(jq -r '"\(.good) \(.functions[] | select(.address == "0000:02:00.0").result)"' "$(newest)")"
refused "the next tenant is refused" 9 "" "" gpupass assign vm43 pair0
stop_gpupassd
start_gpupassd
refused "also by a restarted daemon" 9 "" "" gpupass assign vm43 pair0
knob 0000:02:00.0 gone 0
promise "once it answers, release goes through" gpupass release vm42

# promise G4
# fault 23: the device never comes back from its reset; the kernel gives up after a minute.
promise "the group is assigned once more" gpupass assign vm42 pair0
knob 0000:02:00.0 reset_ms -1
refused "a reset that the device does not survive fails the release" 1 ResetFailed \
	"0000:02:00.0" gpupass release vm42
refused "and the next tenant is refused" 9 "" "" gpupass assign vm43 pair0
knob 0000:02:00.0 reset_ms 0
knob 0000:02:00.0 gone 0
promise "after the repair release goes through" gpupass release vm42
promise "and the next tenant gets it" gpupass assign vm43 pair0
stop_gpupassd
finish
