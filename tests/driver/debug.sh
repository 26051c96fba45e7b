#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs one test of the guest on a kernel with debug checks: debug.sh TEST [ARGUMENTS]. On such a
# kernel every guest runs as root, so this script runs a test without --root in its line "guest:" as
# the user for which it was written. After the test, kmemleak looks for memory to which nothing
# refers any more.

set -uo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
leaks=/sys/kernel/debug/kmemleak
places=/sys/kernel/debug/kcov
as_user=()

test=$here/$1
shift
if ! grep -q '^# guest:.*--root' "$test"; then
	as_user=(/usr/bin/setpriv --reuid=1000 --regid=1000 "--groups=$(stat -c %g /dev/accel/accel0)" --inh-caps=-all)
fi
# Lets the test's user open kcov, which records the positions of the driver's code that the test
# reaches.
if [ -e "$places" ]; then
	chmod o+x "${places%/*}"
	chmod o+rw "$places"
fi
# Clears kmemleak's reports from before the test. They include new objects, which are not lost.
[ ! -e "$leaks" ] || echo clear >"$leaks"
"${as_user[@]}" "$test" "$@"
status=$?
[ -e "$leaks" ] || exit "$status"

# During this pause, work items free their memory. kmemleak reports an object only when it is some
# seconds old and two scans find nothing that refers to it.
sleep 6
echo scan >"$leaks"
sleep 6
echo scan >"$leaks"
if grep -q . "$leaks"; then
	cat "$leaks" >&2
	echo "Bail out! memory was lost: see the messages"
	exit 1
fi
exit "$status"
