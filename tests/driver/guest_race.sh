#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --cpus=2 --root
#
# Ends contexts while the device is reset, as TAP: guest_race.sh [ROUNDS]. It needs two processors:
# on one, the end and the reset would come one after the other.

set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
link=$(printf '%s\n' /sys/bus/pci/drivers/onpu/0000:*)

echo 1..1
if "${ONPU_DRIVER_TESTS:-$top/build/gcc/tests/driver}/driver-race" \
		"/sys/bus/pci/devices/${link##*/}" "${1:-12}"; then
	echo "ok 1 - one reset is enough, and every client works after it"
else
	echo "not ok 1 - one reset is enough, and every client works after it"
	exit 1
fi
