#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root --allow-log='onpu .*the firmware broke the protocol: ' --allow-log='onpu_mbox_breach: .* callbacks suppressed'
#
# A firmware that lies (rogue.c), as TAP: the driver says what is wrong and starts the device anew, as
# often as it takes, and programs go on with the right one.

set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
tests=${ONPU_DRIVER_TESTS:-$top/build/gcc/tests/driver}
firmware=/run/onpu/firmware/onpu/onpu_v1.bin
driver=/sys/bus/pci/drivers/onpu
link=$(printf '%s\n' "$driver"/0000:*)
address=${link##*/}
device=/sys/bus/pci/devices/$address
program=

# bind_with IMAGE
bind_with()
{
	[ ! -e "$driver/$address" ] || echo "$address" >"$driver/unbind"
	cp "$1" "$firmware"
	echo "$address" >"$driver/bind"
}

# What the driver has said about the firmware since the log was cleared.
told()
{
	dmesg | grep -q "onpu .*the firmware broke the protocol: $1\$"
}

has_reset()
{
	[ "$(cat "$device/reset_count")" -ge $((before + $1)) ]
}

work_is_done()
{
	[ "$(cat "$device/npu_busy_time_us")" -gt 100000 ]
}

# lie LEVEL WHAT: each job of the program makes the firmware lie again.
lie()
{
	echo "$1" >/sys/module/onpu/parameters/fw_log_level
	# The driver says a thing ten times in five seconds at most.
	sleep 5
	dmesg -C
	echo 1 >"$device/reset"
	before=$(cat "$device/reset_count")
	"$tests/driver-load" /dev/accel/accel* &
	program=$!
	wait_for has_reset 3
	ok $? "the device is started anew: $2"
	told "$2"
	ok $? "the driver says why: $2"
	kill "$program"
	wait "$program" 2>/dev/null
	[ $? -eq 143 ]
	ok $? "its jobs were cancelled, its context innocent: $2"
}

# Faults that the device knows nothing of come with each heartbeat, while jobs are running.
invent_faults()
{
	echo 0 >/sys/module/onpu/parameters/fw_log_level
	echo 1 >"$device/reset"
	before=$(cat "$device/reset_count")
	"$tests/driver-load" /dev/accel/accel* endless &
	program=$!
	sleep 4
	[ "$(cat "$device/npu_busy_time_us")" -gt 2000000 ] && ! has_reset 1 && kill "$program"
	ok $? "nobody minds faults that are not there"
	wait "$program" 2>/dev/null
}

cp "$firmware" /tmp/right
bind_with "$tests/rogue.bin"
invent_faults
lie 1 'a message that nobody has asked for'
lie 2 'a status that does not exist'
lie 3 "the response ring's index"
bind_with /tmp/right
"$tests/driver-load" /dev/accel/accel* &
program=$!
wait_for work_is_done && kill "$program"
ok $? "the right firmware works"
tap_end
