#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --modprobe=vgem --timeout=1800
# guest: --cpus=2
#
# All driver-test-* as one TAP stream, or some: guest_kselftest.sh [NAME[,ARGUMENT]…]…, such as
# query sync,-t,an_event_loop. The ARGUMENTS are those of the harness (-h lists them). With
# ONPU_TEST_KIND=i386 they are the programs of 32 bits, i386-test-*.

set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
programs=${ONPU_DRIVER_TESTS:-$top/build/gcc/tests/driver}/${ONPU_TEST_KIND:-driver}-test-
number=0 failures=0

# run_one NAME [ARGUMENTS]: its cases get the numbers that follow, and its name before theirs.
run_one()
{
	local name=$1 line status

	shift
	while IFS= read -r line; do
		case $line in
		'TAP version'*|1..*) ;;
		'ok '*|'not ok '*)
			[[ $line == ok* ]] || failures=$((failures + 1))
			number=$((number + 1))
			[[ $line =~ ^((not )?ok)\ [0-9]+\ (.*)$ ]]
			printf '%s %d - %s: %s\n' "${BASH_REMATCH[1]}" "$number" "$name" "${BASH_REMATCH[3]}" ;;
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
