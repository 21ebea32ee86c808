# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Which packages each part of the project needs, and how to get those that are missing.
# Sourced by tests/run, tests/demo and tests/lab/boot. Package names are those that Debian 12,
# Debian 13 and Ubuntu 24.04 share; nothing here names a version.

# shellcheck disable=SC2034 # for those who source this
deps_build="gcc meson ninja-build pkg-config libvirt-dev libpci-dev libsystemd-dev libjansson-dev
	libarchive-dev libxml2-dev libinih-dev libsmartcols-dev nettle-dev scdoc"
# To build the packages, which is how the lab gets what it tests.
# shellcheck disable=SC2034
deps_packages="git build-essential debhelper dpkg-dev fakeroot systemd udev"
# shellcheck disable=SC2034
deps_package_checks="lintian rpm rpmlint"
# shellcheck disable=SC2034
deps_test="git libcmocka-dev dbus dbus-daemon python3 systemd libvirt-daemon libvirt-clients pciutils
	libxml2-utils polkitd python3-dbusmock python3-jsonschema python3-pyte valgrind"
# What takes the user-data of `gpupass export`, and the guest in which its script runs. cloud-init
# would act at the next boot, so it is unpacked into build/tools.
# shellcheck disable=SC2034
deps_guest="busybox-static python3-yaml python3-jsonschema python3-jinja2 python3-oauthlib"
# shellcheck disable=SC2034
deps_guest_unpacked="cloud-init python3-configobj"
# What reads the config that `gpupass export` has for OpenStack: unpacked into build/tools, without
# the libraries of the rest of nova.
# shellcheck disable=SC2034
deps_nova="python3-nova python3-os-traits python3-os-resource-classes python3-microversion-parse"
# Shells whose completions are tested, and the pager that must not be a way to a shell.
# shellcheck disable=SC2034
deps_shells="zsh fish less"
# shellcheck disable=SC2034
deps_checks="git clang-format shellcheck python3 python3-jsonschema groff-base"
# shellcheck disable=SC2034
deps_clang="clang"
# shellcheck disable=SC2034
deps_tidy="clang-tidy"
# The collection of Ansible in conf/ansible.
# shellcheck disable=SC2034
deps_ansible="ansible-core ansible-lint yamllint"
# What the lab's cases use, beside what boots it.
# shellcheck disable=SC2034
deps_cases="git python3 libxml2-utils jq dmsetup dbus dbus-daemon polkitd qemu-utils resource-agents xsltproc"
# shellcheck disable=SC2034
deps_lab="qemu-system-x86 libvirt-daemon-system libvirt-clients libvirt-daemon-driver-qemu
	libvirt-daemon busybox-static cpio e2fsprogs kmod make procps pciutils xz-utils zstd udev"

# The cluster of tests/lab/cluster, and what simulates one.
# shellcheck disable=SC2034
deps_pacemaker="resource-agents pacemaker-cli-utils xsltproc jq libxml2-utils"
# shellcheck disable=SC2034
deps_cluster="corosync pacemaker crmsh $deps_pacemaker"
# Services that these bring, and that nobody wants on the machine: deps_install masks them first.
deps_masked="corosync.service pacemaker.service pacemaker_remote.service logd.service
	crm_mon.service corosync-notifyd.service"

# What is unpacked, not installed: deps_unpack.
# shellcheck disable=SC2034
deps_sos="sosreport"
# What reads gpupass' metrics in tests: unpacked into build/tools, since two would start a service.
# shellcheck disable=SC2034
deps_metrics="prometheus prometheus-node-exporter python3-prometheus-client"

# Whom tests/bench/run measures beside gpupass.
# shellcheck disable=SC2034
deps_bench="driverctl bolt udisks2 pciutils libvirt-clients systemd util-linux"

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

# deps_download DIR PACKAGE: its .deb into DIR, of what the package lists of this machine have.
deps_download() { (cd "$1" && apt-get -qq download "$2" >&2); }

# deps_unpack DIR PACKAGE…: their files below DIR/PACKAGE, without installing them: for packages
# that would start a service, or act at the next boot. What is there already stays.
deps_unpack() {
	local dir=$1 package
	shift
	for package; do
		[ ! -e "$dir/$package" ] || continue
		mkdir -p "$dir"
		rm -rf "$dir/.$package"
		mkdir "$dir/.$package"
		deps_download "$dir/.$package" "$package" ||
			{ as_root apt-get -qq update >&2 && deps_download "$dir/.$package" "$package"; } || {
			echo "gpupass: cannot download $package" >&2
			return 1
		}
		dpkg -x "$dir/.$package/"*.deb "$dir/.$package" && rm "$dir/.$package/"*.deb || return 1
		mv "$dir/.$package" "$dir/$package"
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

# Masks each of deps_masked that the machine has no unit of, so that an installation does not
# start it, nor a boot. What is there already, is the machine's.
deps_mask() {
	local unit
	for unit in $deps_masked; do
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
	case " ${missing[*]}" in
	*" pacemaker"* | *" corosync"* | *" resource-agents"*) deps_mask || return ;;
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
