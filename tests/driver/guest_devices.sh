#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root --devices=3 --timeout=1200 --allow-log='onpu .*(reads 0xffffffff|device inaccessible)'
# guest: --cpus=2
#
# Tests three NPUs in one machine, as TAP. Library, bindings and tools choose an NPU by its number
# and list all of them. NPUs share buffers and fences. An NPU that is unbound, or whose emulator is
# killed, does not disturb the others.

# ok() gets the status of the condition before it.
# shellcheck disable=SC2319
set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
build=$top/build/gcc
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
tests=${ONPU_DRIVER_TESTS:-$build/tests/driver}
driver=/sys/bus/pci/drivers/onpu
addresses=() programs=()
for link in "$driver"/0000:*; do
	addresses+=("${link##*/}")
done
export LD_LIBRARY_PATH=$build/userspace:$build/userspace/import/onnx PATH=$build/userspace/tools:$PATH
export PYTHONPATH=$build/bindings/python

test_lists()
{
	out=$(onpu-smi info --json | python3 -c \
		"import json, sys; print([(d['address'], d['node'], d['state']) for d in json.load(sys.stdin)['devices']])")
	equal "onpu-smi lists all devices" \
		"[('${addresses[0]}', 'accel0', 'ready'), ('${addresses[1]}', 'accel1', 'ready'), ('${addresses[2]}', 'accel2', 'ready')]"
	out=$(onpu-smi info --device npu:1 --query address --format csv | tail -n 1)
	equal "onpu-smi takes the library's name for one" "${addresses[1]}"
	out=$(onpu-smi info --device npu:3 2>&1)
	contains "onpu-smi knows no other" "--device npu:3 is not an Open NPU"
}

# Each line of devices.py is a test: "ok: NAME", or "WHAT: NAME" where WHAT is what went wrong.
test_python()
{
	local line

	while IFS= read -r line; do
		out=$line
		[[ $line == ok:* ]]
		ok $? "${line#*: }"
	done < <(python3 -B "$top/tests/driver/devices.py" 2>&1; echo "status $?" >/tmp/status)
	out=$(</tmp/status)
	equal "all of the Python program has run" "status 0"
}

test_tools()
{
	local model=$top/../shared/models/onnx/mnist.onnx

	out=$(node -e "const { ml } = require('$build/bindings/node/index.js');
		const { deviceInfo } = require('$build/bindings/node/npu.js');
		ml.createContext({ deviceType: 'npu:2' }).then((context) => console.log(deviceInfo(context).nodePath));
		ml.createContext({ deviceType: 'npu:7' }).catch((error) => console.log(error.message));" 2>&1)
	contains "Node opens the one that is asked for" /dev/accel/accel2
	contains "Node lists those that there are" "NPUs that open: npu:0, npu:1, npu:2"
	if [ ! -e "$model" ]; then
		number=$((number + 1))
		echo "ok $number - webnn-run # SKIP its model is not in ../shared/models"
		return
	fi
	out=$(WEBNN_DEVICE=npu:1 webnn-run run "$model" --random 1 2>&1)
	contains "webnn-run says on which it ran" "on npu:1: "
	out=$(webnn-run run "$model" --random 1 --device npu:7 2>&1)
	contains "webnn-run lists those that there are" "NPUs that open: npu:0, npu:1, npu:2"
}

# Runs driver-devices, and prints its results with the next numbers of this test.
test_sharing()
{
	local line

	while IFS= read -r line; do
		case $line in
		'ok '*|'not ok '*)
			out=$line
			[[ $line == ok* && $line != *"# SKIP"* ]]
			ok $? "${line#*ok * }" ;;
		'TAP version'*|1..*) ;;
		*) printf '%s\n' "$line" ;;
		esac
	done < <("$tests/driver-devices" 2>&1; echo "status $?" >/tmp/status)
	out=$(</tmp/status)
	equal "all of it has run" "status 0"
	# The last test of driver-devices has unbound the second device.
	out=$(printf '%s ' /dev/accel/accel*)
	equal "the device that was unbound has no node" "/dev/accel/accel0 /dev/accel/accel2 "
	echo "${addresses[1]}" >"$driver/bind"
	"$tests/driver-load" /dev/accel/accel1 once
	ok $? "it comes back, and works"
}

test_gone()
{
	local i resets

	for i in 0 1 2; do
		"$tests/driver-load" "/dev/accel/accel$i" &
		programs+=($!)
	done
	for i in 0 1 2; do
		wait_for has_computed "${programs[i]}"
		ok $? "a program has work on accel$i"
	done
	ask_host "kill-emulator 2"
	ok $? "the emulator of the third device is killed"
	wait "${programs[2]}"
	ok $? "its program learns of that"
	for i in 0 1; do
		kill -0 "${programs[i]}"
		ok $? "the program on accel$i works on"
		resets=$(<"$driver/${addresses[i]}/reset_count")
		out=$resets
		equal "accel$i was not reset" 0
		"$tests/driver-load" "/dev/accel/accel$i" once
		ok $? "another has its results from accel$i"
	done
	kill "${programs[0]}" "${programs[1]}"
	wait "${programs[0]}" "${programs[1]}" 2>/dev/null
	out=$(python3 -B -c "import webnn_npu
try:
    webnn_npu.ML().create_context(device='npu:2')
except Exception as error:
    print(error)" 2>&1)
	contains "the one that is gone does not open" "asks for the device npu, but the NPU's node /dev/accel/accel2 does not open"
}

test_lists
test_python
test_tools
test_sharing
test_gone
tap_end
