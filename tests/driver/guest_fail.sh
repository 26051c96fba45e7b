#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root --modprobe=vgem --allow-log='kmemleak: Cannot allocate a scan area'
#
# Lets every allocation of every call fail once, as TAP: the call must fail with ENOMEM and leave
# nothing behind. The test module onpu_fail makes allocations fail. A kernel with debug checks finds
# lost memory, too; some of the failed allocations are then kmemleak's own, which kmemleak can do
# without.

# ok() gets the status of the condition before it.
# shellcheck disable=SC2319
set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
fail=${ONPU_DRIVER_TESTS:-$top/build/gcc/tests/driver}/driver-fail
device=$(printf '%s\n' /sys/bus/pci/drivers/onpu/0000:*)

/usr/sbin/insmod "${ONPU_GUEST_DRIVER%/*}/onpu_fail.ko"
out=$(cat /sys/module/onpu_fail/parameters/count)
[ "${out:-0}" -ge 6 ]
ok $? "allocations can be made to fail"
total=0
for call in $("$fail"); do
	out=$("$fail" "$call")
	ok $? "$call"
	printf '%s\n' "$out"
	out=${out##*: }
	out=${out%% *}
	total=$((total + ${out:-0}))
done
out=$(cat "$device/reset_count")
equal "the device was not reset" 0
out=$total
# There are at least 60 allocations. With fewer failures, onpu_fail would not see all of them.
[ "$total" -ge 60 ]
ok $? "many allocations have failed"
wait_for driver_is_unused && /usr/sbin/rmmod onpu_fail && /usr/sbin/rmmod onpu
ok $? "the driver unloads"
tap_end
