// SPDX-License-Identifier: MIT
/* Combines arrays element by element, in loops that compilers vectorise. */
#include "combine.h"

#include <math.h>

/* @sum may be @x; no arrays overlap otherwise, which "restrict" tells the compiler. */
#define LOOP(type, expression)                              \
	do {                                                \
		const type *restrict b = y;                 \
                                                            \
		if (sum == x) {                             \
			type *restrict a = sum;             \
                                                            \
			for (size_t i = 0; i < count; i++)  \
				a[i] = (type)(expression);  \
		} else {                                    \
			const type *restrict a = x;         \
			type *restrict to = sum;            \
                                                            \
			for (size_t i = 0; i < count; i++)  \
				to[i] = (type)(expression); \
		}                                           \
		return true;                                \
	} while (0)

/* Integers wrap around; in C only unsigned types may overflow. */
#define INTEGERS(name, type, wide)                                                     \
	static bool name(enum shlo_binary op, void *sum, const void *x, const void *y, \
			 size_t count)                                                 \
	{                                                                              \
		switch (op) {                                                          \
		case SHLO_B_ADD:                                                       \
			LOOP(type, (wide)a[i] + (wide)b[i]);                           \
		case SHLO_B_SUBTRACT:                                                  \
			LOOP(type, (wide)a[i] - (wide)b[i]);                           \
		case SHLO_B_MULTIPLY:                                                  \
			LOOP(type, (wide)a[i] * (wide)b[i]);                           \
		case SHLO_B_AND:                                                       \
			LOOP(type, a[i] & b[i]);                                       \
		case SHLO_B_OR:                                                        \
			LOOP(type, a[i] | b[i]);                                       \
		case SHLO_B_XOR:                                                       \
			LOOP(type, a[i] ^ b[i]);                                       \
		case SHLO_B_MAXIMUM:                                                   \
			LOOP(type, a[i] > b[i] ? a[i] : b[i]);                         \
		case SHLO_B_MINIMUM:                                                   \
			LOOP(type, a[i] < b[i] ? a[i] : b[i]);                         \
		default:                                                               \
			return false;                                                  \
		}                                                                      \
	}

/*
 * Gives the minimum if @least, else the maximum: it is NaN if a number is, and -0 is less than +0.
 */
#define EXTREME(least, x, y)                                          \
	(isnan(x) || isnan(y) ? NAN :                                 \
	 (x) == (y)	      ? (least == !!signbit(x) ? (x) : (y)) : \
	 ((x) < (y)) == least ? (x) :                                 \
				(y))

#define FLOATS(name, type)                                                             \
	static bool name(enum shlo_binary op, void *sum, const void *x, const void *y, \
			 size_t count)                                                 \
	{                                                                              \
		switch (op) {                                                          \
		case SHLO_B_ADD:                                                       \
			LOOP(type, a[i] + b[i]);                                       \
		case SHLO_B_SUBTRACT:                                                  \
			LOOP(type, a[i] - b[i]);                                       \
		case SHLO_B_DIVIDE:                                                    \
			LOOP(type, a[i] / b[i]);                                       \
		case SHLO_B_MULTIPLY:                                                  \
			LOOP(type, a[i] * b[i]);                                       \
		case SHLO_B_MAXIMUM:                                                   \
			LOOP(type, EXTREME(0, a[i], b[i]));                            \
		case SHLO_B_MINIMUM:                                                   \
			LOOP(type, EXTREME(1, a[i], b[i]));                            \
		default:                                                               \
			return false;                                                  \
		}                                                                      \
	}

INTEGERS(combine_i8, int8_t, uint32_t)
INTEGERS(combine_ui8, uint8_t, uint32_t)
INTEGERS(combine_i16, int16_t, uint32_t)
INTEGERS(combine_ui16, uint16_t, uint32_t)
INTEGERS(combine_i32, int32_t, uint32_t)
INTEGERS(combine_ui32, uint32_t, uint32_t)
INTEGERS(combine_i64, int64_t, uint64_t)
INTEGERS(combine_ui64, uint64_t, uint64_t)
FLOATS(combine_f32, float)
FLOATS(combine_f64, double)

bool shlo_combine(enum shlo_binary op, enum shlo_element element, void *sum, const void *x,
		  const void *y, size_t count)
{
	switch (element) {
	case SHLO_I8:
		return combine_i8(op, sum, x, y, count);
	case SHLO_UI8:
		return combine_ui8(op, sum, x, y, count);
	case SHLO_I16:
		return combine_i16(op, sum, x, y, count);
	case SHLO_UI16:
		return combine_ui16(op, sum, x, y, count);
	case SHLO_I32:
		return combine_i32(op, sum, x, y, count);
	case SHLO_UI32:
		return combine_ui32(op, sum, x, y, count);
	case SHLO_I64:
		return combine_i64(op, sum, x, y, count);
	case SHLO_UI64:
		return combine_ui64(op, sum, x, y, count);
	case SHLO_F32:
		return combine_f32(op, sum, x, y, count);
	case SHLO_F64:
		return combine_f64(op, sum, x, y, count);
	default:
		return false;
	}
}

/*
 * Additions that are vectorised belong to different sums, so that the order in each sum is kept.
 * Four rows of the matrix at a time save reading and writing the sums.
 */
#define ADD_PRODUCTS(type)                                                               \
	do {                                                                             \
		const type *x = row;                                                     \
		type *restrict to = sums;                                                \
		size_t k = 0;                                                            \
                                                                                         \
		for (; k + 4 <= inner; k += 4) {                                         \
			const type *restrict y = (const type *)matrix + k * columns;     \
			const type a = x[k], b = x[k + 1], c = x[k + 2], d = x[k + 3];   \
                                                                                         \
			for (size_t i = 0; i < columns; i++)                             \
				to[i] = to[i] + a * y[i] + b * y[columns + i] +          \
					c * y[2 * columns + i] + d * y[3 * columns + i]; \
		}                                                                        \
		for (; k < inner; k++) {                                                 \
			const type *restrict y = (const type *)matrix + k * columns;     \
			const type a = x[k];                                             \
                                                                                         \
			for (size_t i = 0; i < columns; i++)                             \
				to[i] += a * y[i];                                       \
		}                                                                        \
	} while (0)

void shlo_add_products(enum shlo_element element, void *sums, const void *row, const void *matrix,
		       size_t inner, size_t columns)
{
	if (element == SHLO_F32)
		ADD_PRODUCTS(float);
	else
		ADD_PRODUCTS(double);
}
