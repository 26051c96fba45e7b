#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Rounds of guest_gone.sh, each in a guest of its own: gone.sh [ROUNDS [OPTION of ./npu guest]…]. What
# they run on is built before: ./npu build.

set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
rounds=${1:-50}
shift
failures=0 options=()
mapfile -t options < <(sed -n 's/^# guest: //p' "$top/tests/driver/guest_gone.sh" |
	xargs -r -n 1 printf '%s\n')
echo "1..$rounds"
for ((round = 1; round <= rounds; round++)); do
	how=$([ $((round % 2)) -eq 0 ] && echo unload || echo remove)
	if out=$("$top/npu" guest --no-build "${options[@]}" "$@" -- \
			"$top/tests/driver/guest_gone.sh" "$how" 2>&1); then
		echo "ok $round - $how"
	else
		echo "not ok $round - $how"
		printf '%s\n' "$out" | sed 's/^/# /'
		failures=$((failures + 1))
	fi
done
[ "$failures" -eq 0 ]
