#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests of the Debian packages, as root in a Debian where they were not installed, as TAP:
#   root.sh install WORK DEBS     installs the packages in the folder DEBS, and uses them
#   root.sh purge WORK            removes them; needs what install left in the folder WORK
# WORK has what make_model.py makes. ./npu check packages runs this.

# ok() takes the status of the condition before it.
# shellcheck disable=SC2319
set -uo pipefail

part=$1 work=$2 debs=${3:-}
here=$(cd -- "$(dirname -- "$0")" && pwd -P)
top=${here%/tests/*}
# shellcheck source=tests/tap.sh
. "$here/../tap.sh"

libraries=(libwebnn-npu1 libwebnn-onnx1 libwebnn-stablehlo1 libwebnn-npu-dev libonpu-sim1 libonpu-sim-dev webnn-npu-tools webnn-stablehlo-mpi
	libggml-onpu node-webnn-npu onpu-jax onpu-onnxruntime python3-webnn-npu webnn-npu-doc)
others=(onpu-emu onpu-firmware onpu-dkms)
models=(python3-onnx)
# npm's package compiles its addon with these packages, and pip's its module.
headers=(libnode-dev libuv1-dev libpython3-dev)
# The example server.mjs for Node needs WebSockets.
sockets=(node-ws)
# An environment for a project in Python.
environments=(python3-venv)

# try NAME COMMAND…: checks that the command succeeds; the command's output goes to standard error.
try()
{
	local name=$1

	shift
	"$@" >&2
	ok $? "$name"
}

# install_debs PACKAGE…: installs these packages and only what they depend on
install_debs()
{
	local name files=()

	for name; do
		files+=("$debs/${name}"_*.deb)
	done
	apt-get -qy --no-install-recommends install "${files[@]}"
}

# Lists all files but those of the host, and those in which the system keeps past events. The key of
# DKMS is left out, too: it stays, as DKMS signs the modules of all packages with it.
all_files()
{
	find / \( -path "$top" -o -path "${top%/*}/shared" -o -path '/var/lib/dkms/mok.*' -o -path /proc \
		-o -path /sys -o -path /dev -o -path /run -o -path /tmp \
		-o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache -o -path /var/log \) -prune \
		-o ! -path /var/lib/dkms -printf '%y %m %u %g %p %l\n' | LC_ALL=C sort
}

# documented_installs PAGE…: prints the words after "apt install" of each command that installs
# built packages, one command a line; a command may go on in the next line after a backslash.
documented_installs()
{
	sed -e ':more' -e '/\\$/{N;s/\\\n *>* *//;b more' -e '}' "$@" | grep -o 'apt install .*\./.*' |
		sed -e 's/^apt install //' -e 's/  *#.*//' -e 's/\.\/build\/deb\//.\//g'
}

# can_install WORDS: returns whether apt can install the words, which a shell reads in the folder of
# the packages
can_install()
{
	(cd -- "$debs" && eval "apt-get -sqy install $1" >&2)
}

# compile FILE PACKAGE…: compiles the file to /tmp/onpu-packages-program with the flags of
# pkg-config
compile()
{
	local file=$1 flags

	shift
	flags=$(pkg-config --cflags --libs "$@") || return
	# $flags has several words.
	# shellcheck disable=SC2086
	gcc -Wall -Werror "$file" -o /tmp/onpu-packages-program $flags
}

# has_module KERNEL: returns whether DKMS has built and signed the module for this kernel, and
# modprobe finds the module.
has_module()
{
	dkms status -m onpu -k "$1" | grep -q ': installed' &&
		[ -n "$(modinfo -k "$1" -F signer onpu)" ] &&
		modprobe -S "$1" -n "$(modinfo -k "$1" -F alias onpu | head -n 1)"
}

test_libraries()
{
	local device examples=/usr/share/doc/libwebnn-npu-dev/examples cases=/usr/share/webnn-npu/conformance

	try "the libraries and the tools are installed" install_debs "${libraries[@]}"
	try "a program is compiled with pkg-config" compile "$examples/first.c" webnn-npu
	for device in cpu sim; do
		out=$(WEBNN_DEVICE=$device /tmp/onpu-packages-program)
		equal "it computes on $device" "15 0"
		try "webnn-run computes on $device what the model gives" \
			webnn-run compare "$work/model.onnx" -d "$device" -i "$work/x.npy" --expect "$work/y.npy"
		webnn-run compare "$work/model.onnx" -d "$device" -i "$work/x.npy" --expect "$work/wrong.npy" >&2
		[ $? -eq 1 ]
		ok $? "webnn-run tells on $device that a result differs"
		try "cases of wnn-conformance pass on $device" wnn-conformance --device "$device" "$cases"
	done
	try "an example of the importer is compiled with pkg-config" compile "$examples/voice.c" webnn-onnx
	out=$(/tmp/onpu-packages-program --help)
	contains "it tells how it is used" "--device"
	rm -f /tmp/onpu-packages-program
	try "what makes models is installed" apt-get -qy --no-install-recommends install "${models[@]}"
	try "the provider for ONNX Runtime loads" python3 -c \
		'import ctypes, sys; [ctypes.CDLL(path) for path in sys.argv[1:]][0].CreateEpFactories' \
		/usr/lib/*/webnn-npu/libonnxruntime_providers_onpu.so /usr/lib/*/webnn-npu/onpu-ort-preload.so
	try "the package for Python finds the provider" python3 -c 'import webnn_npu.onnxruntime; webnn_npu.onnxruntime.find_library()'
	try "the back end for ggml loads" python3 -c 'import ctypes, sys; ctypes.CDLL(sys.argv[1]).ggml_backend_init' \
		/usr/lib/*/webnn-npu/libggml-onpu.so
	try "the plugin for JAX loads, and its module finds it" python3 -c \
		'import ctypes, jax_plugins.onpu as onpu; ctypes.CDLL(onpu.find_library()).GetPjrtApi'
	try "the tutorial's commands do what it says" python3 -B "$here/../documents/run.py" --class installed \
		"$top/Documentation/tutorial.rst"
	webnn-run run "$work/model.onnx" -d sim --full -i "$work/x.npy" >&2
	[ $? -eq 4 ]
	ok $? "the model in full needs the firmware"
	printf '#include <onpu/onpu_device.h>\n#include <drm/onpu_accel.h>\nint main(void) { return 0; }\n' >/tmp/onpu-packages.c
	try "the headers of the device are complete" compile /tmp/onpu-packages.c onpu-sim libdrm
	rm -f /tmp/onpu-packages*
}

# Tests that doc-base knows the pages, and that two of them name no file that is missing.
test_pages()
{
	local pages=/usr/share/doc/webnn-npu-doc/html

	[ -s /usr/share/doc-base/webnn-npu-doc.webnn-npu ]
	ok $? "doc-base knows the pages"
	out=$(sed -n 's/^Index: //p' /usr/share/doc-base/webnn-npu-doc.webnn-npu)
	[ -s "$out" ]
	ok $? "its index is there"
	out=$(grep -hoE '(src|href)="[^":#?]+["#?]' "$pages/index.html" "$pages/node.html" | sed -e 's/.*="//' -e 's/.$//' | sort -u |
		while IFS= read -r file; do
			[ -e "$pages/$file" ] || printf '%s\n' "$file"
		done)
	equal "every page, picture and script that two pages name is there" ""
	out=$(grep -c 'webnn-npu/onnx' "$pages/node.html")
	[ "$out" -gt 0 ]
	ok $? "the page of Node tells of models"
}

test_ranks()
{
	out=$(OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self,sm \
		mpirun --oversubscribe -n 3 webnn-run run "$here/ranks.mlir" -d cpu --print 2>&1)
	contains "ranks of MPI compute together" "rank 2: result0: uint32 [], from 3 to 3"
}

# node_program DEVICE FILE…: runs a program of the documentation with Node on the device.
node_program()
{
	local device=$1

	shift
	WEBNN_DEVICE=$device node "$@"
}

test_node()
{
	local device folder=/tmp/onpu-packages-node tarball=$top/build/gcc/bindings/node/webnn-npu.tgz
	local example=/usr/share/doc/node-webnn-npu/examples/first.mjs

	mkdir -p "$folder"
	cp -- "$example" "$folder"
	sed '/^import /d' "$example" >"$folder/web.mjs"
	cd -- "$folder" || return
	for device in cpu sim; do
		out=$(WEBNN_DEVICE=$device node -r webnn-npu/register web.mjs)
		equal "a program for browsers computes in Node on $device" "15 0"
	done
	out=$(node_program sim "$example")
	equal "an example imports the package where it is installed" "15 0"
	out=$(WEBNN_DEVICE=sim node -r webnn-npu/import first.mjs)
	equal "a program elsewhere imports it after -r webnn-npu/import" "15 0"
	cp -- "$here/onnx.mjs" .
	for device in cpu sim; do
		out=$(NODE_OPTIONS='-r webnn-npu/import' node_program "$device" onnx.mjs "$work")
		equal "it loads a model of ONNX on $device" "15 right"
	done
	try "WebSockets are installed" apt-get -qy --no-install-recommends install "${sockets[@]}"
	out=
	exec 3< <(exec node "${example%/*}/server.mjs" --port 0)
	IFS= read -r -t 60 out <&3
	kill $!
	exec 3<&-
	contains "the server of the examples finds its network" "http://127.0.0.1:"
	# grep reads to the end: ldd could die of a pipe that is closed early.
	ldd /usr/lib/*/nodejs/webnn-npu/webnn_npu.node | grep 'libwebnn-npu.so.1 => /' >/dev/null
	ok $? "its addon takes the library of libwebnn-npu1"
	if [ -e "$tarball" ]; then
		try "what compiles addons is installed" apt-get -qy --no-install-recommends install "${headers[@]}"
		mkdir -p node_modules/webnn-npu
		try "npm's package is unpacked" tar -xzf "$tarball" -C node_modules/webnn-npu --strip-components=1
		out=$(node_program cpu first.mjs)
		equal "it computes as it comes" "15 0"
		echo 'for another machine' >node_modules/webnn-npu/webnn_npu.node
		try "it compiles an addon with the installed library" env -C node_modules/webnn-npu node install.js
		out=$(node_program sim first.mjs)
		equal "and computes with that" "15 0"
	fi
	cd / || return
	rm -r -- "$folder"
}

# Types the commands of Documentation/python.rst in a virtual environment, and installs the wheel of a checkout.
test_python()
{
	local folder=/tmp/onpu-packages-python examples=/usr/share/doc/python3-webnn-npu/examples

	try "environments can be made" apt-get -qy --no-install-recommends install "${environments[@]}" "${headers[@]}"
	mkdir -p "$folder"
	cd -- "$folder" || return
	try "the commands of the page do what it says" python3 -B "$here/../documents/run.py" --class installed \
		"$top/Documentation/python.rst"
	python3 -m venv --system-site-packages environment
	cp -r -- "$top/bindings" .
	mkdir userspace
	cp -- "$top/userspace/webnn.json" userspace
	try "pip compiles the package" environment/bin/pip install -q --no-index ./bindings/python
	out=$(WEBNN_DEVICE=sim environment/bin/python -B "$examples/first.py")
	equal "that computes" "15 0"
	out=$(environment/bin/python -B -c 'import webnn_npu; print(webnn_npu.__file__)')
	contains "it is the one of the environment" "$folder"
	cd / || return
	rm -r -- "$folder"
}

test_device()
{
	local kernel

	try "emulator, firmware and driver are installed" install_debs "${others[@]}"
	for kernel in /lib/modules/*/build; do
		kernel=${kernel%/build}
		kernel=${kernel##*/}
		try "DKMS has built and signed the driver for $kernel" has_module "$kernel"
		out=$(modinfo -k "$kernel" -F firmware onpu)
		[ -s "/lib/firmware/$out" ]
		ok $? "its firmware is where $kernel looks for it"
	done
	try "the model in full boots the firmware and gives the same" webnn-run compare "$work/model.onnx" \
		-d sim --full -i "$work/x.npy" --expect "$work/y.npy"
	out=$(onpu-emu --help)
	contains "the emulator starts" "vfio-user"
}

test_install()
{
	local line

	# MPI stays, as packages that MPI needs leave folders when they are purged.
	try "MPI is there" apt-get -qy install openmpi-bin
	while IFS= read -r line; do
		try "a page is right that this is complete: apt install $line" can_install "$line"
	done < <(documented_installs "$top/README.md" "$top"/Documentation/*.rst)
	all_files >"$work/before"
	test_libraries
	test_pages
	test_ranks
	test_node
	test_python
	test_device
}

test_purge()
{
	local name

	try "all packages are purged" apt-get -qy purge "${libraries[@]}" "${others[@]}" "${models[@]}" "${headers[@]}" \
		"${sockets[@]}" "${environments[@]}"
	# This also removes packages that other packages recommend or suggest by chance.
	try "and what they needed" apt-get -qy -o APT::AutoRemove::RecommendsImportant=false \
		-o APT::AutoRemove::SuggestsImportant=false autoremove --purge
	for name in "${libraries[@]}" "${others[@]}"; do
		out=$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)
		[[ $out == "" || $out == not-installed ]]
		ok $? "dpkg has forgotten $name"
	done
	all_files >"$work/after"
	out=$(diff "$work/before" "$work/after" | head -n 40)
	equal "nothing is left" ""
}

"test_$part"
tap_end
