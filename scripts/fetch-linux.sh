#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What is used of the kernel's source beside its headers: checkpatch and the header files of its
# test harness, from Debian's linux-source package: fetch-linux.sh NPU FOLDER. Nothing of it enters
# the tree. Done once; without network it is skipped (status 77).

set -euo pipefail

npu=$1 folder=$2
package=linux-source-6.12
work=$folder.new

[ ! -e "$folder/.complete" ] || exit 0
rm -rf -- "$work"
mkdir -p -- "$work/package"
# apt downloads as a user of its own where it can.
chmod 777 "$work/package"
cd -- "$work/package"
if ! "$npu" exec apt-get -q download "$package"; then
	# The index may be older than the mirror.
	"$npu" exec apt-get -q update || true
	if ! "$npu" exec apt-get -q download "$package"; then
		echo "the package $package cannot be fetched"
		exit 77
	fi
fi
# Expanded by the shell inside.
# shellcheck disable=SC2016
"$npu" exec bash -eo pipefail -c '
	dpkg-deb --fsys-tarfile "$1"_*.deb | tar -xO "./usr/src/$1.tar.xz" |
		tar -xJ -C "$2" --strip-components=1 "$1"/scripts/{checkpatch.pl,spelling.txt,const_structs.checkpatch} \
			"$1"/tools/testing/selftests/{kselftest.h,kselftest_harness.h}' - "$package" "$work"
rm -rf -- "$work/package"
touch "$work/.complete"
rm -rf -- "$folder"
mv -T -- "$work" "$folder"
