# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# What the lab tests is what an operator installs: the Debian packages of this tree.

# tree_files: what a release has, and what is new beside it.
tree_files() {
	git ls-files -co --exclude-standard 2>/dev/null ||
		find . -path ./build -prune -o -type f -printf '%P\n'
}

# copy_tree DIR: with the files' times, so that only what has changed is built again.
copy_tree() {
	local dir=$1 file
	mkdir -p "$dir"
	tree_files | while IFS= read -r file; do [ ! -f "$file" ] || echo "$file"; done |
		LC_ALL=C sort -u >"$dir.files"
	if [ -e "$dir.copied" ]; then
		LC_ALL=C comm -13 "$dir.files" "$dir.copied" | (cd "$dir" && xargs -r -d '\n' rm -f)
	fi
	xargs -r -d '\n' cp -pP --parents -t "$dir" <"$dir.files" && mv "$dir.files" "$dir.copied"
}

# build_packages: into build/packages, in a copy of the tree, because debhelper writes beside the
# sources.
build_packages() {
	local tree=build/packages/tree
	copy_tree "$tree" || return 1
	rm -f build/packages/*.deb build/packages/*.ddeb build/packages/*.buildinfo build/packages/*.changes
	(
		cd "$tree" || exit 1
		rm -rf debian/.debhelper debian/tmp debian/gpupass debian/gpupassd debian/cockpit-gpupass debian/files \
			debian/debhelper-build-stamp debian/*.debhelper debian/*.substvars
		DEB_BUILD_OPTIONS="noautodbgsym parallel=$(nproc) ${DEB_BUILD_OPTIONS-}" \
			dpkg-buildpackage -us -uc -b -nc
	)
}

# stage: builds the packages, and unpacks them into build/root, from where the lab copies them into
# its own root. Does nothing when they are of this tree already.
stage() {
	mkdir -p build/packages
	(
		flock 9
		stage_locked
	) 9>build/packages/lock
}
stage_locked() {
	local log now
	# The tests are no part of the packages.
	now=$({ tree_files | grep -v '^tests/' | xargs -d '\n' sh -c 'sha256sum "$@"; stat -c "%a %n" "$@"' - 2>/dev/null ||
		true; } | sha256sum)
	[ "$now" != "$(cat build/packages/staged 2>/dev/null)" ] || return 0
	rm -f build/packages/staged
	log=$(mktemp)
	if ! { build_packages && unpack_packages; } >"$log" 2>&1; then
		tail -n 40 "$log" >&2
		rm -f "$log"
		return 1
	fi
	mv "$log" build/packages/log
	echo "$now" >build/packages/staged
}

unpack_packages() {
	local package
	rm -rf build/root
	for package in build/packages/*.deb; do
		dpkg-deb -x "$package" build/root || return 1
	done
}
