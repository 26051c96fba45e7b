# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Builds kernels with the checks that Debian's kernel does without, from Debian's source: one in
# build/debug/NAME for each scripts/debug-kernel/NAME.config. Sourced by npu, which sets $top. Needs
# lib.sh and root.sh.

: "${top:?}"

debug_source=linux-source-6.12

debug_folder()
{
	printf '%s\n' "$top/build/debug/$1"
}

debug_names()
{
	local file

	for file in "$top"/scripts/debug-kernel/*.config; do
		file=${file##*/}
		[ "$file" = common.config ] || printf '%s\n' "${file%.config}"
	done
}

# Prints the name of the kernel in a release such as 6.12.117-onpu-NAME; nothing for another
# release.
debug_name_of()
{
	case $1 in
	*-onpu-*) printf '%s\n' "${1##*-onpu-}" ;;
	esac
}

debug_release()
{
	cat -- "$(debug_folder "$1")/release"
}

# debug_stamp NAME: prints a line that changes with all on which the kernel depends. The driver is
# built outside of the kernel, so its sources do not count.
debug_stamp()
{
	{
		inside dpkg-query -W "$debug_source" gcc
		cat -- "$top/scripts/debug-kernel/common.config" "$top/scripts/debug-kernel/$1.config" \
			"$top/driver/Kconfig" "$top/scripts/debug.sh"
	} | sha256sum
}

# Unpacks the source without parts that are large and not needed: most of the documentation, headers
# of AMD's GPUs, and the kernel's selftests.
unpack_debug_source()
{
	local folder=$1 wanted=$2 arch

	[ "$(cat "$folder/.complete" 2>/dev/null)" != "$wanted" ] || return 0
	rm -rf -- "$folder"
	mkdir -p -- "$folder"
	arch=$(inside tar -xJf "/usr/src/$debug_source.tar.xz" -C "$folder" --strip-components=1 \
		--exclude="*/Documentation/*/*" --exclude="*/drivers/gpu/drm/amd/include/*" \
		--exclude="*/tools/testing/selftests/*/*" 2>&1) || { printf '%s\n' "$arch"; return 1; }
	# Adds the driver as a copy in the kernel's own tree would have it, so that its options are
	# selected.
	mkdir -p -- "$folder/drivers/accel/onpu"
	sed -i 's|^source "drivers/accel/qaic/Kconfig"|&\nsource "drivers/accel/onpu/Kconfig"|' \
		"$folder/drivers/accel/Kconfig"
	printf '%s\n' "$wanted" >"$folder/.complete"
}

# Prints options that a fragment asks for and the kernel lacks: they were renamed, or miss a
# dependency.
missing_options()
{
	local line

	cat -- "$@" | while read -r line; do
		case $line in
		CONFIG_*=[ym]) grep -qx -- "$line" .config || printf '%s\n' "$line" ;;
		esac
	done
}

make_debug_kernel()
{
	local name=$1 folder source fragments missing
	local build=()

	folder=$(debug_folder "$name")
	source=$(debug_folder source)
	fragments=("$top/scripts/debug-kernel/common.config" "$top/scripts/debug-kernel/$name.config")
	unpack_debug_source "$source" "$(inside dpkg-query -W "$debug_source")" || return
	cp -- "$top/driver/Kconfig" "$source/drivers/accel/onpu/Kconfig" || return
	mkdir -p -- "$folder"
	# The kernel has races of its own: KCSAN looks only at what is built later, the driver.
	# KCSAN must know the kernel's barriers, as the driver relies on those in locks and queues.
	build=(make -C "$source" "O=$folder" -j "$(nproc)" CFLAGS_KCSAN=-D__KCSAN_INSTRUMENT_BARRIERS__)
	printf 'CONFIG_LOCALVERSION="-onpu-%s"\n' "$name" | cat -- "${fragments[@]}" - >"$folder/wanted.config"
	inside "${build[@]}" "KCONFIG_ALLCONFIG=$folder/wanted.config" allnoconfig || return
	missing=$(cd -- "$folder" && missing_options "${fragments[@]}")
	if [ -n "$missing" ]; then
		printf 'The kernel has no such options:\n%s\n' "$missing"
		return 1
	fi
	inside nice "${build[@]}" bzImage modules || return
	rm -rf -- "$folder/system"
	inside "${build[@]}" "INSTALL_MOD_PATH=$folder/system" modules_install || return
	inside make -s -C "$source" "O=$folder" kernelrelease >"$folder/release.new" || return
	mkdir -p -- "$folder/system/boot"
	cp -- "$folder/arch/x86/boot/bzImage" "$folder/system/boot/vmlinuz-$(cat "$folder/release.new")" || return
	mv -- "$folder/release.new" "$folder/release"
}

# Builds the kernel, unless version and configuration are those of the last build.
build_debug_kernel()
{
	local name=$1 folder stamp status=0

	folder=$(debug_folder "$name")
	# All debug kernels are built from one source folder.
	take_lock "$top/build/debug/.lock" "it builds a kernel"
	stamp=$(debug_stamp "$name")
	if [ "$(cat "$folder/.stamp" 2>/dev/null)" != "$stamp" ] || [ ! -e "$folder/release" ]; then
		rm -f -- "$folder/.stamp" "$folder/release"
		step "debug-$name" "kernel with $name" make_debug_kernel "$name" &&
			printf '%s\n' "$stamp" >"$folder/.stamp" || status=$?
	fi
	drop_lock
	return "$status"
}
