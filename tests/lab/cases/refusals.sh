#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 73
# host: pair-3090
# saved
# timeout: 800
#
# Every preflight refuses by name, before the first write, and bad input changes nothing.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

up
declare_pair0
doctor_finds_the_hosts_faults
"$here/define-vm" vm42
gpu=/sys/bus/pci/devices/0000:02:00.0
audio=/sys/bus/pci/devices/0000:02:00.1

# promise U11
# ---- fault 1: who holds it ----
hold_open /dev/nvidia1
doctor_finds "doctor finds the holder" holders
refused "an open /dev/nvidiaN is refused with the pid and name of its holder" 9 HostInUse \
	"$holder" gpupass assign vm42 pair0
promise "and the message names the command" grep -q sleep "$work/err"
kill "$holder"
wait "$holder" 2>/dev/null

# ---- faults N1, N2: nvidia_drm has the GPUs in use, and no process shows ----
release=/sys/module/nvidia/parameters/release
unbind() { echo 0000:02:00.0 >/sys/bus/pci/drivers/nvidia/unbind; }
echo 550.54.15 >$release
promise "nvidia_drm with modeset=1" modprobe nvidia_drm modeset=1
doctor_finds "doctor finds it" nvidia-drm
refused "a release that does not make it let go is refused by name" 9 HostInUse \
	"driver 550.54.15 does not make it let go" gpupass assign vm42 pair0
promise "with the remedy" grep -q "rmmod nvidia_drm; .*nvidia-drm.modeset=0" "$work/err"
echo 0.0.0 >$release
refused "so is one that is not known" 9 HostInUse "driver 0.0.0 is not known to make it let go" \
	gpupass assign vm42 pair0
echo 550.54.15 >$release
unbind &
unbinding=$!
until_true 10 test ! -e "$gpu/driver"
promise "the kernel would wait for ever" kill -0 "$unbinding"
promise "until nvidia_drm goes, with this release" rmmod nvidia_drm
promise "which frees the unbind" until_true 10 sh -c "! kill -0 $unbinding"
echo 0000:02:00.0 >/sys/bus/pci/drivers/nvidia/bind
echo 580.105.08 >$release
promise "nvidia_drm once more" modprobe nvidia_drm modeset=1
promise "a release that makes it let go is served" gpupass bind pair0
promise "both ways" gpupass unbind pair0
rmmod nvidia_drm
echo 0.0.0 >$release

# ---- fault 24: a board that fell off its bus ----
knob 0000:02:00.0 gone 1
doctor_finds "doctor finds a GPU that does not answer" answers
promise "and its health says so" until_true 20 sh -c 'gpupass show 02:00.0 | grep -q "Health: lost"'
knob 0000:02:00.0 gone 0

# ---- faults 10, 16: drivers and overrides of others ----
echo somebody-elses >"$audio/driver_override"
doctor_finds "doctor finds somebody else's driver_override" driver
refused "somebody else's driver_override is refused and named" 9 DriverConflict somebody-elses \
	gpupass assign vm42 pair0
echo >"$audio/driver_override"

modprobe pci-stub 2>/dev/null || insmod "$(find /lib/modules -name 'pci-stub.ko*' | head -n 1)" 2>/dev/null
if [ -d /sys/bus/pci/drivers/pci-stub ]; then
	echo pci-stub >"$audio/driver_override"
	echo 0000:02:00.1 >"$audio/driver/unbind"
	echo 0000:02:00.1 >/sys/bus/pci/drivers_probe
	echo >"$audio/driver_override"
	refused "a driver that nobody expected is refused and named" 9 DriverConflict pci-stub \
		gpupass assign vm42 pair0
	echo 0000:02:00.1 >"$audio/driver/unbind"
	echo 0000:02:00.1 >/sys/bus/pci/drivers/snd_hda_intel/bind
fi

# ---- somebody else's domain ----
"$here/define-vm" byhand --hostdev 0000:02:00.0
refused "a function in another domain's definition is refused, and the domain named" 9 ForeignOwner \
	byhand gpupass assign vm42 pair0
promise "the list shows it as foreign" sh -c 'gpupass list | grep -Eq "pair0 .*foreign"'
virsh -q undefine byhand

"$here/define-vm" half --hostdev 0000:01:00.0
refused "a domain that has one GPU of the pair by hand is refused: a group is never split" 9 "" \
	0000:01:00.0 gpupass assign half pair0
virsh -q undefine half

# ---- fault 5: vfio in use by a guest that libvirt does not know ----
gpupass bind pair0 >/dev/null
group=$(basename "$(readlink "$gpu/iommu_group")")
hold_open "/dev/vfio/$group"
refused "an open vfio group is refused with its holder: a guest runs on it" 9 ForeignOwner "$holder" \
	gpupass assign vm42 pair0
refused "and its functions are not taken from vfio-pci either" 9 ForeignOwner "$holder" \
	gpupass unbind pair0
kill "$holder"
wait "$holder" 2>/dev/null
promise "unbind gives a bound group back" gpupass unbind pair0
equal "to the drivers it came from" "0000:02:00.0 nvidia" "$(drivers 0000:02:00.0)"

# ---- bad input ----
refused "an unknown domain" 8 NoSuchDomain "vm43" gpupass assign vm43
refused "an unknown group" 8 NoSuchGroup "pair7" gpupass assign vm42 pair7
refused "a malformed address" 2 InvalidArgument "41:00" gpupass declare pairx 41:00 02:00.0
refused "an address that no GPU has" 3 NotBridged "" gpupass declare pairx 41:00.0 61:00.0
refused "a GPU that another group has" 6 InvalidConfig "pair0" gpupass declare pairx 02:00.0 03:00.0
promise "a declaration is forgotten" gpupass forget pair0
refused "a GPU without NVLink" 3 NotBridged "0000:03:00.0" gpupass declare pairx 02:00.0 03:00.0
declare_pair0
refused "a name that is none" 2 InvalidArgument "../x" gpupass declare ../x 01:00.0 02:00.0
refused "an unknown option of the command line" 2 "" "--fast" gpupass assign vm42 --fast
status=0
busctl call org.gpupass1 /org/gpupass1 org.gpupass1.Manager Assign 'ssa{sv}' vm42 pair0 1 lvie b true \
	2>"$work/err" || status=$?
promise "an unknown option key over D-Bus is refused by name" grep -q '"lvie"' "$work/err"
equal "and the call fails" 1 "$status"

printf '[Group]\nName=pair1\nGpu=zz:00.0\n' >/etc/gpupass/groups.d/broken.conf
kill -HUP "$gpupassd_pid"
promise "a config file with an error is told with file and line" \
	until_true 10 sh -c 'gpupass list 2>&1 | grep -q "groups.d/broken.conf:3"'
promise "and the groups of other files stay" sh -c 'gpupass list | grep -q "pair0 .*free"'
rm /etc/gpupass/groups.d/broken.conf
echo 'Detah=3' >>/etc/gpupass/gpupassd.conf
promise "gpupassd --check names a wrong key by file and line" \
	sh -c 'gpupassd --check 2>&1 | grep -Eq "gpupassd.conf:[0-9]+:"'
sed -i '$d' /etc/gpupass/gpupassd.conf

# ---- fault 42: a second instance ----
status=0
gpupassd 2>"$work/second" || status=$?
equal "a second daemon ends" 1 "$status"
promise "and says why" grep -q 'another gpupassd' "$work/second"
stop_gpupassd
gpupass list >/dev/null 2>"$work/err"
equal "without the daemon the client says so with exit code 7" 7 $?
finish
