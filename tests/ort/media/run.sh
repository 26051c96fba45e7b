#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests GStreamer and PipeWire, unmodified, on a device, as TAP: run.sh sim|cpu|npu WORK. WORK has our
# libraries and what make_models.py makes. ./npu check media runs this in a Debian that has the
# programs, for npu within a guest.

# ok() takes the status of the condition before it.
# shellcheck disable=SC2319
set -uo pipefail

device=$1 work=$2
here=$(cd -- "$(dirname -- "$0")" && pwd -P)
# shellcheck source=tests/tap.sh
. "$here/../../tap.sh"
# GStreamer looks at each of its plugins once, and keeps what it found here: in a guest that takes
# a minute and a half, so that the run on sim does it for the one on npu.
export GST_REGISTRY=$work/plugins
export XDG_RUNTIME_DIR
XDG_RUNTIME_DIR=$(mktemp -d)
out_dir=$XDG_RUNTIME_DIR
place=npu
[ "$device" != cpu ] || place=cpu
stream='node.autoconnect = false adapter.auto-port-config = { mode = dsp }'

# provider_with REPORT: sets $provider to the words before a command that make its ONNX Runtime use
# the preloaded provider; the provider writes REPORT.
provider_with()
{
	provider=(env "LD_LIBRARY_PATH=$work" "LD_PRELOAD=$work/onpu-ort-preload.so" "ONPU_ORT=$device"
		"ONPU_ORT_OPTIONS=report=$1")
}

# computed REPORT: returns whether the convolution ran on $place
computed()
{
	grep -q "^$place	conv2d	" "$1"
}

# Debian's ONNX Runtime prints on stdout when it is loaded.
"$here/frames.py" "$work/picture.onnx" "$out_dir/theirs" >"$out_dir/log" 2>&1
ok $? "GStreamer computes by itself"
provider_with "$out_dir/report"
"${provider[@]}" "$here/frames.py" "$work/picture.onnx" "$out_dir/ours" >"$out_dir/log" 2>&1
ok $? "GStreamer computes on $device"
python3 -B "$here/same.py" lines "$out_dir/ours" "$out_dir/theirs"
ok $? "the results are the same within 1e-4"
out=$(cat "$out_dir/report")
computed "$out_dir/report"
ok $? "the report of GStreamer's session says where it ran"
if [ "$device" = npu ]; then
	out=$(cat "$out_dir/ours.fdinfo")
	grep -q 'drm-engine-npu:[[:space:]]*[1-9]' "$out_dir/ours.fdinfo"
	ok $? "the kernel says that GStreamer's process used the NPU"
fi

sed "s|@WORK@|$work|" "$here/pipewire.conf.in" >"$out_dir/pipewire.conf"
provider_with "$out_dir/sound-report"
"${provider[@]}" pipewire -c "$out_dir/pipewire.conf" >"$out_dir/log" 2>&1 &
daemon=$!
# The processes end with this script, whatever ends it.
trap 'kill $(jobs -p) 2>/dev/null' EXIT

# has_ports NAME…: returns whether PipeWire has all of these ports
has_ports()
{
	local name list

	list=$(pw-link -io 2>/dev/null)
	for name in "$@"; do
		grep -Fqx -- "$name" <<<"$list" || return
	done
}

heard()
{
	python3 -B "$here/same.py" samples "$out_dir/heard" 2>"$out_dir/samples"
}

wait_for has_ports filter.in:playback_MONO filter.out:capture_MONO
ok $? "PipeWire makes a filter of the model"
out=$(cat "$out_dir/sound-report")
computed "$out_dir/sound-report"
ok $? "the report of PipeWire's session says that it runs on $device"
pw-cat --playback --channel-map MONO -P "{ node.name = play $stream }" "$work/sound.wav" &
play=$!
pw-cat --record --raw --rate 48000 --channels 1 --channel-map MONO --format f32 -P "{ node.name = record $stream }" \
	"$out_dir/heard" &
record=$!
wait_for has_ports play:output_MONO record:input_MONO
pw-link filter.out:capture_MONO record:input_MONO && pw-link play:output_MONO filter.in:playback_MONO
ok $? "a player and a recorder are linked to the filter"
wait_for heard
status=$?
out=$(cat "$out_dir/samples")
ok "$status" "the samples went through the model"
if [ "$device" = npu ]; then
	has_computed "$daemon"
	ok $? "the kernel says that PipeWire used the NPU"
fi
kill "$play" "$record" "$daemon"
wait
rm -rf -- "$XDG_RUNTIME_DIR"
tap_end
