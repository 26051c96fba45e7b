#!/bin/bash
# SPDX-License-Identifier: MIT
#
# One test of the guest on a kernel that looks for errors: debug.sh TEST [ARGUMENTS]. It runs as the user
# that it is for, which ./npu guest --root is not. Then comes what the kernel says when it is asked: memory
# that nobody refers to any more.

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
# Whoever runs the test may see which places of the driver it reaches.
if [ -e "$places" ]; then
	chmod o+x "${places%/*}"
	chmod o+rw "$places"
fi
# Before that, some of what is new looks as if it had been lost.
[ ! -e "$leaks" ] || echo clear >"$leaks"
"${as_user[@]}" "$test" "$@"
status=$?
[ -e "$leaks" ] || exit "$status"

# Memory that a work item frees is gone by then; an object has to be some seconds old to be reported, and to
# be lost in two scans.
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
