#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root --memory=2048 --modprobe=vgem --append=swiotlb=262144,force
#
# Runs tests, as TAP, on a kernel that gives the device a copy of each buffer. Only syncs bring the
# copies up to date, so a missing sync in the driver, the library or a test gives wrong results.

# ok() gets the status of the condition before it.
# shellcheck disable=SC2319
set -uo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
build=${here%/tests/*}/build
# shellcheck source=tests/tap.sh
. "$here/../tap.sh"
link=$(printf '%s\n' /sys/bus/pci/drivers/onpu/0000:*)
device=${link##*/}

# kselftests NAME…: runs kselftests as one test; sets $out to their output
kselftests()
{
	out=$("$here/guest_kselftest.sh" "$@")
	ok $? "kselftests: ${*%%,*}"
}

kselftests query bo,-F,limit prime
[ "$(grep -c 'prime\..* # SKIP .* would have a copy' <<<"$out")" -eq 3 ]
ok $? "the device has copies, but no dma-buf is a copy of another device's memory"
kselftests submit sync,-t,a_batch_runs_in_order_and_signals_in_between,-t,timeline_in_and_out,-t,binary_between_contexts \
	process,-t,one_address_is_other_memory,-t,an_address_that_is_used_again
out=$(python3 "$here/guest_models.py" digits 2>&1)
ok $? "digits are read"
out=$("$build/gcc/tests/graphs/graph-fuzz" --device npu --count 10 --seed 40 --as-is 2>&1)
ok $? "random graphs on the device"
echo "$device" >/sys/bus/pci/drivers/onpu/unbind
echo "$device" >/sys/bus/pci/drivers/onpu/bind
[ -e "/sys/bus/pci/drivers/onpu/$device" ]
ok $? "the driver is bound again"
kselftests ctx,-t,what_a_good_job_leaves
tap_end
