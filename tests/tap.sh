# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Functions for tests that are shell scripts, which source this file. They print TAP to standard
# output.

number=0 failures=0

# ok STATUS NAME: prints one line; a failure also prints $out, the output of the command under test.
ok()
{
	local word=ok

	number=$((number + 1))
	if [ "$1" -ne 0 ]; then
		word='not ok'
		failures=$((failures + 1))
		[ -z "${out:-}" ] || printf '%s\n' "$2: got: $out" >&2
	fi
	printf '%s %d - %s\n' "$word" "$number" "$2"
}

# equal NAME WANTED: prints a test, which passes if $out is WANTED
equal()
{
	[ "$out" = "$2" ]
	ok $? "$1"
}

# contains NAME WANTED: prints a test, which passes if WANTED is in $out
contains()
{
	[[ $out == *"$2"* ]]
	ok $? "$1"
}

# The functions that follow are made of builtins alone: on a debug kernel (KASAN, lockdep), to start
# a process takes a third of a second.

# Nothing is ever written to this pipe: a read waits for its time limit.
exec {never}<> <(:)

# wait_for CONDITION…: waits for up to 60 s, as the machine may be slow and busy; returns whether
# the condition became true.
wait_for()
{
	local tries

	for ((tries = 0; tries < 600; tries++)); do
		"$@" && return
		read -rt 0.1 -u "$never"
	done
	return 1
}

# Sets $address to the PCI address of the first NPU that the driver has, and $device to its folder in
# sysfs.
# shellcheck disable=SC2034
find_npu()
{
	local links=(/sys/bus/pci/drivers/onpu/0000:*)

	address=${links[0]##*/}
	device=/sys/bus/pci/devices/$address
}

# Returns whether nothing uses the driver. Jobs use it until they have ended, even when their
# programs have ended before.
driver_is_unused()
{
	local users

	read -r users </sys/module/onpu/refcnt
	[ "$users" -eq 0 ]
}

# fdinfo_has PROGRAM REGEX: returns whether the fdinfo of some file of the process with this id
# matches
fdinfo_has()
{
	local file text=''

	for file in "/proc/$1/fdinfo/"*; do
		{ read -rd '' text <"$file"; } 2>/dev/null
		[[ $text =~ $2 ]] && return
	done
	return 1
}

# has_computed PROGRAM: returns whether a job of the process with this id has run on the device.
has_computed()
{
	fdinfo_has "$1" 'drm-engine-npu:[[:space:]]*[1-9]'
}

# has_let_go PROGRAM: returns whether the process with this id has no file of the driver open.
has_let_go()
{
	! fdinfo_has "$1" 'drm-driver:[[:space:]]*onpu'
}

# ask_host REQUEST: sends a request to ./npu guest (Documentation/guest.rst), waits for the answer,
# and fails unless the request was carried out.
ask_host()
{
	local answer

	exec 9<>"$ONPU_GUEST_CONTROL"
	echo "$1" >&9
	read -r answer <&9
	exec 9>&-
	[ "$answer" = ok ] && return
	printf '# %s: %s\n' "$1" "$answer" >&2
	return 1
}

# Kills the emulator of the NPU: from this call on, all registers of the NPU read as all-ones.
kill_emulator()
{
	ask_host kill-emulator
}

# Puts a new NPU in the place of the old one.
plug_emulator()
{
	ask_host plug-emulator
}

# Prints the last line; fails if a test has failed.
tap_end()
{
	printf '1..%d\n' "$number"
	[ "$failures" -eq 0 ]
}
