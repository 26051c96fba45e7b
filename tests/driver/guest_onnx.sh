#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests, as TAP, ONNX models of ../shared on the device, through driver and firmware: three models
# give the same bits as the device model. Then runs the commands of the tutorial, which must print
# what the tutorial shows.

# ok() gets the status of the condition before it.
# shellcheck disable=SC2319
set -uo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
top=${here%/tests/*}
build=$top/build/gcc
models=$top/../shared/models/onnx
# shellcheck source=tests/tap.sh
. "$here/../tap.sh"

# same_bits NAME [OPTIONS]: tests that the model runs on the NPU alone, and gives the bits of the
# device model
same_bits()
{
	local name=$1

	shift
	if [ ! -e "$models/$name.onnx" ]; then
		number=$((number + 1))
		echo "ok $number - $name # SKIP it is not in ../shared/models"
		return
	fi
	out=$("$build/userspace/tools/webnn-run" compare "$models/$name.onnx" -d npu --npu-only --with sim --tolerance 0 "$@" 2>&1)
	ok $? "$name has the bits of the device model"
}

export LD_LIBRARY_PATH=$build/userspace:$build/userspace/import/onnx
export PKG_CONFIG_PATH=$build/meson-uninstalled PATH=$build/userspace/tools:$PATH
same_bits mnist
same_bits ultraface_version-RFB-320
same_bits silero_vad_16k_op15 --dim batch=1 --dim sequence=512 --fill sr=16000
out=$(python3 -B "$top/tests/documents/run.py" --class npu "$top/Documentation/tutorial.rst" 2>&1)
ok $? "the tutorial's commands do what it says"
tap_end
