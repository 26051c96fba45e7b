#!/usr/bin/busybox sh
# SPDX-License-Identifier: MIT
# shellcheck shell=dash
#
# The first process of the guest. The kernel starts it on the read-only root with its own folder as
# onpu_guest= in the environment; scripts/guest.py made that folder and reads what is sent here. The
# file "job" in it sets: user, group, node_group, as_root, shares, modules, driver, firmware, use_stdin,
# and the functions share_path and run_command.

# Everything is read before /run and /tmp, one of which holds the folder, are covered.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH
# shellcheck source=/dev/null
. "${onpu_guest:?}/job"
: "${user:?}" "${group:?}" "${node_group:?}" "${firmware?}"

# busybox starts its own programs, by way of /proc/self/exe; so far /proc is the host's.
/usr/bin/mount -t proc proc /proc
mount -t devtmpfs dev /dev 2>/dev/null
mount -t sysfs sys /sys
mount -t tracefs tracing /sys/kernel/tracing
mount -t debugfs debug /sys/kernel/debug
mkdir -p /dev/pts /dev/shm
mount -t devpts -o mode=620,ptmxmode=666 pts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t tmpfs -o mode=755 run /run
mount -t tmpfs -o mode=1777 tmp /tmp
mount -t tmpfs -o mode=1777 tmp /var/tmp
[ -e /dev/fd ] || ln -s /proc/self/fd /dev/fd
[ -e /dev/stdin ] || ln -s fd/0 /dev/stdin
[ -e /dev/stdout ] || ln -s fd/1 /dev/stdout
[ -e /dev/stderr ] || ln -s fd/2 /dev/stderr

# find_ports: port_NAME is the device of the virtio port onpu.NAME.
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

# tell LINE…: a line to the host.
tell()
{
	echo "$*" >&3
}

# fail MESSAGE: end the run; nothing was started.
fail()
{
	tell "fail $*"
	finish
}

# The host ends the machine when it has read this; the log comes on another way than the rest.
finish()
{
	sync
	tell "taint $(cat /proc/sys/kernel/tainted)"
	echo "<6>onpu-guest: end" >/dev/kmsg
	tell end
	while :; do
		sleep 60
	done
}

# name_user FILE LINE: the user's line in a file of /etc, which cannot be written to.
name_user()
{
	cp "/etc/$1" "/run/onpu/$1"
	echo "$2" >>"/run/onpu/$1"
	mount --bind "/run/onpu/$1" "/etc/$1"
}

# mount_shares: the checkout and the current directory, writable.
mount_shares()
{
	local number=0 path

	while [ "$number" -lt "${shares:?}" ]; do
		path=$(share_path "$number")
		mkdir -p "$path" 2>/dev/null
		mount -t virtiofs "share$number" "$path" || fail "cannot mount $path"
		number=$((number + 1))
	done
}

# give_nodes NODE…: to the group that udev's rules give them to; those that are there.
give_nodes()
{
	local node

	for node; do
		[ ! -e "$node" ] || { chown "root:$node_group" "$node"; chmod 660 "$node"; }
	done
}

# Nodes that come later get it as well.
watch_nodes()
{
	cat >/run/onpu/node <<-END
	#!/usr/bin/busybox sh
	case \$SUBSYSTEM:\$ACTION:\$DEVNAME in
	accel:add:*|drm:add:*|misc:add:udmabuf)
		chown root:$node_group "/dev/\$DEVNAME"
		chmod 660 "/dev/\$DEVNAME" ;;
	esac
	END
	chmod 755 /run/onpu/node
	uevent /run/onpu/node >/dev/null 2>&1 &
}

# Modules take most of init's time; the other processor loads them meanwhile.
load_modules()
{
	# shellcheck disable=SC2086
	[ -z "${modules?}" ] || /usr/sbin/modprobe -a $modules 2>/run/onpu/modprobe &
	loading=$!
}

# load_driver: with the firmware in a folder of its own, which a test may replace.
load_driver()
{
	mkdir -p /run/onpu/firmware/onpu
	cp "$firmware" /run/onpu/firmware/onpu/ || fail "no firmware $firmware"
	echo -n /run/onpu/firmware >/sys/module/firmware_class/parameters/path
	/usr/sbin/insmod "$driver" || fail "cannot load $driver"
	[ -e /dev/accel/accel0 ] || fail "the driver has no device; see the kernel's log"
	give_nodes /dev/accel/accel*
}

# start_output NAME PORT: what is written to the FIFO /run/onpu/NAME goes to the port. FIFOs, so that
# the command can open /dev/stdout and the like once more, which ports refuse.
start_output()
{
	mkfifo -m 600 "/run/onpu/$1"
	chown "$user:$group" "/run/onpu/$1"
	cat "/run/onpu/$1" >"$2" &
}

# Run the command and end what it left behind. It has a session of its own, killall5 spares ours.
run()
{
	local status out err in=/dev/null

	start_output out "${port_out:?}"
	out=$!
	start_output err "${port_err:?}"
	err=$!
	if [ "${use_stdin:?}" = 1 ]; then
		in=/run/onpu/in
		mkfifo -m 600 "$in"
		chown "$user:$group" "$in"
		cat "${port_in:?}" >"$in" &
	fi
	run_command <"$in" >/run/onpu/out 2>/run/onpu/err 3>&- &
	wait $!
	status=$?
	killall5 -9
	wait "$out" "$err"
	tell "exit $status"
}

mkdir -p /run/onpu
load_modules
find_ports
exec 3>"${port_control:?}"
cat /dev/kmsg >"${port_log:?}" &
tell started
ip link set lo up
name_user passwd "onpu:x:$user:$group::/tmp:/bin/bash"
name_user group "onpu:x:$group:"
ln -s "${port_request:?}" /run/onpu/host
chown "$user:$group" "$port_request"
mount_shares
watch_nodes
wait "$loading" || fail "cannot load a module: $(cat /run/onpu/modprobe)"
give_nodes /dev/udmabuf /dev/dri/*
[ -z "${driver?}" ] || load_driver
run
finish
