#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 60
# host: pair-3090
# saved
# timeout: 900
#
# A domain with two groups, a pair and a GPU without NVLink: given together and one by one, shut off
# and running, bound again as at a boot, and taken back.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

pair=(0000:01:00.0 0000:01:00.1 0000:02:00.0 0000:02:00.1)
solo=(0000:03:00.0 0000:03:00.1)
all=$(printf '%s\n' "${pair[@]}" "${solo[@]}")
on_vfio() { for f in "$@"; do echo "$f vfio-pci"; done; }
# shellcheck disable=SC2012 # names of ours
records() { (cd /etc/gpupass/assignments.d && ls | sed "s/^$1/UUID/"); }
domains() { gpupass list -j | jq -r '.groups[] | "\(.name) \(.domain.name // "-")"'; }

up
declare_pair0
promise "a GPU without NVLink is declared a group" gpupass declare solo0 03:00.0
equal "it is free, and has no link" "declared - free" \
	"$(gpupass list -j | jq -r '.groups[] | select(.name == "solo0") | "\(.provenance) \(.link) \(.state)"')"

"$here/define-vm" vm42 --no-guest
uuid=$(virsh -q domuuid vm42)
before=$(world)
promise "one command gives a domain both" gpupass assign vm42 pair0 solo0
equal "its definition has all six functions" "$all" "$(hostdevs --inactive vm42)"
equal "all are on vfio-pci" "$(on_vfio "${pair[@]}" "${solo[@]}")" "$(drivers "${pair[@]}" "${solo[@]}")"
equal "each group has a record" "UUID.json
UUID_0000:03:00.0.json" "$(records "$uuid")"
promise "libvirt starts it with both" virsh -q start vm42
equal "QEMU has all six" "$all" \
	"$(virsh -q qemu-monitor-command vm42 --hmp info qtree |
		sed -n 's/^ *host = "\(0000:.*\)"\r*$/\1/p' | sort)"
gpupass verify vm42 >"$work/verdicts" 2>&1
equal "each group gets a verdict" "pair0 in vm42: UNKNOWN
solo0 in vm42: UNKNOWN" "$(grep ' in vm42: ' "$work/verdicts")"
virsh -q destroy vm42
"$here/define-vm" vm2 --no-guest --hostdev "${solo[0]}" --hostdev "${solo[1]}"
if virsh -q start vm2 2>"$work/err"; then
	bad "no other domain starts with the single" "it was started"
	virsh -q destroy vm2
else
	promise "no other domain starts with the single" grep -q "solo0 is assigned to vm42" "$work/err"
fi
virsh -q undefine vm2

# As at a boot: nobody has bound anything yet, and the daemon does not run.
stop_gpupassd
for f in "${pair[@]}" "${solo[@]}"; do
	echo "$f" >/sys/bus/pci/drivers/vfio-pci/unbind
	echo >"/sys/bus/pci/devices/$f/driver_override"
done
promise "at a boot both are bound" /usr/libexec/gpupass/gpupass-bind --all
equal "all six functions" "$(on_vfio "${pair[@]}" "${solo[@]}")" "$(drivers "${pair[@]}" "${solo[@]}")"
start_gpupassd
equal "the daemon knows both" "pair0 vm42
solo0 vm42" "$(domains)"
equal "and finds nothing to mend" 0 "$(gpupass reconcile --dry-run -j | jq '.findings | length')"

# fault 61
promise "one is released, and the other stays" gpupass release solo0
equal "in the definition" "$(printf '%s\n' "${pair[@]}")" "$(hostdevs --inactive vm42)"
equal "and in the records" "UUID.json" "$(records "$uuid")"
promise "it comes again beside the pair" gpupass assign vm42 solo0
promise "a release of the domain takes all back" gpupass release vm42
equal "the host is as before" "$before" "$(world)"

# ---- while it runs ----
virsh -q undefine vm42
"$here/define-vm" vm77 --free-ports 6 --start
promise "a guest is up" "$here/define-vm" --wait vm77 0 120
promise "it gets the single" gpupass assign vm77 solo0
promise "and the pair" gpupass assign vm77 pair0
promise "the guest sees all six functions" "$here/define-vm" --wait vm77 6 120
promise "the single goes" gpupass release solo0
promise "the guest keeps the pair" "$here/define-vm" --wait vm77 4 120
promise "and lets go of it, too" gpupass release vm77
promise "of all of it" "$here/define-vm" --wait vm77 0 120
equal "nothing is recorded any more" "" "$(records none)"
stop_gpupassd
finish
