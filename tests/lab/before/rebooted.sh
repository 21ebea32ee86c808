#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What tests/lab/package/install has made of the host is on its disk.
set -euo pipefail
# As install-packages: of a container, and slow.
rm -f /usr/sbin/policy-rc.d /var/lib/man-db/auto-update
tar -C / -xf /state/host.tar --keep-directory-symlink
tests/lab/libvirt-up --configure
touch /run/lab/libvirt-configured
# The lab does not get to sysinit's and multi-user's other units, nor need it.
mkdir -p /etc/systemd/system/lab-command.service.d
printf '[Unit]\nWants=gpupass-bind-verify.service\nAfter=gpupass-bind-verify.service\n' \
	>/etc/systemd/system/lab-command.service.d/gpupass.conf
