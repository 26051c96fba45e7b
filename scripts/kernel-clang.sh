#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Compiles with clang in the place of gcc for a module of a kernel that was configured for gcc, as
# Debian's are. Leaves out the options that only gcc knows, or takes clang's name for them.

set -eu

args=()
for arg in "$@"; do
	case $arg in
	-mindirect-branch=thunk-extern) args+=(-mretpoline-external-thunk) ;;
	-mindirect-branch-register|-mpreferred-stack-boundary=*|-mrecord-mcount) ;;
	-fmin-function-alignment=*|-fconserve-stack|-fsanitize=bounds-strict) ;;
	-fno-allow-store-data-races|-fzero-init-padding-bits=*) ;;
	*) args+=("$arg") ;;
	esac
done
exec clang "${args[@]}" -Wno-unknown-warning-option
