#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Checks that all C is as clang-format would write it, but for what .clang-format-ignore lists:
# check-format.sh [CHECKOUT].

set -euo pipefail

cd -- "${1:-$(dirname -- "$0")/..}"
if ! git ls-files -co --exclude-standard -z -- '*.c' '*.h' | xargs -0 -r -n 200 clang-format --dry-run --Werror 2>&1; then
	echo "To format them: ./npu exec clang-format -i FILE…"
	exit 1
fi
