#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root
#
# Tests that the device falls asleep when nobody uses it, as TAP: guest_power.sh [ROUNDS]. Programs
# wake it; queries that need no device do not. The power preference of a context counts.

# ok() gets the status of the condition before it.
# shellcheck disable=SC2319
set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
tests=${ONPU_DRIVER_TESTS:-$top/build/gcc/tests/driver}
nap=$tests/driver-nap prefer=$tests/driver-prefer
find_npu
trace=/sys/kernel/tracing

is()
{
	[ "$(cat "$device/power/runtime_status")" = "$1" ]
}

wakes()
{
	grep -c 'onpu_power: .*what="resume" error=0' "$trace/trace"
}

echo 1 >"$trace/events/onpu/onpu_power/enable"
is active
ok $? "without leave the device stays awake"
echo 100 >"$device/power/autosuspend_delay_ms"
echo auto >"$device/power/control"
wait_for is suspended
ok $? "with leave it falls asleep"
[ "$(cat "$device/power_state")" = D3hot ]
ok $? "it is in D3hot"

before=$(wakes)
cat "$device"/npu_* "$device/fw_version" "$device/reset_count" /sys/kernel/debug/accel/"$address"/{state,buffers} >/dev/null
"$nap" "$device" look
ok $? "all that needs no device can be asked for"
[ "$(wakes)" -eq "$before" ] && is suspended
ok $? "who only looks does not wake it"

rounds=${1:-50}
"$nap" "$device" "$rounds"
ok $? "programs work $rounds times on a device that was asleep, and nothing was reset"
[ "$(wakes)" -ge $((before + rounds)) ]
ok $? "it woke up each time"

# This delay is longer than the test: the device sleeps earlier only for contexts that save energy.
echo 3600000 >"$device/power/autosuspend_delay_ms"
"$nap" "$device" low </dev/null >/dev/null && wait_for is suspended
ok $? "a context that saves energy does not keep it awake"
"$prefer" low-power </dev/null >/dev/null && wait_for is suspended
ok $? "nor does a program of the library that prefers low power"
echo 100 >"$device/power/autosuspend_delay_ms"
# If the machine is so slow that an idle device needs more than a second to fall asleep, this proves
# nothing.
coproc "$nap" "$device" high
read -r line <&"${COPROC[0]}"
[[ $line == "done" ]] && sleep 1 && is active
ok $? "one that wants speed does"
eval "exec ${COPROC[1]}>&-"
wait_for is suspended
ok $? "until it is gone"
coproc LIBRARY { exec "$prefer" high-performance; }
read -r line <&"${LIBRARY[0]}"
[[ $line == "done" ]] && sleep 1 && is active
ok $? "a program of the library that prefers high performance does, too"
eval "exec ${LIBRARY[1]}>&-"
wait_for is suspended
ok $? "until it is gone as well"

before=$(cat "$device/reset_count")
echo 1 >"$device/reset" && [ "$(cat "$device/reset_count")" -eq $((before + 1)) ] && wait_for is suspended
ok $? "a function reset wakes it, and it falls asleep again"
"$nap" "$device" 1
ok $? "a program works after it"
# A job holds the device until its end is handled, also when its program has ended: a device that is
# bound again before would get another node.
wait_for driver_is_unused && wait_for is suspended &&
	echo "$address" >/sys/bus/pci/drivers/onpu/unbind && echo "$address" >/sys/bus/pci/drivers/onpu/bind
[ -e "$device/driver" ]
ok $? "the driver lets it go while it is asleep, and takes it again"
"$nap" "$device" 1
ok $? "a program works on it"
# With linger_ms=200, a context that wants speed keeps the device awake for 200 ms after its last
# job, however long the context exists.
wait_for driver_is_unused && /usr/sbin/rmmod onpu && /usr/sbin/insmod "$ONPU_GUEST_DRIVER" linger_ms=200 &&
	echo 100 >"$device/power/autosuspend_delay_ms" && echo auto >"$device/power/control"
ok $? "the driver is loaded again, and contexts that want speed keep the device awake for a moment"

# is_soon: returns whether the device falls asleep within 25 s although a context that wants speed
# exists. A driver that ignored linger_ms would wait for the default of 30 s.
is_soon()
{
	local timer status=1

	sleep 25 &
	timer=$!
	coproc "$nap" "$device" high
	read -r line <&"${COPROC[0]}"
	[[ $line == "done" ]] && wait_for is suspended && kill -0 "$COPROC_PID" && kill "$timer" 2>/dev/null && status=0
	eval "exec ${COPROC[1]}>&-"
	wait "$COPROC_PID" || failed=1
	return "$status"
}

failed=0
# A slow machine gets two more chances.
is_soon || is_soon || is_soon
ok $? "it falls asleep when one of them has had no job for so long"
ok "$failed" "the programs end well"
wait_for is suspended && "$nap" "$device" 1
ok $? "others work as before"
tap_end
