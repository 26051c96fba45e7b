#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root --in-memory=tests/driver --in-memory=tests/tap.sh --in-memory=build/gcc/tests/driver/driver-load
# guest: --modprobe=button --modprobe=zram
# guest: --cpus=2
#
# Suspends the machine while programs work, as TAP: to idle, to memory, where the device has no
# power, and to disk. When the machine wakes up, the device starts anew each time, and the programs
# go on.

set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
find_npu
load=${ONPU_DRIVER_TESTS:-$top/build/gcc/tests/driver}/driver-load
rounds=${1:-2}

busy_time_exceeds()
{
	[ "$(cat "$device/npu_busy_time_us")" -gt "$1" ]
}

# Returns whether the device is busy for 100 ms after this call, and no program has ended.
work_goes_on()
{
	wait_for busy_time_exceeds $(($(cat "$device/npu_busy_time_us") + 100000)) && kill -0 "${programs[@]}"
}

# Suspends the machine; returns whether it slept. The host wakes it every five seconds until "wake
# 0" tells the host to stop.
sleep_once()
{
	local before

	before=$(cat /sys/power/suspend_stats/success)
	ask_host "wake 5" || return
	echo mem 2>/dev/null >/sys/power/state
	ask_host "wake 0" || return
	[ "$(cat /sys/power/suspend_stats/success)" -gt "$before" ]
}

# Hibernates the machine: the kernel writes its memory to swap, and in place of turning the machine
# off reads it back at once, as a kernel does that has just started.
hibernate_once()
{
	echo disk 2>/dev/null >/sys/power/state
}

# Makes swap for the memory of the machine, which is compressed in that memory.
make_swap()
{
	echo 1G >/sys/block/zram0/disksize && busybox mkswap /dev/zram0 >/dev/null && busybox swapon /dev/zram0
}

# check_rounds STATE COMMAND: puts the machine to sleep with the command, $rounds times.
check_rounds()
{
	local before round

	for ((round = 1; round <= rounds; round++)); do
		before=$(cat "$device/reset_count")
		"$2"
		ok $? "$1: the machine has slept, round $round"
		[ "$(cat "$device/reset_count")" -gt "$before" ]
		ok $? "$1: the device has started anew"
		work_goes_on
		ok $? "$1: the programs go on"
	done
}

programs=()
for _ in 1 2 3; do
	"$load" /dev/accel/accel* &
	programs+=($!)
done
work_goes_on
ok $? "programs work"
for state in s2idle deep; do
	echo "$state" >/sys/power/mem_sleep
	out=$(cat /sys/power/mem_sleep)
	contains "$state: the kernel can" "[$state]"
	check_rounds "$state" sleep_once
done
make_swap && echo test_resume >/sys/power/disk
ok $? "disk: there is room for the memory"
# Once: to write and read the memory takes longer than all the rest.
rounds=1 check_rounds disk hibernate_once
"$load" /dev/accel/accel* &
programs+=($!)
work_goes_on
ok $? "a new program works"
kill "${programs[@]}"
tap_end
