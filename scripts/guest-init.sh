#!/usr/bin/busybox sh
# SPDX-License-Identifier: MIT
# shellcheck shell=dash
#
# Runs as the first process of the guest, on a root that is read-only or in memory. The kernel sets
# onpu_guest= in the environment to a folder that scripts/guest.py has made; guest.py also reads
# what is sent here. The folder has the file "mounts", in the form of fstab(5); the folder "links",
# for /dev; and the file "job", which sets user, group, node_group, shares, closed, driver,
# firmware, devices, streams and the functions load_modules and run_command. Without a node_group
# the nodes are left to udev, which the command may start.
#
# To start a program takes 30 ms on an emulated processor, and twice that if it is not busybox.

# Everything is read before /run and /tmp, one of which holds the folder, are covered.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH
# shellcheck source=/dev/null
. "${onpu_guest:?}/job"
: "${user:?}" "${group:?}" "${node_group?}" "${streams:?}" "${firmware?}" "${driver?}" "${devices?}"

# A root in memory has no device nodes, and few programs but busybox.
if [ ! -c /dev/null ]; then
	/usr/bin/busybox mount -t devtmpfs dev /dev
	/usr/bin/busybox --install -s /usr/bin 2>/dev/null
fi
# Modules take most of init's time; the other processor loads them meanwhile.
load_modules 2>/dev/kmsg &
loading=$!
# busybox starts its own programs by way of /proc/self/exe; so far /proc is the host's.
/usr/bin/busybox mount -t proc proc /proc
mkdir -p /dev/pts /dev/shm
cp -d "$onpu_guest"/links/* /dev/
# Mounts the list. mount -a leaves out what counts as mounted. /run and /tmp may, so they are not in
# the list and are mounted after it.
mount -a -T "$onpu_guest/mounts"
mount -t tmpfs -o mode=755 run /run
mount -t tmpfs -o mode=1777 tmp /tmp

# Sets port_NAME to the device of the virtio port onpu.NAME, for each such port.
find_ports()
{
	local dir name

	for dir in /sys/class/virtio-ports/*; do
		read -r name <"$dir/name" || continue
		case $name in
		onpu.*) eval "port_${name#onpu.}=/dev/${dir##*/}" ;;
		esac
	done 2>/dev/null
}

# tell LINE…: sends a line to the host.
tell()
{
	echo "$*" >&3
}

# fail MESSAGE: ends the run with a message, before the command was started.
fail()
{
	tell "fail $*"
	finish
}

# Ends the run. The host ends the machine when it has read this; the log comes through another port.
finish()
{
	local taint

	sync
	read -r taint </proc/sys/kernel/tainted
	tell "taint $taint"
	echo "<6>onpu-guest: end" >/dev/kmsg
	tell end
	while :; do
		sleep 60
	done
}

# mount_shares FOLDER…: mounts the checkout and the command's folders, writable; parents come first.
mount_shares()
{
	local number=0 path

	for path; do
		mount -t virtiofs "share$number" "$path" || fail "cannot mount $path"
		number=$((number + 1))
	done
}

# open_folders FOLDER…: opens the folders on the way to the shares that the user cannot enter.
# Covers each with a folder in which only the shares are. The mounts are made at once, while modules
# are being loaded. In a root in memory, the folders' own permissions are changed.
open_folders()
{
	local number=0 path

	for path; do
		if [ -z "${shares?}" ]; then
			chmod a+x "$path"
		else
			mount -o rbind "/run/onpu/open$number" "$path"
		fi || fail "cannot open $path"
		number=$((number + 1))
	done
}

# give_nodes NODE…: gives nodes that exist to the group that udev's rules give them to.
give_nodes()
{
	local node

	[ -n "$node_group" ] || return 0
	for node; do
		[ ! -e "$node" ] || { chown "root:$node_group" "$node"; chmod 660 "$node"; }
	done
}

# Lets nodes that come later belong to the group as well.
watch_nodes()
{
	echo "case \$SUBSYSTEM:\$ACTION:\$DEVNAME in
	accel:add:*|drm:add:*|misc:add:udmabuf)
		chown root:$node_group /dev/\$DEVNAME
		chmod 660 /dev/\$DEVNAME ;;
	esac" >/run/onpu/node
	uevent /usr/bin/busybox sh /run/onpu/node >/dev/null 2>&1 &
}

# load_driver: loads the driver, with the firmware in a folder of its own, which a test may replace.
load_driver()
{
	mkdir -p /run/onpu/firmware/onpu
	cp "$firmware" /run/onpu/firmware/onpu/ || fail "no firmware $firmware"
	echo -n /run/onpu/firmware >/sys/module/firmware_class/parameters/path
	insmod "$driver" || fail "cannot load $driver"
	[ -e "/dev/accel/accel$((devices - 1))" ] || fail "the driver has no device, or too few; see the kernel's log"
	give_nodes /dev/accel/accel*
}

# Runs the command and ends the processes that it left behind. The command has a session of its own,
# as killall5 spares init's. Its streams are FIFOs, so that it can open /dev/stdout and the like
# again, which ports refuse.
run()
{
	local status out err in=/dev/null

	cd /run/onpu || fail "no /run/onpu"
	# shellcheck disable=SC2086
	mkfifo -m 600 $streams
	# shellcheck disable=SC2086
	chown "$user:$group" $streams
	cat out >"${port_out:?}" &
	out=$!
	cat err >"${port_err:?}" &
	err=$!
	if [ -p in ]; then
		in=/run/onpu/in
		cat "${port_in:?}" >in &
	fi
	tell begun
	run_command <"$in" >out 2>err 3>&- &
	wait $!
	status=$?
	killall5 -9
	wait "$out" "$err"
	tell "exit $status"
}

eval "mkdir -p /run/onpu ${shares?}"
find_ports
exec 3>"${port_control:?}"
cat /dev/kmsg >"${port_log:?}" &
tell started
eval "mount_shares ${shares?}"
eval "open_folders ${closed?}"
[ -z "$node_group" ] || watch_nodes
ip link set lo up
ln -s "${port_request:?}" /run/onpu/host
chown "$user:$group" "$port_request"
wait "$loading" || fail "cannot load a module; see the kernel's log"
give_nodes /dev/udmabuf /dev/dri/*
[ -z "$driver" ] || load_driver
run
finish
