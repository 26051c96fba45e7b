#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root
#
# Tests, as TAP, the counters that the driver gives to perf: what they count, that a device with an open counter does
# not sleep, and that counters outlive their device.

# ok() gets the status of the condition before it; coproc sets holder_PID.
# shellcheck disable=SC2319,SC2154
set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
tests=${ONPU_DRIVER_TESTS:-$top/build/gcc/tests/driver}
find_npu

# Sets $out to the value of the counter that the program driver-perf hold has open.
ask()
{
	out=
	echo >&"${holder[1]}" && read -ru "${holder[0]}" out
}

is_asleep()
{
	[ "$(cat "$device/power/runtime_status")" = suspended ]
}

# Buffers get large pages only if some are free.
echo 1 >/proc/sys/vm/compact_memory
out=$("$tests/driver-perf" /dev/accel/accel0 2>&1)
status=$?
printf '%s\n' "$out" | sed 's/^\(not \)\?ok/# &/; s/^1\.\..*//'
ok "$status" "the counters tell what a job did"

coproc holder { "$tests/driver-perf" /dev/accel/accel0 hold; }
# The shell unsets holder_PID when the program ends.
program=$holder_PID
read -ru "${holder[0]}" out
equal "a program counts cycles" open
echo 10 >"$device/power/autosuspend_delay_ms" && echo auto >"$device/power/control"
"$tests/driver-load" /dev/accel/accel0 once >/dev/null && ask
[ "${out:-0}" -gt 0 ]
ok $? "it sees those of another program"
counted=$out
# Without the counter, the device would be asleep within a second.
read -rt 2 -u "$never"
! is_asleep
ok $? "the device does not sleep meanwhile"
out=
echo 1 >"$device/reset" && ask
equal "a reset loses nothing" "$counted"
out=
echo "$address" >/sys/bus/pci/drivers/onpu/unbind && ask
equal "without its device the counter stands still" "$counted"
out=$("$tests/driver-perf" /dev/accel/accel0 open)
equal "perf skips the counters of a device that is gone" "No such device or address"
! /usr/sbin/rmmod onpu 2>/dev/null
ok $? "the driver stays as long as it counts"
echo "$address" >/sys/bus/pci/drivers/onpu/bind
# The open counter keeps the number of the old device in use, so the node gets the next one.
out=
wait_for test -c /dev/accel/accel1 && "$tests/driver-load" /dev/accel/accel1 once >/dev/null && ask
equal "a device that comes later is another one" "$counted"
"$tests/driver-perf" /dev/accel/accel1 >/dev/null
ok $? "which has counters, too"
eval "exec ${holder[1]}>&-"
wait "$program"
ok $? "the program ends"
echo 10 >"$device/power/autosuspend_delay_ms" && echo auto >"$device/power/control"
wait_for is_asleep
ok $? "now the device sleeps"
wait_for driver_is_unused && /usr/sbin/rmmod onpu
ok $? "and the driver goes"
out=$(compgen -G "/sys/bus/event_source/devices/onpu_*")
equal "with its counters" ""
tap_end
