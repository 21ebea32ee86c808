#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# host: one-missing
#
# A declared pair of which one board is not there.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

install_gpupass
"$here/libvirt-up"
printf '[Group]\nName=pair0\nGpu=01:00.0\nGpu=02:00.0\n' >/etc/gpupass/groups.d/pair0.conf
start_gpupassd
doctor_finds_the_hosts_faults
promise "and names the board" grep -q "0000:02:00.0" "$work/doctor"
status=0
gpupass doctor >/dev/null || status=$?
equal "a failed check is exit 1" 1 "$status"
finish
