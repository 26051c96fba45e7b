#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root --emu-arg=--queues=4 --timeout=1200
# guest: --cpus=2
#
# Runs tests on a device with few queues, which contexts share, as TAP; then with limits of run,
# wait and fences that a test can reach; then with jobs that cannot be interrupted, so that their
# queue cannot be taken.

# ok() gets the status of the condition before it.
# shellcheck disable=SC2319
set -uo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source=tests/tap.sh
. "$here/../tap.sh"
load=${ONPU_DRIVER_TESTS:-$here/../../build/gcc/tests/driver}/driver-load

# numbered FIRST COMMAND…: runs a command that prints TAP; prints its cases with numbers from FIRST
# on, without the plan, and writes the next number to $count.
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
/usr/sbin/rmmod onpu || status=1
# The kernel has room for one dump: an earlier test's dump would prevent the next one.
onpu-smi dump --drop >/dev/null 2>&1
/usr/sbin/insmod "$ONPU_GUEST_DRIVER" max_fence_ms=2000 || status=1
next=$(cat "$count")
numbered "$next" "$here/guest_kselftest.sh" share,-t,no_fence_waits_for_long_work || status=1
number=$(($(cat "$count") - 1))
rm -f -- "$count"
[ "$status" -eq 0 ] || failures=1

device=$(printf '%s\n' /sys/bus/pci/drivers/onpu/0000:*)

says_why()
{
	[[ $(onpu-smi dump --json 2>/dev/null) == *"a job has not ended in time for its fence"* ]]
}

wait_for says_why
ok $? "the core dump says that the job's fence had to signal"

is_reset()
{
	[ "$(cat "$device/reset_count")" -gt "$before" ]
}

is_banned()
{
	dmesg | grep -q 'onpu .*user 0 is banned for '
}

wait_for driver_is_unused && /usr/sbin/rmmod onpu && /usr/sbin/insmod "$ONPU_GUEST_DRIVER"
ok $? "the driver is loaded again"
programs=()

# While contexts wait for queues, the work that gives out queues must not run for one that only asks for its state.
trace=/sys/kernel/tracing
for ((i = 0; i < 7; i++)); do
	"$load" /dev/accel/accel0 endless >/dev/null 2>&1 &
	programs+=("$!")
done
echo 1 >"$trace/events/workqueue/workqueue_execute_start/enable"
wait_for grep -q 'function onpu_queue_bind_work' "$trace/trace"
echo >"$trace/trace"
calls=$("${load%load}state" /dev/accel/accel0 4)
echo 0 >"$trace/events/workqueue/workqueue_execute_start/enable"
runs=$(grep -c 'function onpu_queue_bind_work' "$trace/trace")
out="$runs runs of the work, $calls calls"
# The work runs ten times a second on its own account, and some hundred times when each call wakes it.
[ "${calls:-0}" -gt 2000 ] && [ "$runs" -gt 0 ] && [ "$runs" -lt 400 ]
ok $? "a client that asks for its state in a loop wakes nobody"
kill "${programs[@]}"
wait
unbind=$(sed -n 's/.*name="ONPU_MSG_QUEUE_UNBIND" value="\([0-9]*\)".*/\1/p' "$here/../../uapi/onpu/registers.xml")
# Each reset ends one of the programs. After the third, there are still more programs than queues.
programs=()
for ((i = 0; i < 7; i++)); do
	"$load" /dev/accel/accel0 endless >/dev/null 2>&1 &
	programs+=("$!")
done
for ((i = 0; i < 6; i++)); do
	is_banned && break
	before=$(cat "$device/reset_count")
	echo "$unbind" >"/sys/kernel/debug/accel/${device##*/}/fail_request"
	wait_for is_reset || break
done
wait_for is_banned
ok $? "a user whose jobs keep their queues is banned"
# A ban has ended the programs; without one they must be killed.
kill "${programs[@]}" 2>/dev/null
wait
tap_end
