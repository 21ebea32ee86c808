#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A node of tests/lab/cluster: gpupass, libvirt and Pacemaker are installed; what they keep is
# on the disk, from the boot before if there was one.
# shellcheck source=tests/lab/lib/before.sh
. tests/lab/lib/before.sh

number=$(cat /run/lab/boot/lan)
mkdir -p /disk
mount -t ext4 /dev/vda /disk
for directory in /etc/gpupass /var/lib/gpupass /etc/libvirt/qemu /var/lib/pacemaker /var/lib/corosync; do
	mkdir -p "$directory"
	[ -d "/disk$directory" ] || { mkdir -p "/disk${directory%/*}" && cp -a "$directory" "/disk$directory"; }
	mount -o bind "/disk$directory" "$directory"
done
install_enabled unpacked
tests/lab/libvirt-up --configure
touch /run/lab/libvirt-configured
cp tests/lab/fence_lab /usr/sbin/fence_lab
ln -sfn /state/domains /shared
# They are masked on the machine, so that nothing starts there.
rm -f /etc/systemd/system/{corosync,pacemaker,pacemaker_remote,logd}.service \
	/etc/systemd/system/multi-user.target.wants/{corosync,pacemaker}.service
echo "gpu$number" >/etc/hostname
for i in 1 2 3; do echo "10.77.0.$i gpu$i"; done >>/etc/hosts
cp /state/corosync.conf /etc/corosync/corosync.conf
mkdir -p /etc/default
echo 'PCMK_logfile=/var/log/pacemaker/pacemaker.log' >/etc/default/pacemaker
mkdir -p /var/log/pacemaker /var/log/corosync
chown hacluster:haclient /var/log/pacemaker
