# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# What a lab needs before it can boot: the kernel, the modules, the initramfs. Sourced by boot.
# Each thing is made once, in a folder named after a hash of what it is made from; prepare() holds
# a lock while it looks and makes. Sets: lab_kernel lab_version lab_initrd lab_tree lab_guest_initrd
# lab_agent_initrd lab_ovmf lab_apparmor lab_bare_guest

# A folder that is complete once it has its final name. Usage: dir=$(made DIR FUNCTION ARG…)
# A failure ends the shell (set -e, inherit_errexit): none of this may run under "if" or "||".
made() {
	local dir=$1
	shift
	if [ ! -d "$dir" ]; then
		rm -rf "$dir.new"
		mkdir -p "$dir.new"
		"$@" "$dir.new" >&2
		mv "$dir.new" "$dir"
	fi
	touch "$dir"
	echo "$dir"
}

hash_of() { cat -- "$@" | sha256sum | cut -c1-12; }

# Kernel versions whose headers are installed, newest first.
header_versions() {
	local d
	for d in /usr/src/linux-headers-*; do
		[ -f "$d/Makefile" ] && [ -f "$d/Module.symvers" ] && echo "${d##*/linux-headers-}"
	done | sort -rV
}

# The packages that hold VERSION's kernel and modules, of those that the archive offers.
kernel_packages() {
	local p
	for p in "linux-image-$1" "linux-modules-$1" "linux-modules-extra-$1"; do
		[ -z "$(apt-cache show "$p" 2>/dev/null | sed -n '/^Filename:/p')" ] || echo "$p"
	done
}

# The newest kernel version with headers here and an image in the archive or already unpacked.
pick_kernel() {
	local v
	for v in $(header_versions); do
		if [ -d "$1/kernel-$v" ] || [ -n "$(kernel_packages "$v")" ]; then
			echo "$v"
			return
		fi
	done
}

# The bzImage's payload, unpacked: an ELF kernel that QEMU starts by PVH, without the seconds that
# a kernel takes to unpack itself under emulation. Leaves nothing if any of that does not fit.
extract_vmlinux() {
	local image=$1 out=$2 setup at size magic tool
	setup=$(od -An -tu1 -j 0x1f1 -N 1 "$image")
	at=$(od -An -tu4 -j 0x248 -N 4 "$image")
	size=$(od -An -tu4 -j 0x24c -N 4 "$image")
	at=$((at + (setup + 1) * 512))
	magic=$(od -An -tx1 -j "$at" -N 4 "$image" | tr -d ' ')
	case $magic in
	fd377a58) tool="xz -dc --single-stream" ;;
	1f8b*) tool="gzip -dc" ;;
	28b52ffd) tool="zstd -dc" ;;
	02214c18) tool="lz4 -dc" ;;
	*) return 0 ;;
	esac
	command -v "${tool%% *}" >/dev/null || return 0
	# The payload ends in its size, which the tools take for rubbish and grumble about.
	tail -c "+$((at + 1))" "$image" | head -c "$size" | $tool >"$out" 2>/dev/null || true
	[ "$(head -c 4 "$out" | tail -c 3)" = ELF ] || rm -f "$out"
}

# Folders of modules that no lab host needs, and whose drivers would claim the stand-ins' functions.
strip_modules() {
	(
		cd "$1/kernel" || exit
		rm -rf sound drivers/gpu drivers/media drivers/staging drivers/infiniband/hw drivers/iio \
			drivers/net/wireless drivers/video drivers/scsi drivers/isdn drivers/bluetooth \
			net/bluetooth net/wireless net/mac80211 drivers/comedi drivers/mtd \
			drivers/i2c/busses/i2c-nvidia-gpu.ko*
	)
}

unpack_kernel() {
	local version=$1 dir=$2 p deb
	for p in $(kernel_packages "$version"); do
		deps_download "$dir" "$p" 2>/dev/null || {
			echo "lab: cannot download $p" >&2
			return 1
		}
	done
	for deb in "$dir"/*.deb; do
		dpkg -x "$deb" "$dir/root"
		rm -f "$deb"
	done
	cp "$dir/root/boot/vmlinuz-$version" "$dir/kernel"
	if grep -qs '^CONFIG_PVH=y' "$dir/root/boot/config-$version"; then
		extract_vmlinux "$dir/kernel" "$dir/vmlinux"
	fi
	mkdir -p "$dir/modules"
	mv "$dir"/root/{usr/,}lib/modules/"$version" "$dir/modules/" 2>/dev/null || true
	rm -rf "$dir/root"
	strip_modules "$dir/modules/$version"
}

build_modules() {
	local src=$1 version=$2 dir=$3
	cp "$src"/* "$dir/"
	make -s -C "/usr/src/linux-headers-$version" M="$dir" modules >"$dir/log" 2>&1 || {
		cat "$dir/log" >&2
		echo "lab: the kernel modules do not compile against $version" >&2
		return 1
	}
}

# /lib/modules/VERSION as the lab sees it: the kernel's modules and ours, indexed. Hard links.
make_tree() {
	local version=$1 kernel=$2 modules=$3 dir=$4
	# depmod wants DIR/lib/modules or DIR/usr/lib/modules, as its distribution has it.
	mkdir -p "$dir/usr/lib/modules" "$dir/usr/lib"
	ln -s usr/lib "$dir/lib"
	cp -al "$kernel/modules/$version" "$dir/usr/lib/modules/"
	mkdir -p "$dir/usr/lib/modules/$version/updates"
	cp "$modules"/*.ko "$dir/usr/lib/modules/$version/updates/"
	PATH=$PATH:/usr/sbin:/sbin depmod -b "$dir" "$version"
}

# add_modules TREE VERSION DEST LIST NAME…: the modules with what they need, unpacked, and their
# order.
add_modules() {
	local tree=$1 version=$2 dest=$3 list=$4 name file out
	shift 4
	mkdir -p "$dest/modules"
	: >"$dest/$list.list"
	for name in "$@"; do
		PATH=$PATH:/usr/sbin:/sbin modprobe -C /dev/null -d "$tree" -S "$version" --show-depends "$name" 2>/dev/null
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r file; do
		out=${file##*/}
		out=${out%%.ko*}
		out=${out//-/_}
		case $file in
		*.xz) xz -dc "$file" >"$dest/modules/$out.ko" ;;
		*.zst) zstd -qdc "$file" >"$dest/modules/$out.ko" ;;
		*.gz) gzip -dc "$file" >"$dest/modules/$out.ko" ;;
		*) cp "$file" "$dest/modules/$out.ko" ;;
		esac
		echo "$out" >>"$dest/$list.list"
	done
}

pack() { (cd "$1" && find . | LC_ALL=C sort | cpio --quiet -o -H newc) >"$2"; }

make_initrd() {
	local version=$1 tree=$2 src=$3 tools=$4 dir=$5 root=$5/root
	mkdir -p "$root"/{bin,proc,sys,dev,lab}
	cp "$(command -v busybox)" "$root/bin/busybox"
	cp "$src/init" "$root/init"
	chmod +x "$root/init"
	cp "$src/lab.target" "$src/lab-command.service" "$src/saved" "$root/lab/"
	gcc -O2 -Wall -o "$root/lab/runner" "$src/runner.c"
	gcc -O2 -Wall -o "$root/lab/hold-vfio" "$tools/hold-vfio.c"
	# shellcheck disable=SC2154 # boot's
	gcc -O2 -Wall -I"$repo/include" -I"$repo/daemon" -o "$root/lab/intruder" "$tools/intruder.c" \
		"$repo/daemon/worker/read-only.c"
	gcc -O1 -shared -fPIC -o "$root/lab/libnvidia-ml.so.1" "$repo/tests/nvml/fake-nvml.c"
	add_modules "$tree" "$version" "$root/lab" root virtio_pci 9pnet_virtio 9p overlay
	add_modules "$tree" "$version" "$root/lab" disk virtio_blk ext4
	add_modules "$tree" "$version" "$root/lab" identity labpci
	add_modules "$tree" "$version" "$root/lab" vfio vfio_iommu_type1 vfio-pci
	add_modules "$tree" "$version" "$root/lab" drivers nvidia snd_hda_intel
	pack "$root" "$dir/initrd"
	rm -rf "$root"
}

# A guest that is one small program; see guest/bare.c.
make_bare_guest() {
	local src=$1 dir=$2
	gcc -m32 -O2 -Wall -Wextra -ffreestanding -fno-pic -fno-stack-protector -fcf-protection=none \
		-mgeneral-regs-only -nostdlib -static -no-pie -Wl,--build-id=none -T "$src/bare.ld" \
		-o "$dir/bare" "$src/bare.c"
}

make_guest_initrd() {
	local src=$1 dir=$2 root=$2/root
	mkdir -p "$root"/{bin,proc,sys,dev}
	cp "$(command -v busybox)" "$root/bin/busybox"
	cp "$src/init" "$root/init"
	chmod +x "$root/init"
	pack "$root" "$dir/initrd"
	rm -rf "$root"
}

# A package of the distribution's, unpacked and never installed: the guest agent, UEFI firmware,
# AppArmor (which would confine libvirtd on the machine, and in every lab).
unpack_package() {
	local package=$1 dir=$2
	deps_download "$dir" "$package" 2>/dev/null || {
		echo "lab: cannot download $package" >&2
		return 1
	}
	dpkg -x "$dir"/*.deb "$dir"
	rm -f "$dir"/*.deb
}

# A guest as make_guest_initrd()'s, with the agent, its libraries, and a stand-in for nvidia-smi.
make_agent_initrd() {
	local version=$1 tree=$2 src=$3 fixtures=$4 agent=$5 dir=$6 root=$6/root lib
	mkdir -p "$root"/{bin,proc,sys,dev,lab/guests,usr/sbin}
	cp "$(command -v busybox)" "$root/bin/busybox"
	cp "$src/init" "$root/init-report"
	cp "$src/init-agent" "$root/init"
	cp "$src/lab-mode" "$root/bin/"
	gcc -static -O2 -Wall -o "$root/bin/nvidia-smi" "$src/nvidia-smi.c"
	strip "$root/bin/nvidia-smi"
	ln "$root/bin/nvidia-smi" "$root/bin/nvbandwidth"
	chmod +x "$root/init" "$root/init-report" "$root/bin"/*
	cp "$agent/usr/sbin/qemu-ga" "$root/usr/sbin/"
	cp -r "$fixtures"/*/ "$root/lab/guests/"
	echo ga102-rtx-a6000 >"$root/lab/mode"
	: >"$root/lab/uuids"
	ldd "$agent/usr/sbin/qemu-ga" | grep -o '/[^ ]*' | while read -r lib; do
		mkdir -p "$root${lib%/*}"
		cp -L "$lib" "$root$lib"
	done
	add_modules "$tree" "$version" "$root/lab" guest virtio_pci virtio_console
	# Without their signatures, too: the guest's kernel runs without the keys (define-vm leaves
	# out system_trusted_keyring_init), and would crash at checking them. There is none where
	# the kernel has virtio built in (Debian 13's has).
	find "$root/lab/modules" -name '*.ko' -exec strip --strip-debug {} +
	pack "$root" "$dir/initrd"
	rm -rf "$root"
}

# Folders that no boot has used for a day.
prune() {
	find "$1" -mindepth 1 -maxdepth 1 -type d \
		\( -name 'modules-*' -o -name 'tree-*' -o -name 'initrd-*' -o -name 'guest-*' -o -name 'agent-*' -o -name 'bare-*' -o -name 'files-*' \
		-o -name 'saved-*' -o -name 'booted-*' -o -name 'boot-*' \) \
		-mtime +0 -exec rm -rf {} + 2>/dev/null || true
}

# Looks for missing packages only when dpkg's records are newer than the last look.
install_packages() {
	local packages stamp=$1/packages-seen
	[ ! "$stamp" -nt /var/lib/dpkg/status ] || return 0
	# shellcheck disable=SC2154 # from tests/lib/deps.sh
	read -r -d '' -a packages <<<"$deps_lab gcc libc6-dev" || true
	[ -n "$(header_versions)" ] || packages+=("$(deps_kernel_headers)")
	deps_install "${packages[@]}"
	touch "$stamp"
}

# The archive has moved on from the installed headers: take those it has now.
find_kernel() {
	lab_version=$(pick_kernel "$1")
	[ -z "$lab_version" ] || return 0
	as_root apt-get -qq update >&2 || true
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends \
		install "$(deps_kernel_headers)" >&2 </dev/null || return 1
	lab_version=$(pick_kernel "$1")
	[ -n "$lab_version" ] || {
		echo "lab: no kernel image in the package archive matches the installed headers" >&2
		return 1
	}
}

# prepare LAB BUILD: LAB is tests/lab, BUILD the folder that everything is made in.
prepare() {
	local lab=$1 build=$2 kernel modules busybox agent fixtures=$1/../fixtures/guests
	mkdir -p "$build"
	exec 9>"$build/lock"
	flock 9
	install_packages "$build"
	find_kernel "$build"
	busybox=$(command -v busybox)
	kernel=$(made "$build/kernel-$lab_version" unpack_kernel "$lab_version")
	modules=$(made "$build/modules-$lab_version-$(hash_of "$lab"/module/*)" \
		build_modules "$lab/module" "$lab_version")
	lab_tree=$(made "$build/tree-${modules##*/modules-}" \
		make_tree "$lab_version" "$kernel" "$modules")
	# shellcheck disable=SC2034 # boot's
	lab_initrd=$(made "$build/initrd-${modules##*/modules-}-$(hash_of "$lab"/pid1/* "$lab"/tools/* "$repo"/daemon/worker/read-only.? \
		"$repo/tests/nvml/fake-nvml.c" "$lab/lib/prepare.sh" "$busybox")" \
		make_initrd "$lab_version" "$lab_tree" "$lab/pid1" "$lab/tools")/initrd
	# shellcheck disable=SC2034 # boot's
	lab_guest_initrd=$(made "$build/guest-$(hash_of "$lab"/guest/* "$busybox")" \
		make_guest_initrd "$lab/guest")/initrd
	# shellcheck disable=SC2034 # boot's
	lab_bare_guest=$(made "$build/bare-$(hash_of "$lab"/guest/bare.* "$lab/lib/prepare.sh")" \
		make_bare_guest "$lab/guest")/bare
	agent=$(made "$build/agent-package" unpack_package qemu-guest-agent)
	# shellcheck disable=SC2034 # boot's
	lab_ovmf=$(made "$build/ovmf-package" unpack_package ovmf)/usr/share/OVMF
	# shellcheck disable=SC2034 # boot's
	lab_apparmor=$(made "$build/apparmor-package" unpack_package apparmor)
	# shellcheck disable=SC2034 # boot's
	lab_agent_initrd=$(made "$build/agent-$(hash_of "$lab"/guest/* "$lab/lib/prepare.sh" "$busybox" "$fixtures"/*/* \
		"$agent/usr/sbin/qemu-ga" "$modules"/*.ko)" \
		make_agent_initrd "$lab_version" "$lab_tree" "$lab/guest" "$fixtures" "$agent")/initrd
	lab_tree=$lab_tree/usr/lib/modules
	lab_kernel=$kernel/vmlinux
	[ -e "$lab_kernel" ] || lab_kernel=$kernel/kernel
	prune "$build"
	flock -u 9
	exec 9>&-
}
