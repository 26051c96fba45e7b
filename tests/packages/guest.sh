#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests the Debian packages in a guest whose system has them installed, as root and as TAP:
# guest.sh WORK, the folder with what make_model.py makes. ./npu check packages runs this.

# ok() takes the status of the condition before it.
# shellcheck disable=SC2319
set -uo pipefail

here=$(cd -- "$(dirname -- "$0")" && pwd -P)
# shellcheck source=tests/tap.sh
. "$here/../tap.sh"
PATH=/usr/sbin:/usr/bin:/sbin:/bin
node=/dev/accel/accel0
# An ordinary user may not be able to enter the folder of the checkout.
work=$(mktemp -d)
cp -- "$1"/*.onnx "$1"/*.npy "$work" && chmod a+rx "$work" || exit

# as_user GROUPS COMMAND…: runs the command as an ordinary user with these further groups
as_user()
{
	local groups=$1

	shift
	setpriv --reuid=1000 --regid=1000 "$groups" --inh-caps=-all "$@"
}

computes()
{
	as_user "$1" webnn-run compare "$work/model.onnx" -d npu --npu-only -i "$work/x.npy" --expect "$2" >&2
}

[ ! -e "$node" ]
ok $? "before udev there is no device"
/usr/lib/systemd/systemd-udevd --daemon
udevadm trigger --action=add --subsystem-match=pci --attr-match=class=0x120000
wait_for [ -e "$node" ]
ok $? "udev loads the driver, which loads the firmware"
udevadm settle
out=$(stat -c '%U %G %a' "$node")
equal "the node belongs to the group render" "root render 660"
out=$(udevadm test --action=add /sys/class/accel/accel0 2>&1)
contains "the rule of the package says so" "60-onpu-dkms.rules"
out=$(modinfo -n onpu; cat /sys/module/onpu/taint)
contains "the module is that of DKMS" "/updates/dkms/onpu.ko"
cmp /etc/cdi/onpu-cdi.json "$here/../../debian/onpu-cdi.json"
ok $? "container engines find the specification of the devices"
computes --groups=render "$work/y.npy"
ok $? "webnn-run computes on the NPU as a user of the group render"
computes --groups=render "$work/wrong.npy"
[ $? -eq 1 ]
ok $? "webnn-run tells that a result differs"
computes --clear-groups "$work/y.npy"
[ $? -eq 4 ]
ok $? "another user has no NPU"
modprobe -r onpu && [ ! -e "$node" ]
ok $? "the driver can be unloaded"
tap_end
