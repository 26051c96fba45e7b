/* SPDX-License-Identifier: MIT */
/* Element types of StableHLO, and elements as numbers, for the reference kernels. */
#ifndef SHLO_ELEMENT_H
#define SHLO_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum shlo_element {
#define ELEMENT(name, ...) SHLO_##name,
#include "elements.def"
#undef ELEMENT
	SHLO_ELEMENT_COUNT
};

enum shlo_class { SHLO_BOOL, SHLO_SIGNED, SHLO_UNSIGNED, SHLO_FLOAT, SHLO_COMPLEX };

/* The meaning of the largest exponent; the names are those of LLVM's APFloat. */
enum shlo_special {
	SHLO_NONE,   /* the type is no float */
	SHLO_IEEE,   /* infinities and NaN, as in IEEE 754 */
	SHLO_FN,     /* no infinity; NaN is all ones */
	SHLO_FNUZ,   /* no infinity and no negative zero; the pattern of -0 is NaN */
	SHLO_FINITE, /* neither infinity nor NaN */
	SHLO_E8M0,   /* powers of two, without sign, zero and infinity; NaN is all ones */
};

struct shlo_element_info {
	const char *text;
	enum shlo_class class;
	unsigned int bits, bytes;
	int exponent, mantissa, bias; /* floats: bits of exponent and mantissa, bias */
	enum shlo_special special;
};

extern const struct shlo_element_info shlo_elements[SHLO_ELEMENT_COUNT];

/*
 * An element of any type: integers and booleans as 64 bits, floats as double, which holds the
 * numbers of all float types, and complex numbers as two of these.
 */
struct shlo_num {
	union {
		int64_t i;
		uint64_t u;
		double re;
	};
	double im;
};

static inline enum shlo_class shlo_class(enum shlo_element element)
{
	return shlo_elements[element].class;
}

static inline bool shlo_is_integer(enum shlo_element element)
{
	return shlo_class(element) == SHLO_SIGNED || shlo_class(element) == SHLO_UNSIGNED;
}

static inline bool shlo_is_float(enum shlo_element element)
{
	return shlo_class(element) == SHLO_FLOAT;
}

static inline bool shlo_is_complex(enum shlo_element element)
{
	return shlo_class(element) == SHLO_COMPLEX;
}

/* Returns the type with this name, such as bf16; -1: there is none. */
int shlo_element_find(const char *text, size_t length);
/* Returns the type of the real and imaginary part of a complex type; other types unchanged. */
enum shlo_element shlo_element_part(enum shlo_element element);
/* Returns the complex type whose parts have this type, f32 or f64; other types unchanged. */
enum shlo_element shlo_element_complex(enum shlo_element element);

/* Returns the unsigned type with the bits of a signed integer type; other types unchanged. */
enum shlo_element shlo_element_unsigned(enum shlo_element element);

/* Return and store element @index of an array of elements in memory. */
struct shlo_num shlo_load(enum shlo_element element, const void *data, size_t index);
/*
 * Integers wrap around; any number but 0 is stored as the boolean true. Floats are rounded to the
 * nearest, ties to even.
 */
void shlo_store(enum shlo_element element, void *data, size_t index, struct shlo_num number);
/* Returns the number rounded or wrapped to an element type. */
struct shlo_num shlo_round(enum shlo_element element, struct shlo_num number);

/* Return the bits of a float element, at most 64, and the float of such bits. */
uint64_t shlo_float_bits(enum shlo_element element, double value);
double shlo_float_value(enum shlo_element element, uint64_t bits);

/* Return the largest finite number of a float type, and the smallest positive one. */
double shlo_float_most(enum shlo_element element);
double shlo_float_least(enum shlo_element element);

/* Returns a number of type @from converted to type @to, as stablehlo.convert does. */
struct shlo_num shlo_convert(enum shlo_element to, enum shlo_element from, struct shlo_num number);

static inline struct shlo_num shlo_int(int64_t value)
{
	return (struct shlo_num){ .i = value };
}

static inline struct shlo_num shlo_real(double value)
{
	return (struct shlo_num){ .re = value };
}

/* Return 0 and 1 of a type. */
struct shlo_num shlo_zero(enum shlo_element element);
struct shlo_num shlo_one(enum shlo_element element);

#endif
