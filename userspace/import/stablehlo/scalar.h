/* SPDX-License-Identifier: MIT */
/* Operations on single elements, for element-wise operations and regions of scalars. */
#ifndef SHLO_SCALAR_H
#define SHLO_SCALAR_H

#include "element.h"

enum shlo_unary {
#define UNARY(name) SHLO_U_##name,
#define BINARY(name)
#include "scalars.def"
#undef UNARY
#undef BINARY
	SHLO_UNARY_COUNT
};

enum shlo_binary {
#define UNARY(name)
#define BINARY(name) SHLO_B_##name,
#include "scalars.def"
#undef UNARY
#undef BINARY
	SHLO_BINARY_COUNT
};

enum shlo_direction { SHLO_EQ, SHLO_NE, SHLO_GE, SHLO_GT, SHLO_LE, SHLO_LT };

/*
 * shlo_unary() and shlo_binary() return a number of @element, rounded to that type. real, imag and
 * abs of complex numbers have the part's type; is_finite and the like are boolean. Both set *done
 * to whether the operation takes the type.
 */
struct shlo_num shlo_unary(enum shlo_unary op, enum shlo_element element, struct shlo_num x,
			   bool *done);
struct shlo_num shlo_binary(enum shlo_binary op, enum shlo_element element, struct shlo_num x,
			    struct shlo_num y, bool *done);
bool shlo_compare(enum shlo_direction direction, enum shlo_element element, bool total,
		  struct shlo_num x, struct shlo_num y);
/*
 * Returns an integer that rises with floats in total order: -NaN < -Inf < … < -0 < +0 < … < +Inf <
 * +NaN.
 */
int64_t shlo_total_order(enum shlo_element element, double value);
/* Returns @value rounded to fewer bits as stablehlo.reduce_precision does. */
double shlo_reduce_precision(enum shlo_element element, double value, int exponent_bits,
			     int mantissa_bits);

/*
 * Functions of floats and complex numbers, for scalar.c. shlo_unary_float() and
 * shlo_unary_complex() return false when they do not have the operation.
 */
bool shlo_unary_float(enum shlo_unary op, enum shlo_element element, double x, double *result);
bool shlo_unary_complex(enum shlo_unary op, struct shlo_num x, struct shlo_num *result);

long double shlo_digamma(long double x);
long double shlo_zeta(long double x, long double q);
long double shlo_polygamma(long double n, long double x);
long double shlo_erf_inv(long double x);
long double shlo_bessel_i1e(long double x);

#endif
