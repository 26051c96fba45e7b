#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root
#
# Tests, as TAP, what hwmon shows of the device: the energy of jobs and the power, also of a device that sleeps, is reset
# or has lost its power.

# ok() gets the status of the condition before it.
# shellcheck disable=SC2319
set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
tests=${ONPU_DRIVER_TESTS:-$top/build/gcc/tests/driver}
find_npu

# Microjoules of driver-perf's jobs, which fill 4 MiB twice: silicon.xml has the femtojoules of 8 bytes in memory. The rest
# of the work takes little.
memory_fj=$(sed -n 's/.*name="dram8".* energy="\([0-9]*\)".*/\1/p' "$top/uapi/onpu/silicon.xml")
jobs_uj=$(((2 << 22) * memory_fj / 8 / 1000000000))

is_asleep()
{
	[ "$(cat "$device/power/runtime_status")" = suspended ]
}

# Sets $out to the value of a file.
value()
{
	out=$(cat "$folder/$1")
}

out=$(compgen -G "$device/hwmon/hwmon*")
folder=$out
[ -d "$folder" ]
ok $? "the device has a folder of hwmon"
value name
equal "its name is the driver's" onpu
out=$(cd "$folder" && compgen -G '*[0-9]_*' | sort | tr '\n' ' ')
equal "it shows energy and power, and no temperature" "energy1_input power1_average "
value energy1_input
equal "no energy without a job" 0
"$tests/driver-perf" /dev/accel/accel0 >/dev/null && value energy1_input
energy=$out
[ "${energy:-0}" -ge "$jobs_uj" ] && [ "$energy" -lt $((jobs_uj * 3 / 2)) ]
ok $? "the energy of jobs, in microjoules"
value power1_average
[ "${out:-0}" -gt 0 ] && [ "$out" -lt $((energy * 1000)) ]
ok $? "the power, in microwatts"
read -rt 2 -u "$never"
value power1_average
equal "no power without a job" 0
echo 1 >"$device/reset"
value energy1_input
equal "a reset loses nothing" "$energy"
echo 10 >"$device/power/autosuspend_delay_ms" && echo auto >"$device/power/control"
wait_for is_asleep
value energy1_input
is_asleep
ok $? "a reader does not wake the device"
equal "the energy of a device that sleeps" "$energy"
"$tests/driver-perf" /dev/accel/accel0 >/dev/null && wait_for is_asleep && value energy1_input
[ "${out:-0}" -ge $((energy + jobs_uj)) ] && [ "$out" -lt $((2 * energy + jobs_uj)) ]
ok $? "jobs between two times asleep count, although nobody has read"
echo "$address" >/sys/bus/pci/drivers/onpu/unbind
out=$(compgen -G "/sys/class/hwmon/*/energy1_input")
equal "without its driver the device shows nothing" ""
echo "$address" >/sys/bus/pci/drivers/onpu/bind
folder=$(compgen -G "$device/hwmon/hwmon*")
value energy1_input
equal "the next driver counts from zero" 0
tap_end
