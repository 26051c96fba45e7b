#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --modprobe=vgem --timeout=1800
# guest: --cpus=2
#
# Runs all programs driver-test-*, or those that are named, as one TAP stream: guest_kselftest.sh
# [NAME[,ARGUMENT]…]…, such as query sync,-t,an_event_loop. The ARGUMENTS are those of the kernel's
# test harness (-h lists them). ONPU_TEST_KIND=i386 selects the 32-bit programs i386-test-*. A case
# that skips fails, unless may_skip lists it.

set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
programs=${ONPU_DRIVER_TESTS:-$top/build/gcc/tests/driver}/${ONPU_TEST_KIND:-driver}-test-
number=0 failures=0

parameter()
{
	echo "$(</sys/module/onpu/parameters/"$1")"
}

# may_skip "NAME: CASE # SKIP REASON": returns whether the case may skip because of the user, the
# driver's parameters or the device. guest_limits.sh and guest_queues.sh run these cases where they
# cannot skip.
may_skip()
{
	case $1 in
	"bo: limit."*" # SKIP the limit is "*|"prime: prime.while_an_import_waits_"*" # SKIP the limit is "*)
		[ "$(parameter memory_limit_mb)" -eq 0 ] ;;
	"ctx: create.high_priority.is_refused # SKIP root may")
		[ "$EUID" -eq 0 ] ;;
	"ctx: ctx.limit_of_a_user # SKIP a user may have "*)
		[ "$(parameter max_user_contexts)" -ge $((2 * $(parameter max_contexts))) ] ;;
	# Only the program knows how fast the emulator is.
	"hang: hang.jobs_that_follow_hide_nothing # SKIP the emulator is done before "*) ;;
	"prime: prime."*" # SKIP "*" would have a copy")
		grep -qE 'swiotlb=([0-9]+,)?force' /proc/cmdline ;;
	# A device has 64 queues unless it was asked for another number.
	"share: share."*" # SKIP there are 64 queues"*|"sync: sync.more_contexts_than_queues # SKIP there are 64 queues") ;;
	"share: share.high_priority_waits_for_two_slices # SKIP only root "*)
		[ "$EUID" -ne 0 ] ;;
	"share: share.a_job_that_runs_too_long # SKIP it may take "*|"share: share.every_job_without_end_is_ended # SKIP each may "*)
		[ "$(parameter max_run_ms)" -gt 1000 ] ;;
	"share: share.a_job_that_waits_too_long # SKIP it may wait "*)
		[ "$(parameter max_wait_ms)" -gt 10000 ] ;;
	"share: share.no_fence_waits_for_long_work # SKIP a fence may wait "*)
		[ "$(parameter max_fence_ms)" -gt 10000 ] ;;
	*) false ;;
	esac
}

# run_one NAME [ARGUMENTS]: runs a program. Its cases get the numbers that follow, and NAME comes
# before their names.
run_one()
{
	local name=$1 line status word case

	shift
	while IFS= read -r line; do
		case $line in
		'TAP version'*|1..*) ;;
		'ok '*|'not ok '*)
			number=$((number + 1))
			[[ $line =~ ^((not )?ok)\ [0-9]+\ (.*)$ ]]
			word=${BASH_REMATCH[1]} case="$name: ${BASH_REMATCH[3]}"
			# Readers of TAP do not count a failure with "# SKIP".
			if [[ $case == *"# SKIP"* ]] && ! may_skip "$case"; then
				word="not ok" case=${case/"# SKIP"/"may not skip:"}
			fi
			[ "$word" = ok ] || failures=$((failures + 1))
			printf '%s %d - %s\n' "$word" "$number" "$case" ;;
		*) printf '%s\n' "$line" ;;
		esac
	done < <("$programs$name" "$@" 2>&1; echo "status $?" >"$work")
	read -r _ status <"$work"
	[ "$status" -eq 0 ] || failures=$((failures + 1))
}

work=$(mktemp)
if [ $# -eq 0 ]; then
	for program in "$programs"*; do
		[ ! -f "$program" ] || set -- "$@" "${program#"$programs"}"
	done
fi
for selection; do
	IFS=, read -ra words <<<"$selection"
	run_one "${words[@]}"
done
rm -f -- "$work"
printf '1..%d\n' "$number"
if [ "$number" -eq 0 ]; then
	echo "Bail out! no $programs*: they need scripts/fetch-linux.sh"
fi
[ "$failures" -eq 0 ] && [ "$number" -gt 0 ]
