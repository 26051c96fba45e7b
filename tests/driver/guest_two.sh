#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --emu-arg=--queues=2 --timeout=1200
#
# A device with two queues: a part of the kselftests.

exec "$(dirname -- "${BASH_SOURCE[0]}")/guest_kselftest.sh" share sync process
