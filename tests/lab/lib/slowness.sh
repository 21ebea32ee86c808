# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Limits follow the machine. A limit in a case is what an idle machine of the kind that the lab was
# written on needs at the most; `slowness` is how many times slower this one is now, with whatever
# else it has to do. A wait that ends when something comes true has four times that, because a load
# may come later: it costs nothing while all is well.

# measure_slowness: sets slowness, a whole number, at least 1. It takes a quarter of a second on an
# idle machine.
measure_slowness() {
	local i begin=${EPOCHREALTIME/[.,]/} took
	for ((i = 0; i < 200000; i++)); do :; done
	took=$((${EPOCHREALTIME/[.,]/} - begin))
	slowness=$(((took + 299999) / 300000))
}
