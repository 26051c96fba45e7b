#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root --memory=2048 --modprobe=vgem --append=swiotlb=262144,force
#
# A kernel that gives the device a copy of each buffer, as TAP: only syncs bring the copies up to date, so
# that a missing sync of the driver, of the library or of a test gives wrong results.

# The status of a condition is what ok() is given.
# shellcheck disable=SC2319
set -uo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
build=${here%/tests/*}/build
# shellcheck source=tests/tap.sh
. "$here/../tap.sh"
link=$(printf '%s\n' /sys/bus/pci/drivers/onpu/0000:*)
device=${link##*/}

# kselftests NAME…: what they print without problems goes to $out.
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
