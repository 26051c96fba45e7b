# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# TAP of tests that are shell scripts. Sourced; the lines go to stdout.

number=0 failures=0

# ok STATUS NAME: one line; a failure shows $out, what the command under test said.
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

# equal NAME WANTED: $out is WANTED
equal()
{
	[ "$out" = "$2" ]
	ok $? "$1"
}

# contains NAME WANTED: WANTED is in $out
contains()
{
	[[ $out == *"$2"* ]]
	ok $? "$1"
}

# What follows starts no process, which takes a third of a second on a kernel that looks for errors.

# Nothing ever comes from it.
exec {never}<> <(:)

# wait_for CONDITION…: within 60 s, as the machine may be slow and busy
wait_for()
{
	local tries

	for ((tries = 0; tries < 600; tries++)); do
		"$@" && return
		read -rt 0.1 -u "$never"
	done
	return 1
}

# Until the end of its jobs is over, the driver is needed, also when their programs have ended.
driver_is_unused()
{
	local users

	read -r users </sys/module/onpu/refcnt
	[ "$users" -eq 0 ]
}

# fdinfo_has PROGRAM REGEX: what the kernel tells of a file of the process
fdinfo_has()
{
	local file text=''

	for file in "/proc/$1/fdinfo/"*; do
		{ read -rd '' text <"$file"; } 2>/dev/null
		[[ $text =~ $2 ]] && return
	done
	return 1
}

# has_computed PROGRAM: a job of the process has ended.
has_computed()
{
	fdinfo_has "$1" 'drm-engine-npu:[[:space:]]*[1-9]'
}

# has_let_go PROGRAM: it has no file of the driver open.
has_let_go()
{
	! fdinfo_has "$1" 'drm-driver:[[:space:]]*onpu'
}

# ask_host REQUEST: of ./npu guest, see Documentation/guest.rst
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

# From then on the device reads as all-ones.
kill_emulator()
{
	ask_host kill-emulator
}

# A new NPU in its place.
plug_emulator()
{
	ask_host plug-emulator
}

# The last line; fails if a test has.
tap_end()
{
	printf '1..%d\n' "$number"
	[ "$failures" -eq 0 ]
}
