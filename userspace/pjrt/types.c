// SPDX-License-Identifier: MIT
/* The element types by PJRT's numbers and by StableHLO's names. */
#include <string.h>

#include "plugin.h"

/* An element of fewer than 8 bits takes a byte, in JAX's arrays and in StableHLO's tensors. */
static const struct onpu_type types[] = {
	{ 1, "i1", 1 },
	{ 2, "i8", 1 },
	{ 3, "i16", 2 },
	{ 4, "i32", 4 },
	{ 5, "i64", 8 },
	{ 6, "ui8", 1 },
	{ 7, "ui16", 2 },
	{ 8, "ui32", 4 },
	{ 9, "ui64", 8 },
	{ 10, "f16", 2 },
	{ 11, "f32", 4 },
	{ 12, "f64", 8 },
	{ 13, "bf16", 2 },
	{ 14, "complex<f32>", 8 },
	{ 15, "complex<f64>", 16 },
	{ 16, "f8E5M2", 1 },
	{ 17, "f8E4M3FN", 1 },
	{ 18, "f8E4M3B11FNUZ", 1 },
	{ 19, "f8E5M2FNUZ", 1 },
	{ 20, "f8E4M3FNUZ", 1 },
	{ 21, "i4", 1 },
	{ 22, "ui4", 1 },
	{ 23, "!stablehlo.token", 0 },
	{ 24, "i2", 1 },
	{ 25, "ui2", 1 },
	{ 26, "f8E4M3", 1 },
	{ 27, "f8E3M4", 1 },
	{ 28, "f8E8M0FNU", 1 },
	{ 29, "f4E2M1FN", 1 },
};

#define COUNT (sizeof(types) / sizeof(types[0]))

const struct onpu_type *onpu_type_by_number(int number)
{
	for (size_t i = 0; i < COUNT; i++)
		if (types[i].number == number)
			return &types[i];
	return NULL;
}

const struct onpu_type *onpu_type_of(const WNNStablehloValueInfo *info)
{
	/* A value that is no array has the name of its type. */
	WNNStringView name = info->elementType.length ? info->elementType : info->type;

	for (size_t i = 0; i < COUNT; i++)
		if (strlen(types[i].name) == name.length &&
		    !memcmp(types[i].name, name.data, name.length))
			return &types[i];
	return NULL;
}
