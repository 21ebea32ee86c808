#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# host: boot-vga
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

up
declare_pair0
doctor_finds_the_hosts_faults
"$here/define-vm" vm42
before=$(world)
refused "the host's boot display is refused, and named" 9 HostInUse "0000:01:00.0" \
	gpupass assign vm42 pair0
promise "with the option that takes it all the same" grep -q -e '--allow-boot-vga' "$work/err"
promise "and so it does" gpupass assign vm42 pair0 --allow-boot-vga
promise "release gives it back" gpupass release vm42
equal "the host is as before" "$before" "$(world)"
finish
