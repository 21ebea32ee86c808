# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Completion of gpupass(1).

# Rows of the list as "GROUP GPUS DOMAIN" between tabs, "-" for what is not there. Columns are two
# blanks apart, and the last is the domain's name, whatever blanks it has: it must not end in what
# looks like a column of its own. In an ASCII locale the bullets are one byte each.
_gpupass_rows() {
	LC_ALL=C gpupass "${_gpupass_host[@]}" --no-legend -q list 2>/dev/null |
		awk -F '  +' -v OFS='\t' '/^[*o] / {
				domain = $0
				for (i = 1; i < 9 && match(domain, /  +/); i++)
					domain = substr(domain, RSTART + RLENGTH)
				print substr($1, 3), $2, domain; next }
			{ print "-", $3, "-" }'
}

_gpupass_groups() { _gpupass_rows | awk -F '\t' '$1 != "-" { print $1 }'; }
_gpupass_held() { _gpupass_rows | awk -F '\t' '$3 != "-" { print $3 }'; }
_gpupass_gpus() { _gpupass_rows | awk -F '\t' '{ gsub(",", "\n", $2); print $2 }'; }
_gpupass_jobs() {
	gpupass "${_gpupass_host[@]}" --no-legend -q jobs 2>/dev/null | awk '{ print $1 }'
}

# Every domain that libvirt knows here; of another host only those that have a group are known.
_gpupass_domains() {
	if [ "${#_gpupass_host[@]}" -eq 0 ] && command -v virsh >/dev/null; then
		virsh -q list --all --name 2>/dev/null
	else
		_gpupass_held
	fi
}

_gpupass_verbs() {
	printf '%s\n' list status show topology plan assign release declare forget bind unbind verify clear \
		reconcile doctor probe audit jobs rescan monitor help
}

# _gpupass_options VERB
_gpupass_options() {
	local assign='--live --config --model= --timeout= --allow-boot-vga --numa= --fit= --accept-dirty'
	local own=''

	case $1 in
	topology) own='--format=' ;;
	plan) own="$assign --keep-vfio --release --detailed-exitcode" ;;
	assign) own="$assign --dry-run --no-block" ;;
	release) own='--keep-vfio --dry-run --no-block --timeout=' ;;
	doctor) own='--symptom= --verbose --bundle=' ;;
	reconcile) own='--dry-run --detailed-exitcode --no-block --timeout=' ;;
	verify) own='--no-block --timeout=' ;;
	probe) own='--mmio --no-block --timeout=' ;;
	audit) own='--since= --until= --group= --domain= --user= --job= --holders --follow --verify --expect= --trail=' ;;
	bind) own='--persist --no-block --timeout= --allow-boot-vga' ;;
	unbind) own='--no-block --timeout= --allow-boot-vga' ;;
	esac
	# Split on purpose.
	# shellcheck disable=SC2086
	printf '%s\n' $own --json= -j --host= -H --quiet -q --color= --no-legend --no-pager \
		--no-ask-password --version --help -h
}

# _gpupass_values OPTION BEGINNING
_gpupass_values() {
	case $1 in
	--json) printf '%s\n' pretty short off ;;
	--color) printf '%s\n' auto always never ;;
	--numa | --fit) printf '%s\n' advise apply strict ;;
	--format) printf '%s\n' matrix tree svg dot ;;
	--symptom) printf '%s\n' no-nvlink one-gpu no-p2p slow ;;
	--host) compgen -A hostname ;;
	--group) _gpupass_groups ;;
	--domain) _gpupass_domains ;;
	--user) compgen -A user ;;
	--job) _gpupass_jobs ;;
	--bundle) compgen -f -- "$2" ;;
	--trail) compgen -d -- "$2" ;;
	esac
}

# _gpupass_arguments VERB NUMBER RELEASE: what can stand as that argument, from 0.
_gpupass_arguments() {
	case $1:$2:$3 in
	help:0:*) _gpupass_verbs ;;
	status:0:* | release:0:* | plan:0:yes) _gpupass_groups && _gpupass_held ;;
	show:0:*) _gpupass_groups && _gpupass_gpus ;;
	plan:0:no | assign:0:* | doctor:0:*) _gpupass_domains ;;
	plan:1:no | assign:1:* | bind:0:* | unbind:0:* | forget:0:* | clear:0:* | reconcile:0:* | declare:0:*) _gpupass_groups ;;
	verify:0:*) _gpupass_held ;;
	declare:*) _gpupass_gpus ;;
	jobs:0:*) _gpupass_jobs ;;
	esac
}

_gpupass() {
	# The line as it was typed: bash breaks addresses at their colons.
	local line=${COMP_LINE:0:COMP_POINT} cur='' verb='' release=no before='' word
	local -a typed=() words=() _gpupass_host=()
	local n=0 i

	read -r -a typed <<<"$line"
	if [[ $line != *[[:space:]] ]]; then
		cur=${typed[-1]}
		unset 'typed[-1]'
	fi
	for ((i = 1; i < ${#typed[@]}; i++)); do
		word=${typed[i]}
		case $word in
		-H | --host)
			i=$((i + 1))
			[ "$i" -ge "${#typed[@]}" ] || _gpupass_host=(-H "${typed[i]}")
			;;
		--host=*) _gpupass_host=(-H "${word#*=}") ;;
		--release) release=yes ;;
		-*) ;;
		*) if [ -z "$verb" ]; then verb=$word; else n=$((n + 1)); fi ;;
		esac
	done

	if [ "${#typed[@]}" -gt 1 ] && [[ ${typed[-1]} == -H || ${typed[-1]} == --host ]]; then
		mapfile -t words < <(_gpupass_values --host)
	elif [[ $cur == --*=* ]]; then
		before=${cur%%=*}=
		mapfile -t words < <(_gpupass_values "${cur%%=*}" "${cur#*=}")
		words=("${words[@]/#/$before}")
	elif [[ $cur == -* ]]; then
		mapfile -t words < <(_gpupass_options "$verb")
	elif [ -z "$verb" ]; then
		mapfile -t words < <(_gpupass_verbs)
	else
		mapfile -t words < <(_gpupass_arguments "$verb" "$n" "$release")
	fi

	# What bash takes for words of their own is not to be repeated.
	before=''
	[[ $COMP_WORDBREAKS != *=* || $cur != *=* ]] || before=${cur%"${cur##*=}"}
	[[ $COMP_WORDBREAKS != *:* || $cur != *:* ]] || before=${cur%"${cur##*:}"}
	COMPREPLY=()
	for word in "${words[@]}"; do
		[ -n "$word" ] && [[ $word == "$cur"* ]] || continue
		word=${word#"$before"}
		# Names of domains may have blanks and quotes in them.
		[[ $word == -* ]] || word=$(printf '%q' "$word")
		COMPREPLY+=("$word")
	done
	if [ "${#COMPREPLY[@]}" -eq 1 ] && [[ ${COMPREPLY[0]} == --*= ]]; then
		compopt -o nospace 2>/dev/null
	fi
	return 0
}
complete -F _gpupass gpupass
