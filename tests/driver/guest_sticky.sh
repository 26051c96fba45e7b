#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --emu-arg=--tlb=sticky --modprobe=vgem
#
# A device that forgets a translation only when it is told to: a part of the kselftests.

exec "$(dirname -- "${BASH_SOURCE[0]}")/guest_kselftest.sh" bo prime process
