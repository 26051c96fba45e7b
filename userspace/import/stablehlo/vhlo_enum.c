// SPDX-License-Identifier: MIT
/* Enumerations of VHLO: their numbers in bytecode, and the words of their values in text. */
#include <string.h>

#include "vhlo.h"

struct enumeration {
	uint64_t code;
	const char *name, *attr; /* name of the enumeration, and of the attribute that has it */
	uint64_t first;		 /* number of values[0] */
	const char *values[7];
};

static const struct enumeration enumerations[] = {
	{ 3,
	  "comparison_direction",
	  "comparison_direction",
	  0,
	  { "EQ", "NE", "GE", "GT", "LE", "LT" } },
	{ 4,
	  "comparison_type",
	  "compare_type",
	  0,
	  { "NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED" } },
	{ 5,
	  "api_version",
	  "",
	  0,
	  { "API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
	    "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI" } },
	{ 7, "fft_type", "fft_type", 0, { "FFT", "IFFT", "RFFT", "IRFFT" } },
	{ 11, "precision", "precision_config", 0, { "DEFAULT", "HIGH", "HIGHEST" } },
	{ 12, "rng_algorithm", "rng_algorithm", 0, { "DEFAULT", "THREE_FRY", "PHILOX" } },
	{ 13, "rng_distribution", "rng_distribution", 1, { "UNIFORM", "NORMAL" } },
	{ 16,
	  "transpose",
	  "transpose_a",
	  0,
	  { "TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT" } },
	{ 19, "result_accuracy_mode", "mode", 0, { "DEFAULT", "HIGHEST", "TOLERANCE" } },
};

#define COUNT (sizeof(enumerations) / sizeof(enumerations[0]))

static const struct enumeration *find(uint64_t code)
{
	for (size_t i = 0; i < COUNT; i++)
		if (enumerations[i].code == code)
			return &enumerations[i];
	return NULL;
}

const char *shlo_vhlo_enum_name(uint64_t code)
{
	const struct enumeration *e = find(code);

	return e ? e->name : NULL;
}

const char *shlo_vhlo_enum_text(uint64_t code, uint64_t value)
{
	const struct enumeration *e = find(code);

	for (size_t i = 0; e && e->values[i]; i++)
		if (e->first + i == value)
			return e->values[i];
	return NULL;
}

const char *shlo_enum_of_attr(const char *attr)
{
	for (size_t i = 0; i < COUNT; i++)
		if (!strcmp(enumerations[i].attr, attr))
			return enumerations[i].name;
	return NULL;
}
