#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs random graphs on the device, through driver and firmware, and compares the results with the
# oracle, as TAP. ./npu fuzz graphs --device npu makes longer runs.

set -uo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
program=$here/../../build/gcc/tests/graphs/graph-fuzz

echo 1..1
if ! "$program" --device npu --count 60 --seed 40 --as-is | sed 's/^/# /'; then
	echo "not ok 1 - random graphs on the device"
	exit 1
fi
echo "ok 1 - random graphs on the device"
