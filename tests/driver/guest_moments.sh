#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --cpus=2 --timeout=1800 --root --modprobe=vgem --append=oops=panic --append=slab_debug=P,kmalloc-* --append=iomem=relaxed --allow-log='onpu .*firmware failed: '
#
# Moments that are usually too short to be hit, as TAP: a module of the tests makes them long. Contexts
# end; memory that is freed is spoiled, so the kernel would stop. A firmware that has failed is seen by two, or somebody resets the
# function at that time: one reset is enough. The device goes while a submission is under way. A program exits
# before the core dump of its job is made. It needs two processors: one of them hesitates and does nothing else.

# The status of a condition is what ok() is given.
# shellcheck disable=SC2319
set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
ends=${ONPU_DRIVER_TESTS:-$top/build/gcc/tests/driver}/driver-ends
counts=/sys/module/onpu_widen/parameters
device=$(printf '%s\n' /sys/bus/pci/drivers/onpu/0000:*)
irq=$(sed -n 's/^ *\([0-9]*\):.* onpu0@pci.*/\1/p' /proc/interrupts)

# is_reset TIMES: since before
is_reset()
{
	[ "$(cat "$device/reset_count")" -ge $((before + $1)) ]
}

# ends_at MOMENT WHAT: contexts end while somebody hesitates there, several times
ends_at()
{
	echo 200 >"$counts/${1}_ms"
	"$ends" "$counts/${1}s"
	ok $? "contexts end while $2"
	echo 0 >"$counts/${1}_ms"
}

# The memory of a process goes with it, but for the program that the dump shows.
exit_before_dump()
{
	local fault=${ends%/*}/driver-test-fault

	if [ ! -x "$fault" ]; then
		ok 0 "the process of a job that faults exits # SKIP the kernel's test harness was not fetched"
		return
	fi
	echo 500 >"$counts/dump_ms"
	"$fault" -v trap >/dev/null
	wait_for onpu-smi dump >/dev/null 2>&1
	[ "$(cat "$counts/dumps")" -eq 1 ]
	ok $? "the process of a job that faults exits before the dump is made"
	out=$(onpu-smi dump --drop)
	contains "the dump has its program" '>        0  trap'
	echo 0 >"$counts/dump_ms"
}

# fail_firmware TIMES: the last of these resets. The index is lost if the driver's next one comes before
# the firmware has seen it.
fail_firmware()
{
	local poke=("${ends%/*}/driver-poke" "$device/resource0" request)

	"${poke[@]}" && { wait_for is_reset "$1" || { "${poke[@]}" && wait_for is_reset "$1"; }; }
}

# fail_twice_seen RESET_MS: the heartbeat comes each second while jobs are running, so it sees what the
# interrupt tells, unless that is handled by the same processor. If a reset hesitates so long, both reports
# come before it; if it does not, one comes after it unless who reports keeps it waiting.
fail_twice_seen()
{
	local before reports program i=0 status=0

	"${ends%/*}/driver-load" /dev/accel/accel* &
	program=$!
	taskset -pc 0-1 $$ >/dev/null
	before=$(cat "$device/reset_count")
	reports=$(cat "$counts/reports")
	echo 1200 >"$counts/report_ms"
	echo "$1" >"$counts/reset_ms"
	while [ "$status" -eq 0 ] && [ "$i" -lt 20 ] && [ "$(cat "$counts/reports")" -lt $((reports + i + 2)) ]; do
		i=$((i + 1))
		echo $((i % 2)) >"/proc/irq/$irq/smp_affinity_list"
		sleep 0.3
		fail_firmware "$i"
		status=$?
	done
	# What is still on its way.
	sleep 2
	[ "$status" -eq 0 ] && [ "$(cat "$device/reset_count")" -eq $((before + i)) ]
	ok $? "a firmware that fails causes one reset"
	[ "$(cat "$counts/reports")" -ge $((reports + i + 2)) ]
	ok $? "two asked for it, twice, and a reset takes $1 ms"
	# The processor on which somebody hesitates does nothing else.
	echo 0 >"/proc/irq/$irq/smp_affinity_list"
	taskset -pc 1 $$ >/dev/null
	for i in 1 2; do
		[ "$status" -eq 0 ] || break
		"${ends%/*}/driver-poke" "$device/resource0" request "$device/reset"
		sleep 2
		dmesg | grep 'onpu .*\] reset: ' | tail -n 1 | grep -q 'of the PCI function$'
		status=$?
	done
	ok $status "a reset that somebody else asks for is enough"
	echo 0 >"$counts/report_ms"
	echo 0 >"$counts/reset_ms"
	kill "$program"
	wait "$program" 2>/dev/null
}

# has_hesitated WHAT TIMES
has_hesitated()
{
	[ "$(cat "$counts/$1")" -ge "$2" ]
}

# No job is on the device.
is_idle()
{
	[ "$(cat "$device/npu_current_frequency_mhz")" -eq 0 ]
}

# Without another process: to start one may need the processor that hesitates.
continue_late()
{
	local settles=0

	taskset -pc 0-1 "$BASHPID" >/dev/null
	until [ "$settles" -ge 1 ]; do
		read -r settles <"$counts/settles"
	done
	kill -CONT "$late"
}

# The heartbeat watches jobs that run, which finds out while the other program still hesitates. A third
# one stands still until the driver has given the device up, and asks before its context has been told.
go_while_submitting()
{
	local programs=() status late

	"${ends%/*}/driver-load" /dev/accel/accel* &
	late=$!
	wait_for has_computed "$late" && kill -STOP "$late"
	wait_for is_idle
	# The processor on which it hesitates does nothing else, and the firmware's answers are awaited.
	echo 1 >"/proc/irq/$irq/smp_affinity_list"
	taskset -pc 1 $$ >/dev/null
	echo 1 >"$counts/submit_ms"
	"${ends%/*}/driver-load" /dev/accel/accel* endless &
	programs+=($!)
	wait_for has_hesitated submits 1
	echo 3000 >"$counts/submit_ms"
	taskset -c 0 "${ends%/*}/driver-load" /dev/accel/accel* &
	programs+=($!)
	wait_for has_hesitated submits 2
	status=$?
	echo 8000 >"$counts/settle_ms"
	continue_late &
	kill_emulator && [ "$status" -eq 0 ]
	ok $? "the device goes while jobs are submitted"
	wait "${programs[0]}" && wait "${programs[1]}"
	ok $? "both programs learn that it is gone"
	wait "$late"
	ok $? "so does one that asks while the driver gives it up"
	echo 0 >"$counts/settle_ms"
}

/usr/sbin/insmod "${ONPU_GUEST_DRIVER%/*}/onpu_widen.ko"
ok $? "the moments are long"
exit_before_dump
ends_at wake "a fence signals that their jobs wait for"
ends_at resolve "their jobs are about to be fed"
fail_twice_seen 600
fail_twice_seen 0
go_while_submitting
# The files of its clients are closed: it has no reason to stay.
wait_for driver_is_unused && /usr/sbin/rmmod onpu
ok $? "the driver unloads"
tap_end
