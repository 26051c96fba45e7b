#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --emu-arg=--no-msix --modprobe=vgem
#
# A device with a single interrupt, which also tells of completions: a part of the kselftests.

exec "$(dirname -- "${BASH_SOURCE[0]}")/guest_kselftest.sh" submit,-f,submit sync fault process
