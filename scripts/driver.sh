# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Builds the kernel module as build/driver/RELEASE/COMPILER/onpu.ko for each kernel of the
# environment, and checks its sources. Sourced by npu, which sets $top. Needs lib.sh, root.sh and
# debug.sh.

: "${top:?}"

# Prints where the environment's files are, seen from outside; nothing if the host is the
# environment.
environment_root()
{
	[ "${environment:?}" = host ] || printf '%s\n' "${root:?}"
}

# Prints the releases of kernels for which modules can be built, and which can be booted: the newest
# release of each series, the oldest series first. With $guest_system, these are the kernels of that
# system.
kernels()
{
	local from dir release

	from=${guest_system:-$(environment_root)}
	for dir in "$from"/lib/modules/*/build; do
		release=${dir%/build}
		release=${release##*/}
		[ ! -e "$from/boot/vmlinuz-$release" ] || printf '%s\n' "$release"
	done | sort -rV | awk -F . '!seen[$1 "." $2]++' | sort -V
}

# kernel_of WANTED: prints the release that begins with WANTED, or the first release without WANTED.
# The name of a kernel that debug.sh built stands for its release.
kernel_of()
{
	local all release from=${guest_system:-$(environment_root)/}

	if [ -n "$1" ] && [ -e "$(debug_folder "${1##*-onpu-}")/release" ]; then
		debug_release "${1##*-onpu-}"
		return
	fi
	all=$(kernels)
	[ -n "$all" ] || die "no kernel that can be booted is in $from: install linux-image-amd64 and linux-headers-amd64 there"
	while read -r release; do
		case $release in "$1"|"$1"[.+-]*) ;; *) [ -z "$1" ] || continue ;; esac
		printf '%s\n' "$release"
		return
	done <<<"$all"
	die "--kernel '$1' is neither a series nor a release of the kernels in $from; give one of: $(paste -sd ' ' <<<"$all")"
}

# short_release RELEASE: prints 6.12.117 for 6.12.117+deb13-amd64, and 6.12.117-onpu-races as it is.
short_release()
{
	case $1 in
	*-onpu-*) printf '%s\n' "$1" ;;
	*) printf '%s\n' "${1%%[+-]*}" ;;
	esac
}

# kernel_build RELEASE: prints the folder in which modules for this kernel are built, as seen
# inside.
kernel_build()
{
	local name pages

	name=$(debug_name_of "$1")
	pages=$(arm64_pages_of "$1")
	if [ -n "$name" ]; then
		debug_folder "$name"
	elif [ -n "$pages" ]; then
		printf '%s/usr/src/linux-headers-%s\n' "$(arm64_folder "$pages")" "$1"
	else
		printf '/lib/modules/%s/build\n' "$1"
	fi
}

driver_exists()
{
	[ -e "$top/Kbuild" ] && [ -e "$top/driver/Kbuild" ]
}

# driver_folder RELEASE COMPILER: prints the folder of a build.
driver_folder()
{
	printf '%s\n' "$top/build/driver/$1/$2"
}

# Prints the names of the files that a build of the modules reads, each with a NUL.
driver_sources()
{
	(cd -- "$top" && find Kbuild driver uapi tests/versions tests/driver/{widen,kunit,older,newer} -type f ! -name '*.pyc' -print0 | sort -z)
}

# copy_driver FOLDER: copies what a build of the driver reads to the folder in which a kernel builds
# the modules. Only files that differ are copied, so that make sees what has changed.
copy_driver()
{
	local folder=$1 file

	mkdir -p "$folder"
	driver_sources >"$folder/.sources.new"
	if [ -e "$folder/.sources" ]; then
		comm -z -23 "$folder/.sources" "$folder/.sources.new" |
			(cd -- "$folder" && xargs -0r rm -f --)
	fi
	mv -- "$folder/.sources.new" "$folder/.sources"
	while IFS= read -r -d '' file; do
		cmp -s -- "$top/$file" "$folder/$file" && continue
		mkdir -p -- "$folder/$(dirname -- "$file")"
		cp -- "$top/$file" "$folder/$file"
	done <"$folder/.sources"
}

# driver_stamp RELEASE COMPILER: prints a line that changes with all on which a build depends. For
# the kernel, its release counts, and two generated headers with its version and configuration.
driver_stamp()
{
	local release=$1 compiler=$2 build

	build=$(kernel_build "$release")
	[[ $build == "$top"/* ]] || build=$(environment_root)$build
	{
		printf '%s %s\n' "$release" "$compiler"
		cat -- "$build"/include/generated/{compile,autoconf}.h "$top/scripts/driver.sh"
		driver_sources | (cd -- "$top" && xargs -0 sha256sum --)
	} | sha256sum
}

# kbuild FOLDER RELEASE [ARGUMENTS of make]: builds modules. A warning about the driver's sources is
# an error; -Werror would also stop at warnings of the kernel's own headers, which cannot be helped.
kbuild()
{
	local folder=$1 release=$2 out status=0

	shift 2
	copy_driver "$folder" || return
	# The kernel of ./npu check-debug tells which places of the driver were reached.
	[ -z "$(debug_name_of "$release")" ] || set -- KCOV_INSTRUMENT=y "$@"
	# A file that is not compiled again does not warn again.
	[ ! -s "$folder/.warnings" ] || find "$folder" -name "*.o" -delete
	echo "not finished" >"$folder/.warnings"
	out=$(inside make -C "$(kernel_build "$release")" "M=$folder" ONPU_TESTS=m -j "$(nproc)" "$@" modules 2>&1) ||
		status=$?
	out=${out//"$folder/"/}
	printf '%s\n' "$out"
	if grep -E '^(driver|uapi|tests)/[^ ]*: (warning|error):' <<<"$out" >"$folder/.warnings"; then
		echo "Warnings in the driver:"
		cat "$folder/.warnings"
		return 1
	fi
	return "$status"
}

# make_driver RELEASE COMPILER: builds the driver. clang is there for its warnings: the kernel was
# configured for gcc, so the module that is used is gcc's. COMPILER demo or arm64 means gcc without
# the modules of the tests; demo also leaves out W=1, as some of its checks need Perl.
make_driver()
{
	local release=$1 compiler=$2 folder module version arguments=(W=1)
	local modules=(driver/onpu.ko tests/driver/widen/onpu_{fail,widen}.ko tests/driver/kunit/onpu_kunit.ko)

	folder=$(driver_folder "$release" "$compiler")
	case $compiler in
	gcc) arguments+=(KCFLAGS=-Werror) ;;
	demo) arguments=(KCFLAGS=-Werror ONPU_TESTS=) modules=(driver/onpu.ko) ;;
	arm64) arguments+=(KCFLAGS=-Werror ONPU_TESTS=) modules=(driver/onpu.ko) ;;
	clang) arguments+=("CC=$top/scripts/kernel-clang.sh") ;;
	esac
	kbuild "$folder" "$release" "${arguments[@]}" || return
	for module in "${modules[@]}"; do
		keep_module "$folder" "$module" "${module##*/}" || return
	done
	# The versions older and newer are built once: whether they fit together does not depend on
	# the compiler.
	[ "$compiler" = gcc ] || return 0
	for version in older newer; do
		kbuild "$folder" "$release" "${arguments[@]}" "ONPU_VERSION=$version" &&
			keep_module "$folder" "tests/driver/$version/onpu.ko" "onpu_$version.ko" || return
	done
}

# keep_module FOLDER MODULE NAME: replaces the module in one step, as a guest may be about to load
# it.
keep_module()
{
	cp -- "$1/$2" "$1/new.ko" && mv -- "$1/new.ko" "$1/$3"
}

# build_driver RELEASE COMPILER: builds the driver, unless the sources are those of the last build.
build_driver()
{
	local release=$1 compiler=$2 folder stamp status=0

	folder=$(driver_folder "$release" "$compiler")
	mkdir -p "$folder"
	take_lock "$folder/.lock" "it builds the driver"
	stamp=$(driver_stamp "$release" "$compiler")
	if [ "$(cat "$folder/.stamp" 2>/dev/null)" != "$stamp" ] || [ ! -e "$folder/onpu.ko" ]; then
		rm -f "$folder/.stamp"
		step "driver-$(short_release "$release")-$compiler" \
			"driver for $(short_release "$release") with $compiler" \
			make_driver "$release" "$compiler" && printf '%s\n' "$stamp" >"$folder/.stamp" || status=$?
	fi
	drop_lock
	return "$status"
}

# make_sched RELEASE: builds the DRM scheduler of Debian's source twice, as it is and with the
# patches of Documentation/upstream. Each is built with the test of the patches, whose source is in
# a patch.
make_sched()
{
	local release=$1 state folder upstream=$top/Documentation/upstream

	for state in before after; do
		folder=$(driver_folder "$release" sched)/$state
		rm -rf -- "$folder"
		# The header of its trace events is looked up from include/trace.
		mkdir -p -- "$folder"/{drivers/gpu/drm,include/trace,test} || return
		cp -r -- "$top/build/linux/drivers/gpu/drm/scheduler" "$folder/drivers/gpu/drm/" || return
		cp -r -- "$top"/tests/driver/kunit/{harness.h,runner.c,sched/Kbuild,sched/kunit} \
			"$folder/test/" || return
		# Otherwise git would use the checkout around this folder.
		inside env "GIT_CEILING_DIRECTORIES=${folder%/*}" git -C "$folder" apply \
			--include="*/tests_entity.c" "$upstream"/next/*.patch || return
		# With <> the kernel's own header would come first.
		sed 's,<kunit/test.h>,"kunit/test.h",' "$folder/drivers/gpu/drm/scheduler/tests/tests_entity.c" \
			>"$folder/test/tests_entity.c" || return
		[ "$state" = before ] ||
			inside env "GIT_CEILING_DIRECTORIES=${folder%/*}" git -C "$folder" apply "$upstream"/6.12/*.patch || return
		echo "obj-m += drivers/gpu/drm/scheduler/ test/" >"$folder/Kbuild"
		inside make -C "$(kernel_build "$release")" "M=$folder" -j "$(nproc)" \
			"KCFLAGS=-Werror -I$folder/include/trace" modules || return
	done
}

# build_sched RELEASE: builds the scheduler where its source is present, for the kernel of that
# source.
build_sched()
{
	[ -e "$top/build/linux/drivers/gpu" ] && [[ $1 == 6.12.* ]] && [ -z "$(debug_name_of "$1")" ] || return 0
	step "sched-$(short_release "$1")" "the DRM scheduler with our patches" make_sched "$1"
}

# Runs sparse on every file, in a folder of its own, from the start: it runs beside the compiler.
check_sparse()
{
	local folder out

	folder=$(driver_folder "$1" sparse)
	rm -rf -- "$folder"
	out=$(kbuild "$folder" "$1" C=1 KBUILD_CHECKSRC=1 "CHECK=$top/scripts/kernel-sparse.sh") || { printf '%s\n' "$out"; return 1; }
	printf '%s\n' "$out"
	grep -q 'CHECK .*onpu_drv.c' <<<"$out" || { echo "sparse was not run"; return 1; }
}

# Checks the kernel's style. Three rules do not apply: LINUX_VERSION_CODE lets one source serve
# several kernels; there is no entry in MAINTAINERS and no device tree; and an assertion of the unit
# tests has to return.
check_style()
{
	local files

	mapfile -t files < <(find "$top/driver" "$top/tests/driver/widen" "$top/tests/driver/kunit" -name '*.[ch]' | sort)
	# checkpatch leaves a file in its folder.
	inside env -C "$top/build/linux" perl scripts/checkpatch.pl --no-tree --strict --terse --show-types \
		--no-summary --max-line-length=100 --ignore=LINUX_VERSION_CODE,FILE_PATH_CHANGES,MACRO_WITH_FLOW_CONTROL \
		--file "${files[@]}" "$top/uapi/drm/onpu_accel.h"
}
