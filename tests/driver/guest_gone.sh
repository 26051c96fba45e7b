#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root --hotplug --emu-arg=--no-msix --timeout=1800 --append=iomem=relaxed --allow-log='onpu .*(could not be started|probe with driver onpu failed|reads 0xffffffff|device inaccessible)'
# guest: --cpus=2
#
# Kills the emulator while programs work and another program reads registers all the time, as TAP:
# guest_gone.sh [ROUNDS]. The programs learn that the device is gone. The device is then removed; in
# the second round and each tenth after it, it stays until the module is unloaded and loaded again.
# A new device is plugged in, and programs work on it. The new device has no MSI-X: QEMU 11.1 aborts
# when a device with MSI-X leaves its slot (vfio_user_msix_teardown() finds the BAR gone).

# ok() gets the status of the condition before it.
# shellcheck disable=SC2319
set -uo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
find_npu
load=${ONPU_DRIVER_TESTS:-$top/build/gcc/tests/driver}/driver-load
rounds=${1:-2} programs=() reader=''

# Starts three programs that go on with the next device when theirs is gone.
start_programs()
{
	for _ in 1 2 3; do
		"$load" /dev/accel/accel* again &
		programs+=($!)
	done
}

# all CONDITION: waits until CONDITION is true for each program; returns whether it is.
all()
{
	local program status=0

	for program in "${programs[@]}"; do
		wait_for "$1" "$program" || status=$?
	done
	return "$status"
}

have_computed()
{
	all has_computed
	ok $? "$1: each program has had the device"
}

# kill_it ROUND: kills the emulator; fails if that takes more than 30 s. An access that waited for
# the dead emulator would stop the guest for a minute.
kill_it()
{
	local began=$SECONDS

	"${load%/*}/driver-poke" "$device/resource0" read &
	reader=$!
	read -rt 0.3 -u "$never"
	kill_emulator && [ $((SECONDS - began)) -le 30 ]
	ok $? "$1: the emulator is killed, and the guest does not stand still"
}

let_go()
{
	all has_let_go
	ok $? "$1: the programs learn that the device is gone"
	wait "$reader"
	ok $? "$1: so does one that reads registers"
	{ ! : <"$node"; } 2>/dev/null
	ok $? "$1: the node cannot be opened"
}

remove_it()
{
	echo 1 >"$device/remove"
	[ ! -e "$device" ]
	ok $? "$1: the device is removed"
}

# Unloads the module, which may fail: the programs try to open the node all the time, and each
# attempt uses the driver for a moment.
unload_module()
{
	driver_is_unused && /usr/sbin/rmmod onpu 2>/dev/null
}

reload_module()
{
	wait_for unload_module
	ok $? "$1: the module unloads"
	/usr/sbin/insmod "$ONPU_GUEST_DRIVER" && [ ! -e "$device/driver" ]
	ok $? "$1: the module loads again, and finds no device that works"
}

has_node()
{
	[ -e "$device/driver" ] && compgen -G "/dev/accel/accel*" >/dev/null
}

plug_it()
{
	wait_for driver_is_unused && plug_emulator && wait_for has_node
	ok $? "$1: a new device comes, and the driver takes it"
}

start_programs
for ((round = 1; round <= rounds; round++)); do
	node=$(printf '%s\n' /dev/accel/accel*)
	have_computed "$round"
	kill_it "$round"
	let_go "$round"
	if [ $((round % 10)) -ne 2 ]; then
		remove_it "$round"
	else
		reload_module "$round"
	fi
	plug_it "$round"
done
have_computed "end"
kill "${programs[@]}"
wait "${programs[@]}" 2>/dev/null
wait_for unload_module
ok $? "the module unloads"
tap_end
