# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Completion of onpu-smi for bash. The commands and options are those that --help tells.

_onpu_smi()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} program=${COMP_WORDS[0]}
	local command=${COMP_WORDS[1]}

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "$("$program" --help 2>/dev/null |
			sed -n 's/^  \([a-z][a-z]*\)  *.*/\1/p') --help --version" -- "$cur")
		return
	fi
	# --option=VALUE arrives in three words.
	[ "$prev" != = ] || prev=${COMP_WORDS[COMP_CWORD - 2]}
	[ "$cur" != = ] || cur=
	case $prev in
	--device|-d)
		mapfile -t COMPREPLY < <(compgen -W "$("$program" info --json 2>/dev/null |
			sed -n 's/^ *"address": "\(.*\)",$/\1/p')" -- "$cur") ;;
	--format) mapfile -t COMPREPLY < <(compgen -W "text csv csv,noheader json" -- "$cur") ;;
	--level|-l) mapfile -t COMPREPLY < <(compgen -W "0 1 2 3" -- "$cur") ;;
	--root) mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
	*)
		if [[ $cur == -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W "$("$program" "$command" --help 2>/dev/null |
				grep -oE -- '(^|[ ,])--[a-z-]+' | tr -d ' ,')" -- "$cur")
		else
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		fi ;;
	esac
}

complete -o filenames -F _onpu_smi onpu-smi
