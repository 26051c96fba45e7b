// SPDX-License-Identifier: MIT
/*
 * Fuzz target of StableHLO's portable bytecode; the target puts its first bytes, which tell it from
 * text, in front of the input.
 */
#include <string.h>

#include "stablehlo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char magic[4] = { 'M', 'L', '\xef', 'R' };
	char *file = malloc(sizeof(magic) + size);

	if (!file)
		return 0;
	memcpy(file, magic, sizeof(magic));
	if (size)
		memcpy(file + sizeof(magic), data, size);
	fuzz_stablehlo((const uint8_t *)file, sizeof(magic) + size);
	free(file);
	return 0;
}
