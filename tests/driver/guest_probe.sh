#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root --allow-warnings --append=oops=panic
#
# Lets each allocation of the driver's probe() fail once, as TAP: probe() fails or does without, and
# the device can be bound afterwards. The kernel prints a warning for each allocation that fails. An
# oops would keep the device locked and let this test wait for ever, so it is a panic.
#
# Failures in other parts of probe(), or of interrupts, are left out, since the kernel handles them
# badly: in 6.12 drm_minor_alloc() gives an error to put_device(), and a file of an interrupt in
# /proc that could not be made causes a warning when it is removed.

set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
fail=${ONPU_DRIVER_TESTS:-$top/build/gcc/tests/driver}/driver-fail
device=$(printf '%s\n' /sys/bus/pci/drivers/onpu/0000:*)

for part in "from=onpu_device_init until=onpu_irq_init" from=onpu_device_start; do
	# shellcheck disable=SC2086
	/usr/sbin/insmod "${ONPU_GUEST_DRIVER%/*}/onpu_fail.ko" $part &&
		echo "${device##*/}" >"${device%/*}/unbind"
	ok $? "$part: allocations can be made to fail"
	out=$("$fail" BIND "${device##*/}")
	ok $? "$part: each has failed"
	printf '%s\n' "$out"
	wait_for driver_is_unused && /usr/sbin/rmmod onpu_fail
	ok $? "$part: the driver is not in use"
done
/usr/sbin/rmmod onpu
ok $? "the driver unloads"
tap_end
