#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --cpus=2 --timeout=1800
#
# Makes random calls of the driver, as TAP: guest_fuzz.sh [CALLS [SEED]], at least 3000 calls. One
# thread makes the first half, which SEED determines; four threads at once make the second half. The
# driver must accept each of its ioctls, and some of the DRM core's, at least once. On a kernel with
# KCOV each of the driver's ioctls must reach positions of the driver's code. The guest has two
# processors, so that threads meet in the driver.

set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
fuzz=${ONPU_DRIVER_TESTS:-$top/build/gcc/tests/driver}/driver-fuzz
calls=$((${1:-12000} / 2)) number=0 failures=0

own=(ONPU_{DEV_QUERY,BO_{CREATE,INFO,SYNC},CTX_{CREATE,DESTROY,GET_STATE},SUBMIT})
# The DRM core's ioctls that even a short run accepts. Others are accepted too seldom.
core=(GEM_CLOSE PRIME_{HANDLE_TO_FD,FD_TO_HANDLE} SYNCOBJ_{CREATE,DESTROY})

# all_reached TEXT: returns whether each ioctl has a line in TEXT, the output of driver-fuzz, that
# says that it was accepted; prints those that do not.
all_reached()
{
	local name places status=0

	for name in "${own[@]}" "${core[@]}"; do
		places='[0-9]+'
		[[ $name != ONPU_* || ! -r /sys/kernel/debug/kcov ]] || places='[1-9][0-9]*'
		grep -Eq "^# $name: [0-9]+ calls, [1-9][0-9]* accepted, $places places$" <<<"$1" && continue
		echo "# $name was never accepted, or reached nothing"
		status=1
	done
	return "$status"
}

echo 1..2
for threads in 1 4; do
	number=$((number + 1))
	said=$("$fuzz" -n "$calls" -s "${2:-1}" -t "$threads")
	status=$?
	printf '%s\n' "$said"
	if [ "$status" -eq 0 ] && all_reached "$said"; then
		echo "ok $number - threads: $threads"
	else
		echo "not ok $number - threads: $threads, seed ${2:-1}"
		failures=1
	fi
done
exit "$failures"
