# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Reads the sets of packages in packages.txt, whose head explains them; tells which of them are
# installed and what they need, and installs them. Sourced by npu, which sets $top. Needs lib.sh and
# root.sh.

: "${top:?}"

packages_file=$top/scripts/packages.txt

set_names()
{
	sed -n 's/^\[\([a-z]*\) [0-9]*\]$/\1/p' "$packages_file"
}

# wanted_sets [SET…]: prints the named sets and the set demo, which every command needs; all sets if
# none is named.
wanted_sets()
{
	if [ $# -eq 0 ]; then
		set_names
	else
		printf '%s\n' demo "$@" | sort -u
	fi
}

# set_sizes SET…: prints the sum of their MiB.
set_sizes()
{
	local name sum=0

	for name; do
		sum=$((sum + $(sed -n "s/^\[$name \([0-9]*\)\]\$/\1/p" "$packages_file")))
	done
	echo "$sum"
}

# Prints the lines NAME, NAME/SUITE and NAME/SUITE/depends of some sets, or of all sets.
package_list()
{
	awk -v "wanted= $* " '
		{ sub(/#.*/, "") }
		/^\[/ { gsub(/[][]/, ""); skip = wanted != "  " && !index(wanted, " " $1 " "); next }
		{ gsub(/[[:space:]]/, "") }
		$0 != "" && !skip' "$packages_file"
}

# has_backport ROOT PATTERN: returns whether a package of that name is installed there from
# backports.
has_backport()
{
	# dpkg-query expands the fields, not the shell; it fails when a package is unknown.
	# shellcheck disable=SC2016
	dpkg-query --admindir="$1/var/lib/dpkg" -W -f '${db:Status-Status} ${Version}\n' "$2" 2>/dev/null |
		grep -q '^installed .*~bpo'
}

# lacking ROOT SET…: prints the lines of these sets whose packages the root lacks; an empty ROOT is
# the host.
lacking()
{
	local line name depends installed at=$1

	shift
	# dpkg-query expands the fields, not the shell.
	# shellcheck disable=SC2016
	installed=$(dpkg-query --admindir="$at/var/lib/dpkg" -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null |
		sed -n 's/^installed //p')
	while read -r line; do
		IFS=/ read -r name _ depends <<<"$line"
		[ -z "$depends" ] || name="${name%-*}-[0-9]*-${name##*-}"
		if [[ $line == */* ]]; then
			has_backport "$at" "$name" || printf '%s\n' "$line"
		else
			printf '%s\n' "$line"
		fi
	done < <(package_list "$@" | grep -vFx -f <(printf '%s\n' "$installed"))
}

# has_packages ROOT SET…: returns whether the root has every package of these sets.
has_packages()
{
	[ -z "$(lacking "$@")" ]
}

# Prints a set's line in the root's list of sets that it has.
set_stamp()
{
	printf '%s %s\n' "$1" "$(package_list "$1" | sort -u | sha256sum | cut -d ' ' -f 1)"
}

# missing_sets SET…: prints the sets that the root's list lacks or has in an older form.
missing_sets()
{
	local name

	for name; do
		grep -Fqx -- "$(set_stamp "$name")" "${root:?}/.onpu-packages" 2>/dev/null || printf '%s\n' "$name"
	done
}

# stamp_sets SET…: notes in the root's list that the sets are installed.
stamp_sets()
{
	local name list=${root:?}/.onpu-packages

	while read -r name; do
		[[ " $* " != *" $name "* ]] || set_stamp "$name"
		[[ " $* " == *" $name "* ]] || grep -s "^$name " "$list" || true
	done < <(set_names) >"$list.new"
	mv -- "$list.new" "$list"
}

# Prints the root's list of sets that it has, also when this runs inside the root.
installed_sets()
{
	local list=${root:?}/.onpu-packages

	! is_inside || list=/.onpu-packages
	cat -- "$list" 2>/dev/null || true
}

# Prints the options of the build: an optional part, or the tests, must be built where all packages
# for it are installed.
build_features()
{
	if [ "$(tools)" = host ] && has_packages "" build || installed_sets | grep -q '^build '; then
		echo --auto-features=enabled
	else
		echo --auto-features=auto -Dtests=false
	fi
}

# check_disk SET…: checks the free space before any download. A new root and the lists of packages
# take 500 MiB.
check_disk()
{
	local free need

	need=$(set_sizes "$@")
	[ -e "${root:?}/.onpu-recipe" ] || need=$((need + 500))
	free=$(($(df --output=avail -k "$top/build" | tail -n 1) / 1024))
	[ "$free" -ge "$need" ] ||
		die "no room below $top/build: the packages for this ($*) and what is built need $need MiB, there are $free; make room for the $((need - free)) MiB that are missing"
}

# versioned NAME/SUITE: prints the package, with a version in its name, that the meta-package NAME
# depends on.
versioned()
{
	local name=${1%%/*} found

	found=$(inside apt-cache show "$1" | sed -n 's/^Depends: //p' | tr -s ', ' '[\n*]' |
		grep -m 1 "^${name%-*}-[0-9]") || { echo "no package that $1 stands for" >&2; return 1; }
	printf '%s\n' "$found"
}

# Passes on the lines of apt, of several runs. Turns the progress reports between them into the
# title of the step.
note_progress()
{
	local line word percent before=0 now=0 phase

	while IFS= read -r line; do
		case $line in
		"Need to get "*)
			printf '%s\n' "$line"
			before=$((before + now)) now=0
			line=${line#Need to get }
			line=${line#*/}
			line=${line//,/}
			[[ $line != *MB* ]] || now=${line%%[. ]*} ;;
		dlstatus:*|pmstatus:*)
			IFS=: read -r word _ percent _ <<<"$line"
			percent=${percent%[.,]*}
			phase="$((before + now * percent / 100)) of $((before + now)) MB"
			[ "$word" = dlstatus ] || phase="$((before + now)) MB, $percent % unpacked"
			note "installing packages: $phase" ;;
		*) printf '%s\n' "$line" ;;
		esac
	done
	note "installing packages: $((before + now)) MB"
}

# install_packages ARGUMENTS…: installs packages with apt-get. Kernels get no initramfs, since
# nothing boots from the root in the usual way. The archives are not kept.
install_packages()
{
	inside env DEBIAN_FRONTEND=noninteractive INITRD=No apt-get -qy --no-install-recommends -o APT::Status-Fd=9 \
		-o Dpkg::Use-Pty=0 -o APT::Keep-Downloaded-Packages=false install "$@" 9>&1
}

# install_lines LINE…: installs lines of packages.txt, those that name no suite first.
install_lines()
(
	umask 022
	mapfile -t list < <(printf '%s\n' "$@" | grep -v /)
	{
		[ ${#list[@]} -eq 0 ] || install_packages "${list[@]}" || exit
		while IFS=/ read -r name from depends <&3; do
			[ -z "$depends" ] || name=$(versioned "$name/$from") || exit
			install_packages -t "$from" "$name" || exit
		done 3< <(printf '%s\n' "$@" | grep /)
	} | note_progress
)
