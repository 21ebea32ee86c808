#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 200
# only --long
# host: pair-3090
# systemd
# timeout: 900
#
# What else tests/hardware tries than hardware.sh shows, where systemd starts gpupassd again after it was killed.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

install_gpupass
"$here/libvirt-up"
"$here/define-vm" vm42 --free-ports 4
declare_pair0
before=$(world)
promise "all it tries holds: live, with gpupassd killed" "$repo/tests/hardware" vm42 --yes --only live --only killed \
	--boot "$(slow 10)" --patience "$(slow 120)" --report "$work/report.tar"
equal "the host is as before" "$before" "$(world)"
equal "each part is in the report, and no step failed" "killed live 0" "$(tar -xOf "$work/report.tar" \
	gpupass-report/report.json | jq -r '"\([.steps[].part] | unique | join(" ")) \([.steps[] | select(.held == false)] | length)"')"
finish
