#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 240
# only --long
# boots itself
#
# An operator's whole way, by the packages and what they install alone: an older version is
# installed, a group declared, assigned and started, and verified; this version comes in the midst
# of a job; the host boots; the group is released, and the packages are removed and purged.
set -uo pipefail
cd "$(dirname "$(realpath "$0")")/../../.." || exit 1
mkdir -p build/lab
state=$(mktemp -d build/lab/state-XXXXXX)
trap 'rm -rf "$state"' EXIT
tests/lib/repack 0.0.9 build/packages build/packages/older >/dev/null || exit 1
boot() { tests/lab/boot --quiet --host pair-3090 --systemd --state "$state" --timeout 600 "$@" </dev/null; }

status=0
# fault I1
boot -- tests/lab/package/install || status=$?
[ -e "$state/host.tar" ] || exit "$((status > 0 ? status : 1))"
# fault I2
boot --before tests/lab/before/rebooted.sh -- tests/lab/package/reboot || status=$?
exit "$status"
