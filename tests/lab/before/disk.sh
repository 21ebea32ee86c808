#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gpupass is installed and enabled; its files and libvirt's definitions are on the disk, from the
# boot before if there was one. vm42 is defined, without functions.
# shellcheck source=tests/lab/lib/before.sh
. tests/lab/lib/before.sh

mkdir -p /disk
mount -t ext4 /dev/vda /disk
for directory in /etc/gpupass /var/lib/gpupass /etc/libvirt/qemu; do
	mkdir -p "/disk$directory" "$directory"
	mount -o bind "/disk$directory" "$directory"
done
install_enabled unpacked
tests/lab/libvirt-up --configure
touch /run/lab/libvirt-configured
if [ ! -e /etc/libvirt/qemu/vm42.xml ]; then
	tests/lab/define-vm vm42 --uuid "$uuid" --no-guest --print >/etc/libvirt/qemu/vm42.xml
fi
# The daemon with its hand on the switch; it may write to sysrq-trigger.
cp build/lab/cut.so /run/lab/cut.so
mkdir -p /etc/systemd/system/gpupassd.service.d
cat >/etc/systemd/system/gpupassd.service.d/cut.conf <<'UNIT'
[Service]
Environment=LD_PRELOAD=/run/lab/cut.so
ProtectKernelTunables=no
ProtectSystem=no
UNIT
sync
