# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Reads a host file (tests/lab/README.md has its form) and works out from it QEMU's arguments, the
# addresses that the functions will have, and what labpci and the lab's init are to do with them.
# Sourced by boot. read_host FILE sets: host_qemu host_kernel_args host_functions host_drivers

declare -A conf=()             # "kind name key" -> value
declare -A names=()            # kind -> its names in the file's order
declare -A bus_of=()           # QEMU bus id -> its number
declare -A children=()         # QEMU bus id -> bridges on it, as "device-number:id", in order
declare -A next_addr=()        # QEMU bus id -> next free device number
host_qemu=()
host_functions=()              # lines for labpci's define
host_drivers=()                # "BDF DRIVER"

host_fail() {
	echo "lab: ${host_file##*/}: $*" >&2
	exit 2
}

get() { echo "${conf["$1 $2 $3"]-${4-}}"; }

parse_host() {
	local line kind='' name='' key
	while IFS= read -r line || [ -n "$line" ]; do
		line=${line#"${line%%[![:space:]]*}"}
		line=${line%"${line##*[![:space:]]}"}
		case $line in
		'' | '#'* | ';'*) ;;
		'['*']')
			read -r kind name <<<"${line:1:-1}"
			names[$kind]+=" ${name:-host}"
			name=${name:-host}
			;;
		*=*)
			[ -n "$kind" ] || host_fail "a setting before any section: $line"
			key=${line%%=*}
			key=${key%"${key##*[![:space:]]}"}
			line=${line#*=}
			conf["$kind $name $key"]=${line#"${line%%[![:space:]]*}"}
			;;
		*) host_fail "neither a section nor a setting: $line" ;;
		esac
	done <"$1"
}

# take_addr BUS: the next free device number there, in $addr.
take_addr() {
	addr=${next_addr[$1]-1}
	next_addr[$1]=$((addr + 1))
}

# add_bridge BUS ID DEVICE
add_bridge() { children[$1]+=" $(printf '%02x' "$3"):$2"; }

# Firmware numbers buses depth first, by device number; the kernel leaves them so.
number_buses() {
	local entry
	for entry in $(tr ' ' '\n' <<<"${children[$1]-}" | sort); do
		bus_counter=$((bus_counter + 1))
		bus_of[${entry#*:}]=$bus_counter
		number_buses "${entry#*:}"
	done
}

# Where a thing that says "in = NAME" goes: the QEMU bus of that port or expander.
bus_named() {
	local kind
	for kind in port expander; do
		case " ${names[$kind]-} " in *" $1 "*) echo "$kind-$1" && return ;; esac
	done
	host_fail "there is no port or expander called '$1'"
}

add_nodes() {
	local n total id
	# shellcheck disable=SC2206
	local nodes=(${names[node]-})
	[ "${#nodes[@]}" -gt 0 ] || return 0
	total=$(get host host memory 2048)
	for n in "${nodes[@]}"; do
		id=node-$n
		host_qemu+=(-object "memory-backend-ram,id=$id,size=$((total / ${#nodes[@]}))M")
		host_qemu+=(-numa "node,nodeid=$n,memdev=$id")
	done
	host_qemu+=(-numa "cpu,node-id=${nodes[0]},socket-id=0,core-id=0,thread-id=0")
}

# Root complexes of their own, as a NUMA node has: pxb-pcie with a fixed first bus.
add_expanders() {
	local n addr
	for n in ${names[expander]-}; do
		take_addr pcie.0
		host_qemu+=(-device "pxb-pcie,id=expander-$n,bus=pcie.0,addr=$(printf %x "$addr"),bus_nr=$(get expander "$n" bus),numa_node=$(get expander "$n" node 0)")
		next_addr[expander-$n]=0
	done
}

# A root port, a device of its own.
add_port() {
	local n=$1 bus=pcie.0 in
	in=$(get port "$n" in)
	[ -z "$in" ] || bus=$(bus_named "$in")
	take_addr "$bus"
	host_qemu+=(-device "pcie-root-port,id=port-$n,bus=$bus,addr=$(printf %x "$addr"),chassis=$chassis,slot=$(get port "$n" slot "$chassis"),x-speed=16,x-width=16")
	add_bridge "$bus" "port-$n" "$addr"
}

add_switch_port() {
	local n=$1 bus
	bus=switch-$(get port "$n" switch)
	take_addr "$bus"
	host_qemu+=(-device "xio3130-downstream,id=port-$n,bus=$bus,addr=$(printf %x "$addr"),chassis=$chassis,slot=$(get port "$n" slot "$chassis")")
	add_bridge "$bus" "port-$n" "$addr"
}

# Ports come before what sits in them, a switch before its own ports, and those before the next one.
add_ports() {
	local n port chassis=0 addr bus
	for port in ${names[port]-}; do
		chassis=$((chassis + 1))
		[ -n "$(get port "$port" switch)" ] || add_port "$port"
	done
	for n in ${names[switch]-}; do
		bus=$(bus_named "$(get switch "$n" in)")
		host_qemu+=(-device "x3130-upstream,id=switch-$n,bus=$bus")
		add_bridge "$bus" "switch-$n" 0
		next_addr[switch-$n]=0
		for port in ${names[port]-}; do
			chassis=$((chassis + 1))
			[ "$(get port "$port" switch)" != "$n" ] || add_switch_port "$port"
		done
	done
}

number_all() {
	local n bus_counter=0
	number_buses pcie.0
	for n in ${names[expander]-}; do
		bus_counter=$(($(get expander "$n" bus)))
		bus_of[expander-$n]=$bus_counter
		number_buses "expander-$n"
	done
}

bdf_of() { printf '0000:%02x:%02x.%x' "${bus_of[$1]}" "$2" "$3"; }

# Downstream ports of a switch with "acs = on" get that capability from labpci.
add_acs() {
	local n s i
	for s in ${names[switch]-}; do
		[ "$(get switch "$s" acs off)" = on ] || continue
		i=0
		for n in ${names[port]-}; do
			[ "$(get port "$n" switch)" = "$s" ] || continue
			host_functions+=("$(bdf_of "switch-$s" "$i" 0)"$'\tacs=1')
			i=$((i + 1))
		done
	done
}

# The value of "key=value" in a function's words.
word() {
	local w
	for w in $2; do
		[ "${w%%=*}" != "$1" ] || { echo "${w#*=}" && return; }
	done
	echo "${3-}"
}

qemu_device() {
	local spec=$1 base bar
	base=$(word base "$spec" e1000e)
	bar=$(word bar "$spec")
	[ -z "$bar" ] || base=pci-testdev,membar=$bar
	[ "${base%%,*}" != e1000e ] || base+=,romfile=
	echo "$base"
}

# function_line GPU SPEC BDF: what labpci is to show at that address.
function_line() {
	local g=$1 spec=$2 line=$3 key value
	line+=$'\t'id=$(word id "$spec")$'\t'class=$(word class "$spec" 030000)
	line+=$'\t'revision=$(word revision "$spec" "$(get gpu "$g" revision a1)")
	line+=$'\t'flr=$([ "$(get gpu "$g" reset flr)" = flr ] && echo 1 || echo 0)
	for key in subsystem link dsn vf; do
		value=$(word "$key" "$spec" "$(get gpu "$g" "$key")")
		[ -z "$value" ] || line+=$'\t'$key=${value//-/}
	done
	for key in model uuid vbios; do
		value=$(get gpu "$g" "$key")
		[ -z "$value" ] || line+=$'\t'$key=$value
	done
	host_functions+=("$line")
}

# Virtual functions come later, when someone enables them; they get their identity then.
add_vfs() {
	local g=$1 bus=$2 spec=$3 first count i rid line
	count=$(word vfs "$spec" 0)
	first=$(word vf-first "$spec" 1)
	for ((i = 0; i < count; i++)); do
		rid=$((first + i))
		line="$(bdf_of "$bus" $((rid >> 3)) $((rid & 7)))"$'\tlate=1'
		host_functions+=("$line"$'\t'"class=$(word class "$spec" 030200)"$'\t'"revision=$(get gpu "$g" revision a1)"$'\t'"subsystem=$(get gpu "$g" subsystem)")
	done
}

add_gpu() {
	local g=$1 bus i spec multi=''
	bus=$(bus_named "$(get gpu "$g" in)")
	[ -z "$(get gpu "$g" function.1)" ] || multi=,multifunction=on
	for i in 0 1 2 3 4 5 6 7; do
		spec=$(get gpu "$g" "function.$i")
		[ -n "$spec" ] || continue
		host_qemu+=(-device "$(qemu_device "$spec"),bus=$bus,addr=0.$i$multi")
		function_line "$g" "$spec" "$(bdf_of "$bus" 0 "$i")"
		host_drivers+=("$(bdf_of "$bus" 0 "$i") $(word driver "$spec" none)")
		add_vfs "$g" "$bus" "$spec"
	done
}

read_host() {
	local n
	host_file=$1
	parse_host "$host_file"
	host_qemu=(-m "$(get host host memory 2048)" -smp 1)
	host_kernel_args="intel_iommu=on iommu=pt $(get host host kernel-arguments)"
	for n in $(get host host qemu-devices); do host_qemu+=(-device "$n"); done
	host_qemu+=(-device "intel-iommu,intremap=on,caching-mode=on,device-iotlb=on,aw-bits=48")
	# On-board graphics, so that no GPU is the boot VGA. Native hotplug names slots by their
	# number.
	host_qemu+=(-device "VGA,bus=pcie.0,addr=1d,romfile=,vgamem_mb=1")
	host_qemu+=(-global "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off")
	add_nodes
	add_expanders
	add_ports
	number_all
	add_acs
	for n in ${names[gpu]-}; do add_gpu "$n"; done
}
