#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs the kselftests in the arm64 guest, as TAP: arm64.sh PAGES [--not-coherent]. Fails when the
# guest's pages are not of PAGES KiB, or when its PCI bus is coherent with --not-coherent or not
# coherent without it: otherwise ./npu check would report results under a wrong name.

set -uo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
coherent=yes
[ -e /sys/firmware/devicetree/base/pcie@10000000/dma-coherent ] || coherent=no
pages=$(awk '/^KernelPageSize:/ { print $2; exit }' /proc/self/smaps)
wanted=yes
[ "${2:-}" != --not-coherent ] || wanted=no

if [ "$(uname -m) $pages $coherent" != "aarch64 $1 $wanted" ]; then
	echo "Bail out! $(uname -m), pages of $pages KiB, coherent: $coherent; wanted are pages of $1, coherent: $wanted"
	exit 1
fi
exec "$here/guest_kselftest.sh"
