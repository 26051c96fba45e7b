#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root
#
# The device goes without a word, as TAP: the emulator is killed while programs work. They end, the
# driver lets go of the device, and the module unloads.

set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
link=$(printf '%s\n' /sys/bus/pci/drivers/onpu/0000:*)
address=${link##*/}
load=$top/build/gcc/tests/driver/driver-load
failures=0

# ok STATUS NAME
ok()
{
	if [ "$1" -eq 0 ]; then
		printf 'ok - %s\n' "$2"
	else
		printf 'not ok - %s\n' "$2"
		failures=1
	fi
}

echo 1..4
timeout 60 "$load" &
first=$!
timeout 60 "$load" &
second=$!
for ((i = 0; i < 200 && $(cat "$link/npu_busy_time_us") < 100000; i++)); do
	sleep 0.1
done
echo kill-emulator >"$ONPU_GUEST_CONTROL"
wait "$first"
status=$?
wait "$second" || status=$?
ok "$status" "the programs end because the device is gone"
cat /dev/accel/accel* >/dev/null 2>&1
ok $((! $?)) "the node cannot be opened"
echo 1 >"/sys/bus/pci/devices/$address/remove"
[ ! -e "/sys/bus/pci/devices/$address" ]
ok $? "the device is removed"
rmmod onpu
ok $? "the module unloads"
exit "$failures"
