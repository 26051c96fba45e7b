#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root --no-driver --no-device --modprobe=drm
#
# Runs the unit test of the patches in Documentation/upstream on the DRM scheduler of Debian's
# source, as TAP: the test fails with the scheduler as it is, and passes with the patches. This
# driver once used the scheduler.

# ok() gets the status of the condition before it.
# shellcheck disable=SC2319
set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
folder=$top/build/driver/$(uname -r)/sched
results=/sys/kernel/debug/kunit/drm_sched_entity_tests/results

if [ ! -e "$folder/after/test/sched_test.ko" ]; then
	echo "1..0 # SKIP the scheduler's source is that of Linux 6.12, and comes with scripts/fetch-linux.sh"
	exit 0
fi
for state in before after; do
	/usr/sbin/insmod "$folder/$state/drivers/gpu/drm/scheduler/gpu-sched.ko" &&
		/usr/sbin/insmod "$folder/$state/test/sched_test.ko"
	ok $? "the scheduler $state the patches is loaded, with the test"
	out=$(cat "$results")
	case $state in
	before) contains "it puts a killed entity back" "RB_EMPTY_NODE(&t->entity.rb_tree_node)" ;;
	after) contains "the patches keep it away" $'\n    ok 1 drm_sched_killed_entity_stays_away' ;;
	esac
	/usr/sbin/rmmod sched_test && /usr/sbin/rmmod gpu_sched
	ok $? "both are unloaded"
done
tap_end
