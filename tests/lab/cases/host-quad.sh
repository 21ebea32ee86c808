#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# host: quad-h200
#
# Four H200 NVL on one bridge: a group of four, on two NUMA nodes, with serial numbers.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

up
"$here/define-vm" vm42 --no-guest
refused "four H200 NVL could be a quad or two pairs: not assigned without a declaration" \
	6 LinksUnknown "gpupass declare" gpupass assign vm42
promise "a quad is declared" gpupass declare quad0 19:00.0 1a:00.0 99:00.0 9a:00.0
doctor_finds_the_hosts_faults
before=$(world)
promise "assign takes all four" gpupass assign vm42
equal "all four are hostdevs" 4 "$(hostdevs --inactive vm42 | wc -l)"
gpupass list >"$work/list"
promise "the list shows the group of four over both nodes" grep -Eq 'quad0 .*assigned +vm42' "$work/list"
promise "release" gpupass release quad0
equal "the host is as before" "$before" "$(world)"
serial=$(gpupass show 19:00.0 --json=short | jq -r '.gpus[0].facts["serial-number"]')
promise "the Device Serial Number is read when asked for" test -n "$serial"
promise "a pair is declared by serial number and address" sh -c "gpupass forget quad0 &&
	gpupass declare pair0 serial:$serial 1a:00.0"
promise "and found" sh -c 'gpupass list | grep -Eq "pair0 .*0000:19:00.0,0000:1a:00.0"'
finish
