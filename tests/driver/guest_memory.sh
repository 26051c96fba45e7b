#!/bin/bash
# SPDX-License-Identifier: MIT
# guest: --root
#
# Tests the limits of memory other than that of each user, as TAP: the control group of a client is
# charged for buffers and page tables, and max_memory_percent limits all users together.

# ok() gets the status of the condition before it.
# shellcheck disable=SC2319
set -uo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source=tests/tap.sh
. "$here/../tap.sh"
program=${ONPU_DRIVER_TESTS:-$here/../../build/gcc/tests/driver}/driver-memory
node=/dev/accel/accel0
MIB=128 TABLES=64

groups=$(mktemp -d)
group=$groups/onpu
mount -t cgroup2 none "$groups" && echo +memory >"$groups/cgroup.subtree_control" && mkdir "$group"
ok $? "there are control groups of memory"

# charged NAME: prints how many bytes of this kind the control group is charged for
charged()
{
	awk -v name="$1" '$1 == name { print $2 }' "$group/memory.stat"
}

# Prints how many bytes of the kernel in whole pages, such as page tables of the device, the control
# group is charged for.
pages()
{
	echo $(($(charged kernel) - $(charged slab)))
}

# in_group COMMAND…: runs the command in the control group; replaces this shell
in_group()
{
	echo "$BASHPID" >"$group/cgroup.procs"
	exec "$@"
}

# The first measurement is with a small buffer: the shell that becomes the program has some pages,
# too.
coproc SMALL { in_group "$program" "$node" 1; }
read -r line <&"${SMALL[0]}"
[ "$line" = ready ]
ok $? "a small buffer"
before=$(pages)
eval "exec ${SMALL[1]}>&-"
wait "$SMALL_PID"
coproc LARGE { in_group "$program" "$node" $MIB; }
read -r line <&"${LARGE[0]}"
[ "$line" = ready ]
ok $? "a large buffer"
shmem=$(charged shmem) kernel=$(($(pages) - before))
out="shmem $shmem, kernel $kernel"
[ "$shmem" -ge $((MIB << 20)) ]
ok $? "its memory is charged to the control group"
# A page table of 4 KiB maps 2 MiB; a quarter of the tables may be in pages that were charged
# before.
[ "$kernel" -ge $((TABLES * 4096 * 3 / 4)) ]
ok $? "so are its page tables"
eval "exec ${LARGE[1]}>&-"
wait "$LARGE_PID"
is_given_back()
{
	[ "$(charged shmem)" -lt $((1 << 20)) ]
}
wait_for is_given_back
ok $? "they are given back when the program ends"

echo $((MIB << 19)) >"$group/memory.max"
out=$(in_group "$program" "$node" $MIB </dev/null)
[ "$out" != ready ]
ok $? "a control group with less memory does not get it"
out=$("$program" "$node" $MIB </dev/null)
equal "others do" ready

# The emulator's test of DMA needs huge pages, which other machines seldom have.
echo 3 >/proc/sys/vm/nr_hugepages
out=$("$here/../../build/gcc/tests/emulator/vfu/test-vfu-dma" 2>&1) && [[ $out != *SKIPPED* ]]
ok $? "the emulator reaches memory in huge pages"
echo 0 >/proc/sys/vm/nr_hugepages

# The limit is 4 % of the guest's memory.
wait_for driver_is_unused && /usr/sbin/rmmod onpu && /usr/sbin/insmod "$ONPU_GUEST_DRIVER" max_memory_percent=4
ok $? "the driver is loaded again, with a limit for all users"
limit=$(awk '$1 == "MemTotal:" { print int($2 * 4 / 100 / 1024) }' /proc/meminfo)
most=$((limit * 3 / 4))
coproc FIRST { exec "$program" "$node" $most; }
read -r line <&"${FIRST[0]}"
[ "$line" = ready ]
ok $? "one user has most of the memory"
out=$("$program" "$node" $((limit / 2)) 1000 </dev/null)
equal "another user gets no more than what is left" "error 28"
out=$("$program" "$node" $((limit / 8)) 1000 </dev/null)
equal "and gets that" ready
eval "exec ${FIRST[1]}>&-"
wait "$FIRST_PID"
gets_it()
{
	[ "$("$program" "$node" $most 1000 </dev/null)" = ready ]
}
wait_for gets_it
ok $? "when the first one has given it back, the other gets it"
out=$("$program" "$node" $((limit + 1)) </dev/null)
equal "nobody gets more" "error 28"
tap_end
