#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --modprobe=vgem --timeout=1800
#
# Runs 32-bit programs on the 64-bit kernel: the kselftests of the calls, without those that test
# how the device runs jobs.

set -uo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)

export ONPU_TEST_KIND=i386
exec "$here/guest_kselftest.sh" query bo,-f,create bo,-f,info bo,-f,sync ctx,-f,create ctx,-f,state submit \
	sync prime
