#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests the patches of make-series.py: check-series.sh RELEASE FOLDER LINUX. git applies them,
# checkpatch has no complaint, and the driver builds at its place in the kernel's tree, with W=1 and
# sparse and without a warning. The tree is made in FOLDER, from the headers of RELEASE and the
# lists in LINUX (fetch-linux.sh).

set -euo pipefail

release=$1 folder=$2 linux=$3
top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
headers=/lib/modules/$release/source/include
tree=$folder/tree

rm -rf -- "$folder"
mkdir -p -- "$tree/include/uapi" "$tree/drivers/accel" "$tree/drivers/gpu/drm"
ln -s "$headers"/{drm,linux} "$tree/include/"
cp -r -- "$headers/uapi/drm" "$tree/include/uapi/"
cp -- "$linux/MAINTAINERS" "$tree/"
cp -- "$linux"/drivers/accel/{Kconfig,Makefile} "$tree/drivers/accel/"
# Headers come without DRM's core: the tree gets the lines that the patch for it is about.
sed -n '/^@@/,/^-- $/ { /^-- $/d; /^[ -]/ s/^.//p }' "$top"/Documentation/upstream/series/*.patch >"$tree/drivers/gpu/drm/drm_drv.c"
export GIT_AUTHOR_NAME=npu GIT_AUTHOR_EMAIL=npu@localhost GIT_COMMITTER_NAME=npu GIT_COMMITTER_EMAIL=npu@localhost
python3 "$top/scripts/make-series.py" "$tree" "$folder/patches"
git -C "$tree" init -q
git -C "$tree" add -A
git -C "$tree" commit -q -m base
grep -q '^Subject: .*accel/onpu: A driver' "$folder/patches/0000-cover-letter.patch"
git -C "$tree" am -q "$folder"/patches/000[1-9]-*.patch

# checkpatch leaves a file in its folder. FILE_PATH_CHANGES warns of each patch that adds files without
# MAINTAINERS; the last patch lists the files of all.
(cd -- "$linux" && perl scripts/checkpatch.pl --no-tree --strict --terse --show-types --no-summary \
	--max-line-length=100 --ignore=FILE_PATH_CHANGES "$folder"/patches/000[1-9]-*.patch)

make -C "/lib/modules/$release/build" "M=$tree/drivers/accel/onpu" -j "$(nproc)" CONFIG_DRM_ACCEL_ONPU=m \
	W=1 C=1 KBUILD_CHECKSRC=1 "CHECK=$top/scripts/kernel-sparse.sh" "KCFLAGS=-Werror -I$tree/include/uapi" modules 2>&1 | tee "$folder/log"
if grep -E '(^|/)onpu[^ ]*: (warning|error):' "$folder/log"; then
	exit 1
fi
grep -q 'CHECK .*onpu_drv.c' "$folder/log"
# The driver leaves its events to the core that the first patch corrects.
grep -q drm_dev_wedged_event "$tree/drivers/accel/onpu/onpu_compat.h"
