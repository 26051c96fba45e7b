# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Prepares ./npu guest --arch arm64: Debian's kernels for that processor, unpacked and not set up, in build/arm64;
# the root, the library and the tests, which are those of ./npu cross. Sourced by npu, which sets $top. Needs lib.sh,
# root.sh, cross.sh and driver.sh.

: "${top:?}"

# Debian 13's own kernel for arm64 is configured without DRM_ACCEL, so there is no node for a driver of accel.
arm64_suite=${suite:?}-backports

# arm64_folder PAGES: prints the folder of the kernel with pages of that many KiB.
arm64_folder()
{
	printf '%s\n' "$top/build/arm64/$1k"
}

arm64_root()
{
	printf '%s\n' "$top/build/cross/arm64/root"
}

arm64_build()
{
	printf '%s\n' "$top/build/cross/arm64/build"
}

# arm64_pages_of RELEASE: prints the KiB of its pages; nothing for a kernel of another processor.
arm64_pages_of()
{
	case $1 in
	*-arm64) echo 4 ;;
	*-arm64-16k) echo 16 ;;
	esac
}

# arm64_flavour PAGES: prints Debian's name of the kernel with such pages.
arm64_flavour()
{
	case $1 in
	4) echo arm64 ;;
	16) echo arm64-16k ;;
	esac
}

# arm64_apt COMMAND…: runs a program of apt for packages of arm64. Its state has no installed
# packages, and the state of the environment does not change.
arm64_apt()
{
	local state=$top/build/arm64/apt

	mkdir -p "$state"/{lists,cache/archives}/partial
	root_sources | grep -v '^deb-src' >"$state/sources.list"
	cat >"$state/conf" <<-END
	APT::Architecture "arm64";
	APT::Architectures { "arm64"; "$(inside dpkg --print-architecture)"; };
	APT::Sandbox::User "root";
	Acquire::Languages "none";
	Dir::State::Lists "$state/lists";
	Dir::State::Status "/dev/null";
	Dir::Cache "$state/cache";
	Dir::Etc::SourceList "$state/sources.list";
	Dir::Etc::SourceParts "-";
	END
	inside env "APT_CONFIG=$state/conf" "$@"
}

# unpack_arm64 FOLDER FLAVOUR: unpacks the newest kernel of that flavour, and the headers to build
# modules with.
unpack_arm64()
{
	local folder=$1 flavour=$2 release version package ours

	ours=$(inside dpkg --print-architecture)
	arm64_apt apt-get -q update || return
	release=$(arm64_apt apt-cache show "linux-headers-$flavour/$arm64_suite" | tr -s ', ' '[\n*]' |
		sed -n '/^linux-headers-[0-9]/ { s/^linux-headers-//p; q }')
	[ -n "$release" ] || { echo "no kernel linux-headers-$flavour in $arm64_suite"; return 1; }
	version=${release%"-$flavour"}
	mkdir -p -- "$folder/packages"
	arm64_apt env -C "$folder/packages" apt-get -q download "linux-binary-$release" "linux-modules-$release" \
		"linux-headers-$release" "linux-headers-$version-common" "linux-kbuild-$version:$ours" || return
	for package in "$folder"/packages/*.deb; do
		inside dpkg-deb -x "$package" "$folder" || return
	done
	rm -rf -- "$folder/packages" "$top/build/arm64/apt"
	ln -s usr/lib "$folder/lib"
	mkdir -p -- "$folder/boot"
	ln -s "../lib/modules/$release/vmlinuz" "$folder/boot/vmlinuz-$release"
	# The Makefile names the place where the headers would be installed.
	sed -i "s|/usr/src/|${folder%.new}/usr/src/|" "$folder/usr/src/linux-headers-$release/Makefile" || return
	inside depmod -b "$folder" "$release" || return
	printf '%s\n' "$release" >"$folder/release"
}

make_arm64_kernel()
{
	local folder

	folder=$(arm64_folder "$1")
	rm -rf -- "$folder" "$folder.new"
	unpack_arm64 "$folder.new" "$(arm64_flavour "$1")" && mv -T -- "$folder.new" "$folder"
}

# Makes links to busybox for programs that no other package has, copies of the files from which
# passwd and group are made, and mount points.
finish_arm64_root()
{
	local target name

	target=$(arm64_root)
	mkdir -p "$target"/{dev,etc,proc,run,sys,tmp,var/tmp,usr/bin,usr/sbin} || return
	for name in bin sbin; do
		[ -e "$target/$name" ] || ln -s "usr/$name" "$target/$name" || return
	done
	for name in $(inside busybox --list); do
		[ -e "$target/usr/bin/$name" ] || [ -e "$target/usr/sbin/$name" ] || ln -s busybox "$target/usr/bin/$name" || return
	done
	ln -sf ../bin/busybox "$target/usr/sbin/killall5"
	cp -- "$(environment_root)"/etc/{passwd,group} "$target/etc/" && : >"$target/.onpu-guest"
}

# build_arm64_programs [COMMAND]: builds the tests of the driver, and COMMAND if it is a program of
# the build, as ./npu cross builds the library.
build_arm64_programs()
{
	local build status=0

	build=$(arm64_build)
	take_lock "$top/build/.cross-lock" "it uses build/cross"
	cross_configure arm64 && step arm64-build "programs for arm64" make_arm64_programs "$build" "${1:-}" || status=$?
	drop_lock
	return "$status"
}

make_arm64_programs()
{
	local targets program=${2##*/}

	# Only driver-prefer needs the library, and no test of the arm64 guest runs it.
	mapfile -t targets < <(inside ninja -C "$1" -t targets all |
		sed -n "s,^\(tests/driver/driver-[a-z-]*\|userspace/tools/${program:-none}\): .*,\1,p" | grep -v driver-prefer)
	[ ${#targets[@]} -gt 1 ] || { echo "the build has no tests of the driver"; return 1; }
	inside ninja -C "$1" "${targets[@]}" &&
		inside python3 "$top/scripts/link-tools.py" "$1" "$top/build/cross/arm64/bin"
}

# ensure_arm64 PAGES: makes sure that compiler, QEMU, kernel and root are there.
ensure_arm64()
{
	local folder status=0

	folder=$(arm64_folder "$1")
	take_lock "$top/build/.cross-lock" "it uses build/cross"
	cross_install /usr/bin/aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu /usr/bin/qemu-aarch64 qemu-user \
		/usr/bin/fdtput device-tree-compiler /usr/bin/qemu-system-aarch64 "qemu-system-arm/$arm64_suite" && {
		[ -e "$folder/release" ] ||
			step "arm64-kernel-$1" "kernel for arm64, pages of $1 KiB" make_arm64_kernel "$1"
	} && cross_ensure_root arm64 && {
		[ -e "$(arm64_root)/.onpu-guest" ] || finish_arm64_root
	} || status=$?
	drop_lock
	return "$status"
}

arm64_release()
{
	cat -- "$(arm64_folder "$1")/release"
}
