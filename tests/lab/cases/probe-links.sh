#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 153
# host: two-pairs-a6000
# saved
# timeout: 960
#
# Four boards of one model, of which nothing is declared: NVML (a stand-in, installed where the
# loader finds the real one) tells which are bridged, and that lasts when they have left its driver.
# And it has their persistence mode.
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

promise "a stand-in for NVML is installed" cp /run/lab/libnvidia-ml.so.1 "$nvml"

# uuid BDF: as the nvidia driver tells it.
uuid() { sed -n 's/^GPU UUID:[ \t]*//p' "/proc/driver/nvidia/gpus/$1/information"; }
# nvml_tells [BDF PEER]…: these links, four each; the boards are told of while nvidia has them.
nvml_tells() {
	local gpu n
	for gpu in 41 61 a1 c1; do
		[ ! -e "/proc/driver/nvidia/gpus/0000:$gpu:00.0" ] ||
			echo "gpu 0000:$gpu:00.0 223010de 145910de $(uuid "0000:$gpu:00.0") 94.02.5c.00.02 -"
	done
	while [ $# -gt 0 ]; do
		for n in 0 1 2 3; do echo "link 0000:$1:00.0 $n up 00000000:$2:00.0"; done
		shift 2
	done
}
group() { gpupass list -j | jq -r ".groups[] | select(.name == \"$1\") | $2"; }

up
"$here/define-vm" vm42 --no-guest
before=$(world)
refused "undeclared, they are not assigned" 6 LinksUnknown "" gpupass assign vm42

nvml_tells 41 a1 a1 41 61 c1 c1 61 >"$nvml.scenario"
promise "gpupass probe" gpupass probe
equal "it finds the pairs, which are not beside each other" \
	"$(printf '%s\n' "pair0 probed NV4 free 0000:41:00.0,0000:a1:00.0" \
		"pair1 probed NV4 free 0000:61:00.0,0000:c1:00.0")" \
	"$(gpupass list -j | jq -r '.groups[] |
		"\(.name) \(.provenance) \(.link) \(.state) \(.gpus | join(","))"')"
equal "a probe changes nothing of the machine" "$before" "$(world)"

promise "assign needs no declaration" gpupass assign vm42 pair0
equal "on vfio-pci its links are those that were seen" "cached assigned NV4" \
	"$(group pair0 '"\(.provenance) \(.state) \(.link)"')"
stop_gpupassd
start_gpupassd
equal "a restarted daemon knows them" "cached assigned NV4" \
	"$(group pair0 '"\(.provenance) \(.state) \(.link)"')"
promise "show says when and how" sh -c \
	'gpupass show pair0 | grep -Eq "Seen: cached, 4 links, .* ago \(NVML 550.54.15\)"'

# The guest has two of the boards; the other two can still be asked.
nvml_tells 61 c1 c1 61 >"$nvml.scenario"
gpupass probe 2>"$work/err" >"$work/out"
equal "GPUs that are elsewhere are named and left out" 2 "$(grep -c 'it is on vfio-pci' "$work/err")"
equal "what was seen of them is kept" "cached assigned" \
	"$(group pair0 '"\(.provenance) \(.state)"')"
promise "release" gpupass release vm42
equal "the host is as before" "$before" "$(world)"

# fault L1
# A bridge that was moved since: what the operator declares is contradicted.
promise "another pairing is declared" gpupass declare left 41:00.0 a1:00.0
nvml_tells 41 61 61 41 a1 c1 c1 a1 >"$nvml.scenario"
promise "gpupass probe, after the bridges were moved" gpupass probe
equal "the declared group is degraded" degraded "$(group left .state)"
refused "and refused, with both peers named" 3 NotBridged \
	"0000:41:00.0 is linked to 0000:61:00.0, which is not a member" gpupass assign vm42 left
promise "forget" gpupass forget left
equal "then the groups are as the bridges are" "0000:41:00.0,0000:61:00.0" \
	"$(group pair0 '.gpus | join(",")')"

# fault P1
# Persistence mode: the driver forgets it with the GPU.
mode() { cat "/sys/kernel/gpupass-lab/0000:$1:00.0/persistence"; }
echo "persistence /sys/kernel/gpupass-lab" >>"$nvml.scenario"
install_nvidia_smi
knob 0000:41:00.0 persistence 1
promise "the plan shows that it is turned off" sh -c \
	'gpupass plan vm42 pair0 | grep -q "persistence mode of 0000:41:00.0 .* off"'
promise "assign, with persistence mode on" gpupass assign vm42 pair0
equal "no GPU left its driver with it" 0 "$(dmesg | grep -c 'removed with persistence mode on')"
promise "release" gpupass release vm42
equal "it is on again, of that GPU alone" "1 0" "$(mode 41) $(mode 61)"
knob 0000:61:00.0 fail_bind vfio-pci
refused "an assign that fails" 1 BindFailed "0000:61:00.0" gpupass assign vm42 pair0
knob 0000:61:00.0 fail_bind ""
equal "leaves it as it was" "1 0" "$(mode 41) $(mode 61)"
equal "and turned it off before" 0 "$(dmesg | grep -c 'removed with persistence mode on')"

# faults P9, P10
# nvidia-persistenced holds GPUs open, and lets go of those that leave, and of no other.
# keep FAULT: it has three of the four.
keep() { keep_gpus "$1" 0000:{41,61,a1}:00.0; }
# It has the GPUs open, and the socket, until it is gone.
end_keeper() {
	kill "$keeper"
	wait "$keeper" 2>/dev/null
}
knob 0000:41:00.0 persistence 0
keep refuse
refused "where it does not let go it is a holder, with what it said" 9 HostInUse \
	"0000:41:00.0: nvidia-smi failed with exit status 4: Unable" gpupass assign vm42 pair0
end_keeper
keep none
promise "the plan shows whom it asks" sh -c 'gpupass plan vm42 pair0 |
	grep -q "nvidia-smi: persistence mode of 0000:41:00.0 .* off"'
promise "assign, beside nvidia-persistenced" gpupass assign vm42 pair0
equal "it let go of the pair" "off 0000:41:00.0 off 0000:61:00.0" "$(grep off "$work/keeper" | sort | xargs)"
equal "and has the other one still" 1 "$(cat /sys/kernel/gpupass-lab/0000:a1:00.0/opens)"
promise "release" gpupass release vm42
equal "the mode is on again, by NVML" "1 1 0" "$(mode 41) $(mode 61) $(mode a1)"
end_keeper
rm -r /run/nvidia-persistenced

# fault L16
# NVML may open any GPU of its driver at any time. (The stand-in opens none, which nobody can see.)
promise "a pair is on vfio-pci" gpupass bind pair1
echo "hang init" >"$nvml.scenario"
gpupass probe --timeout="$(slow 20)" >/dev/null 2>&1 &
probe=$!
promise "a probe is under way" until_true 15 pgrep -f 'gpupass-worker.* probe '
refused "beside it no GPU is taken from the driver" 9 GroupBusy "probes the links" \
	gpupass assign vm42 pair0
promise "the others can be moved" gpupass unbind pair1
wait "$probe"
nvml_tells 41 61 61 41 a1 c1 c1 a1 >"$nvml.scenario"
refused "nor while a probe that was given up waits in NVML" 9 HostInUse "still waits in NVML" \
	gpupass assign vm42 pair0
pkill -f 'gpupass-worker.* probe '
promise "when that has ended they can" until_true 10 gpupass assign vm42 pair0
promise "release" gpupass release vm42

# fault L7
# NVML that never answers: its deadline, and nothing else.
echo "hang init" >"$nvml.scenario"
refused "an NVML that hangs is given up" 5 ProbeFailed "did not answer within" \
	gpupass probe --timeout=2
promise "lists answer" gpupass list
equal "what was known stays" "probed free" "$(group pair0 '"\(.provenance) \(.state)"')"
refused "a second one does not join it" 9 GroupBusy "of an earlier probe still waits" gpupass probe
stop_gpupassd
finish
