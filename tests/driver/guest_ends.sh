#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root --modprobe=vgem --append=oops=panic
#
# Contexts end at moments that are usually too short to be hit, as TAP: a module of the tests makes
# them long. The kernel would warn, or stop.

# The status of a condition is what ok() is given.
# shellcheck disable=SC2319
set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
ends=${ONPU_DRIVER_TESTS:-$top/build/gcc/tests/driver}/driver-ends
counts=/sys/module/onpu_widen/parameters

/usr/sbin/insmod "${ONPU_GUEST_DRIVER%/*}/onpu_widen.ko"
ok $? "the moments are long"
timeout 150 "$ends" taken
ok $? "contexts end while their jobs are taken"
[ "$(cat "$counts/takes")" -gt 100 ]
ok $? "many jobs were"
timeout 150 "$ends" woken
ok $? "contexts end while a fence wakes their scheduler"
[ "$(cat "$counts/wakes")" -eq 10 ]
ok $? "ten were woken"
# The files of its clients are closed: it has no reason to stay.
/usr/sbin/rmmod onpu
ok $? "the driver unloads"
tap_end
