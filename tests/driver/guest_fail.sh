#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root --modprobe=vgem --allow-log='kmemleak: Cannot allocate a scan area' --allow-log='onpu ' --allow-log='workqueue: Failed to create a rescuer'
# guest: --allow-log='debugfs: out of free dentries' --allow-log='kobject: kobject_add_internal failed for accel'
#
# Every allocation of every call fails once, as TAP: the call fails with ENOMEM and leaves nothing behind. So
# do those of probe(), after which the device can be bound. A module of the tests lets them fail. On a kernel that looks for errors, memory that is lost is found, too; some of
# the allocations are then kmemleak's own, which it can do without.

# The status of a condition is what ok() is given.
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
# Two parts of probe(). What fails before them, or is about interrupts, is the kernel's to handle, which it does
# badly: as of 6.12, drm_minor_alloc() gives an error to put_device(), and files of interrupts in /proc which
# could not be made cause a warning when they are removed.
for part in "from=onpu_device_init until=onpu_irq_init" from=onpu_device_start; do
	/usr/sbin/rmmod onpu_fail
	# shellcheck disable=SC2086
	/usr/sbin/insmod "${ONPU_GUEST_DRIVER%/*}/onpu_fail.ko" $part
	echo "${device##*/}" >"${device%/*}/unbind"
	out=$("$fail" BIND "${device##*/}")
	ok $? "BIND $part"
	printf '%s\n' "$out"
done
out=$total
# Less than that would be no test.
[ "$total" -ge 60 ]
ok $? "many allocations have failed"
wait_for driver_is_unused && /usr/sbin/rmmod onpu_fail && /usr/sbin/rmmod onpu
ok $? "the driver unloads"
tap_end
