# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Completion of gpupass(1). What can stand where, gpupass itself says: see client/verbs/complete.c.

# _gpupass_words LINE: sets in its caller words (without their quotes), quote (the one that is still
# open), and broken (how much of the last word bash takes for words of their own).
_gpupass_words() {
	local line=$1 i c next word='' begun=no

	words=() quote='' broken=0
	for ((i = 0; i < ${#line}; i++)); do
		c=${line:i:1} next=${line:i+1:1}
		if [[ $c == "$quote" && -n $quote ]]; then
			quote=''
		elif [[ $quote == "'" || ($quote == '"' && ($c != "\\" || $next != [\"\\\$\`])) ]]; then
			word+=$c
		elif [[ $c == "\\" ]]; then
			word+=$next i=$((i + 1)) begun=yes
		elif [[ $c == [\"\'] ]]; then
			quote=$c begun=yes
		elif [[ $c == [[:space:]] ]]; then
			[[ $begun == no ]] || words+=("$word")
			word='' begun=no broken=0
		else
			word+=$c begun=yes
			[[ $c != [=:] || $COMP_WORDBREAKS != *"$c"* ]] || broken=${#word}
		fi
	done
	words+=("$word")
}

# _gpupass_quoted WORD: as it has to stand on the line. Names of domains are their owners' choice.
_gpupass_quoted() {
	local word=$1 c i made=''

	case $quote in
	\') made=${word//\'/\'\\\'\'} ;;
	\")
		for ((i = 0; i < ${#word}; i++)); do
			c=${word:i:1}
			[[ $c != [\"\\\$\`] ]] || made+="\\"
			made+=$c
		done
		;;
	*)
		# %q has backslashes before commas, too.
		made=$word
		[[ -n $word && $word != *[!A-Za-z0-9._:=,@+/-]* ]] || printf -v made %q "$word"
		;;
	esac
	# readline closes the quotes, unless the word ends in what looks as if they were.
	[[ -z $quote || ${word: -1} != "$quote" ]] || made+=$quote
	REPLY=$made
}

_gpupass() {
	local -a words lines found=()
	local quote broken cur word before REPLY

	COMPREPLY=()
	_gpupass_words "${COMP_LINE:0:COMP_POINT}"
	cur=${words[-1]}
	mapfile -t lines < <(command gpupass complete -- "${words[@]}" 2>/dev/null)
	before=${lines[0]#*=}
	case ${lines[0]} in
	words) found=("${lines[@]:1}") before='' ;;
	files=*) mapfile -t found < <(compgen -f -- "${cur#"$before"}") ;;
	directories=*) mapfile -t found < <(compgen -d -- "${cur#"$before"}") ;;
	hosts=*) mapfile -t found < <(compgen -A hostname) ;;
	users=*) mapfile -t found < <(compgen -A user) ;;
	esac
	for word in "${found[@]}"; do
		word=$before${word%%$'\t'*}
		# No quoting keeps an interactive bash from replacing that within these quotes.
		[[ $quote != '"' || $word != *!* ]] || continue
		[[ $word == "$cur"* ]] || continue
		_gpupass_quoted "${word:broken}"
		COMPREPLY+=("$REPLY")
	done
	if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == --*= ]]; then
		compopt -o nospace 2>/dev/null
	fi
	return 0
}
complete -F _gpupass gpupass
