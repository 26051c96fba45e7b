// SPDX-License-Identifier: MIT
/*
 * Computes the error bounds of operators that move elements, and of functions of single elements.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/element.h"
#include "cpu/ref/reference.h"
#include "oracle.h"

/* --- Operators that move elements --- */

static void no_padding(struct ir_node *node)
{
	if (node->op == IR_OP_PAD)
		node->attrs.pad.value = 0;
}

double *bound_moved(const struct work *work, uint32_t r)
{
	bool indexed = work->node->op == IR_OP_GATHER || work->node->op == IR_OP_SCATTER;
	double *bound;

	if (!work->slack)
		return NULL;
	bound = run_on(work, SLACK, indexed ? ALL & ~2u : ALL, no_padding, r);
	if (indexed && work->in[1].slack)
		for (int64_t i = 0; i < work->out[r]->count; i++)
			bound[i] = INFINITY;
	return bound;
}

double *bound_where(const struct work *work, uint32_t r)
{
	double *bound, *condition, *a, *b;
	int64_t count = work->out[r]->count;

	if (!work->slack)
		return NULL;
	bound = run_on(work, SLACK, 6, NULL, r);
	if (!work->in[0].slack)
		return bound;
	/* The run gives INFINITY where errors may change the condition, and 0 elsewhere. */
	condition = slack_of(&work->in[0]);
	a = new_doubles(1);
	b = new_doubles(1);
	a[0] = INFINITY;
	{
		struct kernel kernel;
		struct ir_type one = ir_type_make(IR_F64, 0, NULL);
		uint8_t *bits = calloc(1, (size_t)work->in[0].count + 1);
		double *out;

		if (!bits)
			oracle_fail("memory is exhausted");
		for (int64_t i = 0; i < work->in[0].count; i++)
			bits[i] = condition[i] > 0;
		kernel_init(&kernel, work);
		kernel_widen_result(&kernel);
		kernel.in[0] = bits;
		kernel_set(&kernel, 1, a);
		kernel_set(&kernel, 2, b);
		kernel.values[1].type = kernel.values[2].type = one;
		out = kernel_run(&kernel, r);
		for (int64_t i = 0; i < count; i++)
			bound[i] += out[i];
		free(out);
		free(bits);
	}
	free(condition);
	free(a);
	free(b);
	return bound;
}

/* --- Functions of one element --- */

/* Returns the error of a function in binary32; 0: the function is exact. */
static double unary_loss(const struct ir_unary_attrs *attrs, double x, double v)
{
	double ulp = unit_in_last_place(IR_F32, v), ax = fabs(x);

	switch (attrs->kind) {
	case IR_ABS:
	case IR_NEG:
	case IR_SIGN:
	case IR_CEIL:
	case IR_FLOOR:
	case IR_ROUND_EVEN:
	case IR_RELU:
	case IR_CLAMP:
		return 0;
	case IR_SQRT:
	case IR_RECIPROCAL:
	case IR_LEAKY_RELU:
		return ulp;
	case IR_LINEAR:
	case IR_HARD_SIGMOID:
		return ulp +
		       2 * U32 * (fabs((double)attrs->alpha) * ax + fabs((double)attrs->beta));
	case IR_HARD_SWISH:
		return ulp * 2 + 2 * U32 * ax;
	case IR_GELU:
		return ulp * 4 + 2 * U32 * fmin(ax, 1);
	case IR_ELU:
		return x > 0 ? 0 : ulp * 4;
	default:
		return ulp * 4;
	}
}

/*
 * Returns whether an odd multiple of pi / 2 is in [x - s, x + s]. Next to such a pole tan may have
 * any value of either sign. Between two poles tan only grows, so that its largest distance from
 * tan(x) is at an end of the interval.
 */
static bool tan_has_pole(double x, double s)
{
	return floor((x - s) / M_PI + 0.5) != floor((x + s) / M_PI + 0.5);
}

/*
 * Returns the largest distance from v of the extremes of sin or cos in [x - s, x + s]; 0 when there
 * are none. The extremes are 1 and -1 by turns, pi apart.
 */
static double spread_of_extremes(enum ir_unary kind, double x, double s, double v)
{
	double first = kind == IR_COS ? 0 : M_PI_2; /* the value is 1 here, and every 2 * pi */
	double from = ceil((x - s - first) / M_PI), to = floor((x + s - first) / M_PI);

	if (to > from)
		return 1 + fabs(v);
	return to < from ? 0 : fabs((fmod(from, 2) == 0 ? 1 : -1) - v);
}

/*
 * Returns the largest distance of the function from v, its value at x, on [x - s, x + s]. Measures
 * four points and the extremes of sin and cos, which may lie between the points; adds a quarter for
 * functions that are not steps. INFINITY: the interval has a pole of tan, or a distance is NaN.
 */
static double unary_spread(const struct ir_unary_attrs *attrs, double x, double s, double v)
{
	static const double at[] = { -1, -0.5, 0.5, 1 };
	double most = 0;

	if (attrs->kind == IR_TAN && tan_has_pole(x, s))
		return INFINITY;
	if (attrs->kind == IR_COS || attrs->kind == IR_SIN)
		most = spread_of_extremes(attrs->kind, x, s, v);
	for (size_t k = 0; k < ARRAY_SIZE(at); k++) {
		double distance = fabs(cpu_apply_unary(attrs, x + at[k] * s) - v);

		if (isnan(distance))
			return INFINITY;
		most = fmax(most, distance);
	}
	return attrs->kind == IR_CEIL || attrs->kind == IR_FLOOR || attrs->kind == IR_SIGN ||
			       attrs->kind == IR_ROUND_EVEN ?
		       most :
		       most * 1.25;
}

double *bound_unary(const struct work *work, uint32_t r)
{
	const struct ir_unary_attrs *attrs = &work->node->attrs.unary;
	const struct operand *in = &work->in[0];
	struct truth *out = work->out[r];
	double *bound;

	if (!out->exact && !in->slack)
		return NULL;
	if (!out->exact) {
		bound = slack_of(in);
		if (in->is_float) /* isNaN and isInfinite of operands that may have overflowed */
			for (int64_t i = 0; i < out->count; i++)
				bound[i] = isinf(bound[i]) ? INFINITY : 0;
		return bound;
	}
	bound = new_doubles(out->count);
	for (int64_t i = 0; i < out->count; i++) {
		double s = in->slack ? in->slack[i] : 0, v = out->exact[i];

		bound[i] = unary_loss(attrs, in->wide[i], v);
		if (bound[i] > 0)
			bound[i] += rounding(out->type.dtype, v);
		if (s > 0)
			bound[i] += isinf(s) ? INFINITY : unary_spread(attrs, in->wide[i], s, v);
		/* A result that may be on either side of 0 may be a zero of either sign. */
		if (s > 0 && fabs(in->wide[i]) <= s && v == 0)
			bound[i] = fmax(bound[i], DBL_MIN);
	}
	return bound;
}

/* --- Functions of two elements --- */

/*
 * Returns whether IEEE 754 defines the bits of the result. Those of a function of two binary16 may
 * differ, as a device may round only after the activation that follows.
 */
static bool binary_is_exact(enum ir_binary kind, enum ir_dtype dtype)
{
	switch (kind) {
	case IR_MAX:
	case IR_MIN:
		return true;
	case IR_ADD:
	case IR_SUB:
	case IR_MUL:
	case IR_DIV:
		return dtype == IR_F32;
	default:
		return false;
	}
}

/* The two operands at each element of the result, and their errors. */
struct pairs {
	double *value[2], *slack[2];
};

static void take_left(struct ir_node *node)
{
	node->op = IR_OP_EXPAND;
	node->num_operands = 1;
}

static double *expanded(const struct work *work, uint32_t which, double *data)
{
	struct kernel kernel;
	double *out;

	kernel_init(&kernel, work);
	kernel_widen_result(&kernel);
	kernel_set(&kernel, which, data);
	take_left(&kernel.node);
	kernel.operands[0] = &kernel.values[which];
	kernel.in[0] = data;
	out = kernel_run(&kernel, 0);
	free(data);
	return out;
}

static void pairs_make(struct pairs *pairs, const struct work *work)
{
	for (uint32_t k = 0; k < 2; k++) {
		pairs->value[k] = expanded(work, k, widened(&work->in[k]));
		pairs->slack[k] = expanded(work, k, slack_of(&work->in[k]));
	}
}

static void pairs_free(struct pairs *pairs)
{
	for (uint32_t k = 0; k < 2; k++) {
		free(pairs->value[k]);
		free(pairs->slack[k]);
	}
}

static double apply_binary(enum ir_binary kind, double a, double b)
{
	switch (kind) {
	case IR_ADD:
		return a + b;
	case IR_SUB:
		return a - b;
	case IR_MUL:
		return a * b;
	case IR_DIV:
		return a / b;
	case IR_MAX:
		return a > b ? a : b;
	case IR_MIN:
		return a < b ? a : b;
	case IR_POW:
		return pow(a, b);
	default:
		return a < 0 ? a * b : a; /* prelu */
	}
}

static double binary_spread(enum ir_binary kind, const double *value, const double *slack, double v)
{
	double most = 0;

	if (isinf(slack[0]) || isinf(slack[1]))
		return INFINITY;
	if (kind == IR_DIV && fabs(value[1]) <= slack[1])
		return INFINITY;
	for (int i = -1; i <= 1; i++)
		for (int k = -1; k <= 1; k++) {
			double distance = fabs(apply_binary(kind, value[0] + i * slack[0],
							    value[1] + k * slack[1]) -
					       v);

			if (isnan(distance))
				return INFINITY;
			most = fmax(most, distance);
		}
	return most * 1.25;
}

/*
 * Returns the largest error of an integer result. With errors in the operands it is INFINITY for a
 * quotient, a power, and a result that may wrap around.
 */
static double integer_spread(enum ir_binary kind, enum ir_dtype dtype, const double *value,
			     const double *slack)
{
	double v, most;

	if (slack[0] == 0 && slack[1] == 0)
		return 0;
	if (kind == IR_AND || kind == IR_OR || kind == IR_XOR)
		return 1;
	if (kind == IR_DIV || kind == IR_POW)
		return INFINITY;
	v = apply_binary(kind, value[0], value[1]);
	most = binary_spread(kind, value, slack, v);
	return fits_integer(dtype, v - most) && fits_integer(dtype, v + most) ? most : INFINITY;
}

/* Returns whether erf or tanh is among the last few operators that computed a value. */
static bool from_curve(const struct ir_value *value, int depth)
{
	const struct ir_node *node = value->def;

	if (!node || !depth)
		return false;
	if (node->op == IR_OP_UNARY &&
	    (node->attrs.unary.kind == IR_ERF || node->attrs.unary.kind == IR_TANH))
		return true;
	for (uint32_t i = 0; node->op == IR_OP_BINARY && i < 2; i++)
		if (from_curve(node->operands[i], depth - 1))
			return true;
	return false;
}

/*
 * Returns the error of a product that may be the end of a composed gelu, which devices compute as
 * one function; 0 for other nodes.
 */
static double gelu_loss(const struct ir_node *node, double x)
{
	if (node->attrs.binary.kind != IR_MUL ||
	    (!from_curve(node->operands[0], 4) && !from_curve(node->operands[1], 4)))
		return 0;
	return 4 * unit_in_last_place(IR_F32, x);
}

/* Returns whether a value is a constant whose elements are equal, which devices take as a number. */
static bool is_number(const struct ir_value *value)
{
	int64_t count = ir_type_elements(&value->type);

	if (value->kind != IR_VALUE_CONSTANT || count == 0)
		return false;
	for (int64_t i = 1; i < count; i++)
		if (cpu_load(value->type.dtype, value->constant->data, i) !=
		    cpu_load(value->type.dtype, value->constant->data, 0))
			return false;
	return true;
}

/* Returns whether a value is x / a with a number a. */
static bool is_quotient(const struct ir_value *value)
{
	const struct ir_node *node = value->def;

	return node && node->op == IR_OP_BINARY && node->attrs.binary.kind == IR_DIV &&
	       is_number(node->operands[1]);
}

/*
 * Returns whether a value is x * a or x / a with a number a. Devices compute x * a + b as one
 * function, and need not round the product; for x / a they may multiply by the rounded 1 / a.
 */
static bool is_scaled(const struct ir_value *value)
{
	const struct ir_node *node = value->def;

	return is_quotient(value) ||
	       (node && node->op == IR_OP_BINARY && node->attrs.binary.kind == IR_MUL &&
		(is_number(node->operands[0]) || is_number(node->operands[1])));
}

/* Returns which operand of a sum or a difference is perhaps not rounded; 2: none. */
static uint32_t scaled_operand(const struct ir_node *node)
{
	enum ir_binary kind = node->attrs.binary.kind;

	for (uint32_t i = 0; i < 2 && (kind == IR_ADD || (kind == IR_SUB && !i)); i++)
		if (is_scaled(node->operands[i]) && is_number(node->operands[!i]))
			return i;
	return 2;
}

double *bound_binary(const struct work *work, uint32_t r)
{
	enum ir_binary kind = work->node->attrs.binary.kind;
	struct truth *out = work->out[r];
	double *bound;
	struct pairs pairs;

	uint32_t scaled = scaled_operand(work->node);
	bool exact = binary_is_exact(kind, out->type.dtype) && scaled == 2;
	double fused[2] = { fused_loss(work->node->operands[0]),
			    fused_loss(work->node->operands[1]) };

	if (!work->slack && (!out->exact || exact))
		return NULL;
	bound = new_doubles(out->count);
	pairs_make(&pairs, work);
	for (int64_t i = 0; i < out->count; i++) {
		double value[2] = { pairs.value[0][i], pairs.value[1][i] };
		double slack[2] = { pairs.slack[0][i], pairs.slack[1][i] };

		if (!out->exact) {
			bound[i] = integer_spread(kind, out->type.dtype, value, slack);
			continue;
		}
		/*
		 * When operands have errors, a device may have fused the operators that computed
		 * them with this one.
		 */
		if (!exact || slack[0] > 0 || slack[1] > 0)
			bound[i] = rounding(out->type.dtype, out->exact[i]);
		if (scaled < 2)
			bound[i] += rounding(out->type.dtype, value[scaled]) *
				    (is_quotient(work->node->operands[scaled]) ? 2 : 1);
		if (kind == IR_POW)
			bound[i] += 4 * unit_in_last_place(IR_F32, out->exact[i]);
		if (slack[0] > 0 || slack[1] > 0)
			bound[i] += binary_spread(kind, value, slack, out->exact[i]) +
				    gelu_loss(work->node, out->exact[i]);
		if (kind == IR_ADD)
			bound[i] += fused[0] * fabs(value[1]) + fused[1] * fabs(value[0]);
	}
	pairs_free(&pairs);
	return bound;
}

double *bound_compare(const struct work *work, uint32_t r)
{
	struct truth *out = work->out[r];
	struct pairs pairs;
	double *bound;

	if (!work->slack)
		return NULL;
	bound = new_doubles(out->count);
	pairs_make(&pairs, work);
	for (int64_t i = 0; i < out->count; i++) {
		double slack = pairs.slack[0][i] + pairs.slack[1][i];
		double distance = fabs(pairs.value[0][i] - pairs.value[1][i]);

		if (isinf(slack) || (slack > 0 && distance <= slack))
			bound[i] = 1;
	}
	pairs_free(&pairs);
	return bound;
}

double *bound_cast(const struct work *work, uint32_t r)
{
	const struct operand *in = &work->in[0];
	struct truth *out = work->out[r];
	double *bound;

	if (!in->slack)
		return NULL;
	bound = slack_of(in);
	for (int64_t i = 0; i < out->count; i++) {
		double x = in->is_float ? in->wide[i] :
			   out->exact	? out->exact[i] :
					  (double)cpu_load_int(in->type->dtype, in->native, i);
		double s = bound[i];

		if (out->exact)
			bound[i] += s > 0 ? rounding(out->type.dtype, x) : 0;
		else if (in->is_float)
			bound[i] = isinf(s) ? INFINITY :
					      fmax(fabs(trunc(x + s) - trunc(x)),
						   fabs(trunc(x) - trunc(x - s)));
		else if (s > 0 && fabs(x) + s > 127)
			bound[i] = INFINITY;
	}
	return bound;
}
