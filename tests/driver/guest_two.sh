#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --emu-arg=--queues=2 --timeout=1200
# guest: --cpus=2
#
# A device with two queues: a part of the kselftests, on two processors as some of them are races. Left out is
# what takes long and is about calls, not about queues.

exec "$(dirname -- "${BASH_SOURCE[0]}")/guest_kselftest.sh" share sync process,-T,ioctls_that_signals_interrupt
