#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Checks every shell script of the tree, with the same options for all.

set -euo pipefail

cd -- "$(dirname -- "$0")/.."
git ls-files -co --exclude-standard -z -- npu .ci/run '*.sh' | xargs -0 shellcheck -x
