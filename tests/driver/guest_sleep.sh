#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root --allow-log='virtio-fs: suspend/resume not yet supported' --allow-log='PM: '
#
# The machine falls asleep while programs work, as TAP. This guest's root cannot sleep, so the kernel
# goes back on it; by then it has suspended the NPU, for what was found last goes first. Each time the
# device starts anew, and the programs go on.

set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
link=$(printf '%s\n' /sys/bus/pci/drivers/onpu/0000:*)
device=/sys/bus/pci/devices/${link##*/}
load=${ONPU_DRIVER_TESTS:-$top/build/gcc/tests/driver}/driver-load
rounds=${1:-3}

# The programs have had the device for a while, from now on, and none has ended.
work_goes_on()
{
	local before tries

	before=$(cat "$device/npu_busy_time_us")
	for ((tries = 0; tries < 300; tries++)); do
		sleep 0.1
		if [ "$(cat "$device/npu_busy_time_us")" -gt $((before + 100000)) ]; then
			kill -0 "${programs[@]}"
			return
		fi
	done
	return 1
}

is_found()
{
	[ -e "$device/reset_count" ] && [ -n "$(ls /dev/accel 2>/dev/null)" ]
}

echo 1 >"$device/remove"
echo 1 >/sys/bus/pci/rescan
wait_for is_found
ok $? "the NPU is the device that was found last"
programs=()
for _ in 1 2 3; do
	"$load" /dev/accel/accel* &
	programs+=($!)
done
work_goes_on
ok $? "programs work"
# In case the root can: back after five seconds.
echo devices >/sys/power/pm_test
# Or what fails is as likely to be faster.
echo 0 >/sys/power/pm_async
for ((round = 1; round <= rounds; round++)); do
	before=$(cat "$device/reset_count")
	echo freeze 2>/dev/null >/sys/power/state
	[ "$(cat "$device/reset_count")" -eq $((before + 1)) ]
	ok $? "sleep $round starts the device anew"
	work_goes_on
	ok $? "the programs go on"
done
"$load" /dev/accel/accel* &
programs+=($!)
work_goes_on
ok $? "a new program works"
kill "${programs[@]}"
tap_end
