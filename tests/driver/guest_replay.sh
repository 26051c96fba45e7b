#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root --replay --emu-arg=--inject=parity,after=1
#
# Runs jobs, a fault and resets, as TAP. The emulator records what the device does. When this script
# has ended, --replay replays the record without a guest, and fails if the device does something
# else.

# ok() gets the status of the condition before it.
# shellcheck disable=SC2319
set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
tests=${ONPU_DRIVER_TESTS:-$top/build/gcc/tests/driver}
link=$(printf '%s\n' /sys/bus/pci/drivers/onpu/0000:*)
trace=/sys/kernel/tracing

works()
{
	"$tests/driver-load" /dev/accel/accel0 once
}

faults()
{
	grep -q ' onpu_fault: ' "$trace/trace"
}

echo 1 >"$trace/events/onpu/enable"
works
ok $? "a program works"
! works && faults
ok $? "the job of the next one ends with a fault"
works
ok $? "a program works after it"
"$tests/driver-load" /dev/accel/accel0 endless &
program=$!
wait_for has_computed "$program"
kill -KILL "$program"
wait "$program" 2>/dev/null
works
ok $? "a program works after one that was killed"
echo 1 >"$link/reset"
works
ok $? "a program works after a reset of the function"
tap_end
