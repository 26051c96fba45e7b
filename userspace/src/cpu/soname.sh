#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The name that a program has in it when it is linked with a library; nothing when there is none.
# Usage: soname.sh COMPILER… LIBRARY.so
set -eu
for library; do :; done
path=$("$1" -print-file-name="$library")
[ "$path" != "$library" ] || exit 0
objdump -p "$path" | sed -n 's/^ *SONAME *//p'
