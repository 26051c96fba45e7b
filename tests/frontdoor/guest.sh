#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests of ./npu guest, with machines that boot, as TAP: guest.sh [FILE]. The driver and the device
# are there; what they do is tested elsewhere.

# Single quotes keep text for the guest's shell unexpanded; ok() takes the status of the condition
# before it.
# shellcheck disable=SC2016,SC2319
set -uo pipefail

top=$(cd -- "$(dirname -- "$0")/../.." && pwd -P)
[ $# -eq 0 ] || exec >"$1"
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
work=$top/build/check/guest-files
rm -rf -- "$work"
mkdir -p "$work"
# The guest runs as the owner of the checkout and writes to the folder, so that owner must own it;
# ./npu does this for build.
chown --reference="$top" -- "$work"
cd -- "$work" || exit
trap 'cd / && rm -rf -- "$work"' EXIT

# guest ARGUMENTS…: runs ./npu guest with a log of its own, as another guest may run.
guest()
{
	"$top/npu" guest --no-build "--log=$work/kernel.log" "$@"
}

# Checks what a command sees in the guest. One guest runs all of these checks.
test_command()
{
	cat >inside.sh <<-'END'
	{
		id -u; id -nG
		pwd
		printf '<%s>' "$@"; echo
		echo "$WEBNN_DEVICE ${CFLAGS-none} $LANG"
		sha256sum | cut -c 1-64
		[ -c /dev/accel/accel0 ] && [ -r /dev/accel/accel0 ] && [ -w /dev/accel/accel0 ] && echo node
		ls /sys/class/net
		touch /etc/onpu-test 2>/dev/null || echo read-only
		trap - INT; sh -c 'kill -INT $$; echo ignored'
		echo "reopened" >>/dev/stdout
	} >seen
	sleep 1000 &
	head -c 100000 /dev/zero | tr '\0' '\377'
	echo "to stderr" >&2
	exit 42
	END
	head -c 3000000 /dev/urandom >in
	out=$(WEBNN_DEVICE='a b' CFLAGS=-O0 guest -- bash inside.sh 'c d' "e'f" '' '$g*' <in 2>err >stdout
		echo "status $?")
	equal "the exit status is the command's" "status 42"
	out=$(cat err)
	equal "standard error is the command's and nothing else" "to stderr"
	out=$(tr -d '\377' <stdout | od -c | head; stat -c %s stdout)
	equal "standard output is the command's, byte for byte" $'0000000\n100000'
	out=$(cat seen)
	equal "user, place, arguments, variables, input, node, no network, read-only root" "$(cat <<-END
	1000
	onpu render
	$work
	<c d><e'f><><\$g*>
	a b none C.UTF-8
	$(sha256sum <in | cut -c 1-64)
	node
	lo
	read-only
	reopened
	END
	)"
	out=$(stat -c %u:%g seen)
	equal "a file that the command wrote has the checkout's owner" "$(stat -c %u:%g "$work")"
	out=$(grep -c 'Linux version' kernel.log)
	equal "the kernel's log is kept" 1
}

# Checks files outside of the checkout: in a folder of their own, in /tmp, and relative to the
# caller's directory.
test_files()
{
	local outside tmp

	outside=$(mktemp -d /var/tmp/onpu-outside-XXXXXX)
	tmp=$(mktemp -d)
	echo given >"$outside/in"
	(cd "$tmp" && guest --no-device sh -c 'cat "${1#*=}" >"$2"; cp "$2" here' sh "--in=$outside/in" "$outside/out")
	out=$(cat "$outside/out" "$tmp/here" 2>&1)
	equal "files that the command names are the caller's" $'given\ngiven'
	guest --no-device sh -c 'echo written >"$1"' sh "$tmp/there"
	out=$(cat "$tmp/there" 2>&1)
	equal "files in /tmp as well" written
	rm -rf -- "$outside" "$tmp" "$top/build/root$outside"
}

# Tests that a folder of root's home is visible if the caller names it, and nothing else of that
# home: it is closed, as in the environment and on most machines.
test_closed()
{
	local closed

	closed=$(mktemp -d -p ~root onpu-closed-XXXXXX)
	mkdir "$closed/a b"
	echo given >"$closed/a b/in"
	out=$(cd "$closed/a b" && guest --no-device sh -c 'pwd; cat in; ls "$0"; echo written >out' "$closed" 2>&1
		echo "status $?"; cat "$closed/a b/out" 2>&1)
	equal "a folder below a closed home is the caller's" "$closed/a b"$'\ngiven\na b\nstatus 0\nwritten'
	out=$(cd "$closed/a b" && guest --no-device --in-memory=tests/tap.sh sh -c 'pwd; ls "$0"/tests' "$top" 2>&1)
	equal "a root in memory has such a folder, too" "$closed/a b"$'\ntap.sh'
	rm -rf -- "$closed" "$top/build/root$closed"
}

# Tests a checkout that belongs to another user than the one who builds. The test uses a copy, which
# gets the environment by a bind mount.
test_another()
{
	local copy

	copy=$(mktemp -d /var/tmp/onpu-another-XXXXXX)
	mkdir -p "$copy/build/root" "$copy/build/made"
	cp -a "$top/npu" "$top/scripts" "$top/tests" "$top/Kbuild" "$top/driver" "$copy/"
	chown -R 1234:1234 "$copy"
	chown -R 0:0 "$copy/build"
	(umask 077; echo secret >"$copy/build/made/file")
	out=$(unshare --mount --propagation private bash -c 'mount --bind "$1" "$0/build/root"; cd "$0" &&
		exec ./npu guest --no-build --no-device sh -c "cat build/made/file; echo written >build/file"' \
		"$copy" "$top/build/root" 2>&1; echo "status $?"; stat -c %u "$copy/build/file" 2>&1)
	equal "the checkout of another, with what root has built there" $'secret\nstatus 0\n1234'
	rm -rf --one-file-system -- "$copy" "$top/build/root$copy"
}

# A command that makes the kernel report an error, by loading a file that is no module.
bad_module='id -u; head -c 4096 /dev/zero >/tmp/bad.ko; /usr/sbin/insmod /tmp/bad.ko 2>/dev/null;'

test_log()
{
	out=$(guest --root --no-device sh -c "$bad_module true" 2>&1; echo "status $?")
	contains "--root is root" $'0\n'
	contains "an error of the kernel is shown" "Invalid ELF header magic"
	contains "an error of the kernel is a failure" "status 125"
	contains "the log is named" "log: $work/kernel.log"
	out=$(guest --root --no-device --allow-log='Invalid ELF' sh -c "$bad_module exit 3" 2>&1; echo "status $?")
	equal "an error that is expected is none" $'0\nstatus 3'
	out=$(guest --root --no-device --allow-warnings sh -c 'echo c >/proc/sysrq-trigger' 2>&1
		echo "status $?")
	contains "a panic is reported" "the guest ended before the command did"
	contains "a panic shows the console" "sysrq triggered crash"
	contains "a panic is a failure" "status 125"
}

test_kernels()
{
	local release

	for release in "$top"/build/driver/*/gcc/onpu.ko; do
		release=$(basename -- "$(dirname -- "$(dirname -- "$release")")")
		out=$(guest --kernel "$release" sh -c 'uname -r; ls /dev/accel; no-such-command' 2>&1
			echo "status $?")
		contains "$release boots and has the node" "$release"$'\n''accel0'
		contains "$release: a missing command is status 127" "status 127"
	done
}

test_emulator()
{
	out=$(guest --allow-warnings --emu-arg=--quiet bash -c 'exec 9<>"$ONPU_GUEST_CONTROL"
		for word in nonsense plug-emulator kill-emulator kill-emulator; do
			echo "$word" >&9
			read -r answer <&9
			echo "$answer"
		done' 2>&1; echo "status $?")
	equal "the command can have the emulator killed" \
		$'error: no request \'nonsense\'\nerror: plug-emulator needs --hotplug, --emu-arg=--no-msix, and kill-emulator before it
ok\nerror: the emulator was killed before\nstatus 0'
	out=$(guest --emu-arg=--nonsense true 2>&1; echo "status $?")
	contains "an emulator that does not start is named" "onpu-emu does not start"
	contains "an emulator that does not start is a failure" "status 125"
	out=$(guest --modprobe=nosuch true 2>&1; echo "status $?")
	contains "a module that is not there is named" "Module nosuch not found"
	contains "a module that is not there is a failure" "status 125"
}

test_memory()
{
	out=$(guest --no-device --in-memory=tests/tap.sh bash -c 'id -u; ls "$1"; grep -c virtiofs /proc/mounts' sh "$top/tests" 2>&1)
	equal "a root in memory has the file, and nothing is shared" $'1000\ntap.sh\n0'
	out=$(guest --no-device --in-memory=nosuch true 2>&1; echo "status $?")
	contains "a file that is not there is named" "--in-memory: there is no $top/nosuch"
	contains "a file that is not there is a failure" "status 125"
	mkdir -p system/boot
	out=$(guest --system=system --in-memory=tests true 2>&1)
	contains "a root is in one place" "--in-memory: the root cannot be that of --system, too"
}

test_timeout()
{
	out=$(guest --no-device --timeout 10 sh -c 'echo begun; sleep 1000' 2>&1; echo "status $?")
	contains "a command that takes too long is reported" "did not finish within 10 s"
	contains "what it printed is there" begun
	contains "the time being up is status 124" "status 124"
}

# Tests two guests at a time, one of which is terminated and one killed: the processes that they
# started end, too.
test_ended()
{
	local signal pids children tries

	pids=()
	for signal in TERM KILL; do
		"$top/npu" guest --no-build --no-device "--log=$work/$signal.log" sh -c "echo >$signal; sleep 1000" >/dev/null 2>&1 &
		pids+=($!)
	done
	# Wait long, as the machine may be busy.
	for ((tries = 0; tries < 6000; tries++)); do
		[ -e TERM ] && [ -e KILL ] && break
		sleep 0.1
	done
	out=$tries
	[ -e TERM ] && [ -e KILL ]
	ok $? "two guests run at a time"
	children=$(pgrep -d ' ' -P "$(paste -sd , <<<"$(printf '%s\n' "${pids[@]}")")")
	out=$children
	[ "$(wc -w <<<"$children")" -ge 6 ]
	ok $? "each has QEMU and its file servers"
	kill -TERM "${pids[0]}"
	kill -KILL "${pids[1]}"
	wait "${pids[0]}"
	out=$?
	equal "a signal ends the guest" 143
	wait "${pids[1]}" 2>/dev/null
	for ((tries = 0; tries < 3000; tries++)); do
		# shellcheck disable=SC2086
		out=$(ps -o pid=,comm= -p "${children// /,}") || break
		sleep 0.1
	done
	equal "a guest that is ended or killed leaves no process" ""
}

test_command
test_files
test_closed
test_another
test_log
test_kernels
test_emulator
test_memory
test_timeout
test_ended
tap_end
