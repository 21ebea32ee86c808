#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# host: four-functions
#
# Turing boards: display, audio, USB and UCSI go together, the real xhci_hcd among their drivers.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

up
declare_pair0
doctor_finds_the_hosts_faults
"$here/define-vm" vm42
before=$(world)
promise "assign takes all eight functions" gpupass assign vm42 pair0
for f in /sys/bus/pci/devices/0000:0[12]:00.*; do driver_of "${f##*/}"; done | sort | uniq -c >"$work/drivers"
equal "all of them are on vfio-pci" "8 vfio-pci" "$(awk '{print $1, $2}' "$work/drivers")"
equal "and in the domain" 8 "$(hostdevs --inactive vm42 | wc -l)"
promise "release" gpupass release vm42
equal "each is back on its own driver, or on none" "$before" "$(world)"
finish
