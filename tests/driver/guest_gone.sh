#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root --append=iomem=relaxed --allow-log='onpu .*(could not be started|probe with driver onpu failed|reads 0xffffffff|device inaccessible)'
#
# The device goes without a word, as TAP: guest_gone.sh [remove|unload]. The emulator is killed while
# programs work, and one reads registers all the time. They end, the driver lets go of the device, which
# is removed or not, and the module unloads and loads again. The device does not come back in this guest;
# rounds of it: gone.sh.

set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
link=$(printf '%s\n' /sys/bus/pci/drivers/onpu/0000:*)
address=${link##*/}
load=${ONPU_DRIVER_TESTS:-$top/build/gcc/tests/driver}/driver-load
how=${1:-remove}

programs=()
for _ in 1 2 3; do
	"$load" &
	programs+=($!)
done
status=0
for program in "${programs[@]}"; do
	wait_for has_computed "$program" || status=$?
done
ok "$status" "each program has had the device"
"${load%/*}/driver-poke" "/sys/bus/pci/devices/$address/resource0" read &
programs+=($!)
sleep 0.3
SECONDS=0 status=0
kill_emulator
ok $? "the emulator is killed"
# An access that waits for the dead emulator would stop the guest for a minute.
ok $((SECONDS > 30)) "the guest does not stand still"
SECONDS=0
while [ -n "$(jobs -pr)" ] && [ $SECONDS -lt 60 ]; do
	sleep 0.1
done
echo "# the programs had $SECONDS s"
kill "${programs[@]}" 2>/dev/null
for program in "${programs[@]}"; do
	wait "$program" || status=$?
done
ok "$status" "the programs end because the device is gone"
cat /dev/accel/accel* >/dev/null 2>&1
ok $((! $?)) "the node cannot be opened"
[ "$how" != remove ] || echo 1 >"/sys/bus/pci/devices/$address/remove"
[ "$how" != remove ] || [ ! -e "/sys/bus/pci/devices/$address" ]
status=$?
ok "$status" "the device is removed"
wait_for driver_is_unused && /usr/sbin/rmmod onpu
ok $? "the module unloads"
/usr/sbin/insmod "$ONPU_GUEST_DRIVER" && /usr/sbin/rmmod onpu
ok $? "the module loads and unloads again"
tap_end
