# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Which packages each part of the project needs, and how to get those that are missing.
# Sourced by tests/run, tests/demo and tests/lab/boot. Package names are those that Debian 12,
# Debian 13 and Ubuntu 24.04 share; nothing here names a version.

# shellcheck disable=SC2034 # for those who source this
deps_build="gcc meson ninja-build pkg-config libvirt-dev libpci-dev libsystemd-dev libjansson-dev
	libarchive-dev libxml2-dev libinih-dev libsmartcols-dev nettle-dev scdoc"
# shellcheck disable=SC2034
deps_test="git libcmocka-dev dbus dbus-daemon python3 systemd libvirt-daemon libvirt-clients pciutils
	polkitd python3-dbusmock valgrind"
# shellcheck disable=SC2034
deps_checks="git clang-format shellcheck python3 groff-base"
# shellcheck disable=SC2034
deps_clang="clang"
# shellcheck disable=SC2034
deps_tidy="clang-tidy"
# What the lab's cases use, beside what boots it.
# shellcheck disable=SC2034
deps_cases="git python3 libxml2-utils jq dmsetup dbus dbus-daemon polkitd qemu-utils"
# shellcheck disable=SC2034
deps_lab="qemu-system-x86 libvirt-daemon-system libvirt-clients libvirt-daemon-driver-qemu
	libvirt-daemon busybox-static cpio e2fsprogs kmod make procps pciutils xz-utils zstd udev"

# The headers that match the kernel the lab boots: Debian and Ubuntu name the meta package apart.
# Each knows the other's name as well, from dependencies of other packages: apt-cache then succeeds,
# and shows nothing.
deps_kernel_headers() {
	if [ -n "$(apt-cache show linux-headers-amd64 2>/dev/null)" ]; then
		echo linux-headers-amd64
	else
		echo linux-headers-generic
	fi
}

# clang's sanitizers are a package of their own, named by clang's version; so clang comes first.
deps_sanitizers() {
	echo "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
}

deps_missing() {
	local p
	for p in "$@"; do
		dpkg-query -W -f='${db:Status-Status}\n' "$p" 2>/dev/null | grep -qx installed || echo "$p"
	done
}

# as_root CMD…: run as root, through sudo where the caller is not root.
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		echo "gpupass: this needs root; run it as root or install sudo" >&2
		return 1
	fi
}

# deps_install PACKAGE…: install those that are missing, saying which and why.
deps_install() {
	local missing
	mapfile -t missing < <(deps_missing "$@" | sort -u)
	[ "${#missing[@]}" -gt 0 ] || return 0
	command -v apt-get >/dev/null || {
		echo "gpupass: missing packages: ${missing[*]}" >&2
		echo "gpupass: this machine has no apt-get; install them by hand" >&2
		return 1
	}
	echo "Installing ${#missing[@]} packages: ${missing[*]}" >&2
	local log
	log=$(mktemp)
	if ! { as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq update &&
		as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends \
			-o Dpkg::Use-Pty=0 install "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
		tail -n 20 "$log" >&2
		rm -f "$log"
		echo "gpupass: apt-get could not install: ${missing[*]}" >&2
		return 1
	fi
	rm -f "$log"
}
