# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Configures and makes Meson's builds in the environment: build/gcc, build/clang, build/asan,
# build/fuzzers. Sourced by npu, which sets $top. Needs lib.sh and root.sh.

: "${top:?}"

# build_options NAME: prints the compiler of a build, then Meson's arguments. Where the environment
# has the packages of the optional parts, leaving one out is an error; the demo does without them.
build_options()
{
	local all
	# Reports of sanitizers have lines, but no values of variables: full debugging information
	# takes half of the time.
	local lines="-Ddebug=false -Dc_args=-g1 -Dcpp_args=-g1"

	# Meson asks dpkg-architecture for Debian's folder of libraries, but that program is not
	# among the packages to build with.
	all="$(build_features) --libdir=lib/$(inside gcc -print-multiarch)"
	case $1 in
	gcc) echo "gcc $all --werror -Dstatic=true" ;;
	# The build clang is only for the compiler's warnings.
	clang) echo "clang $all --werror -Ddebug=false -Doptimization=0" ;;
	# Inner loops have an optimisation of their own; for the rest, level 1 takes two thirds of
	# the compiler's time. The warnings are those of gcc.
	asan) echo "gcc $all $lines -Doptimization=1 -Db_sanitize=address,undefined" ;;
	fuzzers) echo "clang $all --werror $lines -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false" ;;
	*) die "internal error, please report it: there is no build '$1'" ;;
	esac
}

# Sets a build up unless that was done with the same options. The stamp is written last, so that an
# interrupted set-up starts again. Meson does not see that the kernel's test harness was fetched, or
# that packages were installed: the second stamp tells that.
configure()
{
	local name=$1 dir=$top/build/$1 options stamp found cxx again=()

	read -ra options < <(build_options "$name")
	stamp="$(tools) ${options[*]}"
	found=$([ ! -e "$top/build/linux/.complete" ] || echo harness
		if [ "$(tools)" = host ]; then lacking ""; else installed_sets; fi)
	if [ "$(cat "$dir/.onpu-options" 2>/dev/null)" != "$stamp" ]; then
		rm -rf -- "$dir"
	elif [ "$(cat "$dir/.onpu-found" 2>/dev/null)" != "$found" ]; then
		again=(--reconfigure)
	else
		return 0
	fi
	# C++ is compiled by g++ or clang++: only these know the compiler's sanitizers and the
	# fuzzer.
	cxx=${options[0]/#gcc/g++}
	cxx=${cxx/#clang/clang++}
	step "$name-setup" "configuring build/$name" inside env CC="${options[0]}" CXX="$cxx" \
		meson setup "${again[@]}" "${options[@]:1}" "$dir" "$top" || return
	printf '%s\n' "$found" >"$dir/.onpu-found"
	printf '%s\n' "$stamp" >"$dir/.onpu-options"
}

# build NAME [TARGET…]: builds the targets, or all. The lock of the build stays taken until
# drop_lock, so that the tests run on what was built.
build()
{
	local name=$1 compiler

	shift
	read -r compiler _ < <(build_options "$name")
	mkdir -p "$top/build"
	take_lock "$top/build/.$name-lock" "it uses build/$name"
	configure "$name" &&
		step "$name-build" "building build/$name with $compiler" \
			inside ninja -C "$top/build/$name" "$@"
}

# The targets that build_tools makes; none: all targets.
build_targets=()

# Builds build/gcc, whose programs are on PATH.
build_tools()
{
	local status=0

	build gcc "${build_targets[@]}" && inside python3 "$top/scripts/link-tools.py" "$top/build/gcc" "$top/build/bin" ||
		status=$?
	drop_lock
	return "$status"
}

# Prints the names of the fuzz targets, without "fuzz-".
fuzz_targets()
{
	local status=0

	mkdir -p "$top/build"
	take_lock "$top/build/.fuzzers-lock" "it uses build/fuzzers"
	# Meson answers from its last configuration, but the targets may have changed since.
	{
		configure fuzzers &&
			step fuzzers-targets "looking for fuzz targets" \
				inside ninja -C "$top/build/fuzzers" build.ninja
	} || status=$?
	drop_lock
	[ "$status" -eq 0 ] || return "$status"
	inside meson introspect --targets "$top/build/fuzzers" | inside python3 -c '
import json, sys
for target in json.load(sys.stdin):
    if target["type"] == "executable" and target["name"].startswith("fuzz-"):
        print(target["name"][len("fuzz-"):])'
}

# build_fuzzers NAME…: builds these fuzz targets.
build_fuzzers()
{
	local status=0

	build fuzzers "${@/#/tests/fuzz/fuzz-}" || status=$?
	drop_lock
	return "$status"
}

# fuzz_program NAME: prints the path of the program of a fuzz target.
fuzz_program()
{
	printf '%s\n' "$top/build/fuzzers/tests/fuzz/fuzz-$1"
}

# run_fuzzer NAME SECONDS WORK [ARGUMENTS of libFuzzer]: runs a fuzz target. Its corpus grows in
# WORK/corpus; seeds are made in WORK/seeds and taken from tests/fuzz/regressions/NAME; findings go
# to WORK/crashes.
run_fuzzer()
{
	local name=$1 seconds=$2 work=$3 kept=$top/tests/fuzz/regressions/$1 newest
	local folders=("$work/corpus" "$work/seeds/$name")

	shift 3
	mkdir -p "$work/corpus" "$work/crashes"
	inside python3 "$top/tests/fuzz/make_corpus.py" "$work/seeds" "$name" || return
	[ ! -d "$kept" ] || folders+=("$kept")
	inside "$(fuzz_program "$name")" -max_total_time="$seconds" -timeout=120 -rss_limit_mb=2048 \
		-artifact_prefix="$work/crashes/" -print_final_stats=1 "$@" "${folders[@]}" && return
	newest=$(find "$work/crashes" -type f -printf '%T@ %p\n' | sort -n | cut -d ' ' -f 2- | tail -n 1)
	if [ -n "$newest" ]; then
		# The log must suffice to reproduce the finding where its folder is gone.
		printf 'The newest finding: base64 -d <<END | gunzip >FILE\n%s\nEND\n' \
			"$(gzip -9c "$newest" | head -c 6144 | base64 -w 180)"
	fi
	printf 'fuzz %s ended badly. Its findings are in %s\n' "$name" "$work/crashes"
	printf 'To reproduce one: ./npu exec %q FILE\n' "$(fuzz_program "$name")"
	return 1
}

# fuzz_graphs [OPTIONS of graph-fuzz]: runs graph-fuzz. For the device npu it runs in the guest;
# for other devices, failing graphs are kept in build/fuzz/graphs.
fuzz_graphs()
{
	local program=$top/build/gcc/tests/graphs/graph-fuzz work=$top/build/fuzz/graphs

	build_tools || return
	mkdir -p "$work"
	case " $* " in
	*" --device npu "*|*" --device=npu "*|*" -d npu "*)
		guest_prepare -- "$program" "$@"
		# guest_prepare sets it
		# shellcheck disable=SC2154
		inside "${guest_line[@]}" ;;
	*) inside "$program" --work "$work" "$@" ;;
	esac
}
