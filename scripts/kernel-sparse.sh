#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs sparse on a module of the kernel, as CHECK=kernel-sparse.sh of make, and evens out what
# Debian's sparse does not know yet: guard(), without which it cannot count locks (the kernel of
# ./npu check-debug does), __typeof_unqual__, and strlen() in the assertions of MODULE_INFO().
# Because of such a sparse, kernels from 6.18 on ignore C=1 unless KBUILD_CHECKSRC=1 is set.

sparse -Wno-context -D__typeof_unqual__=__typeof__ "$@" 2>&1 | grep -v ': error: bad constant expression$' >&2
exit 0
