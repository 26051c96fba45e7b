#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root --modprobe=vgem --timeout=1200 --append=dma_debug_driver=onpu
#
# Tests tensors on dma-bufs of udmabuf and vgem, fences of vgem as sync files, and the example of a
# camera, as TAP: on the NPU, the device model in both modes and the CPU. A debug kernel's DMA-API
# checks look at this driver only: udmabuf of 6.12 maps for one direction and syncs for another.

# ok() gets the status of the condition before it.
# shellcheck disable=SC2319
set -uo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
build=${here%/tests/*}/build/gcc
program=$build/tests/library/api/test_api_share
# shellcheck source=tests/tap.sh
. "$here/../tap.sh"

# whole: runs $program; returns whether all its tests pass and none is skipped, as this guest has
# what they need
whole()
{
	out=$("$program" 2>&1) && ! grep -q SKIP <<<"$out"
}

export LD_LIBRARY_PATH=$build/userspace
whole
ok $? "tensors and fences are shared"
grep -q "npu: shares" <<<"$out"
ok $? "the NPU took part"
for device in npu sim cpu; do
	out=$("$build/tests/examples/example-camera" --device $device 2>&1)
	equal "the example measures the light on $device" 'picture 0: 31.5
picture 1: 32.5
picture 2: 33.5
picture 3: 34.5
picture 4: 35.5
picture 5: 36.5'
done
# 4,096 floats are 16,384 bytes.
for kind in "shared 0 0" "private 16384 16384"; do
	out=$("$build/tests/driver/driver-lend" "${kind%% *}" 2>&1 || echo wrong)
	equal "what the NPU copies of memory that is mapped ${kind%% *}" "${kind#* }"
done
export ONPU_FIRMWARE=$build/firmware/onpu_v1.bin
whole
ok $? "the same in full mode"
tap_end
