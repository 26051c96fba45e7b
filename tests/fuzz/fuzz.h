/* SPDX-License-Identifier: MIT */
/*
 * Helpers that the fuzz targets share: checks that end the program, and functions that read the
 * input step by step.
 */
#ifndef ONPU_FUZZ_H
#define ONPU_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reports a finding, with what was expected, and aborts, so that libFuzzer keeps the input. */
#define FUZZ_CHECK(condition, ...)                                                              \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "FINDING %s:%d: %s: ", __FILE__, __LINE__, #condition); \
			fprintf(stderr, __VA_ARGS__);                                           \
			fputc('\n', stderr);                                                    \
			abort();                                                                \
		}                                                                               \
	} while (0)

/* The rest of the input. Reads beyond its end give zeros, so that every input means something. */
struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

static inline void fuzz_bytes(struct fuzz_input *in, void *out, size_t size)
{
	size_t n = in->left < size ? in->left : size;

	if (n)
		memcpy(out, in->at, n);
	memset((char *)out + n, 0, size - n);
	in->at += n;
	in->left -= n;
}

static inline uint8_t fuzz_u8(struct fuzz_input *in)
{
	uint8_t value;

	fuzz_bytes(in, &value, sizeof(value));
	return value;
}

static inline uint16_t fuzz_u16(struct fuzz_input *in)
{
	uint16_t value;

	fuzz_bytes(in, &value, sizeof(value));
	return value;
}

static inline uint32_t fuzz_u32(struct fuzz_input *in)
{
	uint32_t value;

	fuzz_bytes(in, &value, sizeof(value));
	return value;
}

static inline uint64_t fuzz_u64(struct fuzz_input *in)
{
	uint64_t value;

	fuzz_bytes(in, &value, sizeof(value));
	return value;
}

#endif
