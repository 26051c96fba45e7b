#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root
#
# Runs a part of the kselftests with limits of the driver that a test can reach, and those for which
# the user must be root.

set -uo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)

limits=(memory_limit_mb=48 max_contexts=5 max_user_contexts=7 timeout_ms=7000 max_timeout_ms=9000)
if ! /usr/sbin/rmmod onpu || ! /usr/sbin/insmod "$ONPU_GUEST_DRIVER" "${limits[@]}"; then
	echo "Bail out! the module is not loaded again"
	exit 1
fi
exec "$here/guest_kselftest.sh" query,-t,info bo,-f,limit prime,-t,while_an_import_waits_buffers_can_be_closed \
	ctx,-t,timeouts,-t,priorities_and_power,-t,limit,-t,limit_of_a_user,-t,all_that_they_had_is_given_back
