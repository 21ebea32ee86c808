#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# host: vf
# timeout: 1000
#
# AppArmor enforces: libvirtd, virt-aa-helper and each guest's QEMU run under Debian's own profiles.
# A GPU that is attached to a running guest needs its vfio files in the profile of that guest. Each
# attach compiles that profile anew, so that this host's boards have one function each.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

profiles=/sys/kernel/security/apparmor/profiles
read -r package </run/lab/boot/apparmor

load_profiles() {
	mountpoint -q /sys/kernel/security || mount -t securityfs none /sys/kernel/security
	cp -a "$package"/etc/apparmor* /etc/ && cp -a "$package"/usr/share/apparmor* /usr/share/ &&
		cp -a "$package/sbin/apparmor_parser" /usr/sbin/ &&
		touch /etc/apparmor.d/local/usr.{sbin.libvirtd,lib.libvirt.virt-aa-helper} &&
		apparmor_parser -r /etc/apparmor.d/usr.sbin.libvirtd \
			/etc/apparmor.d/usr.lib.libvirt.virt-aa-helper
}
# What the kernel refused; each line names the profile and the file.
denials() { dmesg | grep -a 'apparmor="DENIED"'; }
# confinement_of PID: "libvirt-UUID (enforce)".
confinement_of() { tr -d '\0' <"/proc/$1/attr/current"; }

promise "AppArmor has the profiles of libvirt" load_profiles
install_gpupass
"$here/libvirt-up" --apparmor
start_gpupassd
declare_pair0
promise "libvirtd is confined" grep -q '^libvirtd (enforce)' $profiles
equal "libvirtd's own process, too" "libvirtd (enforce)" "$(confinement_of "$(cat /run/libvirtd.pid)")"

"$here/define-vm" vm42 --free-ports 2 --start
uuid=$(virsh -q domuuid vm42)
qemu=$(cat /run/libvirt/qemu/vm42.pid)
promise "the guest is up" "$here/define-vm" --wait vm42 0 120
equal "its QEMU is confined" "libvirt-$uuid (enforce)" "$(confinement_of "$qemu")"
promise "its profile does not know of vfio" sh -c "! grep -q /dev/vfio /etc/apparmor.d/libvirt/libvirt-$uuid.files"

promise "assign to a running, confined domain succeeds" gpupass assign vm42 pair0
promise "the guest lists both" "$here/define-vm" --wait vm42 2 120
promise "libvirt has put the vfio files into its profile" sh -c "grep -q '\"/dev/vfio/' /etc/apparmor.d/libvirt/libvirt-$uuid.files"
equal "it is as confined as before" "libvirt-$uuid (enforce)" "$(confinement_of "$qemu")"
promise "release from it succeeds" gpupass release vm42
promise "the guest has let go of them" "$here/define-vm" --wait vm42 0 120
# The hook runs before libvirt makes a profile for this one.
"$here/define-vm" half --hostdev 0000:01:00.0 --no-guest
promise "libvirtd's profile lets it run gpupass-hook, which refuses a part of the group" sh -c \
	'virsh -q start half 2>&1 | grep -q "gpupass: cannot start half"'
equal "nothing of vfio was refused by AppArmor" "" "$(denials | grep -a vfio)"
[ "$failures" = 0 ] || denials | sed 's/^/     | /'
finish
