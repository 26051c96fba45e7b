#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root --no-driver --modprobe=drm_shmem_helper --append=swiotlb=force --allow-log='onpu '
#
# A kernel that keeps devices from memory by bounce buffers, as TAP: the driver says so and does not bind.

# The status of a condition is what ok() is given.
# shellcheck disable=SC2319
set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"

/usr/sbin/insmod "$top/build/driver/$(uname -r)/gcc/onpu.ko"
ok $? "the module loads"
dmesg | grep -q 'onpu .*bounce buffers: .*swiotlb=force'
ok $? "it says why it does not serve the device"
[ ! -e /dev/accel/accel0 ] && ! compgen -G '/sys/bus/pci/drivers/onpu/0000:*' >/dev/null
ok $? "it is not bound"
tap_end
