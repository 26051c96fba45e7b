// SPDX-License-Identifier: MIT
/*
 * Rules for softmax, its logarithm, and logarithms of sums of powers, which exporters write as
 * several operators.
 *
 *	%1 = reduce(%0) max axes=0x2 keep
 *	%2 = binary(%0, %1) sub
 *	%3 = unary(%2) exp
 *	%4 = reduce(%3) sum axes=0x2 keep
 *	%5 = binary(%3, %4) div		->	%5 = softmax(%0) axis=1
 *
 * Dimensions of 1 may be kept or not, and reductions may be reshaped and expanded to the shape of
 * the data. Results keep NaN and infinities: a row with an infinite largest element depends on
 * whether that is replaced by 0 (a guard), and the fused operators have forms for both. Two things
 * differ. In log(softmax(x)), an element whose softmax is too small for its type is finite, where
 * the separate operators give -infinity. With a guard, a row with +infinity may have other elements
 * whose powers are too large for their type: softmax makes them 0, where the separate operators
 * give NaN.
 */
#include "pass/rules.h"

static const struct ir_node *binary_of(const struct ir_value *value, enum ir_binary kind)
{
	const struct ir_node *node = rules_maker(value, IR_OP_BINARY);

	return node && node->attrs.binary.kind == kind &&
			       node->attrs.binary.act.kind == IR_UNARY_NONE ?
		       node :
		       NULL;
}

static const struct ir_node *unary_of(const struct ir_value *value, enum ir_unary kind)
{
	const struct ir_node *node = rules_maker(value, IR_OP_UNARY);

	return node && node->attrs.unary.kind == (int)kind ? node : NULL;
}

static bool is_function_of(const struct ir_value *value, enum ir_unary kind,
			   const struct ir_value *x)
{
	const struct ir_node *node = unary_of(value, kind);

	return node && node->operands[0] == x;
}

/* ---- reductions, and uses of their results */

/* Returns the value before reshapes and expands that keep the number of elements. */
static const struct ir_value *unshaped(const struct ir_value *value)
{
	while (value->kind == IR_VALUE_RESULT &&
	       (value->def->op == IR_OP_RESHAPE || value->def->op == IR_OP_EXPAND) &&
	       ir_type_elements(&value->type) == ir_type_elements(&value->def->operands[0]->type))
		value = value->def->operands[0];
	return value;
}

/*
 * Returns the value before expands: as an operand of an element-wise operator it is broadcast
 * anyway.
 */
static const struct ir_value *unexpanded(const struct ir_value *value)
{
	while (value->kind == IR_VALUE_RESULT && value->def->op == IR_OP_EXPAND)
		value = value->def->operands[0];
	return value;
}

/*
 * Returns the value before a cast between float16 and float32, with which exporters compute float16
 * in float32.
 */
static const struct ir_value *uncast(const struct ir_value *value)
{
	const struct ir_node *cast = rules_maker(value, IR_OP_CAST);
	const struct ir_value *from = cast ? cast->operands[0] : value;

	return (value->type.dtype == IR_F32 && from->type.dtype == IR_F16) ||
			       (value->type.dtype == IR_F16 && from->type.dtype == IR_F32) ?
		       from :
		       value;
}

/*
 * Whether a type has the dims of `full`, but 1 for the axes of the mask; missing leading dims count
 * as 1.
 */
static bool has_kept_shape(const struct ir_type *type, const struct ir_type *full, uint32_t axes)
{
	for (uint32_t i = 0; i < full->rank; i++) {
		int64_t wanted = axes >> i & 1 ? 1 : ir_type_dim(full, i), dim = 1;

		if (i + type->rank >= full->rank)
			dim = ir_type_dim(type, i + type->rank - full->rank);
		if (dim != wanted)
			return false;
	}
	return type->rank <= full->rank;
}

/*
 * Returns the reduction whose results `value` has, in a shape that broadcasts each result to the
 * elements that were reduced to it; else NULL. *core becomes the value before reshapes.
 */
static const struct ir_node *reduction_beside(const struct ir_value *value,
					      const struct ir_value **core)
{
	const struct ir_node *node;

	value = unexpanded(value);
	*core = uncast(unshaped(value));
	node = rules_maker(*core, IR_OP_REDUCE);
	return node && node->attrs.reduce.axes &&
			       has_kept_shape(&value->type, &node->operands[0]->type,
					      node->attrs.reduce.axes) ?
		       node :
		       NULL;
}

/* Whether `size` is |m| and `other` is infinity. */
static bool is_size_beside_infinity(const struct ir_value *size, const struct ir_value *other,
				    const struct ir_value *m)
{
	uint64_t bits;

	return is_function_of(size, IR_ABS, m) && rules_bits(other, &bits) &&
	       bits == rules_infinity(other->type.dtype, false);
}

static bool compares_with_infinity(const struct ir_value *value, enum ir_binary kind,
				   const struct ir_value *m)
{
	const struct ir_node *node = rules_maker(value, IR_OP_COMPARE);

	return node && node->attrs.binary.kind == kind &&
	       node->attrs.binary.act.kind == IR_UNARY_NONE &&
	       is_size_beside_infinity(node->operands[0], node->operands[1], m);
}

/*
 * Whether a condition is true where m is infinite, and false where m is finite; for NaN it may be
 * either.
 */
static bool is_where_infinite(const struct ir_value *condition, const struct ir_value *m)
{
	const struct ir_node *either = binary_of(condition, IR_OR);

	if (either)
		return (is_function_of(either->operands[0], IR_IS_INFINITE, m) &&
			is_function_of(either->operands[1], IR_IS_NAN, m)) ||
		       (is_function_of(either->operands[1], IR_IS_INFINITE, m) &&
			is_function_of(either->operands[0], IR_IS_NAN, m));
	return is_function_of(condition, IR_IS_INFINITE, m) ||
	       compares_with_infinity(condition, IR_EQ, m);
}

/*
 * Whether a condition is true where m is finite, and false where m is infinite; for NaN it may be
 * either.
 */
static bool is_where_finite(const struct ir_value *condition, const struct ir_value *m)
{
	const struct ir_node *both = binary_of(condition, IR_AND), *no[2];

	for (int i = 0; both && i < 2; i++)
		no[i] = unary_of(both->operands[i], IR_LOGICAL_NOT);
	if (both)
		return no[0] && no[1] &&
		       ((is_function_of(no[0]->operands[0], IR_IS_INFINITE, m) &&
			 is_function_of(no[1]->operands[0], IR_IS_NAN, m)) ||
			(is_function_of(no[1]->operands[0], IR_IS_INFINITE, m) &&
			 is_function_of(no[0]->operands[0], IR_IS_NAN, m)));
	return compares_with_infinity(condition, IR_LT, m) ||
	       compares_with_infinity(condition, IR_NE, m);
}

/* Returns the m of where(m is finite, m, 0), the guard; else NULL. */
static const struct ir_value *under_guard(const struct ir_value *value)
{
	const struct ir_node *node = rules_maker(value, IR_OP_WHERE);
	uint64_t bits;

	for (int i = 1; node && i < 3; i++) {
		const struct ir_value *m = node->operands[3 - i];

		if (rules_bits(node->operands[i], &bits) && !bits &&
		    ir_type_same_shape(&m->type, &value->type) &&
		    (i == 1 ? is_where_infinite(node->operands[0], m) :
			      is_where_finite(node->operands[0], m)))
			return m;
	}
	return NULL;
}

/* The rows of data that a softmax normalises, and whether their largest elements are guarded. */
struct vectors {
	struct ir_value *x;
	uint32_t axes;
	bool guarded;
};

/* Whether a value is the largest element of each row of some data; fills in *vectors. */
static bool find_largest(const struct ir_value *value, struct vectors *vectors)
{
	const struct ir_value *core, *m;
	const struct ir_node *max;

	value = unexpanded(value);
	m = under_guard(unshaped(value));
	vectors->guarded = m != NULL;
	core = unshaped(m ? m : value);
	max = rules_maker(core, IR_OP_REDUCE);
	if (!max || max->attrs.reduce.kind != IR_REDUCE_MAX || !max->attrs.reduce.axes)
		return false;
	vectors->x = max->operands[0];
	vectors->axes = max->attrs.reduce.axes;
	return true;
}

/*
 * Whether a value is x - max(x), with the maximum of each row, and has the shape of x; fills in
 * *vectors.
 */
static bool find_shifted(const struct ir_value *value, struct vectors *vectors)
{
	const struct ir_node *sub = binary_of(value, IR_SUB);

	return sub && ir_dtype_is_float(value->type.dtype) &&
	       find_largest(sub->operands[1], vectors) && vectors->x == sub->operands[0] &&
	       ir_type_same_shape(&vectors->x->type, &value->type) &&
	       has_kept_shape(&unexpanded(sub->operands[1])->type, &vectors->x->type,
			      vectors->axes);
}

static bool are_same(const struct vectors *a, const struct vectors *b)
{
	return a->x == b->x && a->axes == b->axes && a->guarded == b->guarded;
}

/* Whether a value is exp(x - max(x)); fills in *vectors. */
static bool find_powers(const struct ir_value *value, struct vectors *vectors)
{
	const struct ir_node *exp = unary_of(value, IR_EXP);

	return exp && find_shifted(exp->operands[0], vectors);
}

/*
 * Whether a value has the elements of log(sum(exp(x - max(x)))) and has no other use; fills in
 * *vectors.
 */
static bool find_log_of_sum(const struct rules *rules, const struct ir_value *value,
			    struct vectors *vectors)
{
	const struct ir_value *core = unshaped(value);
	const struct ir_node *log = unary_of(core, IR_LOG), *sum;
	const struct ir_value *powers;

	sum = rules_maker(log ? uncast(unshaped(log->operands[0])) : core, IR_OP_REDUCE);
	if (!sum || sum->attrs.reduce.kind != (log ? IR_REDUCE_SUM : IR_REDUCE_LOG_SUM))
		return false;
	powers = uncast(sum->operands[0]);
	return find_powers(powers, vectors) && sum->attrs.reduce.axes == vectors->axes &&
	       rules_uses(rules, powers) == 1 && !rules_is_output(rules, powers) &&
	       rules_uses(rules, value) == 1 && !rules_is_output(rules, value);
}

/* ---- softmax */

static bool one_axis(uint32_t axes, uint32_t *axis)
{
	*axis = 0;
	while (axes && !(axes >> *axis & 1))
		++*axis;
	return axes && axes >> *axis == 1;
}

/*
 * Returns the divisor of a quotient, or of a product with a reciprocal that nothing else uses, and
 * sets *dividend to the other operand; NULL for other functions.
 */
static const struct ir_value *divisor_of(const struct rules *rules, const struct ir_node *node,
					 const struct ir_value **dividend)
{
	if (node->attrs.binary.act.kind != IR_UNARY_NONE)
		return NULL;
	*dividend = node->operands[0];
	if (node->attrs.binary.kind == IR_DIV)
		return node->operands[1];
	for (int i = 0; i < 2 && node->attrs.binary.kind == IR_MUL; i++) {
		const struct ir_value *factor = unexpanded(node->operands[i]);
		const struct ir_node *reciprocal = unary_of(factor, IR_RECIPROCAL);

		*dividend = node->operands[!i];
		if (reciprocal && rules_uses(rules, factor) == 1 && !rules_is_output(rules, factor))
			return reciprocal->operands[0];
	}
	return NULL;
}

struct ir_value *rule_softmax_parts(struct rules *rules, struct ir_node *node)
{
	const struct ir_value *powers, *divisor = divisor_of(rules, node, &powers), *core;
	const struct ir_node *sum;
	union ir_attrs attrs = { .axis = 0 };
	struct vectors vectors;

	sum = divisor ? reduction_beside(divisor, &core) : NULL;
	if (!sum || sum->attrs.reduce.kind != IR_REDUCE_SUM || uncast(sum->operands[0]) != powers ||
	    rules_uses(rules, core) != 1 || rules_is_output(rules, core) ||
	    rules_uses(rules, powers) != 2 || rules_is_output(rules, powers) ||
	    !find_powers(powers, &vectors) || vectors.axes != sum->attrs.reduce.axes ||
	    !ir_type_same_shape(&vectors.x->type, &node->results[0]->type) ||
	    !one_axis(vectors.axes, &attrs.softmax.axis))
		return NULL;
	attrs.softmax.guarded = vectors.guarded;
	return rules_emit(rules, IR_OP_SOFTMAX, &vectors.x, 1, &node->results[0]->type, &attrs,
			  powers->def, node);
}

/* Whether a difference is x - logSumExp(x); fills in *vectors. */
static bool find_log_sum_exp(const struct rules *rules, const struct ir_node *node,
			     struct vectors *vectors)
{
	const struct ir_value *core;
	const struct ir_node *sum = reduction_beside(node->operands[1], &core);
	enum ir_reduce kind = sum ? sum->attrs.reduce.kind : IR_REDUCE_COUNT;

	if ((kind != IR_REDUCE_LOG_SUM_EXP && kind != IR_REDUCE_SHIFTED_LOG_SUM_EXP) ||
	    sum->operands[0] != node->operands[0] || rules_uses(rules, core) != 1 ||
	    rules_is_output(rules, core))
		return false;
	*vectors = (struct vectors){ sum->operands[0], sum->attrs.reduce.axes,
				     kind == IR_REDUCE_LOG_SUM_EXP };
	return true;
}

/*
 * Replaces x - max(x) - log(sum(exp(x - max(x)))), and x - logSumExp(x), by the logarithm of
 * softmax.
 */
struct ir_value *rule_log_softmax_parts(struct rules *rules, struct ir_node *node)
{
	union ir_attrs attrs = { .softmax = { .log = true } };
	const struct ir_value *less = unexpanded(node->operands[1]);
	struct vectors vectors, of_sum;

	if (node->attrs.binary.kind != IR_SUB || node->attrs.binary.act.kind != IR_UNARY_NONE ||
	    !ir_dtype_is_float(node->results[0]->type.dtype))
		return NULL;
	if (!find_log_sum_exp(rules, node, &vectors) &&
	    !(find_shifted(node->operands[0], &vectors) && find_log_of_sum(rules, less, &of_sum) &&
	      are_same(&vectors, &of_sum) &&
	      has_kept_shape(&less->type, &vectors.x->type, vectors.axes)))
		return NULL;
	if (!ir_type_same_shape(&vectors.x->type, &node->results[0]->type) ||
	    !one_axis(vectors.axes, &attrs.softmax.axis))
		return NULL;
	attrs.softmax.guarded = vectors.guarded;
	return rules_emit(rules, IR_OP_SOFTMAX, &vectors.x, 1, &node->results[0]->type, &attrs,
			  node, NULL);
}

struct ir_value *rule_log_of_softmax(struct rules *rules, struct ir_node *node)
{
	const struct ir_node *softmax = rules_sole(rules, node->operands[0]);
	union ir_attrs attrs;

	if (node->attrs.unary.kind != IR_LOG || !softmax || softmax->op != IR_OP_SOFTMAX ||
	    softmax->attrs.softmax.log || softmax->attrs.softmax.nan_to_zero)
		return NULL;
	attrs = softmax->attrs;
	attrs.softmax.log = true;
	return rules_emit(rules, IR_OP_SOFTMAX, softmax->operands, 1, &node->results[0]->type,
			  &attrs, softmax, node);
}

/* ---- max(x) + log(sum(exp(x - max(x)))) */

/*
 * Emits a reduction of the wanted type; it keeps the reduced axes, and is reshaped, when that is
 * needed.
 */
static struct ir_value *emit_reduction(struct rules *rules, const struct vectors *vectors,
				       const struct ir_node *node)
{
	union ir_attrs attrs = { .reduce = { .kind = vectors->guarded ?
							     IR_REDUCE_LOG_SUM_EXP :
							     IR_REDUCE_SHIFTED_LOG_SUM_EXP,
					     .axes = vectors->axes } };
	const struct ir_type *wanted = &node->results[0]->type;
	struct ir_type type = vectors->x->type;
	struct ir_value *value;
	uint32_t rank = 0;

	for (uint32_t i = 0; i < vectors->x->type.rank; i++)
		if (!(vectors->axes >> i & 1))
			type.dim[rank++] = vectors->x->type.dim[i];
	type.rank = rank;
	if (!ir_type_same_shape(&type, wanted)) {
		attrs.reduce.keep_dims = true;
		type = vectors->x->type;
		for (uint32_t i = 0; i < type.rank; i++)
			if (vectors->axes >> i & 1)
				type.dim[i].value = 1;
	}
	value = rules_emit(rules, IR_OP_REDUCE, &vectors->x, 1, &type, &attrs, node, NULL);
	if (!value || ir_type_same_shape(&type, wanted))
		return value;
	return rules_emit(rules, IR_OP_RESHAPE, &value, 1, wanted, NULL, node, NULL);
}

struct ir_value *rule_log_sum_exp_parts(struct rules *rules, struct ir_node *node)
{
	int64_t count = ir_type_elements(&node->results[0]->type);

	if (node->attrs.binary.kind != IR_ADD || node->attrs.binary.act.kind != IR_UNARY_NONE)
		return NULL;
	/* Neither operand is broadcast: both have as many elements as the result. */
	for (int i = 0; i < 2; i++)
		if (ir_type_elements(&node->operands[i]->type) != count)
			return NULL;
	for (int i = 0; i < 2; i++) {
		struct vectors vectors, of_sum;

		if (find_log_of_sum(rules, node->operands[i], &of_sum) &&
		    find_largest(node->operands[!i], &vectors) && are_same(&vectors, &of_sum))
			return emit_reduction(rules, &vectors, node);
	}
	return NULL;
}

/* ---- where(isNaN(softmax(x)), 0, softmax(x)) */

static bool is_where_nan(const struct ir_value *condition, const struct ir_value *y)
{
	const struct ir_node *node = rules_maker(condition, IR_OP_COMPARE);

	return is_function_of(condition, IR_IS_NAN, y) ||
	       (node && node->attrs.binary.kind == IR_NE && node->operands[0] == y &&
		node->operands[1] == y);
}

/*
 * Fuses the replacement of NaN by 0 with softmax. Results are exact for all data, so it does not
 * matter whether masks are finite.
 */
struct ir_value *rule_softmax_nan(struct rules *rules, struct ir_node *node)
{
	const struct ir_node *softmax = rules_maker(node->operands[2], IR_OP_SOFTMAX);
	const struct ir_value *y = node->operands[2];
	union ir_attrs attrs;
	uint64_t bits;

	if (!softmax || !is_where_nan(node->operands[0], y) ||
	    !rules_bits(node->operands[1], &bits) || bits ||
	    !ir_type_same_shape(&y->type, &node->results[0]->type) || rules_is_output(rules, y) ||
	    rules_uses(rules, y) != 1 + node->operands[0]->def->num_operands ||
	    !rules_sole(rules, node->operands[0]))
		return NULL;
	attrs = softmax->attrs;
	attrs.softmax.nan_to_zero = true;
	return rules_emit(rules, IR_OP_SOFTMAX, softmax->operands, 1, &node->results[0]->type,
			  &attrs, softmax, node);
}

/* ---- softmax of float16 in float32 */

/*
 * Makes a softmax in float32 between casts from and to float16 one of float16, which is computed in
 * float32 as well and rounded once.
 */
struct ir_value *rule_softmax_cast(struct rules *rules, struct ir_node *node)
{
	const struct ir_node *softmax = rules_sole(rules, node->operands[0]), *cast;

	if (!softmax || softmax->op != IR_OP_SOFTMAX || softmax->results[0]->type.dtype != IR_F32 ||
	    node->results[0]->type.dtype != IR_F16)
		return NULL;
	cast = rules_maker(softmax->operands[0], IR_OP_CAST);
	if (!cast || cast->operands[0]->type.dtype != IR_F16)
		return NULL;
	return rules_emit(rules, IR_OP_SOFTMAX, cast->operands, 1, &node->results[0]->type,
			  &softmax->attrs, softmax, node);
}
