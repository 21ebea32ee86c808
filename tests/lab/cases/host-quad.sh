#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 54
# host: quad-h200
#
# Four H200 NVL on one bridge: a group of four, on two NUMA nodes, with serial numbers.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

up
"$here/define-vm" vm42 --no-guest
refused "four H200 NVL could be a quad or two pairs: not assigned without a declaration" \
	6 LinksUnknown "gpupass declare" gpupass assign vm42
promise "a quad is declared" gpupass declare quad0 19:00.0 1a:00.0 99:00.0 9a:00.0
doctor_finds_the_hosts_faults
# Boards from Turing on. A QEMU that has room for the capability of theirs lacks KVM here.
qemu=$(qemu-system-x86_64 --version | sed -n 's/.*version \([0-9]*\.[0-9]*\).*/\1/p')
why="boards from Turing on need 8.1"
[ "$(printf '%s\n' "$qemu" 8.1 | sort -V | head -n 1)" != 8.1 ] || why="its hypervisor is not KVM"
refused "peer access is refused for them with QEMU $qemu" 3 UnsupportedDomain "$why" \
	gpupass assign vm42 quad0 --peer-access
before=$(world)
promise "assign takes all four" gpupass assign vm42
equal "all four are hostdevs" 4 "$(hostdevs --inactive vm42 | wc -l)"
gpupass list >"$work/list"
promise "the list shows the group of four over both nodes" grep -Eq 'quad0 .*assigned +vm42' "$work/list"
promise "release" gpupass release quad0
equal "the host is as before" "$before" "$(world)"
serial=$(gpupass show 19:00.0 --json=short | jq -r '.gpus[0].facts["serial-number"]')
promise "the Device Serial Number is read when asked for" test -n "$serial"
promise "a pair is declared by serial number and address" sh -c "gpupass forget quad0 &&
	gpupass declare pair0 serial:$serial 1a:00.0"
promise "and found" sh -c 'gpupass list | grep -Eq "pair0 .*0000:19:00.0,0000:1a:00.0"'

# fault 56
# With OVMF, and what --fit=apply writes for two BARs of 64 GiB in 40 address bits. Whether a
# guest's firmware then finds room takes minutes here; see README.md, UEFI.
"$here/define-vm" vm43 --uuid 43434343-4343-4343-8343-434343434343 --uefi --no-guest
before=$(world)
promise "a UEFI domain gets the pair with all that lets it fit" \
	gpupass assign vm43 pair0 --fit=apply --numa=apply
assigned=$(virsh -q dumpxml --inactive vm43)
equal "libvirt has kept the size of the firmware's window, and the node" \
	"name=opt/ovmf/X-PciMmio64Mb,string=524288 preferred 0" \
	"$(xmllint --xpath 'concat(//*[local-name()="arg"][last()]/@value, " ", //numatune/memory/@mode, " ",
		//numatune/memory/@nodeset)' - <<<"$assigned")"
promise "QEMU starts with it, and with the functions" virsh -q start --paused vm43
promise "no CPU has run yet" sh -c "virsh qemu-monitor-command vm43 '{\"execute\":\"query-status\"}' |
	jq -e '.return.running == false'"
promise "the firmware is OVMF" sh -c "virsh qemu-monitor-command vm43 --hmp 'info mtree' | grep -q system.flash0"
promise "QEMU was given the window's size" grep -qaF 'name=opt/ovmf/X-PciMmio64Mb,string=524288' \
	"/proc/$(cat /run/libvirt/qemu/vm43.pid)/cmdline"
virsh -q destroy vm43
virsh -q define /run/lab/vm43.xml >/dev/null
promise "of a definition made anew, drift tells what is applied again" \
	sh -c "gpupass reconcile --dry-run | grep -q 'fit=apply and --numa=apply of its assignment are applied again'"
promise "reconcile writes it" gpupass reconcile pair0
equal "all of it, as it was assigned" "$assigned" "$(virsh -q dumpxml --inactive vm43)"
promise "and release" gpupass release vm43
equal "takes out all that gpupass wrote, and nothing else" "$before" "$(world)"
finish
