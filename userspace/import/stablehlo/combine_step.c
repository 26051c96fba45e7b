// SPDX-License-Identifier: MIT
/* Runs a step of a chain on arrays, in loops that compilers vectorise. */
#include <math.h>
#include <string.h>

#include "combine.h"

/* The arrays do not overlap, which "restrict" tells the compiler. */
#define LOOP(to_type, from_type, expression)           \
	do {                                           \
		const from_type *restrict a = in[0];   \
		to_type *restrict to = out;            \
                                                       \
		for (size_t i = 0; i < count; i++)     \
			to[i] = (to_type)(expression); \
		return true;                           \
	} while (0)

#define LOOP_TWO(to_type, from_type, expression)      \
	do {                                          \
		const from_type *restrict b = in[1];  \
                                                      \
		LOOP(to_type, from_type, expression); \
	} while (0)

/* ---- shifts */

/*
 * Sets out[i] to a[i] shifted by by[i], which is unsigned; a shift by all bits or more gives
 * @beyond. A number of bits that is the same for all elements is read before the loop, because few
 * processors shift each element of a vector by a number of its own.
 */
#define SHIFT(type, unsigned_type, operator, beyond)                             \
	do {                                                                     \
		const unsigned_type *by = in[1];                                 \
		const unsigned_type bits = 8 * sizeof(type);                     \
                                                                                 \
		if (by_one && count && by[0] < bits) {                           \
			const unsigned_type one = by[0];                         \
                                                                                 \
			LOOP(type, type, a[i] operator one);                     \
		}                                                                \
		LOOP(type, type, by[i] < bits ? a[i] operator by[i] : (beyond)); \
	} while (0)

#define SHIFTS(name, type, unsigned_type)                                                     \
	static bool name(int op, void *out, const void *const *in, bool by_one, size_t count) \
	{                                                                                     \
		switch (op) {                                                                 \
		case SHLO_B_SHIFT_LEFT:                                                       \
			SHIFT(unsigned_type, unsigned_type, <<, 0);                           \
		case SHLO_B_SHIFT_RIGHT_LOGICAL:                                              \
			SHIFT(unsigned_type, unsigned_type, >>, 0);                           \
		default:                                                                      \
			SHIFT(type, unsigned_type, >>, a[i] < 0 ? -1 : 0);                    \
		}                                                                             \
	}

SHIFTS(shift_8, int8_t, uint8_t)
SHIFTS(shift_16, int16_t, uint16_t)
SHIFTS(shift_32, int32_t, uint32_t)
SHIFTS(shift_64, int64_t, uint64_t)

static bool shift(const struct shlo_step *step, void *out, const void *const *in, bool by_one,
		  size_t count)
{
	switch (shlo_is_integer(step->element) ? shlo_elements[step->element].bits : 0) {
	case 8:
		return shift_8(step->code, out, in, by_one, count);
	case 16:
		return shift_16(step->code, out, in, by_one, count);
	case 32:
		return shift_32(step->code, out, in, by_one, count);
	case 64:
		return shift_64(step->code, out, in, by_one, count);
	default:
		return false;
	}
}

/* ---- one operand */

#define INTEGER_UNARY(type)                               \
	do {                                              \
		if (step->code == SHLO_U_NOT)             \
			LOOP(type, type, ~a[i]);          \
		if (step->code == SHLO_U_NEGATE)          \
			LOOP(type, type, (type)0 - a[i]); \
		return false;                             \
	} while (0)

static bool unary(const struct shlo_step *step, void *out, const void *const *in, size_t count)
{
	switch (step->element) {
	case SHLO_I1:
		if (step->code == SHLO_U_NOT)
			LOOP(uint8_t, uint8_t, !a[i]);
		return false;
	case SHLO_I8:
	case SHLO_UI8:
		INTEGER_UNARY(uint8_t);
	case SHLO_I16:
	case SHLO_UI16:
		INTEGER_UNARY(uint16_t);
	case SHLO_I32:
	case SHLO_UI32:
		INTEGER_UNARY(uint32_t);
	case SHLO_I64:
	case SHLO_UI64:
		INTEGER_UNARY(uint64_t);
	case SHLO_F32:
		if (step->code == SHLO_U_NEGATE)
			LOOP(float, float, -a[i]);
		if (step->code == SHLO_U_ABS)
			LOOP(float, float, fabsf(a[i]));
		return false;
	case SHLO_F64:
		if (step->code == SHLO_U_NEGATE)
			LOOP(double, double, -a[i]);
		if (step->code == SHLO_U_ABS)
			LOOP(double, double, fabs(a[i]));
		return false;
	default:
		return false;
	}
}

/* ---- comparisons: with NaN, only NE is true, as in C */

#define COMPARE_BY(type, key)                                            \
	do {                                                             \
		switch (step->code) {                                    \
		case SHLO_EQ:                                            \
			LOOP_TWO(uint8_t, type, key(a[i]) == key(b[i])); \
		case SHLO_NE:                                            \
			LOOP_TWO(uint8_t, type, key(a[i]) != key(b[i])); \
		case SHLO_GE:                                            \
			LOOP_TWO(uint8_t, type, key(a[i]) >= key(b[i])); \
		case SHLO_GT:                                            \
			LOOP_TWO(uint8_t, type, key(a[i]) > key(b[i]));  \
		case SHLO_LE:                                            \
			LOOP_TWO(uint8_t, type, key(a[i]) <= key(b[i])); \
		default:                                                 \
			LOOP_TWO(uint8_t, type, key(a[i]) < key(b[i]));  \
		}                                                        \
	} while (0)

#define COMPARE(type) COMPARE_BY(type, )

#define SIGN UINT32_C(0x80000000)

/* Returns the bits of a float, or for a NaN those of the one that stands for all with its sign. */
static inline uint32_t one_nan(uint32_t bits)
{
	return (bits & ~SIGN) > UINT32_C(0x7f800000) ? (bits & SIGN) | UINT32_C(0x7fc00000) : bits;
}

/* Returns what shlo_total_order() returns of the float with these bits. */
static inline int32_t total_order(uint32_t bits)
{
	bits = one_nan(bits);
	return bits & SIGN ? -(int32_t)(bits & ~SIGN) - 1 : (int32_t)bits;
}

static bool compare(const struct shlo_step *step, void *out, const void *const *in, size_t count)
{
	if (shlo_is_float(step->element) && step->total) {
		if (step->element == SHLO_F32)
			COMPARE_BY(uint32_t, total_order);
		return false;
	}
	switch (step->element) {
	case SHLO_I1:
	case SHLO_UI8:
		COMPARE(uint8_t);
	case SHLO_I8:
		COMPARE(int8_t);
	case SHLO_I16:
		COMPARE(int16_t);
	case SHLO_UI16:
		COMPARE(uint16_t);
	case SHLO_I32:
		COMPARE(int32_t);
	case SHLO_UI32:
		COMPARE(uint32_t);
	case SHLO_I64:
		COMPARE(int64_t);
	case SHLO_UI64:
		COMPARE(uint64_t);
	case SHLO_F32:
		COMPARE(float);
	case SHLO_F64:
		COMPARE(double);
	default:
		return false;
	}
}

/* ---- choices, of elements of any type by their size */

#define SELECT(type)                                                 \
	do {                                                         \
		const type *restrict x = in[1], *restrict y = in[2]; \
                                                                     \
		LOOP(type, uint8_t, a[i] ? x[i] : y[i]);             \
	} while (0)

static bool choose(const struct shlo_step *step, void *out, const void *const *in, size_t count)
{
	switch (shlo_elements[step->to].bytes) {
	case 1:
		SELECT(uint8_t);
	case 2:
		SELECT(uint16_t);
	case 4:
		SELECT(uint32_t);
	case 8:
		SELECT(uint64_t);
	default:
		return false;
	}
}

/* ---- conversions */

/* Returns the bits of a float, of which a bf16 has the upper half. */
static inline uint32_t from_bf16(uint16_t bits)
{
	return one_nan((uint32_t)bits << 16);
}

/* Rounds the float with these bits to the nearest bf16, ties to even. */
static inline uint16_t to_bf16(uint32_t bits)
{
	bits = one_nan(bits);
	/* The bits of a NaN do not overflow: those that are cut are 0. */
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float float_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint32_t bits_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* Returns the integer of a float; numbers beyond the range become its ends, and NaN becomes 0. */
static inline int32_t to_int(float value)
{
	return !(value < 0x1p31f) ? (value >= 0x1p31f ? INT32_MAX : 0) :
	       value > -0x1p31f	  ? (int32_t)value :
				    INT32_MIN;
}

#define CONVERT(from, to_integers)                          \
	do {                                                \
		switch (step->to) {                         \
		case SHLO_I1:                               \
			LOOP(uint8_t, from, a[i] != 0);     \
		case SHLO_F32:                              \
			LOOP(float, from, a[i]);            \
		case SHLO_F64:                              \
			LOOP(double, from, a[i]);           \
		case SHLO_I8:                               \
		case SHLO_UI8:                              \
			if (to_integers)                    \
				LOOP(uint8_t, from, a[i]);  \
			return false;                       \
		case SHLO_I16:                              \
		case SHLO_UI16:                             \
			if (to_integers)                    \
				LOOP(uint16_t, from, a[i]); \
			return false;                       \
		case SHLO_I32:                              \
		case SHLO_UI32:                             \
			if (to_integers)                    \
				LOOP(uint32_t, from, a[i]); \
			return false;                       \
		case SHLO_I64:                              \
		case SHLO_UI64:                             \
			if (to_integers)                    \
				LOOP(uint64_t, from, a[i]); \
			return false;                       \
		default:                                    \
			return false;                       \
		}                                           \
	} while (0)

static bool convert(const struct shlo_step *step, void *out, const void *const *in, size_t count)
{
	switch (step->element) {
	case SHLO_I1:
	case SHLO_UI8:
		CONVERT(uint8_t, true);
	case SHLO_I8:
		CONVERT(int8_t, true);
	case SHLO_I16:
		CONVERT(int16_t, true);
	case SHLO_UI16:
		CONVERT(uint16_t, true);
	case SHLO_I32:
		CONVERT(int32_t, true);
	case SHLO_UI32:
		CONVERT(uint32_t, true);
	case SHLO_I64:
		CONVERT(int64_t, true);
	case SHLO_UI64:
		CONVERT(uint64_t, true);
	case SHLO_F32:
		if (step->to == SHLO_BF16)
			LOOP(uint16_t, uint32_t, to_bf16(a[i]));
		if (step->to == SHLO_I32)
			LOOP(int32_t, float, to_int(a[i]));
		CONVERT(float, false);
	case SHLO_F64:
		CONVERT(double, false);
	case SHLO_BF16:
		if (step->to == SHLO_F32)
			LOOP(uint32_t, uint16_t, from_bf16(a[i]));
		return false;
	default:
		return false;
	}
}

/* ---- two operands */

#define BLOCK 256

/*
 * Computes with bf16 as doubles, which are rounded once. A float in between has the last bit set
 * where it is not exact, so that its rounding to bf16 is that of the double.
 */
static bool by_double(const struct shlo_step *step, uint16_t *out, const uint16_t *x,
		      const uint16_t *y, size_t count)
{
	double a[BLOCK], b[BLOCK], sum[BLOCK];

	for (size_t first = 0; first < count; first += BLOCK) {
		size_t some = count - first < BLOCK ? count - first : BLOCK;

		for (size_t i = 0; i < some; i++) {
			a[i] = float_of(from_bf16(x[first + i]));
			b[i] = float_of(from_bf16(y[first + i]));
		}
		if (!shlo_combine((enum shlo_binary)step->code, SHLO_F64, sum, a, b, some))
			return false; /* so for all blocks: nothing is done yet */
		for (size_t i = 0; i < some; i++) {
			float near = (float)sum[i];
			uint32_t bits = bits_of(near);

			bits -= fabs((double)near) > fabs(sum[i]);
			bits |= (double)near != sum[i];
			out[first + i] = to_bf16(isnan(sum[i]) ? bits_of(near) : bits);
		}
	}
	return true;
}

static bool binary(const struct shlo_step *step, void *out, const void *const *in, bool by_one,
		   size_t count)
{
	switch (step->code) {
	case SHLO_B_SHIFT_LEFT:
	case SHLO_B_SHIFT_RIGHT_LOGICAL:
	case SHLO_B_SHIFT_RIGHT_ARITHMETIC:
		return shift(step, out, in, by_one, count);
	case SHLO_B_AND:
	case SHLO_B_OR:
	case SHLO_B_XOR:
		/* Booleans are bytes of 0 or 1. */
		return shlo_combine((enum shlo_binary)step->code,
				    step->element == SHLO_I1 ? SHLO_UI8 : step->element, out, in[0],
				    in[1], count);
	default:
		if (step->element == SHLO_BF16)
			return by_double(step, out, in[0], in[1], count);
		return shlo_combine((enum shlo_binary)step->code, step->element, out, in[0], in[1],
				    count);
	}
}

bool shlo_combine_step(const struct shlo_step *step, void *out, const void *const *in, bool by_one,
		       size_t count)
{
	switch (step->family) {
	case SHLO_UNARY:
		return unary(step, out, in, count);
	case SHLO_BINARY:
		return binary(step, out, in, by_one, count);
	case SHLO_COMPARE:
		return compare(step, out, in, count);
	case SHLO_SELECT:
		return choose(step, out, in, count);
	case SHLO_CONVERT:
		return convert(step, out, in, count);
	default:
		return false;
	}
}
