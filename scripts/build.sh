# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Meson builds in the environment: build/gcc, build/clang, build/asan, build/fuzzers.
# Sourced by npu, which sets $top. Needs lib.sh and root.sh.

# Options of a build: the compiler first, then meson's arguments.
build_options()
{
	case $1 in
	gcc) echo "gcc" ;;
	clang) echo "clang" ;;
	asan) echo "gcc -Db_sanitize=address,undefined" ;;
	fuzzers) echo "clang -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false" ;;
	*) die "no build named '$1'" ;;
	esac
}

# Set a build up unless that was done with the same options. The stamp is written last, so that
# an interrupted set-up starts again.
configure()
{
	local name=$1 dir=$top/build/$1 options stamp

	read -ra options < <(build_options "$name")
	stamp="$environment ${options[*]}"
	[ "$(cat "$dir/.onpu-options" 2>/dev/null)" != "$stamp" ] || return 0
	rm -rf -- "$dir"
	step "$name-setup" "configuring build/$name" inside env CC="${options[0]}" \
		meson setup --werror "${options[@]:1}" "$dir" "$top" || return
	printf '%s\n' "$stamp" >"$dir/.onpu-options"
}

# build_all NAME [TARGET…]
build_all()
{
	local name=$1 title=$1

	shift
	read -r title _ < <(build_options "$name")
	mkdir -p "$top/build"
	take_lock "$top/build/.$name-lock" "it builds build/$name"
	configure "$name" || return
	step "$name-build" "building build/$name with $title" \
		inside ninja -C "$top/build/$name" "$@" || return
	drop_lock
}
