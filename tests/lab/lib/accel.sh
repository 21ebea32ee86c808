# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# KVM where it works. /dev/kvm may exist and still not run a stock kernel, so this boots one to a
# panic for want of a root and sees how far it comes; the answer is kept for that kernel and QEMU.

kvm_boots() {
	local args log
	log=$(mktemp "$1/kvm-XXXXXX")
	mapfile -t args < <(qemu_machine kvm)
	as_root timeout 20 qemu-system-x86_64 "${args[@]}" -m 512 -serial "file:$log" \
		-append "console=ttyS0 panic=-1" </dev/null >/dev/null 2>&1 || true
	grep -qa 'Unable to mount root' "$log"
	local answer=$?
	rm -f "$log"
	return $answer
}

# pick_accel BUILD KERNEL: sets accel.
pick_accel() {
	local build=$1 kernel=$2 answer key
	[ -e /dev/kvm ] || return 0
	key=$(printf '%s\n' "$kernel" "$(qemu-system-x86_64 --version)" "$(uname -r)" |
		sha256sum | cut -c1-12)
	answer=$build/accel-$key
	if [ ! -e "$answer" ]; then
		if kvm_boots "$build"; then echo kvm; else echo tcg; fi >"$answer.$$"
		mv "$answer.$$" "$answer"
	fi
	# shellcheck disable=SC2034 # boot's
	accel=$(cat "$answer")
}
