// SPDX-License-Identifier: MIT
/*
 * Rules that drop functions without effect, and functions that repeat an earlier one.
 *
 *	%1 = unary(%0) relu
 *	%2 = unary(%1) clamp(-1,6)	->	%2 = unary(%0) clamp(0,6) ; relu+clamp
 *
 * Results keep NaN, infinities and the sign of zero, except that clamp with a limit of 0 may give
 * either zero, where relu gives +0.
 */
#include <math.h>
#include <string.h>

#include "pass/rules.h"
#include "util/float16.h"

/* ---- neutral operands */

/*
 * one_of() returns the bits of 1 in a type. negative_zero() returns the bits of -0 in a float type,
 * those of 0 in an integer type.
 */
static uint64_t one_of(enum ir_dtype dtype)
{
	switch (dtype) {
	case IR_F32:
		return 0x3f800000;
	case IR_F16:
		return 0x3c00;
	case IR_BF16:
		return 0x3f80;
	case IR_F64:
		return UINT64_C(0x3ff) << 52;
	default:
		return 1;
	}
}

static uint64_t negative_zero(enum ir_dtype dtype)
{
	return ir_dtype_is_float(dtype) ? UINT64_C(1) << (ir_dtype_bits(dtype) - 1) : 0;
}

/* The most nodes in a row before a value that are examined. */
#define MAX_HEIGHT 4
/* The most elements of a constant that are examined. */
#define MAX_SEARCHED 4096

static bool is_positive(const struct ir_value *value, int height);

static bool are_positive(const struct ir_node *node, int height)
{
	for (uint32_t i = 0; i < node->num_operands; i++)
		if (!node->operands[i] || !is_positive(node->operands[i], height))
			return false;
	return true;
}

static bool is_positive_reduction(const struct ir_node *node, int height)
{
	switch (node->attrs.reduce.kind) {
	case IR_REDUCE_L1:
	case IR_REDUCE_L2:
	case IR_REDUCE_SUM_SQUARE:
		return true;
	case IR_REDUCE_SUM:
	case IR_REDUCE_MEAN:
	case IR_REDUCE_PROD:
	case IR_REDUCE_MAX:
	case IR_REDUCE_MIN:
		return are_positive(node, height);
	default:
		return false;
	}
}

/* The maximum of a window outside of the input is -infinity. */
static bool has_no_empty_maximum(const struct ir_node *node)
{
	const struct ir_pool_attrs *pool = &node->attrs.pool;

	return pool->kind != IR_POOL_MAX ||
	       rules_windows_see_input(pool, &node->operands[0]->type, &node->results[0]->type);
}

static bool is_positive_constant(const struct ir_value *value)
{
	int64_t count = ir_type_elements(&value->type);
	size_t bytes = ir_dtype_bits(value->type.dtype) / 8;
	const uint8_t *data = count <= MAX_SEARCHED ? ir_constant_data(value->constant) : NULL;

	for (int64_t i = 0; data && i < count; i++)
		if (data[(size_t)(i + 1) * bytes - 1] & 0x80)
			return false;
	return data != NULL;
}

/*
 * Returns true only when each element of a value is NaN or has a clear sign bit, and so is not -0
 * either; looks at most at `height` nodes in a row.
 */
static bool is_positive(const struct ir_value *value, int height)
{
	const struct ir_node *def = value->kind == IR_VALUE_RESULT ? value->def : NULL;

	if (!ir_dtype_is_float(value->type.dtype) || !height)
		return false;
	if (value->kind == IR_VALUE_CONSTANT)
		return is_positive_constant(value);
	switch (def ? def->op : IR_OP_COUNT) {
	case IR_OP_SOFTMAX:
		return !def->attrs.softmax.log;
	case IR_OP_UNARY:
		switch (def->attrs.unary.kind) {
		case IR_RELU:
		case IR_ABS:
		case IR_EXP:
		case IR_SIGMOID:
		case IR_SOFTPLUS:
			return true;
		default:
			return false;
		}
	case IR_OP_REDUCE:
		return is_positive_reduction(def, height - 1);
	case IR_OP_POOL:
		return def->attrs.pool.kind == IR_POOL_L2 ||
		       (are_positive(def, height - 1) && has_no_empty_maximum(def));
	case IR_OP_BINARY:
		if (def->attrs.binary.act.kind != IR_UNARY_NONE)
			return false;
		if (def->attrs.binary.kind == IR_MUL && def->operands[0] == def->operands[1])
			return true;
		return (def->attrs.binary.kind == IR_ADD || def->attrs.binary.kind == IR_MUL ||
			def->attrs.binary.kind == IR_DIV) &&
		       are_positive(def, height - 1);
	case IR_OP_RESHAPE:
	case IR_OP_TRANSPOSE:
	case IR_OP_EXPAND:
	case IR_OP_SLICE:
	case IR_OP_CONCAT:
		return are_positive(def, height - 1);
	default:
		return false;
	}
}

bool rules_is_positive(const struct ir_value *value)
{
	return is_positive(value, MAX_HEIGHT);
}

/*
 * Whether a value is never -0, so that adding +0 does not change it. A sum is -0 only where both
 * summands are. A product is recognised only when is_positive() accepts it: any other one may be -0
 * when it underflows.
 */
static bool has_no_negative_zero(const struct ir_value *value, int height)
{
	const struct ir_node *def = value->kind == IR_VALUE_RESULT ? value->def : NULL;

	if (!ir_dtype_is_float(value->type.dtype) || is_positive(value, height))
		return true;
	if (!height || !def || def->op != IR_OP_BINARY || def->attrs.binary.kind != IR_ADD ||
	    def->attrs.binary.act.kind != IR_UNARY_NONE)
		return false;
	return has_no_negative_zero(def->operands[0], height - 1) ||
	       has_no_negative_zero(def->operands[1], height - 1);
}

static bool is_neutral(enum ir_binary kind, uint64_t bits, int side, const struct ir_value *x)
{
	enum ir_dtype dtype = x->type.dtype;

	switch (kind) {
	case IR_MUL:
		return bits == one_of(dtype);
	case IR_DIV:
		return side == 1 && bits == one_of(dtype);
	case IR_SUB:
		return side == 1 && bits == 0;
	case IR_ADD:
		return bits == negative_zero(dtype) ||
		       (bits == 0 && has_no_negative_zero(x, MAX_HEIGHT));
	case IR_POW:
		return side == 1 && bits == one_of(dtype);
	case IR_MAX:
		return ir_dtype_is_float(dtype) && bits == rules_infinity(dtype, true);
	case IR_MIN:
		return ir_dtype_is_float(dtype) && bits == rules_infinity(dtype, false);
	default:
		return false;
	}
}

struct ir_value *rule_neutral(struct rules *rules, struct ir_node *node)
{
	uint64_t bits;

	if (node->attrs.binary.act.kind != IR_UNARY_NONE)
		return NULL;
	for (int side = 0; side < 2; side++) {
		struct ir_value *x = node->operands[!side];

		if (rules_bits(node->operands[side], &bits) &&
		    is_neutral(node->attrs.binary.kind, bits, side, x) &&
		    ir_type_same_shape(&x->type, &node->results[0]->type) &&
		    rules_may_pass(rules, node, x))
			return x;
	}
	return NULL;
}

/* Returns the x of x + 0, or NULL. */
static struct ir_value *under_zero(const struct ir_value *value)
{
	const struct ir_node *sum = rules_maker(value, IR_OP_BINARY);
	uint64_t bits;

	if (!sum || sum->attrs.binary.kind != IR_ADD || sum->attrs.binary.act.kind != IR_UNARY_NONE)
		return NULL;
	for (int i = 0; i < 2; i++)
		if (rules_bits(sum->operands[i], &bits) && !bits &&
		    ir_type_same_shape(&sum->operands[!i]->type, &value->type))
			return sum->operands[!i];
	return NULL;
}

/* Whether a function has the same result for +0 and -0. */
static bool ignores_sign_of_zero(int kind)
{
	return kind == IR_RELU || kind == IR_ABS || kind == IR_EXP || kind == IR_COS ||
	       kind == IR_SIGMOID || kind == IR_SOFTPLUS || kind == IR_IS_NAN ||
	       kind == IR_IS_INFINITE;
}

/*
 * Replaces f(x + 0) by f(x) if f does not distinguish -0, which x + 0 never is, from +0. Softmax
 * does not: it takes powers of differences.
 */
struct ir_value *rule_zero_unseen(struct rules *rules, struct ir_node *node)
{
	struct ir_value *operands[2] = { NULL };
	bool found = false;

	if (node->op == IR_OP_UNARY && !ignores_sign_of_zero(node->attrs.unary.kind))
		return NULL;
	for (uint32_t i = 0; i < node->num_operands; i++) {
		operands[i] = under_zero(node->operands[i]);
		found |= operands[i] != NULL;
		if (!operands[i])
			operands[i] = node->operands[i];
	}
	if (!found)
		return NULL;
	return rules_emit(rules, node->op, operands, node->num_operands, &node->results[0]->type,
			  &node->attrs, node, NULL);
}

/* ---- functions of functions */

static bool rounds(int kind)
{
	return kind == IR_CEIL || kind == IR_FLOOR || kind == IR_ROUND_EVEN;
}

/* Whether a value is the result of a comparison, NOT, isNaN or isInfinite, which is 0 or 1. */
static bool is_truth(const struct ir_value *value)
{
	const struct ir_node *def = value->kind == IR_VALUE_RESULT ? value->def : NULL;
	enum ir_unary_class class;

	if (!def || def->op != IR_OP_UNARY)
		return def && def->op == IR_OP_COMPARE;
	class = ir_unary_class(def->attrs.unary.kind);
	return class == IR_UNARY_TRUTH || class == IR_UNARY_TEST;
}

/*
 * Whether the outer function returns its operand unchanged, because the operand is a result of the
 * inner function.
 */
static bool is_idempotent(int outer, int inner, enum ir_dtype dtype)
{
	switch (outer) {
	case IR_RELU:
		/* abs() of the least integer is that integer, which is negative. */
		return inner == IR_RELU || inner == IR_SIGMOID || inner == IR_EXP ||
		       (inner == IR_ABS && ir_dtype_is_float(dtype)) || inner == IR_SOFTPLUS;
	case IR_ABS:
		return inner == IR_ABS || inner == IR_RELU || inner == IR_SIGMOID ||
		       inner == IR_EXP || inner == IR_SOFTPLUS;
	case IR_SIGN:
		return inner == IR_SIGN;
	default:
		return rounds(outer) && rounds(inner);
	}
}

/*
 * Whether the outer function reverses the inner one, so that the result is x, the operand of the
 * inner function.
 */
static bool cancels(int outer, int inner, const struct ir_value *x)
{
	return (outer == IR_NEG && inner == IR_NEG) ||
	       (outer == IR_LOGICAL_NOT && inner == IR_LOGICAL_NOT && is_truth(x));
}

/* Sets *lo and *hi to the limits that relu or clamp has for floats; false for other functions. */
static bool float_limits(const struct ir_unary_attrs *attrs, float *lo, float *hi)
{
	*lo = attrs->kind == IR_RELU ? 0 : attrs->alpha;
	*hi = attrs->kind == IR_RELU ? INFINITY : attrs->beta;
	return attrs->kind == IR_RELU || attrs->kind == IR_CLAMP;
}

static float limit(float x, float lo, float hi)
{
	return x < lo ? lo : x > hi ? hi : x;
}

/*
 * Replaces `inner` by a clamp that has the effect of both functions; false when they are not both
 * limits.
 */
static bool merge_limits(const struct ir_unary_attrs *outer, struct ir_unary_attrs *inner)
{
	float lo, hi, inner_lo, inner_hi;

	if (!float_limits(outer, &lo, &hi) || !float_limits(inner, &inner_lo, &inner_hi) ||
	    !(lo <= hi) || !(inner_lo <= inner_hi))
		return false;
	inner->kind = IR_CLAMP;
	inner->alpha = limit(inner_lo, lo, hi);
	inner->beta = limit(inner_hi, lo, hi);
	return true;
}

struct ir_value *rule_repeated(struct rules *rules, struct ir_node *node)
{
	struct ir_value *from = node->operands[0];
	const struct ir_node *inner = rules_maker(from, IR_OP_UNARY);
	union ir_attrs attrs;
	int kind = node->attrs.unary.kind;

	if ((kind == IR_ABS || kind == IR_RELU) && from->kind == IR_VALUE_RESULT &&
	    is_positive(from, MAX_HEIGHT))
		return from;
	if (!inner)
		return NULL;
	attrs = inner->attrs;
	if (is_idempotent(kind, attrs.unary.kind, from->type.dtype))
		return from;
	if (cancels(kind, attrs.unary.kind, inner->operands[0]) &&
	    rules_may_pass(rules, node, inner->operands[0]))
		return inner->operands[0];
	if (kind == IR_ABS && attrs.unary.kind == IR_NEG)
		return rules_emit(rules, IR_OP_UNARY, inner->operands, 1, &node->results[0]->type,
				  &node->attrs, inner, node);
	if (ir_dtype_is_float(from->type.dtype) && rules_sole(rules, from) &&
	    merge_limits(&node->attrs.unary, &attrs.unary))
		return rules_emit(rules, IR_OP_UNARY, inner->operands, 1, &node->results[0]->type,
				  &attrs, inner, node);
	return NULL;
}

/*
 * Replaces the maximum or minimum of x and a number by a clamp of x, which can be merged with other
 * limits. A number 0 must be +0 in a maximum and -0 in a minimum, as these win against the other
 * zero. A dequantised x is left alone.
 */
struct ir_value *rule_limit(struct rules *rules, struct ir_node *node)
{
	bool max = node->attrs.binary.kind == IR_MAX;
	const struct ir_type *type = &node->results[0]->type;

	if ((!max && node->attrs.binary.kind != IR_MIN) ||
	    node->attrs.binary.act.kind != IR_UNARY_NONE)
		return NULL;
	for (int i = 0; i < 2; i++) {
		struct ir_value *x = node->operands[i];
		union ir_attrs attrs = {
			.unary = { .kind = IR_CLAMP, .alpha = -INFINITY, .beta = INFINITY }
		};
		double number;

		if (!rewrite_number(node->operands[!i], &number) || !isfinite(number) ||
		    (number == 0 && max == (bool)signbit(number)) || x->kind == IR_VALUE_CONSTANT ||
		    !ir_type_same_shape(&x->type, type) || rules_maker(x, IR_OP_DEQUANTIZE))
			continue;
		if (max && number == 0)
			attrs = (union ir_attrs){ .unary = { .kind = IR_RELU } };
		else if (max)
			attrs.unary.alpha = (float)number;
		else
			attrs.unary.beta = (float)number;
		return rules_emit(rules, IR_OP_UNARY, &x, 1, type, &attrs, node, NULL);
	}
	return NULL;
}

/* ---- casts */

/* Whether every number of type `from` is also one of type `to`. */
static bool holds(enum ir_dtype from, enum ir_dtype to)
{
	static const struct {
		int bits; /* bits of integers that the type has exactly, with the sign */
		bool is_float, is_signed;
	} types[IR_DTYPE_COUNT] = {
		[IR_F32] = { 25, true, true },	[IR_F16] = { 12, true, true },
		[IR_I32] = { 32, false, true }, [IR_U32] = { 32, false, false },
		[IR_I64] = { 64, false, true }, [IR_U64] = { 64, false, false },
		[IR_I8] = { 8, false, true },	[IR_U8] = { 8, false, false },
	};

	if (from == to)
		return true;
	if (!types[from].bits || !types[to].bits)
		return false;
	if (types[from].is_float)
		return from == IR_F16 && to == IR_F32;
	if (types[from].is_signed && !types[to].is_signed)
		return false;
	return types[from].bits + (types[to].is_signed && !types[from].is_signed) <= types[to].bits;
}

/*
 * Whether all types are floats, or all are integers: then the cast from a to c has the effect of
 * those from a to b and from b to c, if b holds the numbers of a.
 */
static bool are_alike(enum ir_dtype a, enum ir_dtype b, enum ir_dtype c)
{
	return ir_dtype_is_float(a) == ir_dtype_is_float(b) &&
	       ir_dtype_is_float(b) == ir_dtype_is_float(c);
}

struct ir_value *rule_recast(struct rules *rules, struct ir_node *node)
{
	const struct ir_value *from = node->operands[0];
	const struct ir_node *inner = rules_maker(from, IR_OP_CAST);
	enum ir_dtype first, to = node->results[0]->type.dtype;

	if (!inner)
		return NULL;
	first = inner->operands[0]->type.dtype;
	if (!holds(first, from->type.dtype))
		return NULL;
	if (first == to)
		return rules_may_pass(rules, node, inner->operands[0]) ? inner->operands[0] : NULL;
	if (!are_alike(first, from->type.dtype, to))
		return NULL;
	return rules_emit(rules, IR_OP_CAST, inner->operands, 1, &node->results[0]->type, NULL,
			  inner, node);
}

/*
 * Replaces a comparison of a cast of uint8 with 0: x == 0 becomes logicalNot(x); x != 0 becomes x
 * if x is only 0 or 1.
 */
struct ir_value *rule_compare_cast(struct rules *rules, struct ir_node *node)
{
	const union ir_attrs attrs = { .unary = { .kind = IR_LOGICAL_NOT } };
	bool equal = node->attrs.binary.kind == IR_EQ;
	uint64_t bits;

	if ((!equal && node->attrs.binary.kind != IR_NE) ||
	    node->attrs.binary.act.kind != IR_UNARY_NONE)
		return NULL;
	for (int i = 0; i < 2; i++) {
		const struct ir_node *cast = rules_maker(node->operands[i], IR_OP_CAST);
		struct ir_value *x = cast ? cast->operands[0] : NULL;

		if (!x || x->type.dtype != IR_U8 || !rules_bits(node->operands[!i], &bits) ||
		    bits || !ir_type_same_shape(&x->type, &node->results[0]->type))
			continue;
		if (equal)
			return rules_emit(rules, IR_OP_UNARY, &x, 1, &node->results[0]->type,
					  &attrs, node, cast);
		if (is_truth(x) && rules_may_pass(rules, node, x))
			return x;
	}
	return NULL;
}

/* ---- where */

struct ir_value *rule_where_not(struct rules *rules, struct ir_node *node)
{
	const struct ir_node *negation = rules_maker(node->operands[0], IR_OP_UNARY);
	struct ir_value *operands[3];

	if (!negation || negation->attrs.unary.kind != IR_LOGICAL_NOT)
		return NULL;
	operands[0] = negation->operands[0];
	operands[1] = node->operands[2];
	operands[2] = node->operands[1];
	return rules_emit(rules, IR_OP_WHERE, operands, 3, &node->results[0]->type, NULL, node,
			  negation);
}

/* ---- negated operands of sums, differences, products and quotients */

/*
 * Replaces x + -y by x - y, -x + y by y - x, x - -y by x + y, and takes both negations off a
 * product or quotient. Results keep their bits, except that NaN may have the other sign.
 */
struct ir_value *rule_negated(struct rules *rules, struct ir_node *node)
{
	struct ir_value *operands[2] = { node->operands[0], node->operands[1] }, *swapped;
	union ir_attrs attrs = node->attrs;
	bool is_negated[2];

	for (int i = 0; i < 2; i++) {
		const struct ir_node *maker = rules_sole(rules, node->operands[i]);

		is_negated[i] = maker && maker->op == IR_OP_UNARY &&
				maker->attrs.unary.kind == IR_NEG;
		if (is_negated[i])
			operands[i] = maker->operands[0];
	}
	if (!ir_dtype_is_float(node->results[0]->type.dtype))
		return NULL;
	switch (node->attrs.binary.kind) {
	case IR_ADD:
		if (is_negated[0] == is_negated[1])
			return NULL;
		attrs.binary.kind = IR_SUB;
		swapped = operands[0];
		operands[0] = is_negated[0] ? operands[1] : swapped;
		operands[1] = is_negated[0] ? swapped : operands[1];
		break;
	case IR_SUB:
		if (!is_negated[1] || is_negated[0])
			return NULL;
		attrs.binary.kind = IR_ADD;
		break;
	case IR_MUL:
	case IR_DIV:
		if (!is_negated[0] || !is_negated[1])
			return NULL;
		break;
	default:
		return NULL;
	}
	return rules_emit(rules, IR_OP_BINARY, operands, 2, &node->results[0]->type, &attrs,
			  is_negated[0] ? node->operands[0]->def : node->operands[1]->def, node);
}
