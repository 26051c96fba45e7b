// SPDX-License-Identifier: MIT
/*
 * Functions of integers and booleans of 8 bits and more, and the tests of floats for NaN and
 * infinity, as plain loops that the compiler vectorises.
 */
#include "cpu/simd/fill.h"
#include "ir/ir.h"

#define INLINE static inline __attribute__((always_inline))

/*
 * Whether a number is negative: IS_BELOW() for signed types, IS_NEVER() for unsigned ones. Signed
 * integers are computed in the unsigned type of their width where they must wrap.
 */
#define IS_BELOW(v) ((v) < 0)
#define IS_NEVER(v) false

#define EACH(expression)                            \
	do {                                        \
		for (int64_t i = 0; i < n; i++) {   \
			value v = x[i];             \
                                                    \
			y[i] = (value)(expression); \
		}                                   \
	} while (0)

#define PAIRS(expression)                                   \
	do {                                                \
		for (int64_t i = 0; i < n; i++) {           \
			value u = a[i * sa], v = b[i * sb]; \
                                                            \
			y[i] = (value)(expression);         \
		}                                           \
	} while (0)

/* A quotient by 0 is 0. The least number divided by -1 wraps. */
#define QUOTIENT(unsigned_value, is_below)                                                  \
	(v == 0				 ? 0 :                                              \
	 is_below(v) && v == (value) - 1 ? (value)((unsigned_value)0 - (unsigned_value)u) : \
					   u / v)

/*
 * Shifts. A shift by the number of bits or more gives 0, but to the right for signed types the sign
 * in all bits. The masks let the compiler compute a shift that is not wanted, and so vectorise.
 */
#define SHIFTS(name, type, unsigned_type, is_below)                                       \
	INLINE type left_##name(type u, type v)                                           \
	{                                                                                 \
		const unsigned_type bits = 8 * sizeof(type), by = (unsigned_type)v;       \
                                                                                          \
		return by < bits ? (type)((unsigned_type)u << (by & (bits - 1))) : 0;     \
	}                                                                                 \
	INLINE type right_##name(type u, type v)                                          \
	{                                                                                 \
		const unsigned_type bits = 8 * sizeof(type), by = (unsigned_type)v;       \
                                                                                          \
		if (is_below((type) - 1))                                                 \
			return (type)(u >> (by < bits ? by : (unsigned_type)(bits - 1))); \
		return by < bits ? (type)(u >> (by & (bits - 1))) : 0;                    \
	}

/* The remainder by 0 is the dividend. Some processors fault on the least number divided by -1. */
#define REMAINDERS(name, type, unsigned_type, is_below)                                 \
	INLINE type rest_##name(type u, type v)                                         \
	{                                                                               \
		return v == 0 ? u : is_below(v) && v == (type) - 1 ? 0 : (type)(u % v); \
	}                                                                               \
	INLINE type floored_##name(type u, type v)                                      \
	{                                                                               \
		type rest = rest_##name(u, v);                                          \
                                                                                        \
		return rest && is_below(rest) != is_below(v) ? (type)(rest + v) : rest; \
	}

/*
 * Powers. A negative exponent gives the quotient 1 / power, truncated; 0 to a negative power is 0.
 */
#define POWERS(name, type, unsigned_type, is_below)                                 \
	static type power_##name(type base, type exponent)                          \
	{                                                                           \
		unsigned_type r = 1, factor = (unsigned_type)base;                  \
		unsigned_type rest = (unsigned_type)exponent;                       \
                                                                                    \
		if (is_below(exponent)) {                                           \
			if (base != 1 && base != (type) - 1)                        \
				return 0;                                           \
			return base == 1 || !(exponent & 1) ? 1 : base;             \
		}                                                                   \
		for (; rest; rest >>= 1, factor = (unsigned_type)(factor * factor)) \
			if (rest & 1)                                               \
				r = (unsigned_type)(r * factor);                    \
		return (type)r;                                                     \
	}

#define UNARY(name, type, unsigned_type, is_below)                                             \
	static bool unary_##name(int kind, int64_t lo, int64_t hi, void *to, const void *from, \
				 int64_t n)                                                    \
	{                                                                                      \
		typedef type value;                                                            \
		const type *x = from, least = (type)lo, most = (type)hi;                       \
		type *y = to;                                                                  \
                                                                                               \
		switch (kind) {                                                                \
		case IR_ABS:                                                                   \
			EACH(is_below(v) ? (unsigned_type)0 - (unsigned_type)v :               \
					   (unsigned_type)v);                                  \
			return true;                                                           \
		case IR_NEG:                                                                   \
			EACH((unsigned_type)0 - (unsigned_type)v);                             \
			return true;                                                           \
		case IR_SIGN:                                                                  \
			EACH((v != 0) - 2 * is_below(v));                                      \
			return true;                                                           \
		case IR_RELU:                                                                  \
			EACH(is_below(v) ? 0 : v);                                             \
			return true;                                                           \
		case IR_CLAMP:                                                                 \
			EACH(v<least ? (least > most ? most : least) : v> most ? most : v);    \
			return true;                                                           \
		case IR_LOGICAL_NOT:                                                           \
			EACH(v == 0);                                                          \
			return true;                                                           \
		default:                                                                       \
			return false;                                                          \
		}                                                                              \
	}

#define BINARY(name, type, unsigned_type, is_below)                                             \
	INLINE void pairs_##name(enum ir_binary kind, type *y, const type *a, const int64_t sa, \
				 const type *b, const int64_t sb, int64_t n)                    \
	{                                                                                       \
		typedef type value;                                                             \
		typedef unsigned_type wide;                                                     \
                                                                                                \
		switch (kind) {                                                                 \
		case IR_ADD:                                                                    \
			PAIRS((wide)u + (wide)v);                                               \
			break;                                                                  \
		case IR_SUB:                                                                    \
			PAIRS((wide)u - (wide)v);                                               \
			break;                                                                  \
		case IR_MUL:                                                                    \
			PAIRS((wide)u *(wide)v);                                                \
			break;                                                                  \
		case IR_DIV:                                                                    \
			PAIRS(QUOTIENT(wide, is_below));                                        \
			break;                                                                  \
		case IR_MAX:                                                                    \
			PAIRS(u > v ? u : v);                                                   \
			break;                                                                  \
		case IR_MIN:                                                                    \
			PAIRS(u < v ? u : v);                                                   \
			break;                                                                  \
		case IR_POW:                                                                    \
			PAIRS(power_##name(u, v));                                              \
			break;                                                                  \
		case IR_PRELU:                                                                  \
			PAIRS(is_below(u) ? (wide)u *(wide)v : (wide)u);                        \
			break;                                                                  \
		case IR_AND:                                                                    \
			PAIRS((u != 0) & (v != 0));                                             \
			break;                                                                  \
		case IR_OR:                                                                     \
			PAIRS((u != 0) | (v != 0));                                             \
			break;                                                                  \
		case IR_XOR:                                                                    \
			PAIRS((u != 0) ^ (v != 0));                                             \
			break;                                                                  \
		case IR_BIT_AND:                                                                \
			PAIRS(u &v);                                                            \
			break;                                                                  \
		case IR_BIT_OR:                                                                 \
			PAIRS(u | v);                                                           \
			break;                                                                  \
		case IR_BIT_XOR:                                                                \
			PAIRS(u ^ v);                                                           \
			break;                                                                  \
		case IR_SHIFT_LEFT:                                                             \
			PAIRS(left_##name(u, v));                                               \
			break;                                                                  \
		case IR_SHIFT_RIGHT:                                                            \
			PAIRS(right_##name(u, v));                                              \
			break;                                                                  \
		case IR_REMAINDER:                                                              \
			PAIRS(rest_##name(u, v));                                               \
			break;                                                                  \
		default:                                                                        \
			PAIRS(floored_##name(u, v));                                            \
		}                                                                               \
	}                                                                                       \
	static void binary_##name(enum ir_binary kind, void *y, const void *a, int64_t sa,      \
				  const void *b, int64_t sb, int64_t n)                         \
	{                                                                                       \
		if (sa && sb)                                                                   \
			pairs_##name(kind, y, a, 1, b, 1, n);                                   \
		else if (sa)                                                                    \
			pairs_##name(kind, y, a, 1, b, 0, n);                                   \
		else                                                                            \
			pairs_##name(kind, y, a, 0, b, sb, n);                                  \
	}

#define WHOLES(X)                            \
	X(i8, int8_t, uint8_t, IS_BELOW)     \
	X(u8, uint8_t, uint8_t, IS_NEVER)    \
	X(i32, int32_t, uint32_t, IS_BELOW)  \
	X(u32, uint32_t, uint32_t, IS_NEVER) \
	X(i64, int64_t, uint64_t, IS_BELOW)  \
	X(u64, uint64_t, uint64_t, IS_NEVER)
WHOLES(POWERS)
WHOLES(SHIFTS)
WHOLES(REMAINDERS)
WHOLES(UNARY)
WHOLES(BINARY)

typedef bool (*unary_fn)(int kind, int64_t lo, int64_t hi, void *y, const void *x, int64_t n);
typedef void (*binary_fn)(enum ir_binary kind, void *y, const void *a, int64_t sa, const void *b,
			  int64_t sb, int64_t n);

static const struct {
	unary_fn unary;
	binary_fn binary;
} functions[] = {
	[IR_I8] = { unary_i8, binary_i8 },    [IR_U8] = { unary_u8, binary_u8 },
	[IR_I32] = { unary_i32, binary_i32 }, [IR_U32] = { unary_u32, binary_u32 },
	[IR_I64] = { unary_i64, binary_i64 }, [IR_U64] = { unary_u64, binary_u64 },
};

static bool unary(int dtype, int kind, int64_t lo, int64_t hi, void *y, const void *x, int64_t n)
{
	return functions[dtype].unary(kind, lo, hi, y, x, n);
}

static void binary(int dtype, int kind, void *y, const void *a, int64_t sa, const void *b,
		   int64_t sb, int64_t n)
{
	functions[dtype].binary((enum ir_binary)kind, y, a, sa, b, sb, n);
}

/* --- NaN and infinities, found by their bits --- */

#define SAY(type, expression)                                            \
	do {                                                             \
		const type *x = from;                                    \
                                                                         \
		for (int64_t i = 0; i < n; i++) {                        \
			type bits = (type)(x[i] & (type) ~(type)0 >> 1); \
                                                                         \
			y[i] = (uint8_t)(expression);                    \
		}                                                        \
	} while (0)

static void says(int dtype, int kind, uint8_t *y, const void *from, int64_t n)
{
	if (kind == IR_IS_NAN) {
		if (dtype == IR_F16)
			SAY(uint16_t, bits > 0x7c00);
		else
			SAY(uint32_t, bits > 0x7f800000);
	} else {
		if (dtype == IR_F16)
			SAY(uint16_t, bits == 0x7c00);
		else
			SAY(uint32_t, bits == 0x7f800000);
	}
}

void LEVEL_TABLE(fill_whole)(struct cpu_simd *simd)
{
	simd->whole_unary = unary;
	simd->whole_binary = binary;
	simd->says = says;
}
