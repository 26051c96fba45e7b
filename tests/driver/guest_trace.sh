#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root
#
# Tests, as TAP, what the driver shows to those who look for an error: trace events and the files in debugfs. Those
# files also make requests fail and invalidations get lost: a reset follows, and programs work after it.

# ok() gets the status of the condition before it.
# shellcheck disable=SC2319
set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
tests=${ONPU_DRIVER_TESTS:-$top/build/gcc/tests/driver}
find_npu
debug=/sys/kernel/debug/accel/$address
trace=/sys/kernel/tracing

# traced EVENT PATTERN: returns whether the trace has an event of this kind that matches
traced()
{
	grep -q " onpu_$1: .*$2" "$trace/trace"
}

# jobs_of EVENT: prints the number of jobs in all events of this kind
jobs_of()
{
	awk -v event=" onpu_$1: " '
		index($0, event) && match($0, / count=[0-9]+/) { n += substr($0, RSTART + 7, RLENGTH - 7) }
		END { print n + 0 }' "$trace/trace"
}

# value FILE: prints a file in debugfs
value()
{
	cat "$debug/$1"
}

is_reset()
{
	[ "$(cat "$device/reset_count")" -gt "$before" ]
}

program_works()
{
	"$tests/driver-load" /dev/accel/accel0 once
}

out=$(find "$debug/" -type f -exec cat {} + 2>&1 >/dev/null)
equal "each file in debugfs can be read" ""
echo 1 >"$trace/events/onpu/enable"
echo 1 >"$trace/events/workqueue/workqueue_queue_work/enable"
program_works
ok $? "a program works while events are traced"
jobs=$(jobs_of submit)
out="$(jobs_of feed) $(jobs_of complete)"
[ "$jobs" -gt 0 ] && [ "$out" = "$jobs $jobs" ]
ok $? "each of its jobs was submitted, fed and complete"
out=$(grep -o ' onpu_\(submit\|feed\|complete\): ' "$trace/trace" | uniq | head -n 3 | tr -d ' \n')
equal "in this order" "onpu_submit:onpu_feed:onpu_complete:"
"$top/tests/driver/guest_kselftest.sh" fault,-v,read_of_kernel >/dev/null
ok $? "a job faults"
traced fault 'code=[1-9].* pc=[0-9]* address=0x' && traced complete 'error=-14'
ok $? "its fault and its error are traced"
out=$(grep -o 'function=dump_work .*workqueue=[^ ]*' "$trace/trace")
[ -n "$out" ] && ! grep -q 'workqueue=onpu' <<<"$out"
ok $? "its dump, which waits for memory, is not on a queue that frees memory"
echo 0 >"$trace/events/workqueue/workqueue_queue_work/enable"
echo 1 >"$device/reset"
traced reset 'what="of the PCI function" error=0' && traced reset 'what="end" error=0'
ok $? "begin and end of a reset are traced"
echo 0 >"$trace/events/onpu/enable"

"$tests/driver-load" /dev/accel/accel0 endless &
program=$!
wait_for has_computed "$program"
ok $? "another program works"
out=$(onpu-smi dump "$debug/state") && [[ $out == *"$program"* ]]
ok $? "onpu-smi shows the state with this program"
grep -q '^client=[0-9]* context=1 queue=[0-9]' "$debug/state"
ok $? "its context has a queue"
out=$(grep -c '^client=[0-9]* va=0x[0-9a-f]* size=[1-9][0-9]* flags=0x[0-9a-f]* cached=1$' "$debug/buffers")
[ "$out" -ge 5 ]
ok $? "its buffers, and the driver's for it, have addresses"

# The request CTX_KILL (5) fails, so that a context cannot be ended.
before=$(cat "$device/reset_count")
echo 5 >"$debug/fail_request"
kill "$program"
wait_for is_reset
status=$?
# If the reset does not come, this output shows which parts of the driver wait.
out=$(cat "$debug/fail_request" "$device/reset_count" "/proc/$program/stack" "$debug/state" 2>&1)
ok "$status" "a CTX_KILL that fails causes a reset"
[ "$(value fail_request)" -eq 0 ] && program_works
ok $? "programs work after it"
# Each of the requests VM_CREATE (1), CTX_CREATE (3) and QUEUE_BIND (6) fails, then each that takes
# something away: VM_DESTROY (2), CTX_DESTROY (4) and QUEUE_UNBIND (7).
for request in 1 3 6 2 4 7; do
	before=$(cat "$device/reset_count")
	echo "$request" >"$debug/fail_request"
	program_works && wait_for is_reset && [ "$(value fail_request)" -eq 0 ] && program_works
	ok $? "request $request fails, a reset follows, and programs work after it"
done
before=$(cat "$device/reset_count")
echo 1000000 >"$debug/lose_invalidations"
program_works && wait_for is_reset
ok $? "an invalidation without answer causes a reset"
dmesg | grep -q 'onpu .*reset: no answer to an invalidation$'
ok $? "the log tells why"
echo 0 >"$debug/lose_invalidations"
program_works
ok $? "programs work after it"

# fails_by FOLDER TIMES: the kernel's fault injection hits TIMES times (-1: always) until a reset follows
fails_by()
{
	before=$(cat "$device/reset_count")
	dmesg -C
	# A program begins with a request, and ends with an invalidation. Without verbose, no call stack is logged.
	echo 0 >"$debug/$1/verbose"
	echo "$2" >"$debug/$1/times"
	echo 100 >"$debug/$1/probability"
	program_works && wait_for is_reset
	ok $? "$1 causes a reset"
	echo 0 >"$debug/$1/probability"
	program_works
	ok $? "programs work after $1"
}

if [ -d "$debug/fail_requests" ]; then
	fails_by fail_requests 1
	out=$(cat "$debug/fail_requests/times")
	equal "the fault has hit once" 0
	fails_by lose_some_invalidations -1
	dmesg | grep -q 'onpu .*reset: no answer to an invalidation$'
	ok $? "invalidations were lost"
else
	echo "# no random faults: the kernel has no CONFIG_FAULT_INJECTION_DEBUG_FS, as those of check-debug have"
fi
tap_end
