#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --emu-arg=--tlb=sticky --modprobe=vgem
# guest: --cpus=2
#
# Runs a part of the kselftests on a device that forgets a translation only when it is told to.
# Tests are left out that take long and use each address for one memory only.

exec "$(dirname -- "${BASH_SOURCE[0]}")/guest_kselftest.sh" bo prime \
	process,-T,ioctls_that_signals_interrupt,-T,destroy_races_with_submit,-T,close_races_with_submit
