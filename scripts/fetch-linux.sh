#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Fetches the parts of the kernel's source that are used beside its headers: checkpatch, the header files of its test
# harness, the scheduler that patches in Documentation/upstream are for, and the lists that the driver's
# series is about, from Debian's linux-source package: fetch-linux.sh NPU FOLDER. Nothing of it enters
# the tree. Done once; where the package is not installed it is skipped (status 77).

set -euo pipefail

npu=$1 folder=$2
package=linux-source-6.12
source=/usr/src/$package.tar.xz
work=$folder.new

[ ! -e "$folder/.complete" ] || [ ! -e "$folder/MAINTAINERS" ] || exit 0
if ! "$npu" exec test -e "$source"; then
	echo "the package $package is not installed"
	exit 77
fi
rm -rf -- "$work"
mkdir -p -- "$work"
"$npu" exec tar -xJf "$source" -C "$work" --strip-components=1 \
	"$package"/scripts/{checkpatch.pl,spelling.txt,const_structs.checkpatch} \
	"$package"/tools/testing/selftests/{kselftest.h,kselftest_harness.h} \
	"$package"/{MAINTAINERS,drivers/accel/Kconfig,drivers/accel/Makefile,drivers/gpu/drm/scheduler}
touch "$work/.complete"
rm -rf -- "$folder"
mv -T -- "$work" "$folder"
