#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 60
# host: two-pairs-a6000
# saved
#
# Four boards of one model: never paired by guess; after declaring, policy chooses, both pairs can
# be worked on at a time, and nothing is given twice.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

up
for vm in vm1 vm2 vm3; do "$here/define-vm" "$vm" --no-guest; done
gpupass list >"$work/list"
promise "four boards of one model are unknown, not paired" grep -Eq 'unknown0 .*unknown' "$work/list"
refused "and not assigned" 6 LinksUnknown "" gpupass assign vm1
promise "a pair is declared by UUID" gpupass declare pair0 \
	"$(gpupass show 41:00.0 --json=short | jq -r '.. | .uuid? // empty' | head -n 1)" \
	"$(gpupass show 61:00.0 --json=short | jq -r '.. | .uuid? // empty' | head -n 1)"
promise "the other by physical slot" gpupass declare pair1 slot:3 slot:4
doctor_finds_the_hosts_faults
before=$(world)
gpupass assign vm1 --any -q &
first=$!
gpupass assign vm2 pair1 -q &
second=$!
wait "$first"
one=$?
wait "$second"
equal "two assigns at a time both succeed" "0 0" "$one $?"
refused "a third domain finds no free group, and is told who has them" 9 GroupBusy "vm1" \
	gpupass assign vm3
stop_gpupassd
start_gpupassd
gpupass list >"$work/list"
equal "a restarted daemon knows both assignments" 2 "$(grep -c ' assigned ' "$work/list")"
promise "a bundle of the host is written" gpupass doctor -q --bundle="$work/bundle.tar"
equal "for its owner only" 600 "$(stat -c %a "$work/bundle.tar")"
promise "with its boards, and without the names of its domains" sh -c \
	"tar -xOf $work/bundle.tar >$work/bundle && grep -q 0000:41:00.0 $work/bundle &&
	! grep -qw -e vm1 -e vm2 -e vm3 -e $(virsh domuuid vm1) -e $(hostname) $work/bundle"
promise "NUMA nodes are shown" grep -Eq 'pair1 .* 1 ' "$work/list"
promise "release by group" gpupass release pair1 -q
promise "release by domain" gpupass release vm1 -q
equal "the host is as before" "$before" "$(world)"

# ---- fault 26: libvirt restarts ----
pkill -x libvirtd
promise "without libvirt an assign is refused by name" until_true 20 sh -c \
	'gpupass assign vm1 --any 2>&1 | grep -q org.gpupass1.Error.LibvirtUnavailable'
until_true 30 sh -c '! pgrep -x libvirtd'
promise "and the list says so" sh -c 'gpupass list 2>&1 | grep -q "libvirt does not answer"'
"$here/libvirt-up"
promise "when it is back, gpupassd connects again by itself" until_true 30 gpupass assign vm1 --any -q
promise "release" gpupass release vm1 -q
finish
