#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --cpus=2 --timeout=1800
#
# Random calls of the driver, as TAP: guest_fuzz.sh [CALLS [SEED]]. The first half of them by one thread,
# the same for a seed; the second by four at once. Where the kernel tells which places of the driver they
# reach, they reach some. Two processors, so that threads meet in the driver.

set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
fuzz=${ONPU_DRIVER_TESTS:-$top/build/gcc/tests/driver}/driver-fuzz
calls=$((${1:-12000} / 2)) number=0 failures=0

echo 1..2
for threads in 1 4; do
	number=$((number + 1))
	said=$("$fuzz" -n "$calls" -s "${2:-1}" -t "$threads")
	status=$?
	printf '%s\n' "$said"
	if [ "$status" -eq 0 ] && { [ ! -r /sys/kernel/debug/kcov ] || [[ $said =~ ' '[1-9][0-9]*' places' ]]; }; then
		echo "ok $number - threads: $threads"
	else
		echo "not ok $number - threads: $threads, seed ${2:-1}"
		failures=1
	fi
done
exit "$failures"
