#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 76
# host: pair-3090
# saved
# timeout: 1100
#
# A running domain: attached function by function, live and in its definition, and taken out again.
# (What Linux in a guest makes of it, verify-guest shows.)
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

up
declare_pair0

"$here/define-vm" few --free-ports 2 --no-guest --start
refused "a running domain with too few free root ports is refused" 3 UnsupportedDomain "pcie-root-ports" \
	gpupass assign few pair0
virsh -q destroy few

"$here/define-vm" noacpi --free-ports 4 --no-acpi --no-guest --start
refused "a running domain without ACPI is refused: its guest would never see the GPUs" \
	3 UnsupportedDomain "ACPI" gpupass assign noacpi pair0
virsh -q destroy noacpi

"$here/define-vm" vm42 --free-ports 4 --start
promise "the guest is up without GPUs" "$here/define-vm" --wait vm42 0 120
before=$(world)
promise "assign to a running domain succeeds" gpupass assign vm42 pair0
equal "its running guest has exactly those hostdevs" "$all" "$(hostdevs vm42)"
equal "so has its definition" "$all" "$(hostdevs --inactive vm42)"
promise "the guest lists all four functions" "$here/define-vm" --wait vm42 4 120
promise "gpupass lists it as assigned" sh -c 'gpupass list | grep -Eq "pair0 .*assigned.*vm42"'

"$here/define-vm" other --free-ports 4 --no-guest
refused "what one domain has is not given to another" 9 "" "vm42" gpupass assign other pair0
virsh -q undefine other

promise "release from a running domain succeeds" gpupass release vm42
equal "the running guest has no hostdevs" "" "$(hostdevs vm42)"
promise "the guest has let go of all of them" "$here/define-vm" --wait vm42 0 120
equal "drivers and definition are as they were before" "$before" "$(world)"

# promise G3
# fault 29
# The guest of a domain that has no kernel never answers an unplug request.
"$here/define-vm" deaf --free-ports 4 --no-guest --start
sed -i 's/.*DetachTimeoutSec.*/DetachTimeoutSec=3/' /etc/gpupass/gpupassd.conf
stop_gpupassd
start_gpupassd
promise "assign to a guest that is in its firmware succeeds" gpupass assign deaf pair0
refused "a guest that does not let go: nothing is taken away, everything is put back" \
	1 DetachTimeout "deaf" gpupass release deaf
equal "the running guest still has all four" "$all" "$(hostdevs deaf)"
virsh -q destroy deaf
promise "once it is shut off, release succeeds" gpupass release deaf
equal "and the host's drivers are back" "$on_host" "$(drivers "${pair[@]}")"
stop_gpupassd
finish
