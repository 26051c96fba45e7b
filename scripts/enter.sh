#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs in a mount namespace of its own and becomes the command, in the root:
#   enter.sh ROOT CHECKOUT PLACE… -- VARIABLE=VALUE… -- COMMAND…
# The places are folders of the host that it shows beside the checkout, parents first. The namespace
# and with it every mount ends with its last process, however that ends.

set -eu

root=$1 top=$2
cwd=$(pwd -P)
shift 2
places=() variables=()
while [ "$1" != -- ]; do
	places+=("$1")
	shift
done
shift
while [ "$1" != -- ]; do
	variables+=("$1")
	shift
done
shift

# show FOLDER: makes a folder of the host visible at its own path.
show()
{
	mkdir -p -- "$root$1"
	mount --rbind -- "$1" "$root$1"
}

# Show the places first, as other mounts may lie below them. /tmp is the caller's own anyway.
for place in "${places[@]}"; do
	case $place/ in
	/tmp/*) ;;
	*) show "$place" ;;
	esac
done
mount --rbind /tmp "$root/tmp"
mount -t tmpfs -o mode=755,nosuid,nodev onpu-run "$root/run"
show "$top"
shared=$(dirname -- "$top")/shared
[ ! -d "$shared" ] || show "$shared"
for dir in /proc /sys /dev; do
	mount --rbind "$dir" "$root$dir"
done
for file in /etc/resolv.conf /etc/hosts; do
	[ ! -e "$file" ] || mount --bind "$file" "$root$file"
done

# The shell inside expands the variables.
# shellcheck disable=SC2016
exec chroot "$root" /usr/bin/env -i "${variables[@]}" /bin/bash -c \
	'cd -- "$0" 2>/dev/null || { echo "npu: $0 is not visible inside, working in /" >&2; cd /; }
	exec "$@"' "$cwd" "$@"
