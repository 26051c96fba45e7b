#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Makes the pictures of the README and the documentation from a real run on the device model:
#   ./npu exec scripts/make-pictures.sh [MODEL.onnx]
# Without a model it takes UltraFace, which finds faces (../shared/models).

set -eu

top=$(cd -- "$(dirname -- "$0")/.." && pwd)
model=${1:-$top/../shared/models/onnx/ultraface_version-RFB-320.onnx}
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

# photograph PAGE WIDTH HEIGHT NAME: makes NAME.png of a page, with few colours, so that the file is
# small.
photograph()
{
	chromium-headless-shell --no-sandbox --disable-gpu --hide-scrollbars --window-size="$2,$3" \
		--user-data-dir="$work/browser" --screenshot="$work/$4.png" "file://$1" 2>"$work/log" ||
		{ cat "$work/log" >&2; return 1; }
	python3 -B -c '
import sys
from PIL import Image

image = Image.open(sys.argv[1]).convert("RGB")
image.quantize(64, dither=Image.Dither.NONE).save(sys.argv[2], optimize=True)' \
		"$work/$4.png" "$top/Documentation/pictures/$4.png"
}

# The page shows the name of the model as it is given here, so give it without a folder.
cd -- "$(dirname -- "$model")"
webnn-run profile "$(basename -- "$model")" --device sim --html "$work/profile.html" >/dev/null
photograph "$work/profile.html" 1000 900 profile
for name in timeline memory; do
	python3 -B "$top/scripts/page-svg.py" "$work/profile.html" "$name" "$top/Documentation/pictures/$name.svg"
done
