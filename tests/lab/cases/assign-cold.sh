#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 71
# host: pair-3090
# saved
# timeout: 800
#
# The main job on a shut-off domain: from inference to a domain that runs with both GPUs, and back.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

up
"$here/define-vm" vm42 --no-guest

gpupass list >"$work/list" 2>&1
promise "two RTX 3090 without a declaration are an inferred group" \
	grep -Eq 'pair0 .*0000:01:00.0,0000:02:00.0 .*inferred' "$work/list"
promise "the list names the command that declares it" \
	grep -q 'gpupass declare pair0' "$work/list"
promise "the RTX 4090 is listed as a board without NVLink" \
	grep -Eq '0000:03:00.0.*RTX 4090' "$work/list"
refused "an inferred group is not assigned unasked" 6 LinksUnknown \
	"gpupass declare pair0" gpupass assign vm42 pair0

promise "one command declares it" gpupass declare pair0 01:00.0 pci_0000_02_00_0
promise "it is free then" sh -c 'gpupass list | grep -Eq "pair0 .* free"'

before=$(world)
gpupass plan vm42 pair0 >"$work/plan" 2>&1
equal "a plan changes nothing" "$before" "$(world)"
promise "the plan shows the override of each function" \
	test "$(grep -c 'driver_override' "$work/plan")" -ge 4
promise "the plan shows the XML difference" grep -q '^ *+.*<hostdev ' "$work/plan"
ends "plan --detailed-exitcode says 10 when changes are pending" 10 gpupass plan --detailed-exitcode vm42

promise "assign succeeds" gpupass assign vm42
equal "all four functions are on vfio-pci" \
	"$on_vfio" "$(drivers "${pair[@]}")"
equal "the domain has exactly those hostdevs" \
	"$all" "$(hostdevs --inactive vm42)"
equal "the RTX 4090 keeps its driver" "0000:03:00.0 nvidia" "$(drivers 0000:03:00.0)"
promise "each GPU's functions share one multifunction slot behind a root port of its own" \
	sh -c "virsh -q dumpxml --inactive vm42 |
		xmllint --xpath 'count(//hostdev/address[@multifunction=\"on\" and @slot=\"0x00\"])' - |
		grep -qx 2"
promise "status names the domain" sh -c 'gpupass status vm42 | grep -q pair0'
gpupass assign vm42 --json=short >"$work/again" 2>/dev/null
equal "assigning again is success without a change" "0 false" "$? $(jq .changed "$work/again")"
refused "the group is not given to a second domain" 8 NoSuchDomain "vm43" gpupass assign vm43 pair0

# (What its own kernel sees, verify-guest shows.)
promise "the domain starts with both GPUs" virsh -q start vm42
equal "QEMU has all four functions" "$all" \
	"$(virsh -q qemu-monitor-command vm42 --hmp info qtree |
		sed -n 's/^ *host = "\(0000:.*\)"\r*$/\1/p' | sort)"
virsh -q destroy vm42

promise "release succeeds" gpupass release vm42
equal "sysfs and the domain's XML are as they were before" "$before" "$(world)"
refused "releasing again says that there is nothing" 8 NotAssigned "" gpupass release vm42
stop_gpupassd
finish
