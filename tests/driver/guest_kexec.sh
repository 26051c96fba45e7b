#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root --timeout=1200 --allow-log='LAPIC|APIC|mtrr|ACPI: IRQ|_CPC object'
#
# Tests, as TAP, that the NPU works in a kernel that kexec has started while jobs were running: the old kernel's driver
# must have stopped the device, or the device would write to memory that the new kernel uses. The new kernel's init runs
# this script again.

# ok() gets the status of the condition before it.
# shellcheck disable=SC2319
set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
tests=${ONPU_DRIVER_TESTS:-$top/build/gcc/tests/driver}
kernel=/boot/vmlinuz-$(uname -r)
if [ ! -e "$kernel" ]; then
	echo "1..0 # SKIP there is no $kernel: the kernels of check-debug lie elsewhere, and have no kexec"
	exit 0
fi
find_npu
mark=onpu_kexec=1
read -r line </proc/cmdline

is_busy()
{
	[ "$(<"$device/npu_current_frequency_mhz")" -gt 0 ]
}

if [[ " $line " != *" $mark "* ]]; then
	"$tests/driver-load" /dev/accel/accel0 >/dev/null 2>&1 &
	"$tests/driver-load" /dev/accel/accel0 endless >/dev/null 2>&1 &
	wait_for is_busy
	ok $? "jobs are running"
	# kexec does not wait for output: the host gets two seconds to read the lines above.
	sync
	read -rt 2 -u "$never"
	out=$("$tests/driver-kexec" "$kernel" "$line $mark" 2>&1)
	ok 1 "another kernel starts"
	tap_end
	exit
fi
number=1
ok 0 "another kernel has started"
out=$(<"$device/reset_count")
equal "its driver has bound the device without a reset" 0
"$tests/driver-load" /dev/accel/accel0 once >/dev/null
ok $? "a program works"
out=$("$tests/driver-perf" /dev/accel/accel0 2>&1)
ok $? "a job does what it did before"
out=$(dmesg 2>/dev/null | grep -E 'Bad page|corrupt|general protection|BUG:')
equal "no memory of the new kernel was written to" ""
tap_end
