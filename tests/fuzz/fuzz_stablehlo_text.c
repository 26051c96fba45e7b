// SPDX-License-Identifier: MIT
/* Fuzz target of StableHLO's text. */
#include "stablehlo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_stablehlo(data, size);
}
