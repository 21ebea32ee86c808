#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 100
# host: pair-3090
# timeout: 900
#
# What somebody runs on real boards, on emulated ones: tests/hardware, from its question to its report, with
# the first of its parts. (The others: hardware-whole. Its guest has no agent: what a guest is asked,
# verify-guest shows.)
# shellcheck source=tests/lab/lib/case.sh
. "$(dirname "$0")/../lib/case.sh"

trial() { "$repo/tests/hardware" --report "$work/$1.tar" "${@:2}" </dev/null; }
member() { tar -xOf "$work/report.tar" "gpupass-report/$1"; }

up
"$here/define-vm" vm42 --free-ports 4
ends "without a declared or seen pair it refuses" 3 trial none vm42 --yes
promise "and says why" grep -q "pair0 is inferred" "$work/err"
declare_pair0
before=$(world)
ends "who does not type the domain's name gets nothing done" 3 trial none vm42
equal "after he was shown what would be" 1 "$(grep -c "will be shut down and started several times" "$work/out")"
ends "a domain that is not there is refused" 3 trial none vm43 --yes
promise "nothing was written" test ! -e "$work/none.tar"
equal "and nothing changed" "$before" "$(world)"

# The bare guest is up within a second or two of the lab's own time.
promise "all it tries cold holds" trial report vm42 --yes --only cold --boot "$(slow 10)" --patience "$(slow 120)"
equal "the host is as before" "$before" "$(world)"
member report.json >"$work/report.json"
equal "the part is in the report" "cold" "$(jq -r '[.steps[].part] | unique | join(" ")' "$work/report.json")"
equal "no step failed" 0 "$(jq '[.steps[] | select(.held == false)] | length' "$work/report.json")"
promise "resets have their receipts" jq -e '.receipts | length >= 1 and all(.good)' "$work/report.json"
promise "jobs have the times of their steps" \
	jq -e '[.steps[] | select(.steps) | .steps[].duration_usec] | add > 0' "$work/report.json"
promise "the boards are a snapshot that could be a fixture" sh -c "tar -xOf $work/report.tar gpupass-report/snapshot.json |
	jq -e '[.functions[] | select(.vendor == \"10de\")] | length == 6'"
promise "a bundle from before and one from after are in it" sh -c "tar -tf $work/report.tar |
	grep -qx gpupass-report/before.tar && tar -xOf $work/report.tar gpupass-report/after.tar | tar -t | grep -q doctor.json"
equal "no name is in it" "" "$(tar -xOf "$work/report.tar" | tr '\0' '\n' | grep -aE "vm42|$(virsh -q domuuid vm42)")"
finish
