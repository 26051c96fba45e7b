# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# ./npu cross: builds and tests the library for other processors, in build/cross. Debian's cross
# compiler builds it with Debian's libraries for that processor, and qemu-user runs its tests.
# Sourced by npu, which sets $top. Needs lib.sh and root.sh.

: "${top:?}"

cross_architectures=(arm64 riscv64)

# Packages that a build is linked with, in the folder of libraries: the compiler's, the C library's and the product's.
cross_libraries=libc6-dev,libgcc-14-dev,linux-libc-dev,libopenblas-pthread-dev,libdrm-dev,libcmocka-dev,libjansson-dev

# Programs that the guest of that processor has besides those that are built (scripts/arm64.sh).
cross_programs=bash,busybox-static,coreutils,util-linux

# cross_names ARCHITECTURE: prints Debian's name of compiler and libraries, and the processor's name
# for Meson and QEMU.
cross_names()
{
	case $1 in
	arm64) echo aarch64-linux-gnu aarch64 ;;
	riscv64) echo riscv64-linux-gnu riscv64 ;;
	*) die "cross: nothing can be built for the processor '$1'; there are: ${cross_architectures[*]}" ;;
	esac
}

# cross_install [FILE PACKAGE]…: installs each package whose file is missing. The environment has
# these packages only after somebody has built for another processor.
cross_install()
{
	local missing=()

	while [ $# -gt 0 ]; do
		inside test -e "$1" || missing+=("$2")
		shift 2
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	step cross-tools "installing ${missing[*]}" install_lines "${missing[@]}"
}

cross_tools()
{
	local files=(/usr/bin/qemu-aarch64 qemu-user) architecture tuple

	for architecture in "${cross_architectures[@]}"; do
		read -r tuple _ < <(cross_names "$architecture")
		files+=("/usr/bin/$tuple-gcc" "gcc-$tuple")
	done
	cross_install "${files[@]}"
}

# cross_links ROOT TUPLE: makes the links in ROOT that the scripts of packages would make. The
# scripts cannot run, as they are for another processor.
cross_links()
{
	local libraries=$1/usr/lib/$2 name

	[ -e "$1/lib" ] || ln -s usr/lib "$1/lib" || return
	for name in libopenblas.so libopenblas.so.0; do
		ln -sf "openblas-pthread/$name" "$libraries/$name" || return
	done
	ln -sf ../openblas-pthread/pkgconfig/openblas.pc "$libraries/pkgconfig/openblas.pc"
}

# cross_root ARCHITECTURE FOLDER TUPLE: unpacks packages of that processor, without setting them up.
cross_root()
{
	local line options=()

	while read -r line; do
		options+=("--aptopt=$line")
	done < <(host_apt_options)
	rm -rf -- "$2" "$2.new"
	# Backports are for the driver's kernels. Their lists are not always complete for these architectures.
	root_sources | grep -v -e '^deb-src' -e '-backports ' |
		mmdebstrap --mode=root --variant=extract "--architectures=$1" \
		--aptopt='APT::Install-Recommends "false"' "${options[@]}" \
		"--include=$cross_libraries,$cross_programs" "${suite:?}" "$2.new" - || return
	cross_links "$2.new" "$3" && mv -T -- "$2.new" "$2"
}

# cross_file FOLDER TUPLE PROCESSOR: prints Meson's description of the machine.
cross_file()
{
	cat <<-END
	[binaries]
	c = ['$2-gcc', '--sysroot=$1']
	ar = '$2-ar'
	strip = '$2-strip'
	objcopy = '$2-objcopy'
	pkg-config = 'pkg-config'
	exe_wrapper = ['qemu-$3', '-L', '$1']
	[properties]
	sys_root = '$1'
	pkg_config_libdir = ['$1/usr/lib/$2/pkgconfig', '$1/usr/share/pkgconfig']
	[host_machine]
	system = 'linux'
	cpu_family = '$3'
	cpu = '$3'
	endian = 'little'
	END
}

# cross_tests BUILD: prints name and program of each test of the library that is a program of its
# own, which QEMU runs. Scripts are left out: programs that they start would be of another
# processor.
cross_tests()
{
	inside meson introspect --tests "$1" | inside python3 -c '
import json, os, sys
for test in json.load(sys.stdin):
    program = os.path.relpath(test["cmd"][0], sys.argv[1])
    if any(s.endswith(":library") for s in test["suite"]) and not program.startswith(".."):
        print(test["name"], program)' "$1"
}

# cross_ensure_root ARCHITECTURE: unpacks the libraries that programs are linked with, unless they
# are there.
cross_ensure_root()
{
	local work=$top/build/cross/$1 tuple

	read -r tuple _ < <(cross_names "$1")
	[ ! -e "$work/root/usr/bin/busybox" ] || return 0
	install_host_tools
	mkdir -p "$work"
	step "cross-$1-root" "libraries of $1" cross_root "$1" "$work/root" "$tuple"
}

# cross_configure ARCHITECTURE: configures the build; once more when the kernel's test harness,
# which the driver's tests need, has come, or when the last configuration was interrupted.
cross_configure()
{
	local work=$top/build/cross/$1 tuple processor again=()

	read -r tuple processor < <(cross_names "$1")
	cross_file "$work/root" "$tuple" "$processor" >"$work/machine.ini"
	if [ -e "$work/build/build.ninja" ]; then
		[ -e "$top/build/linux/.complete" ] && ! grep -q driver-test-query "$work/build/build.ninja" || return 0
	fi
	[ ! -e "$work/build/meson-private/coredata.dat" ] || again=(--reconfigure)
	step "cross-$1-setup" "configuring for $1" inside meson setup "${again[@]}" --werror --cross-file "$work/machine.ini" \
		--auto-features=disabled "$work/build" "$top"
}

# cross_run ARCHITECTURE: builds the library and its tests, and runs the tests.
cross_run()
{
	local work=$top/build/cross/$1 tests programs

	cross_ensure_root "$1" && cross_configure "$1" || return
	# Meson reports the tests of its last configuration.
	step "cross-$1-list" "listing tests for $1" inside ninja -C "$work/build" build.ninja || return
	mapfile -t tests < <(cross_tests "$work/build")
	[ ${#tests[@]} -gt 0 ] || { say "  cross: no test of the library for $1"; return 1; }
	mapfile -t programs < <(printf '%s\n' "${tests[@]}" | cut -d ' ' -f 2 | sort -u)
	mapfile -t tests < <(printf '%s\n' "${tests[@]}" | cut -d ' ' -f 1)
	step "cross-$1-build" "building for $1" inside ninja -C "$work/build" "${programs[@]}" || return
	# QEMU translates each instruction, so the tests take longer.
	step "cross-$1-test" "tests of the library on $1, ${#tests[@]} programs" \
		inside meson test -C "$work/build" --no-rebuild --print-errorlogs --timeout-multiplier 20 "${tests[@]}"
}

# cross_all [ARCHITECTURE…]: builds and tests for these architectures, all if none is given.
cross_all()
{
	local architecture status=0

	[ $# -gt 0 ] || set -- "${cross_architectures[@]}"
	for architecture in "$@"; do
		cross_names "$architecture" >/dev/null || return
	done
	cross_tools || return
	mkdir -p "$top/build"
	take_lock "$top/build/.cross-lock" "it uses build/cross"
	for architecture in "$@"; do
		cross_run "$architecture" || status=1
	done
	drop_lock
	return "$status"
}

cmd_cross()
{
	progress_to_stdout
	ensure_environment build
	cross_all "$@"
}
