# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Completion of webnn-run for bash. The options are those that --help tells.

_webnn_run()
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
	--with) mapfile -t COMPREPLY < <(compgen -W "npu sim cpu onnxruntime" -- "$cur") ;;
	--device|-d) mapfile -t COMPREPLY < <(compgen -W "npu sim cpu" -- "$cur") ;;
	--host) mapfile -t COMPREPLY < <(compgen -W "127.0.0.1 0.0.0.0" -- "$cur") ;;
	--port|--slots|--queue|--context|--max-tokens|--seed|--stop|--past|--present|--language) ;;
	--layout) mapfile -t COMPREPLY < <(compgen -W "nchw nhwc" -- "$cur") ;;
	--colours) mapfile -t COMPREPLY < <(compgen -W "rgb bgr" -- "$cur") ;;
	--output-dir) mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
	*)
		if [[ $cur == -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W "$("$program" "$command" --help 2>/dev/null |
				grep -oE -- '(^|[ ,])--[a-z-]+' | tr -d ' ,')" -- "$cur")
		else
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		fi ;;
	esac
}

complete -o filenames -F _webnn_run webnn-run
