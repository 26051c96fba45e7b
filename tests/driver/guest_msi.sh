#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --emu-arg=--no-msix --modprobe=vgem
# guest: --cpus=2
#
# Runs a part of the kselftests on a device with a single interrupt, which also tells of
# completions. Tests are left out that take long and wait for no completion, or for hundreds of
# contexts.

exec "$(dirname -- "${BASH_SOURCE[0]}")/guest_kselftest.sh" submit,-f,submit \
	sync,-T,contexts_end_while_others_wait_for_them fault process,-T,ioctls_that_signals_interrupt,-T,handles_race
