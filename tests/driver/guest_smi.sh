#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root --allow-log='onpu .*(firmware|could not be started|probe with driver onpu failed|reads 0xffffffff|device inaccessible)' --allow-log='Direct firmware load for onpu/'
#
# Tests onpu-smi on the driver, as TAP: it tells of the device and of a program that works on it,
# finds what is wrong, and gives advice that helps.

# ok() gets the status of the condition before it.
# shellcheck disable=SC2319
set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
tests=${ONPU_DRIVER_TESTS:-$top/build/gcc/tests/driver}
firmware=/run/onpu/firmware/onpu/onpu_v1.bin
driver=/sys/bus/pci/drivers/onpu
link=$(printf '%s\n' "$driver"/0000:*)
device=${link##*/}
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)

# value COMMAND… EXPRESSION: prints a Python expression, in which r is the JSON that onpu-smi
# COMMAND prints
value()
{
	onpu-smi "${@:1:$#-1}" --json | python3 -c \
		"import json, sys; r = json.load(sys.stdin); print(${*: -1})"
}

# finds NAME VERDICT: returns whether onpu-smi check gives this verdict to its check NAME
finds()
{
	out=$(value check "next(f['verdict'] for f in r['findings'] if f['check'] == '$1')")
	[ "$out" = "$2" ]
}

works()
{
	out=$(onpu-smi check)
}

has_dump()
{
	onpu-smi dump >/dev/null 2>&1
}

test_info()
{
	out=$(value info "[[d[k] for k in ('address', 'state', 'node', 'queues', 'sram_bytes')] for d in r['devices']]")
	equal "info has the device, which answers" "[['$device', 'ready', 'accel0', 64, 4194304]]"
	out=$(value info "r['devices'][0]['firmware']")
	equal "info has the firmware" "$(cat "$driver/$device/fw_version")"
	out=$(onpu-smi info)
	contains "info has the engines" 'matrix unit of 64 x 64'
	works
	ok $? "check finds that all is well"
}

# Two clocks measure the load, the driver's and that of onpu-smi, so the test only expects some
# load.
test_top()
{
	local program

	"$tests/driver-load" /dev/accel/accel0 endless &
	program=$!
	wait_for has_computed "$program"
	ok $? "a program works"
	out=$(value top --once "[(p['pid'], p['command'], p['load'] > 0.1, p['resident'] > 1 << 20) for p in r['processes']], r['devices'][0]['load'] > 0.1")
	equal "top tells its load and memory" "[($program, 'driver-load', True, True)] True"
	out=$("${nobody[@]}" onpu-smi top --once)
	contains "top tells others what they cannot see" 'Processes of other users that are not looked at: '
	out=$(value reset "r['files'], r['state'], r['resets']")
	equal "reset resets it, with the program's file open" '1 ready 1'
	kill "$program"
	wait "$program" 2>/dev/null
	finds resets hint
	ok $? "check tells of the reset"
	onpu-smi reset --rebind >/dev/null && [ "$(cat "$driver/$device/reset_count")" -eq 0 ]
	ok $? "reset binds the driver anew"
	out=$("${nobody[@]}" onpu-smi reset 2>&1)
	[ $? -eq 2 ] && [[ $out == *'only root may'* ]]
	ok $? "reset is for root"
}

test_fwlog()
{
	out=$(onpu-smi fwlog)
	contains "fwlog tells that it is off" 'fwlog --on'
	onpu-smi fwlog --on --level 3 && onpu-smi reset >/dev/null
	out=$(onpu-smi fwlog)
	contains "fwlog has what the firmware says" 'firmware started'
	onpu-smi fwlog --off
}

# The driver keeps one dump of a job that faults. The dump has the job's program, and marks the
# instruction that faulted.
test_dump()
{
	out=$(onpu-smi dump 2>&1)
	[ $? -eq 1 ] && [[ $out == *'the kernel has no core dump'* ]]
	ok $? "there is no dump before a failure"
	if [ ! -x "$tests/driver-test-fault" ]; then
		ok 0 "a job that faults is dumped # SKIP the kernel's test harness was not fetched"
		return
	fi
	"$tests/driver-test-fault" -v trap >/dev/null
	wait_for has_dump
	out=$("${nobody[@]}" onpu-smi dump 2>&1)
	[ $? -eq 2 ] && [[ $out == *'only root may read a core dump'* ]]
	ok $? "a dump is for root"
	out=$(value dump "r['kind'], r['whole'], r['fault']['name']")
	equal "a job that faults is dumped" "fault True TRAP"
	out=$(onpu-smi dump --drop)
	contains "the dump has the program" '>        0  trap'
	contains "the dump has the job in the ring" 'entry: seqno=1 program_va=0x'
	contains "the dump has who it was" "driver-test-fau, process "
	contains "the dump has the registers" "0x0000: 0x55504e4f"
	# The kernel has room for one dump: if the driver dumped a second fault, there would be no
	# room for the dump of the reset.
	"$tests/driver-test-fault" -v trap >/dev/null
	echo 1 >"/sys/kernel/debug/accel/$device/fail_request"
	"$tests/driver-load" /dev/accel/accel0 once
	wait_for has_dump
	out=$(value dump "r['kind']")
	equal "a second one of the kind is not kept" reset
	onpu-smi reset --rebind >/dev/null
}

is_followed()
{
	grep -qsx 1 /sys/kernel/tracing/instances/onpu-smi-"$follower"/events/onpu/enable
}

is_told()
{
	grep -qE "$1" /tmp/events
}

# is_told_times TIMES PATTERN: returns whether at least so many lines of the trace match the pattern
is_told_times()
{
	[ "$(grep -cE "$2" /tmp/events)" -ge "$1" ]
}

falls_asleep()
{
	[ "$(cat "/sys/bus/pci/devices/$device/power/runtime_status")" = suspended ]
}

# onpu-smi trace prints events as they happen, and names a program that was there before.
test_trace()
{
	local follower program power=/sys/bus/pci/devices/$device/power line

	"$tests/driver-load" /dev/accel/accel0 endless &
	program=$!
	wait_for has_computed "$program"
	onpu-smi trace >/tmp/events &
	follower=$!
	wait_for is_followed
	ok $? "trace has a trace of its own"
	out=$("${nobody[@]}" onpu-smi trace 2>&1)
	[ $? -eq 2 ] && [[ $out == *'only root may follow the driver'* ]]
	ok $? "trace is for root"
	kill "$program"
	wait "$program" 2>/dev/null
	wait_for is_told "] driver-load $program, client [0-9]+: jobs? [0-9 to]* of context 1 ends? with an error: Operation canceled"
	ok $? "trace tells of the end of jobs that were there before, and whose they were"
	"$tests/driver-load" /dev/accel/accel0 once &
	program=$!
	wait "$program"
	out=$(cat /tmp/events)
	for line in 'jobs? [0-9 to]* submitted to context 1' 'jobs? [0-9 to]* of context 1 goe?s? to queue [0-9]+' \
		'jobs? [0-9 to]* of context 1 ends? after [1-9][0-9]* us'; do
		wait_for is_told "] driver-load $program, client [0-9]+: $line\$"
		ok $? "trace tells: $line"
	done
	onpu-smi reset >/dev/null
	wait_for is_told '] the device is reset: of the PCI function$' && wait_for is_told '] the device works$'
	ok $? "trace tells of a reset"
	echo 100 >"$power/autosuspend_delay_ms"
	echo auto >"$power/control"
	wait_for falls_asleep
	echo on >"$power/control"
	wait_for is_told '] the device goes to sleep$' && wait_for is_told '] the device wakes up$'
	ok $? "trace tells of sleep"
	if [ -x "$tests/driver-test-fault" ]; then
		"$tests/driver-test-fault" -v trap >/dev/null
		wait_for is_told 'driver-test-fau [0-9]+, client [0-9]+: job [0-9]+ of context 1 faults at instruction 0: TRAP,'
		ok $? "trace tells of a fault"
	fi
	# While onpu-smi is stopped, more events come than it reads at once. It is told to end
	# before it can read them.
	kill -STOP "$follower"
	for _ in {1..10}; do
		"$tests/driver-load" /dev/accel/accel0 once &
		program=$!
		wait "$program"
	done
	kill "$follower"
	kill -CONT "$follower"
	wait "$follower" && ! compgen -G '/sys/kernel/tracing/instances/onpu-smi-*'
	ok $? "its trace is removed in the end"
	is_told "] driver-load $program, client [0-9]+: jobs? ([0-9]+ to )?32 of context 1 ends? after [1-9][0-9]* us\$"
	ok $? "what happened before the end is told"
	onpu-smi trace >/dev/null &
	follower=$!
	wait_for is_followed
	kill -KILL "$follower"
	wait "$follower" 2>/dev/null
	onpu-smi trace --count 1 --json >/tmp/events &
	follower=$!
	wait_for is_followed
	"$tests/driver-load" /dev/accel/accel0 once
	wait "$follower" && is_told '^{"event":"(submit|feed)",.*"command":"driver-load"' &&
		! compgen -G '/sys/kernel/tracing/instances/onpu-smi-*'
	ok $? "that of one that was killed is removed by the next"
}

# jobs_in_order FILE: fails unless the trace for Perfetto has these events for each job, in this
# order: submit and feed in the driver, begin and end on each engine, complete in the driver; and
# between feed and complete the firmware's message that a queue runs. Prints the number of jobs, and
# whether messages of the firmware have a cycle.
jobs_in_order()
{
	python3 - "$1" <<-'EOF'
		import json, sys
		events = json.load(open(sys.argv[1]))["traceEvents"]
		names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
		events = [dict(e, lane=names[e["pid"], e["tid"]]) for e in events if e["ph"] in "Xi"]
		told = lambda name, job: [e["ts"] for e in events if e["name"] == name and "context" in e["args"] and
		                          all(e["args"][k] == job["args"][k] for k in ("client", "context")) and
		                          0 <= e["args"]["seqno"] - job["args"]["seqno"] < e["args"]["count"]]
		jobs = [e for e in events if e["lane"] == "jobs"]
		engines = [e for e in events if e["ph"] == "X" and e["lane"] != "jobs"]
		runs = [e["ts"] for e in events if e["lane"] == "log" and e["name"].startswith("resident queue")]
		for job in jobs:
		    (submit,), (*_, feed), (complete,) = (told(n, job) for n in ("submit", "feed", "complete"))
		    end = job["ts"] + job["dur"]
		    assert submit <= feed <= job["ts"] <= end <= complete, job
		    assert any(feed <= t <= complete for t in runs), (job, runs)
		    of_job = [e for e in engines if e["args"]["end_cycle"] == job["args"]["end_cycle"]]
		    assert of_job and all((e["ts"], e["dur"]) == (job["ts"], job["dur"]) for e in of_job), of_job
		    assert all(0 < e["args"]["busy_cycles"] <= job["args"]["cycles"] for e in of_job), of_job
		print(len(jobs), sum(e["lane"] == "log" and "cycle" in e["args"] for e in events) > 0)
	EOF
}

# The trace for Perfetto has the events of driver, firmware and engines. Programs run one after the
# other, so that no job hides another. The driver reads the firmware's messages late, so the test
# waits for the last one of each program, which is about its request VM_DESTROY.
test_chrome()
{
	local follower

	wait_for driver_is_unused
	onpu-smi fwlog --level 3 && onpu-smi reset >/dev/null
	onpu-smi trace --chrome /tmp/trace.json >/tmp/events &
	follower=$!
	wait_for is_followed
	"$tests/driver-load" /dev/accel/accel0 once && "$tests/driver-load" /dev/accel/accel0 once
	wait_for is_told_times 2 '] the firmware says: request of type 0x2$'
	ok $? "trace tells what the firmware says"
	is_told 'of context 1 took [1-9][0-9]* cycles: control [0-9]+ %, '
	ok $? "trace tells what engines did"
	kill "$follower"
	wait "$follower"
	out=$(jobs_in_order /tmp/trace.json 2>&1)
	[[ $out =~ ^([2-9]|[1-9][0-9]+)' True'$ ]]
	ok $? "each job is in order in driver, firmware and engines"
	onpu-smi fwlog --level 2 && onpu-smi reset --rebind >/dev/null
}

test_permission()
{
	out=$("${nobody[@]}" onpu-smi check)
	[ $? -eq 1 ] && [[ $out == *'wrong  permission'*'group render'*'> As root: adduser USER render'* ]]
	ok $? "check finds that a user may not open it"
	[ "$("${nobody[@]}" onpu-smi info --json | grep -c '"state": "no-permission"')" -eq 1 ]
	ok $? "info tells so, too"
	out=$(setpriv --reuid=65534 --regid=65534 --groups="$(stat -c %g /dev/accel/accel0)" onpu-smi check)
	ok $? "in the group, all is well"
}

# Tests that onpu-smi check finds each problem, and that its advice helps.
test_reasons()
{
	echo "$device" >"$driver/unbind"
	finds binding wrong
	ok $? "check finds a device without driver"
	mv "$firmware" /tmp/whole
	onpu-smi reset --rebind 2>/dev/null
	ok $((! $?)) "the driver cannot be bound without firmware"
	out=$(onpu-smi check)
	[[ $out == *'refused it: firmware onpu/onpu_v1.bin is not where the kernel looks for it'* ]] && finds firmware wrong
	ok $? "check finds that the firmware is missing, and what the driver said"
	head -c 3000 /tmp/whole >"$firmware"
	finds firmware wrong
	ok $? "check finds half a firmware"
	cp /tmp/whole "$firmware"
	onpu-smi reset --rebind >/dev/null && works
	ok $? "with the firmware, a new binding helps"
	/usr/sbin/rmmod onpu
	finds driver wrong && finds binding wrong
	ok $? "check finds that the module is not loaded"
	out=$(onpu-smi trace 2>&1)
	[ $? -eq 2 ] && [[ $out == *'the driver is not loaded, so it has no trace events'* ]]
	ok $? "trace tells that there is nothing to follow"
	out=$(value info "r['devices'][0]['state']")
	equal "info tells that there is no driver" no-driver
	/usr/sbin/insmod "$ONPU_GUEST_DRIVER" && wait_for works
	ok $? "with the module, all is well"
	echo 1 >"/sys/bus/pci/devices/$device/remove"
	finds device wrong
	ok $? "check finds that there is no device"
	echo 1 >/sys/bus/pci/rescan
	wait_for works
	ok $? "a rescan helps"
}

# Tests onpu-smi with a device whose emulator was killed. This is the last test, since the device
# does not come back.
test_gone()
{
	kill_emulator
	finds link wrong
	ok $? "check finds a device that does not answer"
	out=$(value info "r['devices'][0]['state']")
	equal "info tells so, too: gone" gone
	out=$(onpu-smi reset 2>&1)
	[ $? -eq 2 ] && [[ $out == *'does not answer on the bus'* ]]
	ok $? "reset does not wait for it"
}

test_info
test_top
test_fwlog
test_dump
test_trace
test_chrome
test_permission
test_reasons
test_gone
tap_end
