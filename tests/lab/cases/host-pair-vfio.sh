#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# host: pair-vfio
#
# GPUs that are on vfio-pci already: nothing is moved, and release leaves them there.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

up
declare_pair0
doctor_finds_the_hosts_faults
"$here/define-vm" vm42 --no-guest
# fault 9
promise "the group is bound, and free to assign" sh -c 'gpupass list | grep -Eq "pair0 .* bound "'
before=$(world)
gpupass assign vm42 --json=short >"$work/job"
equal "assign succeeds without a bind step" "0" \
	"$(jq '[.. | .name? | select(. == "bind vfio-pci")] | length' "$work/job")"
promise "release" gpupass release vm42
equal "everything is as before, on vfio-pci" "$before" "$(world)"
finish
