#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 90
# host: real
# timeout: 1000
#
# The whole way on a host that has, all at once, what real ones have: nvidia_drm with modeset=1 and
# a driver that makes it let go, nvidia-persistenced, a domain with a vGPU, AppArmor that enforces,
# a pair and a board that nothing bridges. To a running domain and to one that is shut off: assign,
# verify, release, and what a boot does.
#
# libvirtd, virt-aa-helper and each guest's QEMU run under Debian's own profiles. A GPU that is
# attached to a running guest needs its vfio files in the profile of that guest.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

pair=(0000:01:00.0 0000:02:00.0)
solo=0000:03:00.0
given=("${pair[@]}" "$solo")
on() { for f in "${given[@]}"; do echo "$f $1"; done; }
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

# nvidia-persistenced keeps all boards, and NVML reads and writes their modes.
keep_all() {
	local gpus=("${given[@]}" 0000:04:00.0)
	cp /run/lab/libnvidia-ml.so.1 "$nvml" || return
	printf 'gpu %s 223510de 145a10de - - -\n' "${gpus[@]}" >"$nvml.scenario"
	echo "persistence /sys/kernel/gpupass-lab" >>"$nvml.scenario"
	install_nvidia_smi && keep_gpus none "${gpus[@]}"
}

echo 580.105.08 >/sys/module/nvidia/parameters/release
promise "nvidia_drm has each board in use" modprobe nvidia_drm modeset=1
promise "nvidia-persistenced keeps all of them" keep_all
promise "AppArmor has the profiles of libvirt" load_profiles
install_gpupass
"$here/libvirt-up" --apparmor
start_gpupassd
declare_pair0
promise "a board that nothing bridges is a group" gpupass declare solo0 03:00.0
"$here/define-vm" desk7 --no-guest --hostdev 0000:04:00.2 # a virtual function that is not there yet
promise "libvirtd is confined" grep -q '^libvirtd (enforce)' $profiles
equal "libvirtd's own process, too" "libvirtd (enforce)" "$(confinement_of "$(cat /run/libvirtd.pid)")"
before=$(world)

# ---- a domain that runs ----
"$here/define-vm" vm42 --free-ports 3 --start
uuid=$(virsh -q domuuid vm42)
qemu=$(cat /run/libvirt/qemu/vm42.pid)
promise "the guest is up" "$here/define-vm" --wait vm42 0 120
equal "its QEMU is confined" "libvirt-$uuid (enforce)" "$(confinement_of "$qemu")"
promise "its profile does not know of vfio" sh -c "! grep -q /dev/vfio /etc/apparmor.d/libvirt/libvirt-$uuid.files"

promise "both groups go to a running, confined domain" gpupass assign vm42 pair0 solo0
equal "nvidia-persistenced let go of them, and of no other" "$(printf 'off %s\n' "${given[@]}")" \
	"$(grep off "$work/keeper" | sort)"
promise "the guest lists all three" "$here/define-vm" --wait vm42 3 120
promise "libvirt has put the vfio files into its profile" sh -c "grep -q '\"/dev/vfio/' /etc/apparmor.d/libvirt/libvirt-$uuid.files"
equal "it is as confined as before" "libvirt-$uuid (enforce)" "$(confinement_of "$qemu")"
gpupass verify vm42 >"$work/verdicts" 2>&1
equal "each group gets a verdict, of a guest without an agent" "pair0 in vm42: UNKNOWN
solo0 in vm42: UNKNOWN" "$(grep ' in vm42: ' "$work/verdicts")"
promise "release from it succeeds" gpupass release vm42
promise "the guest has let go of them" "$here/define-vm" --wait vm42 0 120
equal "they are the host's again" "$(on nvidia)" "$(drivers "${given[@]}")"
equal "with persistence, by NVML" "1 1 1" \
	"$(for f in "${given[@]}"; do cat "/sys/kernel/gpupass-lab/$f/persistence"; done | xargs)"
virsh -q destroy vm42
virsh -q undefine vm42

# ---- a domain that is shut off, over a boot ----
"$here/define-vm" vm42 --no-guest
promise "both groups go to a domain that is shut off" gpupass assign vm42 pair0 solo0
stop_gpupassd
for f in "${given[@]}"; do
	echo "$f" >/sys/bus/pci/drivers/vfio-pci/unbind
	echo >"/sys/bus/pci/devices/$f/driver_override"
done
promise "a boot binds all of them" /usr/libexec/gpupass/gpupass-bind --all
equal "to vfio-pci" "$(on vfio-pci)" "$(drivers "${given[@]}")"
start_gpupassd
equal "nothing is to be mended" 0 "$(gpupass reconcile --dry-run -j | jq '.findings | length')"
promise "the domain starts with them, confined" virsh -q start vm42
virsh -q destroy vm42
promise "they are released" gpupass release vm42
virsh -q undefine vm42

# ---- what is not given ----
promise "the board for vGPUs is a group of its own" gpupass declare solo1 04:00.0 --no-bridge-seen
"$here/define-vm" vm42 --no-guest
refused "which is not given away while a domain has a vGPU of it, even shut off" 9 HostInUse \
	"desk7 has a vGPU of 0000:04:00.0" gpupass assign vm42 solo1
virsh -q undefine vm42
gpupass forget solo1
# The hook runs before libvirt makes a profile for this one.
"$here/define-vm" half --hostdev 0000:01:00.0 --no-guest
promise "libvirtd's profile lets it run gpupass-hook, which refuses a part of the group" sh -c \
	'virsh -q start half 2>&1 | grep -q "gpupass: cannot start half"'
virsh -q undefine half
equal "the host is as before" "$before" "$(world)"
equal "nothing of vfio was refused by AppArmor" "" "$(denials | grep -a vfio)"
[ "$failures" = 0 ] || denials | sed 's/^/     | /'
finish
