#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 126
# only --long
# boots itself
#
# The power fails for real: the lab goes down without a sync in the midst of an assign, then of a
# release, and boots again from its disk, with systemd, gpupass-bind.service, libvirt and gpupassd.
set -uo pipefail
cd "$(dirname "$(realpath "$0")")/../../.." || exit 1
mkdir -p build/lab
image=$(mktemp build/lab/disk-XXXXXX)
trap 'rm -f "$image"' EXIT
truncate -s 64M "$image"
PATH=$PATH:/usr/sbin:/sbin mkfs.ext4 -q "$image" || exit 1
gcc -O2 -Wall -shared -fPIC -o build/lab/cut.so tests/lab/power/cut.c || exit 1

status=0
# boot_until NAME OPTION COMMAND…
boot_from_disk() {
	tests/lab/boot --quiet --host pair-3090 --systemd --before tests/lab/before/disk.sh \
		--disk "$image" --timeout 240 "$@" </dev/null || status=1
}
# cut STATE SYNCS VERB…: the power fails after that many syncs of VERB.
cut() {
	local state=$1 syncs=$2
	shift 2
	boot_from_disk --power-cut -- env "CUT_AFTER=$syncs" tests/lab/power/inside "$state" "$@"
	if [ "$status" = 0 ]; then
		echo "ok   the power fails in '$*', after $syncs syncs"
	else
		echo "FAIL the power fails in '$*', after $syncs syncs: it did not"
		exit 1
	fi
}
# Of an assign: the fence, 2; the journal; the functions are bound; the boards' marks, 3; the domain is defined: 6.
cut before 6 assign vm42 pair0
# Of a release: the fence, 2; the journal; the definition; the receipt of the reset, 2; the marks, 3; the functions go
# back: 8.
cut before 8 release vm42
boot_from_disk -- tests/lab/power/inside after
exit "$status"
