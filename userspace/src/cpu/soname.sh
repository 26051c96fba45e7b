#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The name that a program has in it when it is linked with a library; nothing when there is none.
# Usage: soname.sh COMPILER… LIBRARY.so
set -eu
for library; do :; done
# The compiler's words go behind the library, which is left out then: "ccache cc" has two.
words=$(($# - 1))
while [ "$words" -gt 0 ]; do
	set -- "$@" "$1"
	shift
	words=$((words - 1))
done
shift
path=$("$@" -print-file-name="$library")
[ "$path" != "$library" ] || exit 0
objdump -p "$path" | sed -n 's/^ *SONAME *//p'
