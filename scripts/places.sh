# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Finds the folders of the host that a command is about, so that the environment and the guest show
# them: a command finds the user's own files by the names on its command line. Sourced by npu, which
# sets $top.

: "${top:?}"

is_within()
{
	case $1/ in "$2"/*) return 0 ;; esac
	return 1
}

# is_system PATH: returns whether the environment has such a folder itself, which one of the host
# must not cover.
is_system()
{
	case $1/ in
	//|/usr/*|/etc/*|/bin/*|/sbin/*|/lib*|/var/lib/*|/var/|/boot/*|/proc/*|/sys/*|/dev/*|/run/*)
		return 0 ;;
	esac
	return 1
}

# add_place FOLDER: adds the folder to $places, unless the command sees it anyway.
add_place()
{
	is_system "$1" || is_within "$1" "$top" || is_within "$1" "${top%/*}/shared" || places+=("$1")
}

# add_path PATH: adds the folder that PATH is, in which it is, or in which it could be made; for a
# link, also the folder of its target.
add_path()
{
	local path folder

	[[ $1 == */* ]] || return 0
	for path in "$(realpath -ms -- "$1" 2>/dev/null)" "$(realpath -m -- "$1" 2>/dev/null)"; do
		folder=$path
		[ -d "$folder" ] || folder=${folder%/*}
		[ ! -d "$folder" ] || add_place "$folder"
	done
}

# find_places WORD…: sets $places to the current folder and those that words of a command name
# (FILE, --option=FILE, --option=NAME=FILE, FILE,MORE or -oFILE), without folders of the checkout.
# Parents come first, and folders within another place are left out.
find_places()
{
	local word place found=()

	places=()
	add_place "$(pwd -P)"
	for word; do
		# Words of several lines or great length are texts of programs, and name no files.
		[[ ${#word} -le 4096 && $word != *$'\n'* ]] || continue
		[[ $word != -[a-zA-Z]/* ]] || word=${word:2}
		while :; do
			add_path "$word"
			[[ $word != *,* ]] || add_path "${word%%,*}"
			[[ $word == *[=,]* ]] || break
			word=${word#*[=,]}
		done
	done
	[ ${#places[@]} -gt 1 ] || return 0
	while read -r -d '' place; do
		[ ${#found[@]} -gt 0 ] && is_within "$place" "${found[-1]}" || found+=("$place")
	done < <(printf '%s/\0' "${places[@]}" | LC_ALL=C sort -z | sed -z 's,/$,,')
	places=("${found[@]}")
}
