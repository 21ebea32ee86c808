#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Which packages each part of the project needs, and how to get those that are missing. Sourced by
# tests/run, tests/demo, tests/fresh and tests/lab/boot. As a program it calls the function that
# its arguments name. Package names are those that Debian 12, Debian 13 and Ubuntu 24.04 share;
# nothing here names a version.
#
# deps_PART is installed. deps_PART_unpacked is unpacked into build/tools with all that it depends
# on: if it were installed, it would start a service or act at the next boot. deps_PART_alone is
# unpacked without what it depends on.

# shellcheck disable=SC2034 # all of these are for deps_prepare and for those who source this
{
	deps_build="gcc meson ninja-build pkg-config libvirt-dev libpci-dev libsystemd-dev libjansson-dev
		libarchive-dev libblkid-dev libkmod-dev libmnl-dev libnvme-dev libxml2-dev libinih-dev libsmartcols-dev
		libunistring-dev nettle-dev scdoc"
	# To build the packages, which is how the lab gets what it tests, and what they depend on.
	deps_packages="git build-essential debhelper dpkg-dev fakeroot kmod systemd udev"
	deps_package_checks="lintian rpm rpmlint cockpit-bridge"
	# Other days, and other machines, to build on.
	deps_releases="faketime mmdebstrap"
	deps_test="git libcmocka-dev dbus dbus-daemon python3 systemd libvirt-daemon libvirt-clients pciutils
		libxml2-utils polkitd python3-jsonschema python3-pyte strace valgrind clustershell jq"
	# What reads gpupass' metrics, what sos collects, and the other bus.
	deps_test_unpacked="prometheus prometheus-node-exporter python3-prometheus-client sosreport dbus-broker"
	# What takes the user-data of `gpupass export`, and the guest in which its script runs.
	deps_guest="busybox-static python3-yaml gpg gpg-agent gpgv"
	deps_guest_unpacked="cloud-init"
	# What reads the config that `gpupass export` has for OpenStack: of nova alone, since
	# tests/bus/nova_kit.py stands in for all that it depends on.
	deps_nova_alone="python3-nova python3-os-traits python3-os-resource-classes python3-microversion-parse"
	# Shells whose completions are tested.
	deps_shells="zsh fish"
	deps_checks="git clang-format shellcheck python3 python3-jsonschema groff-base"
	# Without a symbolizer a sanitizer finds none of the functions that are to be suppressed.
	deps_clang="clang llvm lld"
	deps_tidy="clang-tidy"
	# The collection of Ansible in conf/ansible.
	deps_ansible="ansible-core ansible-lint yamllint"
	deps_ansible_unpacked="python3-voluptuous"
	# Cockpit's page in a browser.
	deps_cockpit="cockpit-ws cockpit-bridge cockpit-system chromium fonts-dejavu-core"
	# What the lab's cases use, beside what boots it.
	deps_cases="git iproute2 python3 libxml2-utils jq dmsetup dbus dbus-daemon polkitd qemu-utils resource-agents xsltproc"
	deps_lab="qemu-system-x86 libvirt-daemon-system libvirt-clients libvirt-daemon-driver-qemu
		libvirt-daemon busybox-static cpio e2fsprogs kmod make procps pciutils xz-utils zstd udev"
	# The cluster of tests/lab/cluster, and what simulates one.
	deps_pacemaker="resource-agents pacemaker-cli-utils xsltproc jq libxml2-utils"
	deps_cluster="corosync pacemaker crmsh $deps_pacemaker"
	# Whom tests/bench/run measures beside gpupass.
	deps_bench="driverctl bolt udisks2 pciutils libvirt-clients systemd util-linux"
}
# Services that the cluster's packages and Cockpit's bring, and that nobody wants on the machine:
# deps_install masks them first.
# shellcheck disable=SC2034
deps_masked="corosync.service pacemaker.service pacemaker_remote.service logd.service
	crm_mon.service corosync-notifyd.service"
# shellcheck disable=SC2034
deps_masked_cockpit="cockpit.socket"

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

# deps_download DIR PACKAGE…: their .debs into DIR, of what the package lists of this machine have.
deps_download() { (cd "$1" && shift && apt-get -qq -o APT::Sandbox::User=root download "$@" >&2); }

# deps_closure PACKAGE: it, and what apt would install with it here.
deps_closure() {
	{
		echo "$1"
		apt-get -qq --no-install-recommends -s install "$1" 2>/dev/null | sed -n 's/^Inst \([^ ]*\) .*/\1/p'
	} | sort -u
}

# deps_unpack DIR [--alone] PACKAGE…: unpacks into DIR/PACKAGE its files, and those of all that it
# depends on and that is not installed here; --alone: only its own. What is there already stays.
deps_unpack() {
	local dir=$1 package how=deps_closure deb
	shift
	[ "${1-}" != --alone ] || { how="echo" && shift; }
	for package; do
		[ ! -e "$dir/$package" ] || continue
		rm -rf "$dir/.$package"
		mkdir -p "$dir/.$package"
		# Words, split on purpose.
		# shellcheck disable=SC2046
		deps_download "$dir/.$package" $($how "$package") ||
			{ as_root apt-get -qq update >&2 && deps_download "$dir/.$package" $($how "$package"); } || {
			echo "gpupass: cannot download $package, or what it depends on" >&2
			return 1
		}
		for deb in "$dir/.$package/"*.deb; do
			dpkg -x "$deb" "$dir/.$package" && rm "$deb" || return 1
		done
		mv "$dir/.$package" "$dir/$package"
	done
}

# deps_of PART…: the packages that it names.
deps_of() {
	local part name
	for part; do
		name=deps_$part
		# Lines, joined on purpose.
		# shellcheck disable=SC2086
		echo ${!name-}
	done
}

# deps_prepare PART…: all that these parts need, installed or unpacked into build/tools.
# Lists of words, split on purpose.
# shellcheck disable=SC2046
deps_prepare() {
	local part
	deps_install $(deps_of "$@") || return
	for part; do
		case $part in
		# Named by clang's version, so that clang comes first.
		clang) deps_install "$(deps_sanitizers)" || return ;;
		lab) deps_install "$(deps_kernel_headers)" || return ;;
		esac
		deps_unpack build/tools $(deps_of "${part}_unpacked") || return
		deps_unpack build/tools --alone $(deps_of "${part}_alone") || return
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

# deps_mask UNIT…: masks each that the machine does not have, so that an installation does not
# start it, nor a boot. What is there already, is the machine's.
deps_mask() {
	local unit
	for unit; do
		[ ! -e "/lib/systemd/system/$unit" ] && [ ! -e "/usr/lib/systemd/system/$unit" ] &&
			[ ! -L "/etc/systemd/system/$unit" ] || continue
		as_root mkdir -p /etc/systemd/system && as_root ln -s /dev/null "/etc/systemd/system/$unit" || return
	done
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
	# Lists of words, split on purpose.
	# shellcheck disable=SC2086
	case " ${missing[*]}" in
	*" pacemaker"* | *" corosync"* | *" resource-agents"*) deps_mask $deps_masked || return ;;&
	*" cockpit-ws"*) deps_mask $deps_masked_cockpit || return ;;
	esac
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

# deps_unopened FILE: names the packages of tests/run that have no file among those that FILE lists.
# Documents do not count, a link stands for its target, and what Python compiled for its source.
deps_unopened() {
	local package file
	for package in $(deps_of build packages package_checks test guest shells checks clang tidy ansible cockpit cases \
		lab pacemaker | tr ' ' '\n' | sort -u); do
		# These only depend on others.
		case $package in build-essential | pkg-config) continue ;; esac
		dpkg-query -L "$package" | grep -v ^/usr/share/doc/ | xargs -d '\n' readlink -f |
			while read -r file; do [ ! -f "$file" ] || echo "$file"; done |
			grep -xFf <(sed 's|/__pycache__/\([^/]*\)\.cpython-[0-9]*\.pyc$|/\1.py|' "$1") >/dev/null ||
			echo "no file of $package was opened"
	done
}

[ "${BASH_SOURCE[0]}" != "$0" ] || "$@"
