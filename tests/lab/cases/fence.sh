#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 75
# host: pair-3090
# saved
# timeout: 800
#
# libvirt starts no domain with GPUs that it may not have, whoever defined it and starts it.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

fence=/var/lib/gpupass/fence.json
half=(--hostdev 0000:01:00.0 --hostdev 0000:01:00.1)
whole=("${half[@]}" --hostdev 0000:02:00.0 --hostdev 0000:02:00.1)
xml() { "$here/define-vm" "$@" --no-guest --print; }

# not_started NAME TEXT DOMAIN COMMAND…: it fails with our reason in libvirt's error; nothing runs.
not_started() {
	local name=$1 text=$2 domain=$3
	shift 3
	if "$@" >"$work/out" 2>"$work/err"; then
		bad "$name" "it was started"
		virsh -q destroy "$domain"
	elif ! grep -F "gpupass: cannot start $domain: " "$work/err" | grep -F "$text" | grep -q "nothing was changed"; then
		bad "$name" "libvirt's error lacks our reason, \"$text\""
	elif virsh -q list --name | grep -qx "$domain"; then
		bad "$name" "it runs"
	else
		ok "$name"
		return
	fi
	sed 's/^/     | /' "$work/err"
}

# shellcheck disable=SC2317 # for promise
starts() {
	virsh -q start "$1" && virsh -q destroy "$1"
}

up
promise "the hook is where libvirt looks, and may run" test -x /etc/libvirt/hooks/qemu.d/gpupass
"$here/define-vm" plain --no-guest --free-ports 2
promise "a domain without our boards starts as ever" starts plain
declare_pair0
"$here/define-vm" vm1 --no-guest
promise "pair0 is assigned to vm1" gpupass assign vm1 pair0
promise "and vm1 starts as soon as gpupass says so" starts vm1

# fault D1
# promises T7, T8
"$here/define-vm" vm2 --no-guest "${half[@]}"
not_started "half of an assigned pair does not start" "only a part of group pair0" vm2 virsh -q start vm2
promise "the log of the daemon has named the domain" until_true 20 \
	grep -q "SplitGroup: domain vm2" "$work/gpupassd.log"
promise "and so do status and doctor" sh -c \
	'gpupass status 2>&1 | grep -q "SplitGroup: domain vm2" && gpupass doctor --json=short |
		jq -e ".checks[] | select(.id == \"split-groups\") | .status == \"fail\""'
# Of a domain without disks, so only its definition is reverted to.
{
	echo "<domainsnapshot><name>one</name><state>shutoff</state><creationTime>1700000000</creationTime>"
	echo "<memory snapshot='no'/>"
	virsh -q dumpxml vm2
	echo "</domainsnapshot>"
} >"$work/snapshot.xml"
promise "it has a snapshot" virsh -q snapshot-create vm2 "$work/snapshot.xml" --redefine
not_started "nor does a revert to its snapshot" "only a part of group pair0" vm2 \
	virsh -q snapshot-revert vm2 one --running
virsh -q snapshot-delete vm2 one --metadata
virsh -q undefine vm2
"$here/define-vm" vm3 --no-guest --managed "${whole[@]}"
not_started "another's group does not start, managed or not" "pair0 is assigned to vm1" vm3 virsh -q start vm3
virsh -q undefine vm3
# A function that a disk has below it, and no hostdev names.
xml disk --no-guest | sed "s,</devices>,<disk type='file'><driver name='qemu' type='qcow2'/><source file='/run/lab/disk.qcow2'/>\
<backingStore type='nvme'><format type='raw'/><source type='pci' managed='yes' namespace='1'>\
<address domain='0x0000' bus='0x01' slot='0x00' function='0x0'/></source><backingStore/></backingStore>\
<target dev='vda' bus='virtio'/></disk></devices>," >"$work/disk.xml"
promise "a domain is defined with a board below its disk" virsh -q define "$work/disk.xml"
not_started "it does not start" "only a part of group pair0" disk virsh -q start disk
virsh -q undefine disk
xml passing "${half[@]}" >"$work/passing.xml"
not_started "nor does a transient domain" "only a part of group pair0" passing virsh -q create "$work/passing.xml"
# field: host/05
xml past | sed "s|</domain>|<qemu:commandline xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>\
<qemu:arg value='-device'/><qemu:arg value='vfio-pci,host=01:00.0'/></qemu:commandline></domain>|" >"$work/past.xml"
not_started "nor by an argument for QEMU, past libvirt" "only a part of group pair0" past \
	virsh -q create "$work/past.xml"

# A domain with a hostdev cannot be saved. One without comes back through the same hook.
virsh -q start plain
promise "a domain is saved" virsh -q managedsave plain
promise "and restored" virsh -q start plain
virsh -q destroy plain

# ---- quarantine ----
stop_gpupassd
cat >/var/lib/gpupass/quarantine/pair0.json <<'JSON'
{"schema": "org.gpupass1.quarantine/1", "group": "pair0", "reason": "a reset failed", "job": 9,
 "since_usec": 1700000000000000, "functions": ["0000:01:00.0", "0000:02:00.0"]}
JSON
start_gpupassd
not_started "a quarantined group does not start, even for its own domain" "pair0 is quarantined" vm1 \
	virsh -q start vm1
promise "cleared" gpupass clear pair0
promise "it does" starts vm1

# ---- fault D3: the daemon is down ----
stop_gpupassd
promise "while the daemon is down, what is assigned starts" starts vm1
not_started "and what is not does not" "only a part of group pair0" passing virsh -q create "$work/passing.xml"
"$here/define-vm" vm2 --no-guest "${half[@]}"
virsh -q autostart vm1
virsh -q autostart vm2
pkill -x libvirtd
until_true 30 sh -c '! pgrep -x libvirtd'
# It autostarts once a boot, and this is to be the next.
rm -f /run/libvirt/qemu/autostarted
"$here/libvirt-up"
promise "libvirt's own autostart gives vm1 its group before the daemon is up" until_true 30 \
	sh -c 'virsh -q domstate vm1 | grep -q running'
equal "and vm2 nothing" "shut off" "$(virsh -q domstate vm2 | head -n 1)"
virsh -q destroy vm1
virsh -q undefine vm2

# ---- fault D2: a fence that cannot be used ----
for damage in empty torn newer missing; do
	cp "$fence" "$work/fence"
	case $damage in
	empty) : >"$fence" ;;
	torn) truncate -s 200 "$fence" ;;
	newer) sed -i 's,fence/1,fence/9,' "$fence" ;;
	missing) rm "$fence" ;;
	esac
	not_started "a fence that is $damage lets no GPU pass" "the fence cannot be used" vm1 virsh -q start vm1
	[ "$damage" != missing ] || promise "but what has none" starts plain
	cp "$work/fence" "$fence"
done
rm "$fence"
start_gpupassd
promise "the daemon writes it again, and vm1 starts" starts vm1

# ---- fault D4: a running domain passes no hook ----
promise "the group is released" gpupass release vm1
promise "and goes to vfio-pci, as a panel would do it" gpupass bind pair0
virsh -q start plain
xml none --hostdev 0000:01:00.0 | sed -n '/<hostdev/,/<\/hostdev>/p' >"$work/hostdev.xml"
promise "half of it is attached past gpupass" virsh -q attach-device plain "$work/hostdev.xml" --live
promise "the group is foreign at once" until_true 10 sh -c 'gpupass list | grep -Eq "pair0 .*foreign"'
promise "and the log says which domain has what" until_true 20 grep -q \
	"SplitGroup: domain plain (.*) runs with 0000:01:00.0 of pair0 and not with" "$work/gpupassd.log"
promise "a part that was taken away again" virsh -q destroy plain
promise "is told, too" until_true 20 grep -q "no longer so: SplitGroup: domain plain" "$work/gpupassd.log"
finish
