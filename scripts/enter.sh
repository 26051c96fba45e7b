#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs in a mount namespace of its own and becomes the command, in the root:
#   enter.sh ROOT CHECKOUT VARIABLE=VALUE… -- COMMAND…
# The namespace and with it every mount ends with its last process, however that ends.

set -eu

root=$1 top=$2
cwd=$(pwd -P)
shift 2
variables=()
while [ "$1" != -- ]; do
	variables+=("$1")
	shift
done
shift

# Make a host directory visible at its own path.
show()
{
	mkdir -p -- "$root$1"
	mount --rbind -- "$1" "$root$1"
}

is_within()
{
	case $1/ in "$2"/*) return 0 ;; esac
	return 1
}

# Directories of the root that a directory of the host must not cover.
is_system()
{
	case $1/ in
	//|/usr/*|/etc/*|/bin/*|/sbin/*|/lib*|/var/lib/*|/var/|/boot/*|/proc/*|/sys/*|/dev/*|/run/*)
		return 0 ;;
	esac
	return 1
}

# The caller's own /tmp: files named on the command line are often there.
mount --rbind /tmp "$root/tmp"
mount -t tmpfs -o mode=755,nosuid,nodev onpu-run "$root/run"
show "$top"
shared=$(dirname -- "$top")/shared
[ ! -d "$shared" ] || show "$shared"
if ! is_within "$cwd" "$top" && ! is_within "$cwd" "$shared" && ! is_system "$cwd"; then
	show "$cwd"
fi
for dir in /proc /sys /dev; do
	mount --rbind "$dir" "$root$dir"
done
for file in /etc/resolv.conf /etc/hosts; do
	[ ! -e "$file" ] || mount --bind "$file" "$root$file"
done

# Expanded by the shell inside.
# shellcheck disable=SC2016
exec chroot "$root" /usr/bin/env -i "${variables[@]}" /bin/bash -c \
	'cd -- "$0" 2>/dev/null || { echo "npu: $0 is not visible inside, working in /" >&2; cd /; }
	exec "$@"' "$cwd" "$@"
