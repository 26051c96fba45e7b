#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --modprobe=vgem --timeout=1800
#
# Programs of 32 bits on the kernel of 64: those of the kselftests that are about the interface, not
# about what the device does.

set -uo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)

export ONPU_TEST_KIND=i386
exec "$here/guest_kselftest.sh" query bo,-f,create bo,-f,info bo,-f,sync ctx,-f,create ctx,-f,state submit \
	sync prime
