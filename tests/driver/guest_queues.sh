#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root --emu-arg=--queues=4 --timeout=1200
# guest: --cpus=2
#
# A device with few queues, which contexts share, as TAP; then with bounds of run and wait that a test
# can reach.

set -uo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)

# numbered FIRST COMMAND…: its cases with numbers from FIRST on, without its plan.
numbered()
{
	local number=$1

	shift
	"$@" | awk -v n="$number" '
		/^1\.\./ { next }
		match($0, /^(not )?ok [0-9]+/) { sub(/ok [0-9]+/, "ok " n++) }
		{ print; fflush() }
		END { print n >"/dev/fd/3" }' 3>"$count"
}

count=$(mktemp)
status=0
numbered 1 "$here/guest_kselftest.sh" share sync,-t,more_contexts_than_queues || status=1
next=$(cat "$count")
limits=(max_run_ms=20 max_wait_ms=4000)
if ! /usr/sbin/rmmod onpu || ! /usr/sbin/insmod "$ONPU_GUEST_DRIVER" "${limits[@]}"; then
	echo "Bail out! the module is not loaded again"
	exit 1
fi
numbered "$next" "$here/guest_kselftest.sh" share,-t,a_job_that_runs_too_long,-t,every_job_without_end_is_ended || status=1
/usr/sbin/rmmod onpu && /usr/sbin/insmod "$ONPU_GUEST_DRIVER" max_wait_ms=800 || status=1
next=$(cat "$count")
numbered "$next" "$here/guest_kselftest.sh" share,-t,a_job_that_waits_too_long || status=1
next=$(cat "$count")
echo "1..$((next - 1))"
rm -f -- "$count"
exit "$status"
