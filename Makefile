# SPDX-License-Identifier: MIT
#
# Forwards to ./npu, which forwards to meson.

all: build

build demo check check-full shell help:
	./npu $@

clean:
	rm -rf build/bin build/gcc build/clang build/asan build/fuzzers

.PHONY: all build demo check check-full shell help clean
