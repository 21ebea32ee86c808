#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long: 120
# boots itself
#
# The power fails while an NVMe is being erased. The next boot erases it again.
set -uo pipefail
cd "$(dirname "$(realpath "$0")")/../../.." || exit 1
mkdir -p build/lab
state=$(mktemp -d build/lab/state-XXXXXX)
trap 'rm -rf "$state"' EXIT

boot() { tests/lab/boot --quiet --host pair-nvme --state "$state" --timeout 300 "$@" </dev/null; }
# promise M6
# fault E2
if boot --power-cut -- tests/lab/power/nvme cut; then
	echo "ok   the power fails while the NVMe is being erased"
else
	echo "FAIL the power fails while the NVMe is being erased: it did not"
	exit 1
fi
boot -- tests/lab/power/nvme after
