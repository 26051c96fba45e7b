#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --emu-arg=--queues=2 --timeout=1200
# guest: --cpus=2
#
# Runs a part of the kselftests on a device with two queues, and on two processors, as some tests
# are races. Tests are left out that take long and are about calls rather than queues.

exec "$(dirname -- "${BASH_SOURCE[0]}")/guest_kselftest.sh" share sync process,-T,ioctls_that_signals_interrupt
