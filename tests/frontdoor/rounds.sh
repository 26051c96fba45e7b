#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Finds tests that fail by chance: rounds.sh [N] runs all of ./npu check and ./npu check --more N
# times (default: 10), the second half of them beside two processes that keep the processors busy.
# Nothing else differs, so a test that fails in some rounds only depends on chance. The outputs are
# in build/rounds; the list of what failed, with the number of failures, comes last.
set -uo pipefail

top=$(cd -- "$(dirname -- "$0")/../.." && pwd -P)
run=${ONPU_ROUNDS_COMMAND:-$top/.ci/run}
rounds=${1:-10}
work=$top/build/rounds
# Each round runs all tests, however long they take.
export ONPU_CHECK_END=
busy=()

[[ $rounds =~ ^[1-9][0-9]{0,3}$ ]] || { echo "rounds.sh needs a number of rounds, not '$rounds'" >&2; exit 2; }

rest()
{
	[ ${#busy[@]} -gt 0 ] || return
	kill "${busy[@]}"
	wait "${busy[@]}" 2>/dev/null
	busy=()
}
trap rest EXIT

rm -rf -- "$work"
mkdir -p "$work"
bad=0
for ((round = 1; round <= rounds; round++)); do
	beside=""
	if [ $((2 * round)) -gt "$rounds" ] && [ "$rounds" -gt 1 ]; then
		beside=", beside two busy processes"
		for _ in 1 2; do
			setpriv --pdeathsig KILL sh -c 'while :; do :; done' &
			busy+=($!)
		done
	fi
	start=$SECONDS status=0
	"$run" >"$work/$round.log" 2>&1 </dev/null || status=$?
	rest
	[ "$status" -eq 0 ] || bad=$((bad + 1))
	# When a run did not end, the last line of its log is its reason.
	if [ "$status" -ne 0 ] && ! grep -q '^failed: ' "$work/$round.log"; then
		printf 'failed: %s\n' "$(tail -n 1 -- "$work/$round.log")" >>"$work/$round.log"
	fi
	printf 'round %d of %d%s: %d s, %s\n' "$round" "$rounds" "$beside" $((SECONDS - start)) \
		"$(grep -v '^failed: ' "$work/$round.log" | tail -n 1)"
done
if [ "$bad" -eq 0 ]; then
	echo "all $rounds rounds passed"
	exit
fi
echo "$bad of $rounds rounds failed; what failed, and in how many:"
for log in "$work"/*.log; do
	sed -n 's/^failed: //p' "$log" | sort -u
done | sort | uniq -c | sort -k 1,1nr -k 2
exit 1
