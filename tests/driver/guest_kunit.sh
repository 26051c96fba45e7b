#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root --allow-log='onpu-kunit: .*(firmware |the device cannot reach memory )' --allow-log='onpu_mbox_protocol_error: .* callbacks suppressed' --allow-log='Test should be marked slow'
#
# Runs the driver's unit tests (tests/driver/kunit), as TAP. They need no device. The driver must
# not be loaded, since its trace events have the same names.

set -uo pipefail

results=/sys/kernel/debug/kunit
number=0 failures=0

if ! /usr/sbin/rmmod onpu || ! /usr/sbin/insmod "${ONPU_GUEST_DRIVER%/*}/onpu_kunit.ko"; then
	echo "Bail out! the module of the unit tests is not loaded"
	exit 1
fi
for suite in mmu mbox fw submit job gem wrap dump device; do
	while IFS= read -r line; do
		if [[ $line =~ ^\ +((not )?ok)\ [0-9]+\ (.*)$ ]]; then
			[ -z "${BASH_REMATCH[2]}" ] || failures=$((failures + 1))
			number=$((number + 1))
			printf '%s %d - %s: %s\n' "${BASH_REMATCH[1]}" "$number" "$suite" "${BASH_REMATCH[3]}"
		elif [[ $line =~ ^\ +#\ (.*)$ ]]; then
			printf '# %s\n' "${BASH_REMATCH[1]}"
		fi
	done <"$results/onpu_$suite/results"
done
/usr/sbin/rmmod onpu_kunit
printf '1..%d\n' "$number"
if [ "$number" -eq 0 ]; then
	echo "Bail out! there are no results in $results"
fi
[ "$failures" -eq 0 ] && [ "$number" -gt 0 ]
