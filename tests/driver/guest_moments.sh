#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --cpus=2 --timeout=1800 --root --modprobe=vgem --append=oops=panic --append=slab_debug=P,kmalloc-* --append=iomem=relaxed --allow-log='onpu .*firmware failed: '
#
# Prolongs moments that are usually too short to be hit, with the test module onpu_widen, as TAP.
# Contexts end at such moments; freed memory is overwritten, so that a use of it stops the kernel. A
# failure of the firmware is reported twice, or somebody resets the PCI function at that time: one
# reset is enough. The device goes during a submission. A program exits before the core dump of its
# job is made. The guest needs two processors, since a prolonged function keeps one of them.

# ok() gets the status of the condition before it.
# shellcheck disable=SC2319
set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
ends=${ONPU_DRIVER_TESTS:-$top/build/gcc/tests/driver}/driver-ends
counts=/sys/module/onpu_widen/parameters
device=$(printf '%s\n' /sys/bus/pci/drivers/onpu/0000:*)
irq=$(sed -n 's/^ *\([0-9]*\):.* onpu0@pci.*/\1/p' /proc/interrupts)

# is_reset TIMES: returns whether the device was reset so many times since $before was read
is_reset()
{
	[ "$(cat "$device/reset_count")" -ge $((before + $1)) ]
}

# ends_at MOMENT WHAT: ends contexts several times while the moment is prolonged
ends_at()
{
	echo 200 >"$counts/${1}_ms"
	"$ends" "$counts/${1}s"
	ok $? "contexts end while $2"
	echo 0 >"$counts/${1}_ms"
}

# exit_before_dump: lets a process exit after its job has faulted and before the core dump is made,
# and checks that the dump still shows the job's program: the driver must not free that with the
# process's other memory.
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

# fail_firmware TIMES: makes the firmware fail, and returns whether there are so many resets since
# $before. It tries twice: the index that makes the firmware fail is lost if the driver writes its
# next one before the firmware has seen it.
fail_firmware()
{
	local poke=("${ends%/*}/driver-poke" "$device/resource0" request)

	"${poke[@]}" && { wait_for is_reset "$1" || { "${poke[@]}" && wait_for is_reset "$1"; }; }
}

# fail_twice_seen RESET_MS: lets two functions report one failure of the firmware, which must cause
# one reset. The interrupt reports it, and so does the heartbeat, which comes each second while jobs
# are running, unless one processor handles both. Both reports come before a reset that is prolonged
# by 600 ms. If the reset is not prolonged, one report comes after it, unless the reset waits for
# functions that are about to report.
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
	# A reset may still be on its way.
	sleep 2
	[ "$status" -eq 0 ] && [ "$(cat "$device/reset_count")" -eq $((before + i)) ]
	ok $? "a firmware that fails causes one reset"
	[ "$(cat "$counts/reports")" -ge $((reports + i + 2)) ]
	ok $? "two asked for it, twice, and a reset takes $1 ms"
	# Processor 0 handles the interrupt, where the report is prolonged; this shell runs on
	# processor 1.
	echo 0 >"/proc/irq/$irq/smp_affinity_list"
	taskset -pc 1 $$ >/dev/null
	for i in 1 2; do
		[ "$status" -eq 0 ] || break
		"${ends%/*}/driver-poke" "$device/resource0" request "$device/reset"
		sleep 2
		dmesg | grep 'onpu .* reset: ' | tail -n 1 | grep -q 'somebody asked for it'
		status=$?
	done
	ok $status "a reset that somebody else asks for is enough"
	echo 0 >"$counts/report_ms"
	echo 0 >"$counts/reset_ms"
	kill "$program"
	wait "$program" 2>/dev/null
}

# has_hesitated WHAT TIMES: returns whether the moments of the counter WHAT were prolonged at least
# so often
has_hesitated()
{
	[ "$(cat "$counts/$1")" -ge "$2" ]
}

# Returns whether the device has no job: then its frequency is 0.
is_idle()
{
	[ "$(cat "$device/npu_current_frequency_mhz")" -eq 0 ]
}

# Continues the program $late as soon as the driver has given the device up. Starts no process,
# which might need the processor that a prolonged function keeps.
continue_late()
{
	local settles=0

	taskset -pc 0-1 "$BASHPID" >/dev/null
	until [ "$settles" -ge 1 ]; do
		read -r settles <"$counts/settles"
	done
	kill -CONT "$late"
}

# Kills the emulator during a submission. The heartbeat, which watches the running jobs of one
# program, notices it while the submission of a second program is still prolonged. A third program
# is stopped until the driver has given the device up, and calls the driver before the driver has
# marked its context as lost.
go_while_submitting()
{
	local programs=() status late

	"${ends%/*}/driver-load" /dev/accel/accel* &
	late=$!
	wait_for has_computed "$late" && kill -STOP "$late"
	wait_for is_idle
	# Processor 1 handles the firmware's answers, which are awaited, and runs this shell; the
	# prolonged submission keeps processor 0.
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
# No client has a file open, so nothing holds the driver.
wait_for driver_is_unused && /usr/sbin/rmmod onpu
ok $? "the driver unloads"
tap_end
