#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root --allow-log='onpu .*the firmware sent an invalid message: ' --allow-log='onpu .*(firmware still fails after|device is wedged: )' --allow-log='onpu_mbox_protocol_error: .* callbacks suppressed'
#
# Runs a firmware that lies (rogue.c), as TAP. The driver says what is wrong and resets the device,
# but not for ever. Programs go on with the right firmware.

set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
tests=${ONPU_DRIVER_TESTS:-$top/build/gcc/tests/driver}
firmware=/run/onpu/firmware/onpu/onpu_v1.bin
driver=/sys/bus/pci/drivers/onpu
find_npu
program=

# bind_with IMAGE: binds the device with this firmware
bind_with()
{
	[ ! -e "$driver/$address" ] || echo "$address" >"$driver/unbind"
	cp "$1" "$firmware"
	echo "$address" >"$driver/bind"
}

# told WHAT: returns whether the driver has logged, since the log was cleared, that the firmware
# broke the protocol in this way
told()
{
	dmesg | grep -q "onpu .*the firmware sent an invalid message: $1; "
}

has_reset()
{
	[ "$(cat "$device/reset_count")" -eq $((before + $1)) ]
}

is_given_up()
{
	dmesg | grep -q 'onpu .*device is wedged: '
}

work_is_done()
{
	[ "$(cat "$device/npu_busy_time_us")" -gt 100000 ]
}

work_outlasts_heartbeats()
{
	[ "$(cat "$device/npu_busy_time_us")" -gt 3000000 ]
}

compute()
{
	"$tests/driver-load" /dev/accel/accel* "$1"
}

# begin LEVEL: clears the log and resets the device, whose firmware then tells the lie that belongs
# to LEVEL.
begin()
{
	echo "$1" >/sys/module/onpu/parameters/fw_log_level
	dmesg -C
	echo 1 >"$device/reset"
	before=$(cat "$device/reset_count")
}

# lie LEVEL WHAT: tests three lies; the firmware tells one for each new context. The driver prints
# at most ten such messages in five seconds, and the three calls of this function make nine.
lie()
{
	begin "$1"
	compute once && compute once && compute once
	ok $? "its jobs were cancelled, its context innocent: $2"
	has_reset 3
	ok $? "the device is started anew: $2"
	told "$2"
	ok $? "the driver says why: $2"
}

# Tests how many resets in a row the driver allows: it gives the device up at the ninth, but a
# program that works in between starts the count again.
lie_without_end()
{
	local status=0

	begin 1
	for _ in {1..10}; do
		compute once && compute once-low || status=1
	done
	[ "$status" -eq 0 ] && has_reset 10
	ok $? "a firmware that works now and then gets another chance"
	begin 1
	for _ in {1..8}; do
		compute once || status=1
	done
	[ "$status" -eq 0 ] && has_reset 8 && ! is_given_up
	ok $? "one that never works gets eight"
	compute once && has_reset 9 && wait_for is_given_up
	ok $? "then the device is wedged"
	begin 0
	compute once && has_reset 0
	ok $? "a function reset revives it"
}

# Faults that the firmware invents have no effect. The firmware reports them at each heartbeat,
# while jobs are running.
invent_faults()
{
	begin 0
	"$tests/driver-load" /dev/accel/accel* endless &
	program=$!
	wait_for work_outlasts_heartbeats && has_reset 0 && kill "$program"
	ok $? "nobody minds faults that are not there"
	wait "$program" 2>/dev/null
}

cp "$firmware" /tmp/right
bind_with "$tests/rogue.bin"
invent_faults
lie 1 'a response to no request'
lie 2 'a status that does not exist'
lie 3 'more responses than its ring holds'
lie_without_end
bind_with /tmp/right
"$tests/driver-load" /dev/accel/accel* &
program=$!
wait_for work_is_done && kill "$program"
ok $? "the right firmware works"
tap_end
