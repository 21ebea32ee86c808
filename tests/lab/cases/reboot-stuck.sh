#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 63
# host: pair-3090
# systemd
# timeout: 600
# goes down: 90
#
# A reboot comes to its end although a worker waits in the kernel. systemd waits twice as long as
# DefaultTimeoutStopSec= says, not for the worker but for journald, which waits for the device; then
# the kernel itself would wait for ever, if gpupass had nothing in systemd-shutdown's way.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

install_gpupass
mkdir -p /etc/systemd/system.conf.d
printf '[Manager]\nDefaultTimeoutStopSec=5s\n' >/etc/systemd/system.conf.d/lab.conf
systemctl daemon-reload
equal "systemd waits 5 s" 5s "$(systemctl show -P DefaultTimeoutStopUSec)"
"$here/libvirt-up"
"$here/define-vm" vm42 --no-guest
promise "the daemon is there" gpupass list
declare_pair0
# fault 50
knob 0000:02:00.0 hold 1
ends "an unbind that never returns ends with exit code 11" 11 gpupass assign vm42 --timeout="$(slow 4)"
promise "its worker is there" test -n "$(mover_of 0000:02:00.0)"
[ "$failures" = 0 ] || finish
echo "going down at $(date +%s)"
systemctl reboot --no-block
sleep infinity
