#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root --allow-log='onpu .*(firmware|could not be started|probe with driver onpu failed)' --allow-log='Direct firmware load for onpu/'
#
# Tests a device that no program uses, as TAP: what the driver shows of it, binding it again,
# loading the module again, and a firmware that is missing, cut short or damaged.

# ok() gets the status of the condition before it.
# shellcheck disable=SC2319
set -uo pipefail

# shellcheck source=tests/tap.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../tap.sh"
driver=/sys/bus/pci/drivers/onpu
firmware=/run/onpu/firmware/onpu/onpu_v1.bin

# Prints the PCI address of the device to which the driver is bound.
bound()
{
	local link

	for link in "$driver"/0000:*; do
		[ -e "$link" ] && basename -- "$link"
	done
}

node_is_ready()
{
	[ "$(stat -c '%G %a' /dev/accel/accel0 2>/dev/null)" = 'render 660' ]
}

no_node()
{
	[ ! -e /dev/accel/accel0 ]
}

is_gone()
{
	[ ! -e "/sys/bus/pci/devices/$device" ]
}

is_bound()
{
	[ "$(bound)" = "$device" ]
}

test_shown()
{
	[ -n "$device" ]
	ok $? "the driver has a device"
	node_is_ready
	ok $? "the node is for the group render"
	[ "$(ls "/sys/bus/pci/devices/$device/accel")" = accel0 ]
	ok $? "the node is the device's"
	[[ $(cat "/sys/bus/pci/devices/$device/fw_version") =~ ^[0-9]+\.[0-9]+ ]]
	ok $? "the firmware's version is shown"
	[ "$(find "/sys/bus/pci/devices/$device/msi_irqs" -type f | wc -l)" -ge 2 ]
	ok $? "it has several interrupts"
	grep -q "onpu0@pci:$device\$" /proc/interrupts
	ok $? "/proc/interrupts tells whose they are"
}

test_again()
{
	local round

	for round in 1 2 3; do
		echo "$device" >"$driver/unbind"
		no_node
		ok $? "unbind $round removes the node"
		echo "$device" >"$driver/bind"
		is_bound && wait_for node_is_ready
		ok $? "bind $round brings it back, for the group"
	done
	echo 1 >"/sys/bus/pci/devices/$device/reset"
	wait_for node_is_ready
	ok $? "a function reset keeps the node"
	echo 1 >"/sys/bus/pci/devices/$device/remove"
	wait_for is_gone && no_node
	ok $? "removal takes the node away"
	echo 1 >/sys/bus/pci/rescan
	wait_for is_bound && wait_for node_is_ready
	ok $? "a rescan brings it back"
}

test_module()
{
	/usr/sbin/rmmod onpu && no_node
	ok $? "the module is unloaded"
	/usr/sbin/insmod "$ONPU_GUEST_DRIVER" && wait_for is_bound && wait_for node_is_ready
	ok $? "the module is loaded again"
}

# Tests that the driver does not bind the device without a sound firmware, and binds it again with
# the right one.
test_firmware()
{
	echo "$device" >"$driver/unbind"
	mv "$firmware" /tmp/whole
	! echo "$device" 2>/dev/null >"$driver/bind"
	ok $? "no device without firmware"
	head -c 1000 /tmp/whole >"$firmware"
	! echo "$device" 2>/dev/null >"$driver/bind"
	ok $? "no device with half a firmware"
	cp /tmp/whole "$firmware"
	printf '\377' | dd of="$firmware" bs=1 seek=2000 conv=notrunc status=none
	! echo "$device" 2>/dev/null >"$driver/bind"
	ok $? "no device with a firmware that is damaged"
	cp /tmp/whole "$firmware"
	echo "$device" >"$driver/bind"
	is_bound && wait_for node_is_ready
	ok $? "the device with the right firmware"
}

device=$(bound)
test_shown
test_again
test_module
test_firmware
tap_end
