#!/bin/bash
# SPDX-License-Identifier: MIT
#
# fetch-mesa.sh NPU FOLDER: fetches the ISA tools, which tests use, from Debian's mesa source
# package, once. Nothing of it enters the tree. The status is 77, which means skipped, when the
# package cannot be fetched.

set -euo pipefail

npu=$1 folder=$2
work=$folder.new

[ ! -e "$folder/.complete" ] || exit 0
rm -rf -- "$work"
mkdir -p -- "$work/package"
cd -- "$work/package"
if ! "$npu" exec apt-get -q source --download-only mesa; then
	# The index may be older than the mirror.
	"$npu" exec apt-get -q update || true
	if ! "$npu" exec apt-get -q source --download-only mesa; then
		echo "the mesa source package cannot be fetched"
		exit 77
	fi
fi
"$npu" exec tar -xf "$(printf '%s\n' mesa_*.orig.tar.* | grep -v '\.asc$')" -C "$work" \
	--strip-components=1 --wildcards --no-wildcards-match-slash \
	'*/src/compiler/isaspec' '*/src/freedreno/registers' '*/src/util' '*/include'
rm -rf -- "$work/package"
touch "$work/.complete"
rm -rf -- "$folder"
mv -T -- "$work" "$folder"
