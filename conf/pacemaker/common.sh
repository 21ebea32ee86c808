# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# What ocf:gpupass:domain and ocf:gpupass:inventory share. Each has sourced ocf-shellfuncs.
#
# A domain that the cluster has defined has a mark in its metadata, with the name of its resource:
# libvirt keeps it with the definition, also over the loss of a node, and `virsh dumpxml` shows it.
# Whoever may write metadata can copy a mark. So it counts only for the UUID that this node has a
# record of: a file of root's with that name, and the resource's name in it. The record is there
# before the mark, and goes after it. Names of domains are never used to find one, because others
# choose them.

export LC_ALL=C
gpupass_lib=$OCF_ROOT/lib/gpupass
: "${GPUPASS_RECORDS:=/var/lib/gpupass/pacemaker}"
gpupass_mark_uri=urn:gpupass:pacemaker:1
# What versions before 0.9 wrote. It is read where the other is not, and no change leaves it.
gpupass_former_mark_uri=https://gpupass.org/pacemaker/1
# Pacemaker 2.1 takes this as success, and shows it.
: "${OCF_DEGRADED:=190}"

# The end of this action in the shell's seconds, as Pacemaker set it.
action_end=$((SECONDS + ${OCF_RESKEY_CRM_meta_timeout:-60000} / 1000))
# time_left SECONDS: is there more than that left of this action?
time_left() { [ $((action_end - SECONDS)) -gt "$1" ]; }

# one_line: what a program said, fit for a log and for crm_mon.
one_line() { tr '\n\t' '  ' | tr -cd '[:print:]' | cut -c 1-300; }

# fail CODE TEXT…: says why, and returns CODE.
fail() {
	local code=$1
	shift
	ocf_exit_reason "$*"
	return "$code"
}

uuid_is_valid() { [[ $1 =~ ^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$ ]]; }
# Of a group, a resource or a node: nothing that a program takes for an option, or a shell for more.
name_is_valid() { [[ $1 =~ ^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}$ ]]; }

need_programs() {
	local program
	for program in gpupass jq virsh xsltproc "$@"; do
		command -v "$program" >/dev/null || fail "$OCF_ERR_INSTALLED" "$program is not installed" || return
	done
}
need_root() {
	[ "$(id -u)" = 0 ] || fail "$OCF_ERR_PERM" "only root may do this"
}

libvirt() { virsh -q -c qemu:///system "$@" </dev/null; }
transform() { xsltproc --nonet --novalid --maxparserdepth 1024 "$@"; }

# keep_record UUID RESOURCE: durable, as the definition will be.
keep_record() {
	(
		umask 077
		mkdir -p "$GPUPASS_RECORDS" && cd "$GPUPASS_RECORDS" &&
			echo "$2" >".$1.new" && sync ".$1.new" && mv ".$1.new" "$1" && sync .
	) 2>/dev/null
}
# One that stays, as on a disk that is read-only, says nothing without a mark.
drop_record() { rm -f -- "$GPUPASS_RECORDS/$1" 2>/dev/null || true; }

# Of these lines on stdin: without a record a mark is none. Such domains are in $unproven, a line
# "UUID RESOURCE" each.
prove() {
	local uuid active resource leftover hostdevs record
	domains=
	unproven=
	while read -r uuid active resource leftover hostdevs; do
		[ -n "$uuid" ] || continue
		record=
		[ "$resource" = - ] || read -r record 2>/dev/null <"$GPUPASS_RECORDS/$uuid"
		if [ "$resource" != "${record:--}" ]; then
			[ "$resource" = - ] || unproven+="$uuid $resource"$'\n'
			resource=- leftover=no
		fi
		domains+="$uuid $active $resource $leftover $hostdevs"$'\n'
	done
}
# The way on where the cluster did define it: an older version, or a root file system that was
# restored without /var.
unproven_remedy() { echo "if the cluster defined it: install -d -m 700 $GPUPASS_RECORDS; echo $2 >$GPUPASS_RECORDS/$1"; }

# look: sets domains, the lines that facts.xsl makes of all domains of this host. It waits for a
# libvirtd that starts anew, for a third of the action's time.
look() {
	local until=$((SECONDS + (action_end - SECONDS) / 3))
	until look_once; do
		[ "$SECONDS" -lt "$until" ] || return 1
		sleep 1
	done
}
look_once() {
	local uuids uuid commands='' text
	domains=
	unproven=
	uuids=$(libvirt list --all --uuid 2>&1) || {
		look_error=$(one_line <<<"$uuids")
		return 1
	}
	for uuid in $uuids; do
		uuid_is_valid "$uuid" || return 1
		commands+="dumpxml $uuid; "
	done
	[ -n "$commands" ] || return 0
	# All in one go. One that went meanwhile makes this fail, and it is looked again.
	text=$(libvirt "$commands" 2>&1) || {
		look_error=$(one_line <<<"$text")
		return 1
	}
	text=$(transform "$gpupass_lib/facts.xsl" - 2>/dev/null <<<"<all>$text</all>") || {
		look_error="libvirt's answer cannot be read"
		return 1
	}
	prove <<<"$text"
}

# is_gone UUID: libvirt knows no such domain.
is_gone() {
	local uuids
	uuids=$(libvirt list --all --uuid 2>/dev/null) && ! grep -qFx -- "$1" <<<"$uuids"
}

# groups: gpupass' list, as JSON, in $groups; otherwise its exit code.
groups() {
	local code=0
	groups=$(gpupass --json=short list 2>/dev/null </dev/null) || code=$?
	[ "$code" = 0 ] || return "$code"
	jq -e '.schema == "org.gpupass1.list/1"' >/dev/null 2>&1 <<<"$groups" || return 5
}

# groups_soon: the same, for what cannot go on without. A gpupassd that the bus starts on a busy
# host, right after a boot, may take longer than a client waits.
groups_soon() {
	local code until=$((SECONDS + (action_end - SECONDS) / 3))
	while :; do
		code=0
		groups || code=$?
		case $code in 5 | 7) [ "$SECONDS" -lt "$until" ] || return "$code" ;; *) return "$code" ;; esac
		sleep 2
	done
}

# ask COMMAND…: runs it, with its first words in $said.
ask() {
	local code=0
	said=$("$@" 2>&1 >/dev/null </dev/null) || code=$?
	said=$(one_line <<<"$said")
	return "$code"
}

# release UUID: takes all groups from a domain that is shut off. Nothing to take is success. A job
# that is still at work, such as that of a start that ran out of time, is waited for.
release() {
	local code
	while :; do
		code=0
		ask gpupass --quiet --json=off release "$1" || code=$?
		case $code in
		0 | 8) return 0 ;;
		9) time_left 10 || return 9 ;;
		*) return "$code" ;;
		esac
		sleep 2
	done
}

# take_down UUID: of a marked domain that is shut off. The mark goes last, and then its record, so
# that whoever comes after an interruption finds it.
take_down() {
	release "$1" || fail "$OCF_ERR_GENERIC" "cannot release the GPUs of $1: $said" || return
	# Its firmware's variables are not the definition's.
	ask libvirt undefine --keep-nvram --managed-save --snapshots-metadata --checkpoints-metadata "$1" ||
		is_gone "$1" || fail "$OCF_ERR_GENERIC" "cannot undefine $1: $said" || return
	drop_record "$1"
}
