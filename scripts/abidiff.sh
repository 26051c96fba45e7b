# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Implements ./npu abidiff REV, which tests whether programs that were linked with the libraries of
# an older commit run with the libraries of this checkout. Sourced by npu, which sets $top. Needs
# lib.sh, root.sh and build.sh.

: "${top:?}"

# Each library: meson's name for it, its file below the build, and its public headers. Types of other headers
# are not part of its ABI.
abi_libraries="
webnn-npu userspace/libwebnn-npu.so userspace/include/webnn/*.h
webnn-onnx userspace/import/onnx/libwebnn-onnx.so userspace/include/webnn/*.h
webnn-stablehlo userspace/import/stablehlo/libwebnn-stablehlo.so userspace/include/webnn/*.h
onpu-sim emulator/libonpu-sim.so emulator/onpu_*.h"

# abi_targets BUILD: prints the targets of the libraries that exist in the commit of this build.
abi_targets()
{
	inside meson introspect --targets "$1" | inside python3 -c '
import json, sys
wanted = [line.split()[0] for line in sys.argv[1].splitlines() if line]
for target in json.load(sys.stdin):
    if target["type"] == "shared library" and target["name"] in wanted:
        print(target["name"] + ":shared_library")' "$abi_libraries"
}

# abi_old REV FOLDER: builds the libraries of commit REV in FOLDER/build; its sources stay in
# FOLDER/source.
abi_old()
{
	local commit=$1 work=$2 targets

	[ "$(cat "$work/commit" 2>/dev/null)" != "$commit" ] || return 0
	rm -rf -- "$work"
	mkdir -p "$work/source"
	inside git -C "$top" archive "$commit" | tar -C "$work/source" -xf - || return
	inside meson setup --auto-features=enabled -Dtests=false -Dfirmware=disabled -Dnode=disabled \
		"$work/build" "$work/source" || return
	mapfile -t targets < <(abi_targets "$work/build")
	inside meson compile -C "$work/build" "${targets[@]}" || return
	printf '%s\n' "$commit" >"$work/commit"
}

# Prints the SONAME of a library, the name that programs linked with it look for.
abi_soname()
{
	inside readelf -d "$1" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p'
}

# abi_compare OLD: returns 1 when a library has its old SONAME although its ABI differs by more than
# added symbols.
abi_compare()
{
	local old=$1 name file headers status=0 before now

	while read -r name file headers; do
		[ -n "$name" ] || continue
		# The old commit does not have this library.
		[ -e "$old/build/$file" ] || continue
		before=$(abi_soname "$old/build/$file") && now=$(abi_soname "$top/build/gcc/$file") || return
		if [ "$before" != "$now" ]; then
			printf '%s is %s now: programs have to be compiled anew\n' "$before" "$now"
			continue
		fi
		rm -rf -- "$old/headers"
		mkdir -p "$old/headers/before" "$old/headers/now"
		# $headers is a pattern, which the shell expands.
		# shellcheck disable=SC2086
		cp -- "$old/source"/$headers "$old/headers/before/" && cp -- "$top"/$headers "$old/headers/now/"
		printf '%s:\n' "$now"
		# Reports by changed types: in a report by functions, some functions are left out as
		# if reported before.
		inside abidiff --drop-private-types --no-added-syms --leaf-changes-only --headers-dir1 "$old/headers/before" \
			--headers-dir2 "$old/headers/now" "$old/build/$file" "$top/build/gcc/$file" || status=1
	done <<<"$abi_libraries"
	return "$status"
}

cmd_abidiff()
{
	local commit old=$top/build/abi status=0

	[ $# -eq 1 ] || wrong "abidiff needs a commit to compare with, such as: ./npu abidiff HEAD~10"
	progress_to_stdout
	ensure_environment build abidiff
	commit=$(inside git -C "$top" rev-parse --verify --quiet --end-of-options "$1^{commit}") ||
		die "abidiff: git knows no commit '$1'; give a commit, tag or branch to compare with"
	build_tools || exit
	take_lock "$top/build/.abi-lock" "it compares libraries"
	step abi-old "libraries of $1" abi_old "$commit" "$old" || exit
	abi_compare "$old" || status=$?
	drop_lock
	[ "$status" -ne 0 ] || say "programs linked with the libraries of $1 run with these"
	exit "$status"
}
