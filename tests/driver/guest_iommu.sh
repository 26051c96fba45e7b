#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --iommu --root --modprobe=vgem
#
# Runs a part of the kselftests, as TAP, with an IOMMU, so that bus addresses are not memory
# addresses. When the device accesses unmapped memory, the kernel prints a message, which fails the
# guest.

set -uo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
link=$(printf '%s\n' /sys/bus/pci/drivers/onpu/0000:*)
type=$(cat "/sys/bus/pci/devices/${link##*/}/iommu_group/type")

if [[ $type != DMA* ]]; then
	echo "Bail out! the addresses of the device are not translated: $type"
	exit 1
fi
# Binds the device again, which maps everything again.
echo "${link##*/}" >/sys/bus/pci/drivers/onpu/unbind
echo "${link##*/}" >/sys/bus/pci/drivers/onpu/bind
# Tests with hundreds of contexts are left out: the kernel sends the emulator a message for each
# page of a context.
exec "$here/guest_kselftest.sh" sync,-T,contexts_end_while_others_wait_for_them prime \
	process,-t,one_address_is_other_memory,-t,an_address_that_is_used_again,-t,a_closed_buffer_is_out_of_reach,-t,gem_close_under_a_running_job
