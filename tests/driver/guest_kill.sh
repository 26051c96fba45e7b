#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root --timeout=1800
# guest: --cpus=2
#
# Kills programs whose job would never end, as TAP: guest_kill.sh [ROUNDS]. The driver ends the
# context on the device each time, without a reset, while another program goes on.

# ok() gets the status of the condition before it.
# shellcheck disable=SC2319
set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
load=${ONPU_DRIVER_TESTS:-$top/build/gcc/tests/driver}/driver-load
device=$(printf '%s\n' /sys/bus/pci/drivers/onpu/0000:*)
node=$(printf '%s\n' /dev/accel/accel*)
rounds=${1:-20}

"$load" "$node" &
other=$!
wait_for has_computed "$other"
ok $? "a program works"
out=$("$load" "$node" killed "$rounds")
equal "one with an endless job is killed $rounds times" "# $rounds were killed"
kill -0 "$other"
ok $? "the first one goes on"
kill "$other"
out=$(cat "$device/reset_count")
equal "the device was not reset" 0
wait "$other" 2>/dev/null
wait_for driver_is_unused && /usr/sbin/rmmod onpu
ok $? "nothing is left of them: the driver unloads"
tap_end
