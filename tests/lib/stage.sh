# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# stage BUILD-DIR: builds, and installs into build/root, from where the lab copies it into its
# own root.
stage() {
	local build=$1 log
	log=$(mktemp)
	if ! { { [ -e "$build/build.ninja" ] ||
		CC="${CC:-gcc}" meson setup "$build" --prefix=/usr --sysconfdir=/etc --libexecdir=libexec \
			-Dtests=disabled; } &&
		ninja -C "$build" && rm -rf build/root &&
		DESTDIR=$PWD/build/root meson install -C "$build" --no-rebuild --quiet; } >"$log" 2>&1; then
		tail -n 40 "$log" >&2
		rm -f "$log"
		return 1
	fi
	rm -f "$log"
}
