// SPDX-License-Identifier: MIT
/*
 * Functions that do nothing, or that do again what was done.
 *
 *	%1 = unary(%0) relu
 *	%2 = unary(%1) clamp(-1,6)	->	%2 = unary(%0) clamp(0,6) ; relu+clamp
 *
 * NaN and infinities come out as before, and so does the sign of zero, but that clamp with a limit of 0 may give either
 * zero, where relu gives +0.
 */
#include <math.h>
#include <string.h>

#include "pass/rules.h"
#include "util/float16.h"

/* ---- neutral operands */

/* The bits of one element of a constant. */
static uint64_t bits_at(const struct ir_value *constant, int64_t i)
{
	size_t bytes = ir_dtype_bits(constant->type.dtype) / 8;
	uint64_t bits = 0;

	memcpy(&bits, (const char *)constant->constant->data + (size_t)i * bytes, bytes);
	return bits;
}

/* The bits that all elements of a constant have. */
static bool find_bits(const struct ir_value *value, uint64_t *bits)
{
	if (value->kind != IR_VALUE_CONSTANT || ir_dtype_bits(value->type.dtype) < 8)
		return false;
	*bits = bits_at(value, 0);
	for (int64_t i = 1; i < ir_type_elements(&value->type); i++)
		if (bits_at(value, i) != *bits)
			return false;
	return true;
}

/* The bits of 1 and -0; integers have the bits of 0 for -0. */
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

/* Whether a value is never -0, to which +0 can be added without a change. */
static bool has_no_negative_zero(const struct ir_value *value)
{
	const struct ir_node *def = value->kind == IR_VALUE_RESULT ? value->def : NULL;

	if (!ir_dtype_is_float(value->type.dtype))
		return true;
	if (!def)
		return false;
	if (def->op == IR_OP_SOFTMAX)
		return true;
	if (def->op != IR_OP_UNARY)
		return false;
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
		return bits == negative_zero(dtype) || (bits == 0 && has_no_negative_zero(x));
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

		if (find_bits(node->operands[side], &bits) &&
		    is_neutral(node->attrs.binary.kind, bits, side, x) &&
		    ir_type_same_shape(&x->type, &node->results[0]->type) &&
		    rules_may_pass(rules, node, x))
			return x;
	}
	return NULL;
}

/* ---- functions of functions */

static bool rounds(int kind)
{
	return kind == IR_CEIL || kind == IR_FLOOR || kind == IR_ROUND_EVEN;
}

/* Whether a value is only 0 or 1. */
static bool is_truth(const struct ir_value *value)
{
	const struct ir_node *def = value->kind == IR_VALUE_RESULT ? value->def : NULL;

	return def && (def->op == IR_OP_COMPARE ||
		       (def->op == IR_OP_UNARY && (def->attrs.unary.kind == IR_LOGICAL_NOT ||
						   def->attrs.unary.kind == IR_IS_NAN ||
						   def->attrs.unary.kind == IR_IS_INFINITE)));
}

/* Whether the outer function returns its operand as it is, because the inner function made it. */
static bool is_idempotent(int outer, int inner, enum ir_dtype dtype)
{
	switch (outer) {
	case IR_RELU:
		/* The least integer has no absolute value, and stays negative. */
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

/* Whether the outer function returns the operand of the inner one. */
static bool cancels(int outer, int inner, const struct ir_value *x)
{
	return (outer == IR_NEG && inner == IR_NEG) ||
	       (outer == IR_LOGICAL_NOT && inner == IR_LOGICAL_NOT && is_truth(x));
}

/* Limits of floats: those of relu are 0 and none. */
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

/* Both clamps as one, in `inner`. */
static bool join_limits(const struct ir_unary_attrs *outer, struct ir_unary_attrs *inner)
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
	    join_limits(&node->attrs.unary, &attrs.unary))
		return rules_emit(rules, IR_OP_UNARY, inner->operands, 1, &node->results[0]->type,
				  &attrs, inner, node);
	return NULL;
}

/* ---- casts */

/* Whether every number of the first type is one of the second. */
static bool holds(enum ir_dtype from, enum ir_dtype to)
{
	static const struct {
		int bits; /* of integers that are held exactly, with the sign's */
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

/* Casts among floats, or among integers, do in one step what they do in two. */
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
