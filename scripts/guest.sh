# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Implements ./npu guest: reads the options and builds what the guest needs; scripts/guest.py runs
# the guest. Sourced by npu, which sets $top. Needs lib.sh, places.sh, root.sh, build.sh and
# driver.sh.

: "${top:?}"

guest_usage()
{
	cat <<-'END'
	usage: ./npu guest [OPTIONS] [--] COMMAND…

	Runs COMMAND in a virtual machine with an NPU. The root is that of ./npu exec, read-only; the
	checkout, the current directory and the folders of files that COMMAND names are writable. The exit
	status is COMMAND's; 124: it did not finish in time; 125: the guest failed, or its kernel warned.

	  --root              as root, not as a user of the group render
	  --kernel RELEASE    6.12 (the default) or another series or release of the environment, or a kernel
	                      of scripts/debug-kernel that ./npu check-debug has built, by its name
	  --arch ARCHITECTURE arm64: a machine of that kind, with Debian's kernel from backports and a small root
	                      (bash, coreutils, busybox), for what ./npu cross builds; amd64 unless given
	  --pages KIB         with --arch arm64: the kernel's pages, 4 (the default) or 16
	  --not-coherent      with --arch arm64: the NPU does not see the processors' caches
	  --devices N         with N NPUs, each an onpu-emu of its own; 1 unless given, at most 8
	  --emu-arg=ARG       an option of every onpu-emu, such as --emu-arg=--sync
	  --no-driver         with the NPU, without the driver
	  --no-device         without an NPU
	  --system=FOLDER     the system that is in FOLDER, in place of the root of ./npu exec, read-only as
	                      that; without driver and udev's work
	  --no-build          with what is built already
	  --iommu             with an IOMMU between the NPU and memory
	  --replay            what crosses the NPU's interface is recorded, and must come again in a replay
	  --root-port         with the NPU behind a root port, which reports errors of the bus
	  --in-memory=FILE    the root is in memory and no folder is shared, as a machine that sleeps needs it;
	                      with this file of the checkout, and what it needs (may be given again)
	  --hotplug           with the NPU in a slot, where another may follow it
	  --modprobe=MODULE   load a module of the kernel before
	  --append=TEXT       an option on the kernel's command line
	  --timeout SECONDS   600 unless given
	  --memory MIB        1024 unless given
	  --cpus N            2 unless given
	  --allow-log=REGEX   expected lines of the kernel's log
	  --allow-warnings    the log may have warnings and errors, but no oops, BUG or WARNING
	  --log=FILE          the kernel's log; build/log/guest.log unless given
	  --plugin=FILE[,…]   a TCG plugin of QEMU, with its arguments
	  --gdb               wait for a debugger at build/gdb.sock
	END
}

guest_wrong()
{
	guest_usage >&2
	printf '\n' >&2
	die "guest: the command line is wrong: $*"
}

# guest_number OPTION VALUE: refuses a value that is not a number from 1 to 9999999.
guest_number()
{
	[[ $2 =~ ^[1-9][0-9]{0,6}$ ]] || guest_wrong "$1 needs a number from 1 to 9999999, not '$2'"
}

# guest_options WORD…: reads the options into guest_args, for guest.py, and the variables below.
guest_options()
{
	local option

	guest_args=() guest_kernel='' guest_driver=1 guest_device=1 guest_build=1 guest_command=() guest_system=''
	guest_arch=amd64 guest_pages=''
	while [ $# -gt 0 ]; do
		option=$1
		case $option in
		--) shift; break ;;
		--root|--allow-warnings|--iommu|--replay|--root-port|--hotplug|--not-coherent) guest_args+=("$option") ;;
		--gdb) guest_args+=("--gdb=$top/build/gdb.sock") ;;
		--no-driver) guest_driver=0 ;;
		--no-device) guest_device=0 guest_driver=0 ;;
		--no-build) guest_build=0 ;;
		--help|-h) guest_usage; exit ;;
		--kernel=*|--devices=*|--emu-arg=*|--modprobe=*|--append=*|--plugin=*|--timeout=*|--memory=*|--cpus=*|--allow-log=*|--log=*|--system=*|--in-memory=*|--arch=*|--pages=*)
			guest_option "${option%%=*}" "${option#*=}" ;;
		--kernel|--devices|--emu-arg|--modprobe|--append|--plugin|--timeout|--memory|--cpus|--allow-log|--log|--system|--in-memory|--arch|--pages)
			[ $# -ge 2 ] || guest_wrong "$option needs a value"
			shift
			guest_option "$option" "$1" ;;
		-*) guest_wrong "there is no option '$option'" ;;
		*) break ;;
		esac
		shift
	done
	[ $# -gt 0 ] || guest_wrong "it needs a command, such as: ./npu guest true"
	[ -z "$guest_system" ] || [[ " ${guest_args[*]}" != *" --in-memory="* ]] ||
		guest_wrong "--in-memory: the root cannot be that of --system, too"
	guest_command=("$@")
	guest_check_arch
}

# Refuses options that the chosen processor's machine does not have.
guest_check_arch()
{
	local option

	case $guest_arch in
	amd64)
		[[ -z $guest_pages && " ${guest_args[*]} " != *" --not-coherent "* ]] ||
			guest_wrong "--pages and --not-coherent need --arch arm64" ;;
	arm64)
		: "${guest_pages:=4}"
		[ -n "$(arm64_flavour "$guest_pages")" ] || guest_wrong "--pages is 4 or 16, not '$guest_pages'"
		[ -z "$guest_kernel" ] || guest_wrong "--kernel: --arch arm64 has one kernel for each --pages"
		for option in --iommu --in-memory --system; do
			[[ " ${guest_args[*]}" != *" $option"* ]] || guest_wrong "$option is not there with --arch arm64"
		done ;;
	*) guest_wrong "--arch is amd64 or arm64, not '$guest_arch'" ;;
	esac
}

guest_option()
{
	case $1 in
	--kernel) guest_kernel=$2 ;;
	--arch) guest_arch=$2 ;;
	--pages) guest_pages=$2 ;;
	--devices)
		[[ $2 =~ ^[1-8]$ ]] || guest_wrong "--devices is a number of NPUs from 1 to 8, not '$2'"
		guest_args+=("$1=$2") ;;
	--timeout|--memory|--cpus) guest_number "$1" "$2"; guest_args+=("$1=$2") ;;
	--system)
		[ -d "$2/boot" ] || guest_wrong "--system: there is no system in '$2'"
		guest_system=$(realpath -- "$2")
		guest_args+=("--system=$guest_system")
		guest_driver=0 ;;
	--log) guest_args+=("--log=$(realpath -m -- "$2")") ;;
	--allow-log)
		grep -qE -- "$2" <<<'' || [ $? -eq 1 ] || guest_wrong "--allow-log: '$2' is no regular expression"
		guest_args+=("$1=$2") ;;
	*) guest_args+=("$1=$2") ;;
	esac
}

# Builds what the guest needs: the device and its firmware, the tools, the driver.
guest_builds()
{
	build_tools || return
	if [ "$guest_driver" = 1 ]; then
		build_driver "$guest_kernel" "$guest_module" || return
	fi
	[ "$guest_arch" = amd64 ] || build_arm64_programs "${guest_command[0]}"
}

# Runs the builds. Shows their lines on a terminal, or after a failure, so that only the command's
# own output comes otherwise.
guest_quietly()
{
	local lines status=0 saved=${step_fd:?}

	if [ -t 2 ]; then
		"$@"
		return
	fi
	lines=$(mktemp)
	exec {step_fd}>"$lines"
	"$@" || status=$?
	exec {step_fd}>&-
	step_fd=$saved
	[ "$status" -eq 0 ] || cat "$lines" >&2
	rm -f "$lines"
	return "$status"
}

# The sets of packages that the guest needs, and the build of the driver that it loads. The demo
# needs less and sets both.
guest_sets=(build) guest_module=gcc

# guest_prepare OPTIONS… COMMAND…: sets guest_line to the command that runs the guest inside the
# environment.
guest_prepare()
{
	local places place sets=("${guest_sets[@]}")

	guest_options "$@"
	if [ "$guest_driver" = 1 ] && ! driver_exists; then
		die "guest: this checkout lacks the driver's sources (Kbuild, driver/Kbuild): take a whole checkout, or start the guest with --no-driver"
	fi
	[ -z "$guest_kernel" ] || sets+=(kernels)
	ensure_environment "${sets[@]}"
	if [ "$guest_arch" = amd64 ]; then
		guest_kernel=$(kernel_of "$guest_kernel") || exit
		[ ! -e "$(driver_folder "$guest_kernel" gcc)/.stamp" ] || guest_module=gcc
	else
		guest_quietly ensure_arm64 "$guest_pages" || exit
		guest_kernel=$(arm64_release "$guest_pages") guest_module=arm64
		export ONPU_DRIVER_TESTS=${ONPU_DRIVER_TESTS:-$(arm64_build)/tests/driver}
	fi
	[ "$guest_build" = 0 ] || guest_quietly guest_builds || exit
	guest_line=(python3 "$top/scripts/guest.py" "--kernel=$guest_kernel" "${guest_args[@]}")
	if [ -n "$(debug_name_of "$guest_kernel")" ]; then
		guest_line+=("--kernel-root=$(debug_folder "$(debug_name_of "$guest_kernel")")/system")
	fi
	if [ "$guest_arch" != amd64 ]; then
		guest_line+=("--arch=$guest_arch" "--system=$(arm64_root)" "--kernel-root=$(arm64_folder "$guest_pages")")
	fi
	if [ "$guest_device" = 1 ]; then
		guest_line+=("--emulator=${ONPU_EMU:-$top/build/bin/onpu-emu}")
	fi
	if [ "$guest_driver" = 1 ]; then
		guest_line+=("--driver=$(driver_folder "$guest_kernel" "$guest_module")/onpu.ko"
			"--firmware=${ONPU_FIRMWARE:-$top/build/gcc/firmware/onpu_v1.bin}")
	fi
	find_all_places "${guest_command[@]}"
	for place in "${places[@]}"; do
		guest_line+=("--share=$place")
	done
	guest_line+=(-- "${guest_command[@]}")
}

cmd_guest()
{
	guest_prepare "$@"
	become "${guest_line[@]}"
}
