// SPDX-License-Identifier: MIT
/* Operations on one or two elements of any type. */
#include "scalar.h"

#include <complex.h>
#include <math.h>

#include "element.h"

static struct shlo_num integer_unary(enum shlo_unary op, enum shlo_element element,
				     struct shlo_num x, bool *done)
{
	unsigned int bits = shlo_elements[element].bits;
	uint64_t mask = UINT64_MAX >> (64 - bits);

	switch (op) {
	case SHLO_U_ABS:
		return shlo_int(shlo_class(element) == SHLO_SIGNED && x.i < 0 ? (int64_t)(0 - x.u) :
										x.i);
	case SHLO_U_NEGATE:
		return shlo_int((int64_t)(0 - x.u));
	case SHLO_U_NOT:
		return shlo_int(element == SHLO_I1 ? !x.i : ~x.i);
	case SHLO_U_POPCNT:
		return shlo_int(__builtin_popcountll(x.u & mask));
	case SHLO_U_CLZ:
		return shlo_int(x.u & mask ? __builtin_clzll(x.u & mask) - (int)(64 - bits) :
					     (int)bits);
	case SHLO_U_SIGN:
		return shlo_int(shlo_class(element) == SHLO_UNSIGNED ? x.u != 0 :
								       (x.i > 0) - (x.i < 0));
	case SHLO_U_IS_FINITE:
		return shlo_int(1);
	case SHLO_U_SQUARE:
		return shlo_int((int64_t)(x.u * x.u));
	default:
		*done = false;
		return x;
	}
}

static struct shlo_num unary_number(enum shlo_unary op, enum shlo_element element,
				    struct shlo_num x, bool *done)
{
	struct shlo_num result = { 0 };

	if (!shlo_is_complex(element)) {
		*done = shlo_unary_float(op, element, x.re, &result.re);
		return result;
	}
	switch (op) {
	case SHLO_U_ABS:
		return shlo_real((double)hypotl(x.re, x.im));
	case SHLO_U_REAL:
		return shlo_real(x.re);
	case SHLO_U_IMAG:
		return shlo_real(x.im);
	default:
		*done = shlo_unary_complex(op, x, &result);
		return result;
	}
}

struct shlo_num shlo_unary(enum shlo_unary op, enum shlo_element element, struct shlo_num x,
			   bool *done)
{
	bool real = shlo_is_float(element);
	struct shlo_num result;

	*done = true;
	if (!real && !shlo_is_complex(element))
		return shlo_round(element, integer_unary(op, element, x, done));
	switch (op) {
	case SHLO_U_IS_FINITE:
		return shlo_int(isfinite(x.re) && (real || isfinite(x.im)));
	case SHLO_U_IS_INF:
		return shlo_int(isinf(x.re));
	case SHLO_U_IS_NEG_INF:
		return shlo_int(isinf(x.re) && x.re < 0);
	case SHLO_U_IS_POS_INF:
		return shlo_int(isinf(x.re) && x.re > 0);
	case SHLO_U_ABS:
	case SHLO_U_REAL:
	case SHLO_U_IMAG:
		return shlo_round(shlo_element_part(element), unary_number(op, element, x, done));
	default:
		break;
	}
	result = unary_number(op, element, x, done);
	return shlo_round(element, result);
}

/* ---- two operands */

static int64_t power(uint64_t base, int64_t exponent, bool is_signed)
{
	uint64_t result = 1;

	if (is_signed && exponent < 0)
		return base == 1 ? 1 : base == UINT64_MAX ? (exponent & 1 ? -1 : 1) : 0;
	for (uint64_t left = (uint64_t)exponent; left; left >>= 1) {
		if (left & 1)
			result *= base;
		base *= base;
	}
	return (int64_t)result;
}

static int64_t shift(enum shlo_binary op, enum shlo_element element, struct shlo_num x, uint64_t by)
{
	unsigned int bits = shlo_elements[element].bits;
	uint64_t mask = UINT64_MAX >> (64 - bits);

	by &= mask;
	if (op == SHLO_B_SHIFT_LEFT)
		return by < bits ? (int64_t)(x.u << by) : 0;
	if (op == SHLO_B_SHIFT_RIGHT_LOGICAL)
		return by < bits ? (int64_t)((x.u & mask) >> by) : 0;
	/* An arithmetic shift takes the top bit of an unsigned number as its sign, too. */
	if (shlo_class(element) == SHLO_UNSIGNED)
		x.i = (int64_t)(x.u << (64 - bits)) >> (64 - bits);
	return by < bits ? x.i >> by : x.i < 0 ? -1 : 0;
}

/*
 * Returns a quotient or remainder. Division by zero and the overflow of the least number have the
 * values that XLA gives them.
 */
static int64_t quotient(enum shlo_binary op, bool is_signed, struct shlo_num x, struct shlo_num y)
{
	bool remainder = op == SHLO_B_REMAINDER;

	if (!y.u)
		return remainder ? x.i : -1;
	if (!is_signed)
		return (int64_t)(remainder ? x.u % y.u : x.u / y.u);
	if (y.i == -1)
		return remainder ? 0 : (int64_t)(0 - x.u);
	return remainder ? x.i % y.i : x.i / y.i;
}

static int64_t high_product(enum shlo_element element, struct shlo_num x, struct shlo_num y)
{
	unsigned int bits = shlo_elements[element].bits;

	if (shlo_class(element) == SHLO_UNSIGNED)
		return (int64_t)(uint64_t)((unsigned __int128)x.u * y.u >> bits);
	return (int64_t)((__int128)x.i * y.i >> bits);
}

static struct shlo_num integer_binary(enum shlo_binary op, enum shlo_element element,
				      struct shlo_num x, struct shlo_num y, bool *done)
{
	bool is_signed = shlo_class(element) == SHLO_SIGNED, less;

	switch (op) {
	case SHLO_B_ADD:
		return shlo_int(element == SHLO_I1 ? x.i | y.i : (int64_t)(x.u + y.u));
	case SHLO_B_SUBTRACT:
		return shlo_int(element == SHLO_I1 ? x.i ^ y.i : (int64_t)(x.u - y.u));
	case SHLO_B_MULTIPLY:
		return shlo_int((int64_t)(x.u * y.u));
	case SHLO_B_AND:
		return shlo_int(x.i & y.i);
	case SHLO_B_OR:
		return shlo_int(x.i | y.i);
	case SHLO_B_XOR:
		return shlo_int(x.i ^ y.i);
	case SHLO_B_MAXIMUM:
	case SHLO_B_MINIMUM:
		less = is_signed ? x.i < y.i : x.u < y.u;
		return less == (op == SHLO_B_MINIMUM) ? x : y;
	case SHLO_B_DIVIDE:
	case SHLO_B_REMAINDER:
		return shlo_int(quotient(op, is_signed, x, y));
	case SHLO_B_POWER:
		return shlo_int(power(x.u, y.i, is_signed));
	case SHLO_B_SHIFT_LEFT:
	case SHLO_B_SHIFT_RIGHT_ARITHMETIC:
	case SHLO_B_SHIFT_RIGHT_LOGICAL:
		return shlo_int(shift(op, element, x, y.u));
	case SHLO_B_MULHI:
		return shlo_int(high_product(element, x, y));
	default:
		*done = false;
		return x;
	}
}

/* Returns the neighbour of x towards y, in the precision of the element type. */
static double next_after(enum shlo_element element, double x, double y)
{
	uint64_t bits, top = UINT64_C(1) << (shlo_elements[element].bits - 1);

	if (isnan(x) || isnan(y))
		return NAN;
	if (x == y)
		return y;
	if (x == 0)
		return copysign(shlo_float_value(element, 1), y);
	bits = shlo_float_bits(element, x);
	bits = ((x < y) == !(bits & top)) ? bits + 1 : bits - 1;
	return shlo_float_value(element, bits);
}

static double extreme(bool least, double x, double y)
{
	if (isnan(x) || isnan(y))
		return NAN;
	if (x == y)
		return least == (bool)signbit(x) ? x : y;
	return (x < y) == least ? x : y;
}

static bool float_binary(enum shlo_binary op, enum shlo_element element, double x, double y,
			 double *result)
{
	switch (op) {
	case SHLO_B_ADD:
		*result = x + y;
		break;
	case SHLO_B_SUBTRACT:
		*result = x - y;
		break;
	case SHLO_B_MULTIPLY:
		*result = x * y;
		break;
	case SHLO_B_DIVIDE:
		*result = x / y;
		break;
	case SHLO_B_MAXIMUM:
	case SHLO_B_MINIMUM:
		*result = extreme(op == SHLO_B_MINIMUM, x, y);
		break;
	case SHLO_B_REMAINDER:
		*result = fmod(x, y);
		break;
	case SHLO_B_POWER:
		*result = (double)powl(x, y);
		break;
	case SHLO_B_ATAN2:
		*result = (double)atan2l(x, y);
		break;
	case SHLO_B_NEXT_AFTER:
		*result = next_after(element, x, y);
		break;
	case SHLO_B_POLYGAMMA:
		*result = (double)shlo_polygamma(x, y);
		break;
	case SHLO_B_ZETA:
		*result = (double)shlo_zeta(x, y);
		break;
	default:
		return false;
	}
	return true;
}

/* Whether x is less than y: the real parts are compared first, then the imaginary parts. */
static bool complex_less(struct shlo_num x, struct shlo_num y)
{
	return x.re < y.re || (x.re == y.re && x.im < y.im);
}

/* Returns x * y. Rounds each step, as a composition of real operations would. */
static struct shlo_num complex_product(enum shlo_element element, struct shlo_num x,
				       struct shlo_num y)
{
	enum shlo_element part = shlo_element_part(element);
	double a = shlo_round(part, shlo_real(x.re * y.re)).re;
	double b = shlo_round(part, shlo_real(x.im * y.im)).re;
	double c = shlo_round(part, shlo_real(x.re * y.im)).re;
	double d = shlo_round(part, shlo_real(x.im * y.re)).re;

	return (struct shlo_num){ .re = a - b, .im = c + d };
}

static bool complex_binary(enum shlo_binary op, enum shlo_element element, struct shlo_num x,
			   struct shlo_num y, struct shlo_num *result)
{
	long double complex a = CMPLXL(x.re, x.im), b = CMPLXL(y.re, y.im), w;

	switch (op) {
	case SHLO_B_ADD:
		w = a + b;
		break;
	case SHLO_B_SUBTRACT:
		w = a - b;
		break;
	case SHLO_B_MULTIPLY:
		*result = complex_product(element, x, y);
		return true;
	case SHLO_B_DIVIDE:
		w = a / b;
		break;
	case SHLO_B_POWER:
		w = a == 0 && b != 0 ? 0 : cpowl(a, b);
		break;
	case SHLO_B_ATAN2:
		/* atan2(x, y) is -i log((y + i x) / sqrt(x² + y²)). */
		w = -I * clogl((b + I * a) / csqrtl(a * a + b * b));
		break;
	case SHLO_B_MAXIMUM:
	case SHLO_B_MINIMUM:
		*result = complex_less(x, y) == (op == SHLO_B_MINIMUM) ? x : y;
		return true;
	default:
		return false;
	}
	result->re = (double)creall(w);
	result->im = (double)cimagl(w);
	return true;
}

struct shlo_num shlo_binary(enum shlo_binary op, enum shlo_element element, struct shlo_num x,
			    struct shlo_num y, bool *done)
{
	struct shlo_num result = { 0 };

	*done = true;
	if (shlo_is_float(element))
		*done = float_binary(op, element, x.re, y.re, &result.re);
	else if (shlo_is_complex(element))
		*done = complex_binary(op, element, x, y, &result);
	else
		result = integer_binary(op, element, x, y, done);
	return shlo_round(element, result);
}

/* ---- comparison */

static bool by_order(enum shlo_direction direction, int order)
{
	switch (direction) {
	case SHLO_EQ:
		return order == 0;
	case SHLO_NE:
		return order != 0;
	case SHLO_GE:
		return order >= 0;
	case SHLO_GT:
		return order > 0;
	case SHLO_LE:
		return order <= 0;
	default:
		return order < 0;
	}
}

int64_t shlo_total_order(enum shlo_element element, double value)
{
	uint64_t top = UINT64_C(1) << (shlo_elements[element].bits - 1);
	uint64_t bits = shlo_float_bits(element, value);

	return bits & top ? -(int64_t)(bits & ~top) - 1 : (int64_t)bits;
}

bool shlo_compare(enum shlo_direction direction, enum shlo_element element, bool total,
		  struct shlo_num x, struct shlo_num y)
{
	bool is_signed = shlo_class(element) == SHLO_SIGNED;

	if (shlo_is_float(element) && total) {
		int64_t a = shlo_total_order(element, x.re), b = shlo_total_order(element, y.re);

		return by_order(direction, (a > b) - (a < b));
	}
	if (shlo_is_float(element)) {
		if (isnan(x.re) || isnan(y.re))
			return direction == SHLO_NE;
		return by_order(direction, (x.re > y.re) - (x.re < y.re));
	}
	if (shlo_is_complex(element)) {
		if (isnan(x.re) || isnan(y.re) || isnan(x.im) || isnan(y.im))
			return direction == SHLO_NE;
		return by_order(direction, complex_less(y, x) - complex_less(x, y));
	}
	return by_order(direction,
			is_signed ? (x.i > y.i) - (x.i < y.i) : (x.u > y.u) - (x.u < y.u));
}

double shlo_reduce_precision(enum shlo_element element, double value, int exponent_bits,
			     int mantissa_bits)
{
	const struct shlo_element_info *info = &shlo_elements[element];
	uint64_t bits = shlo_float_bits(element, value), sign = UINT64_C(1) << (info->bits - 1);
	uint64_t infinity = ((UINT64_C(1) << info->exponent) - 1) << info->mantissa;

	if (isnan(value))
		return mantissa_bits ? value : INFINITY;
	if (mantissa_bits < info->mantissa) {
		int dropped = info->mantissa - mantissa_bits;
		uint64_t last = bits >> dropped & 1;

		/*
		 * Rounds to the nearest, ties to even; a carry goes into the exponent, and may give
		 * infinity.
		 */
		bits += last + (UINT64_C(1) << (dropped - 1)) - 1;
		bits &= ~((UINT64_C(1) << dropped) - 1);
	}
	if (exponent_bits < info->exponent) {
		uint64_t middle = (UINT64_C(1) << (info->exponent - 1)) - 1;
		uint64_t reach = (UINT64_C(1) << (exponent_bits - 1)) - 1;
		uint64_t exponent = bits & infinity;

		/*
		 * A number below the least normal one becomes zero, and one that is too large
		 * infinity.
		 */
		if (exponent > (middle + reach) << info->mantissa)
			bits = (bits & sign) | infinity;
		else if (exponent <= (middle - reach) << info->mantissa)
			bits &= sign;
	}
	return shlo_float_value(element, bits);
}
