#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --emu-arg=--tlb=sticky --modprobe=vgem
# guest: --cpus=2
#
# A device that forgets a translation only when it is told to: a part of the kselftests. Left out is what takes
# long and uses one address for one memory.

exec "$(dirname -- "${BASH_SOURCE[0]}")/guest_kselftest.sh" bo prime \
	process,-T,ioctls_that_signals_interrupt,-T,destroy_races_with_submit,-T,close_races_with_submit
