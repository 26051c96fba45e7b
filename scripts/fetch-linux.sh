#!/bin/bash
# SPDX-License-Identifier: MIT
#
# fetch-linux.sh NPU FOLDER: unpacks the parts of the kernel's source that the project uses beside
# the kernel's headers, from Debian's linux-source package, once. These are checkpatch, the header
# files of the test harness, the scheduler to which the patches in Documentation/upstream apply, and
# the lists to which the driver's series adds entries. Nothing of it enters the tree. The status is
# 77, which means skipped, when the package is not installed.

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
