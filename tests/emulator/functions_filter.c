// SPDX-License-Identifier: MIT
/*
 * Evaluates the architected functions for functions_by_the_book.py: each line of input is a
 * function's name and two float32 patterns in hexadecimal (the second is alpha, or pow's y);
 * each line of output is the result's pattern.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "math/functions.h"

static float bits_float(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

static int evaluate(const char *name, float x, float y, float *result)
{
	if (!strcmp(name, "pow")) {
		*result = onpu_fn_pow(x, y);
		return 0;
	}
	for (int fn = 0; fn < ONPU_FN_COUNT; fn++) {
		if (strcmp(name, onpu_fn_name(fn)))
			continue;
		onpu_fn_table(ONPU_SIMD_SCALAR)[fn](result, &x, 1, y, 0);
		return 0;
	}
	fprintf(stderr, "no function is named %s\n", name);
	return -1;
}

int main(void)
{
	char name[16];
	uint32_t x, y, bits;
	float result;

	if (!onpu_simd_supported(ONPU_SIMD_SCALAR)) {
		fprintf(stderr, "this host has no FMA instruction\n");
		return 1;
	}
	while (scanf("%15s %" SCNx32 " %" SCNx32, name, &x, &y) == 3) {
		if (evaluate(name, bits_float(x), bits_float(y), &result))
			return 1;
		memcpy(&bits, &result, sizeof(bits));
		printf("%08" PRIx32 "\n", bits);
	}
	return 0;
}
