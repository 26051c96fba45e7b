#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root --devices=2
#
# Tests, as TAP, that a container has the NPU that debian/onpu-cdi.json gives it, and no other. The container is made as
# an engine makes one: namespaces of its own, a root with the nodes of the specification, and a user who is not root.

# ok() gets the status of the condition before it; coproc sets holder_PID.
# shellcheck disable=SC2319,SC2154
set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
tests=${ONPU_DRIVER_TESTS:-$top/build/gcc/tests/driver}
spec=$top/debian/onpu-cdi.json
root=/tmp/container
# The number of a user who owns no file.
uid=4242
group=$(stat -c %g /dev/accel/accel0)

# nodes_of NAME: prints the nodes of the device NAME in the specification
nodes_of()
{
	python3 - "$spec" "$1" <<-'END'
		import json
		import sys
		spec = json.load(open(sys.argv[1], encoding="utf-8"))
		for device in spec["devices"]:
		    if device["name"] == sys.argv[2]:
		        for node in device["containerEdits"]["deviceNodes"]:
		            print(node["path"])
	END
}

# make_root NODE…: makes the container's root, with these nodes, in a file system that only the container sees
make_root()
{
	local node dir

	mkdir -p "$root" && mount -t tmpfs container "$root" && mkdir -p "$root"/{usr,proc,tmp,tests,dev/accel} || return
	mount --rbind /usr "$root/usr" && mount --bind "$tests" "$root/tests" || return
	chmod 1777 "$root/tmp"
	for dir in bin lib lib64 sbin; do
		ln -s "usr/$dir" "$root/$dir"
	done
	mknod -m 666 "$root/dev/null" c 1 3 || return
	for node; do
		mknod -m 660 "$root$node" c "0x$(stat -c %t "$node")" "0x$(stat -c %T "$node")" && chgrp "$group" "$root$node" || return
	done
}

# Runs only in the container: start_container() starts this script again, with "inside", as the
# container's first process.
if [ "${1:-}" = inside ]; then
	make_root "${@:2}" && mount -t proc proc "$root/proc" || exit
	echo made
	# The container lasts until its standard input ends.
	read -r _
	exit
fi

# start_container NODE…: starts a container and waits until it has its root; sets $container to its first process
start_container()
{
	coproc holder { exec unshare --mount --pid --ipc --uts --net --cgroup --fork --kill-child "${BASH_SOURCE[0]}" inside "$@"; }
	read -ru "${holder[0]}" out && [ "$out" = made ] || return
	container=$(cat "/proc/$holder_PID/task/$holder_PID/children")
	container=${container%% *}
}

# enter GROUPS COMMAND…: runs a command in the container, as a user of these groups
enter()
{
	nsenter --mount --pid --ipc --uts --net --cgroup --target "$container" chroot "$root" /usr/bin/setpriv --reuid="$uid" \
		--regid="$uid" --groups="$1" --no-new-privs --bounding-set=-all "${@:2}" 2>&1
}

# Prints the names of devices that the version of the specification does not allow: 0.5.0 is the first that allows
# names which begin with a digit.
names_too_new()
{
	python3 - "$spec" <<-'END'
		import json
		import sys
		spec = json.load(open(sys.argv[1], encoding="utf-8"))
		if tuple(map(int, spec["cdiVersion"].split("."))) < (0, 5, 0):
		    print([device["name"] for device in spec["devices"] if device["name"][0].isdigit()])
	END
}

out=$(names_too_new 2>&1)
equal "engines take the names of the specification" ""
mapfile -t nodes < <(nodes_of 1)
out=${nodes[*]}
equal "the specification has the second device" /dev/accel/accel1
out=$(nodes_of 8)
equal "and no ninth" ""
start_container "${nodes[@]}"
ok $? "a container is made"
out=$(enter "$group" /usr/bin/ls /dev/accel)
equal "it has the node, and no other" accel1
out=$(enter "$group" /tests/driver-load /dev/accel/accel1 once)
equal "a user of the group computes there" "# done"
out=$(enter "$group" /tests/driver-load /dev/accel/accel0 once)
contains "not on the other device" "No such file or directory"
out=$(enter "$uid" /tests/driver-load /dev/accel/accel1 once)
contains "another user does not" "Permission denied"
out=$(enter "$group" /usr/bin/mknod /tmp/accel0 c "$((0x$(stat -c %t /dev/accel/accel0)))" 0)
contains "nobody makes a node there" "Operation not permitted"
# A user makes this container without privileges, as engines do for users: it has the host's node, whose group is kept.
# The program is copied, since the user may not be able to enter the checkout.
install -m 755 "$tests/driver-load" "$root.load"
out=$(setpriv --reuid="$uid" --regid="$uid" --groups="$group" unshare --user --map-root-user --mount --pid --fork \
	"$root.load" /dev/accel/accel1 once 2>&1)
equal "a user who makes a container computes in it" "# done"
echo 1 >"$(readlink -f /sys/class/accel/accel1/device)/reset"
out=$(enter "$group" /tests/driver-load /dev/accel/accel1 once)
equal "it goes on when the host has reset the device" "# done"
eval "exec ${holder[1]}>&-"
wait "$holder_PID" 2>/dev/null
wait_for driver_is_unused
ok $? "nothing is left of it"
tap_end
