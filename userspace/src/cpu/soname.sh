#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Prints the SONAME of a library, the name by which linked programs load it; prints nothing when
# there is no such library.
# Usage: soname.sh COMPILER… LIBRARY.so
set -eu
for library; do :; done
# Rotates the arguments until the library is the first one, and removes it. The compiler may be
# several words, such as "ccache cc".
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
