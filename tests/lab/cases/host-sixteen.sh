#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 150
# only --long
# host: sixteen
# timeout: 1200
#
# Sixteen GPUs in eight pairs: all given at once, bound as at a boot, and taken back; each domain
# has its own pair and no other.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

up
functions=() on_vfio=()
for ((i = 0; i < 8; i++)); do
	bus=$([ "$i" -lt 4 ] && echo 2 || echo a)
	n=$((i % 4 * 2 + 1))
	gpupass declare "pair$i" "$bus$n:00.0" "$bus$((n + 1)):00.0" >/dev/null ||
		bad "pair$i is declared" "exit status $?"
	pairs[i]="0000:$bus$n:00.0 0000:$bus$n:00.1 0000:$bus$((n + 1)):00.0 0000:$bus$((n + 1)):00.1"
	# shellcheck disable=SC2206
	functions+=(${pairs[i]})
	"$here/define-vm" "vm$i" --no-guest
done
for f in "${functions[@]}"; do on_vfio+=("$f vfio-pci"); done
# Of each domain: what its definition has.
all_hostdevs() { for ((i = 0; i < 8; i++)); do echo "vm$i $(hostdevs --inactive "vm$i" | paste -sd ' ')"; done; }
all_pairs() { for ((i = 0; i < 8; i++)); do echo "vm$i ${pairs[i]}"; done; }
groups_that_are() { gpupass list -j | jq --arg state "$1" '[.groups[] | select(.state == $state)] | length'; }
# time_of WHAT COMMAND…: shown, and judged by nobody.
time_of() {
	local begin=${EPOCHREALTIME/[.,]/}
	"${@:2}" || return
	echo "     $1: $(((${EPOCHREALTIME/[.,]/} - begin) / 1000)) ms" >&2
}
assign_at_once() {
	local jobs=() job status=0
	for ((i = 0; i < 8; i++)); do
		gpupass assign "vm$i" "pair$i" -q &
		jobs+=($!)
	done
	for job in "${jobs[@]}"; do wait "$job" || status=$?; done
	return "$status"
}
release_one_by_one() {
	for ((i = 0; i < 8; i++)); do gpupass release "vm$i" -q || return; done
}

before=$(world)
on_host=$(drivers "${functions[@]}")
time_of list gpupass list >"$work/list"
equal "eight pairs are free" 8 "$(groups_that_are free)"
time_of topology gpupass topology >"$work/topology"
equal "the topology has all sixteen" 16 \
	"$(for f in "${functions[@]}"; do [ "${f#*.}" != 0 ] || grep -o -m 1 "$f" "$work/topology"; done | sort -u | wc -l)"
doctor_finds_the_hosts_faults

time_of "eight assigns at once" promise "all are assigned at once" assign_at_once
equal "each domain has its pair, and no other" "$(all_pairs)" "$(all_hostdevs)"
equal "all 32 functions are on vfio-pci" "$(printf '%s\n' "${on_vfio[@]}")" "$(drivers "${functions[@]}")"

# As at a boot: nobody has bound anything yet, and the daemon does not run.
stop_gpupassd
for f in "${functions[@]}"; do
	echo "$f" >/sys/bus/pci/drivers/vfio-pci/unbind
	echo >"/sys/bus/pci/devices/$f/driver_override"
done
time_of "gpupass-bind" promise "at a boot all are bound" /usr/libexec/gpupass/gpupass-bind --all
equal "every function" "$(printf '%s\n' "${on_vfio[@]}")" "$(drivers "${functions[@]}")"
start_gpupassd
equal "the next daemon shows eight that are assigned" 8 "$(groups_that_are assigned)"
time_of "eight releases" promise "all are released" release_one_by_one
equal "the drivers are those before" "$on_host" "$(drivers "${functions[@]}")"
equal "and so is the rest" "$before" "$(world)"
finish
