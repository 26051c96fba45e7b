// SPDX-License-Identifier: MIT
/*
 * Fuses the operators of a rotary embedding, in the two forms that exporters write: one computes
 * whole rows with a copy whose halves are swapped, the other one half after the other. Both may
 * rotate pairs of adjacent numbers of a row instead of its two halves. The CPU keeps the operators,
 * as it has a fast kernel for each.
 *
 * Precondition: a verified graph without equal nodes. Postcondition: no such operators are left
 * whose intermediate values nothing else uses; slices that others use stay. float32 keeps its bits;
 * float16 is rounded once.
 *
 *	%4 = slice(%0) second half		%4 = slice(%0) first half
 *	%5 = unary(%4) neg			%5 = slice(%0) second half
 *	%6 = slice(%0) first half		%6 = binary(%4, %1) mul
 *	%7 = concat(%5, %6)			%7 = binary(%5, %2) mul
 *	%8 = binary(%7, %2) mul			%8 = binary(%6, %7) sub
 *	%9 = binary(%0, %1) mul			...
 *	%10 = binary(%9, %8) add		%12 = concat(%8, %11) -> rotary(%0, %1, %2)
 *
 * The concat of the second form may have more operands, such as the numbers of the row after both
 * halves, which are not rotated:
 *
 *	%13 = concat(%8, %11, rest of %0) -> concat(rotary(begin of %0, %1, %2), rest of %0)
 *
 * Where neighbours are rotated, the slices take each second number, and a reshape of a concat of
 * columns interleaves them:
 *
 *	%12 = reshape(%8) [..., h, 1]
 *	%13 = reshape(%11) [..., h, 1]
 *	%14 = concat(%12, %13) 		%3 = reshape(%0) [..., h, 2], and the angles likewise
 *	%15 = reshape(%14) [..., 2 * h]		->	reshape(rotary(%3, ...)) [..., 2 * h]
 *
 * The slices may also be those of %3, with reshapes to [..., h] after them.
 */
#include <string.h>

#include "pass/rewrite.h"
#include "util/malloc.h"

#define MAX_INNER 16
#define MAX_PARTS 8 /* most operands of a concat whose first two are the halves */

struct pattern {
	const struct ir_value *x, *cosine, *sine;
	/* how many numbers at the begin of each row are rotated; 0: all */
	int64_t rotated;
	bool pairs;		    /* whether pairs of adjacent numbers are rotated, not halves */
	const struct ir_node *main; /* gives the new nodes' label, and the begin of their source */
	const struct ir_node *inner[MAX_INNER];
	uint32_t num_inner;
};

struct search {
	const struct rewrite *rw;
	struct pattern *found;
};

static void add_inner(struct search *s, const struct ir_node *node)
{
	for (uint32_t i = 0; i < s->found->num_inner; i++)
		if (s->found->inner[i] == node)
			return;
	if (s->found->num_inner < MAX_INNER)
		s->found->inner[s->found->num_inner++] = node;
}

/*
 * Returns the product, sum or difference (`kind`) that makes a value, if nothing else uses the
 * value; else NULL.
 */
static const struct ir_node *take_binary(struct search *s, const struct ir_value *value,
					 enum ir_binary kind)
{
	const struct ir_node *node = rewrite_sole_producer(s->rw, value);

	if (!node || node->op != IR_OP_BINARY || node->attrs.binary.kind != kind ||
	    node->attrs.binary.act.kind != IR_UNARY_NONE)
		return NULL;
	add_inner(s, node);
	return node;
}

static int64_t last_dim(const struct ir_value *value)
{
	return ir_type_dim(&value->type, value->type.rank - 1);
}

/* Returns `type` with each row divided into groups of @dim numbers, which are a new last axis. */
static struct ir_type split_rows(struct ir_type type, int64_t dim)
{
	type.dim[type.rank - 1].value /= dim;
	type.dim[type.rank++] = (struct ir_dim){ .value = dim };
	return type;
}

/* Whether a shape is that of `row` with an axis of size 1 after it. */
static bool is_column(const struct ir_type *type, const struct ir_type *row)
{
	struct ir_type column;

	if (!row->rank || row->rank == IR_MAX_RANK)
		return false;
	column = split_rows(*row, 1);
	return ir_type_same_shape(type, &column);
}

/*
 * Returns the value x if `value` is the first or second half of x's rows, or of the rotated begin
 * of each row; for pairs, if it is the first or second number of each pair. Else NULL.
 */
static const struct ir_value *half_of(const struct search *s, const struct ir_value *value,
				      bool second)
{
	const struct ir_node *node = value->kind == IR_VALUE_RESULT ? value->def : NULL;
	int64_t rotated = s->found->rotated;
	bool pairs = s->found->pairs;
	const struct ir_type *x;
	uint32_t last;

	if (pairs && node && node->op == IR_OP_RESHAPE &&
	    is_column(&node->operands[0]->type, &value->type)) {
		/* Here x has rows of two numbers, and the slices were reshaped. */
		value = node->operands[0];
		node = value->kind == IR_VALUE_RESULT ? value->def : NULL;
		rotated = 0;
		pairs = false;
	}
	if (!node || node->op != IR_OP_SLICE || !value->type.rank)
		return NULL;
	x = &node->operands[0]->type;
	last = x->rank - 1;
	for (uint32_t i = 0; i < x->rank; i++) {
		int64_t dim = ir_type_dim(&value->type, i), whole = ir_type_dim(x, i);
		int64_t begin = i < last || !second ? 0 : pairs ? 1 : dim;

		if (i == last && rotated)
			whole = rotated <= whole ? rotated : 0;
		if (node->attrs.slice.strides[i] != (i == last && pairs ? 2 : 1) ||
		    node->attrs.slice.starts[i] != begin || whole != (i == last ? 2 * dim : dim))
			return NULL;
	}
	return node->operands[0];
}

/* Adds the nodes that take the halves of x to the pattern; the rest of the pattern is known. */
static void add_halves(struct search *s)
{
	for (uint32_t i = 0, count = s->found->num_inner; i < count; i++)
		for (uint32_t o = 0; o < s->found->inner[i]->num_operands; o++) {
			const struct ir_value *value = s->found->inner[i]->operands[o];

			if (!value || (half_of(s, value, false) != s->found->x &&
				       half_of(s, value, true) != s->found->x))
				continue;
			add_inner(s, value->def);
			if (value->def->op == IR_OP_RESHAPE)
				add_inner(s, value->def->operands[0]->def);
		}
}

static bool is_concat_of_rows(const struct ir_node *node, uint32_t most)
{
	return node && node->op == IR_OP_CONCAT && node->num_operands >= 2 &&
	       node->num_operands <= most && node->attrs.axis + 1 == node->results[0]->type.rank;
}

/*
 * Finds the two halves that a node puts together to rows: the first two operands of a concat with
 * at most `most` operands; for pairs, two values whose numbers are interleaved by nodes with no
 * other use.
 */
static bool take_concat(struct search *s, const struct ir_node *node, uint32_t most,
			const struct ir_value **half)
{
	const struct ir_node *concat, *column;
	struct ir_type rows;

	s->found->pairs = node->op == IR_OP_RESHAPE;
	if (!s->found->pairs) {
		if (!is_concat_of_rows(node, most))
			return false;
		half[0] = node->operands[0];
		half[1] = node->operands[1];
		return true;
	}
	concat = rewrite_sole_producer(s->rw, node->operands[0]);
	if (!is_concat_of_rows(concat, 2))
		return false;
	add_inner(s, concat);
	for (uint32_t i = 0; i < 2; i++) {
		column = rewrite_sole_producer(s->rw, concat->operands[i]);
		if (!column || column->op != IR_OP_RESHAPE)
			return false;
		half[i] = column->operands[0];
		if (!is_column(&column->results[0]->type, &half[i]->type))
			return false;
		rows = half[i]->type;
		rows.dim[rows.rank - 1].value *= 2;
		if (!ir_type_same_shape(&node->results[0]->type, &rows))
			return false;
		add_inner(s, column);
	}
	return true;
}

static struct ir_type rotated_type(const struct pattern *found)
{
	struct ir_type type = found->x->type;

	if (found->rotated)
		type.dim[type.rank - 1].value = found->rotated;
	return type;
}

/* Whether x is the shape of the result with each row divided into pairs, [..., h, 2]. */
static bool has_pairs(const struct pattern *found, const struct ir_type *result)
{
	const struct ir_type pairs = split_rows(*result, 2);

	return ir_type_same_shape(&found->x->type, &pairs);
}

/*
 * Whether the rotation operator takes x, cosines and sines: they may be broadcast to x, but x not
 * to them. The NPU takes at most 7 dimensions (IR_MAX_RANK - 1), and pairs add one to those of the
 * result.
 */
static bool fits(const struct pattern *found, const struct ir_node *root)
{
	struct ir_type type = rotated_type(found), result = root->results[0]->type;

	if (result.rank + found->pairs >= IR_MAX_RANK || !ir_dtype_is_float(type.dtype) ||
	    found->cosine->type.dtype != type.dtype || found->sine->type.dtype != type.dtype)
		return false;
	if (found->pairs && type.rank == result.rank + 1)
		return has_pairs(found, &result);
	if (found->rotated && type.rank == result.rank)
		result.dim[type.rank - 1] = type.dim[type.rank - 1];
	return ir_type_same_shape(&type, &result);
}

/* ---- x * cosine + concat(-second half, first half) * sine */

static bool is_negation(const struct ir_node *node)
{
	const struct ir_unary_attrs *unary = &node->attrs.unary;

	return node->op == IR_OP_UNARY &&
	       (unary->kind == IR_NEG ||
		(unary->kind == IR_LINEAR && unary->alpha == -1 && unary->beta == 0));
}

/* Returns x if `value` is concat(-second half, first half) of x; else NULL. */
static const struct ir_value *swapped(struct search *s, const struct ir_value *value)
{
	const struct ir_node *concat_node = rewrite_sole_producer(s->rw, value), *negation;
	const struct ir_value *half[2], *x;

	if (!concat_node)
		return NULL;
	add_inner(s, concat_node);
	if (!take_concat(s, concat_node, 2, half))
		return NULL;
	negation = rewrite_sole_producer(s->rw, half[0]);
	if (!negation || !is_negation(negation))
		return NULL;
	x = half_of(s, negation->operands[0], true);
	if (!x || half_of(s, half[1], false) != x)
		return NULL;
	add_inner(s, negation);
	return x;
}

/* Returns the other factor of a product; NULL if `factor` is not a factor of it. */
static const struct ir_value *beside(const struct ir_node *product, const struct ir_value *factor)
{
	if (product->operands[0] == factor)
		return product->operands[1];
	return product->operands[1] == factor ? product->operands[0] : NULL;
}

static bool find_whole(struct search *s, const struct ir_node *sum)
{
	for (uint32_t i = 0; i < 4; i++) {
		const struct ir_node *rotated, *straight;

		s->found->num_inner = 0;
		rotated = take_binary(s, sum->operands[i / 2], IR_MUL);
		straight = take_binary(s, sum->operands[!(i / 2)], IR_MUL);
		if (!rotated || !straight)
			return false;
		s->found->x = swapped(s, rotated->operands[i % 2]);
		s->found->sine = rotated->operands[!(i % 2)];
		s->found->cosine = s->found->x ? beside(straight, s->found->x) : NULL;
		s->found->main = straight;
		if (s->found->cosine)
			return true;
	}
	return false;
}

/*
 * ---- concat(first half * cosine - second half * sine, second half * cosine + first half * sine)
 */

/* Whether a node is the product of `factor` and the first or second half of x. */
static bool is_rotated(const struct search *s, const struct ir_node *product, bool second,
		       const struct ir_value *factor)
{
	for (uint32_t i = 0; i < 2; i++)
		if (product->operands[!i] == factor &&
		    half_of(s, product->operands[i], second) == s->found->x)
			return true;
	return false;
}

static bool find_halves(struct search *s, const struct ir_node *root)
{
	const struct ir_node *difference, *sum, *product[4];
	const struct ir_value *half[2];

	if (!take_concat(s, root, MAX_PARTS, half))
		return false;
	difference = take_binary(s, half[0], IR_SUB);
	sum = take_binary(s, half[1], IR_ADD);
	if (!difference || !sum)
		return false;
	if (s->found->pairs || root->num_operands > 2)
		s->found->rotated = 2 * last_dim(half[1]);
	for (uint32_t i = 0; i < 4; i++) {
		product[i] = take_binary(s, (i < 2 ? difference : sum)->operands[i % 2], IR_MUL);
		if (!product[i])
			return false;
	}
	s->found->main = product[0];
	/*
	 * Cosines and sines may be halves of other rows, so each factor is tried as the half of x
	 * until one fits.
	 */
	for (uint32_t i = 0; i < 4; i++) {
		const struct ir_value *x = half_of(s, product[0]->operands[i / 2], false);

		if (!x || half_of(s, product[1]->operands[i % 2], true) != x)
			continue;
		s->found->x = x;
		s->found->cosine = product[0]->operands[!(i / 2)];
		s->found->sine = product[1]->operands[!(i % 2)];
		for (uint32_t k = 2; k < 4; k++)
			if (is_rotated(s, product[k], true, s->found->cosine) &&
			    is_rotated(s, product[5 - k], false, s->found->sine) &&
			    fits(s->found, root))
				return true;
	}
	return false;
}

/* ---- both forms */

static bool find(const struct rewrite *rw, const struct ir_node *root, struct pattern *found)
{
	struct search s = { rw, found };
	bool is_sum = root->op == IR_OP_BINARY && root->attrs.binary.kind == IR_ADD &&
		      root->attrs.binary.act.kind == IR_UNARY_NONE;

	memset(found, 0, sizeof(*found));
	if (is_sum ? !find_whole(&s, root) : !find_halves(&s, root))
		return false;
	add_halves(&s);
	return fits(found, root);
}

/*
 * Marks the pattern's nodes whose results only marked nodes and `root` use. Other nodes may use
 * halves of x, which may also be cosines or sines themselves.
 */
static void mark_gone(const struct rewrite *rw, const struct pattern *found,
		      const struct ir_node *root, bool *gone)
{
	for (uint32_t i = 0; i < found->num_inner; i++) {
		const struct ir_value *result = found->inner[i]->results[0];
		uint32_t inside = 0;

		for (uint32_t o = 0; o < root->num_operands; o++)
			inside += root->operands[o] == result;
		for (uint32_t k = 0; k < i; k++)
			for (uint32_t o = 0; o < found->inner[k]->num_operands; o++)
				inside += gone[found->inner[k]->id] &&
					  found->inner[k]->operands[o] == result;
		gone[found->inner[i]->id] |= inside == rw->uses[result->id] &&
					     !rw->is_output[result->id] &&
					     result != found->cosine && result != found->sine;
	}
}

static struct ir_value *add_main(struct rewrite *rw, const struct pattern *found, enum ir_op op,
				 struct ir_value *const *operands, uint32_t num_operands,
				 const struct ir_type *type, const union ir_attrs *attrs)
{
	struct ir_node *node = ir_add_node(rw->to, op, operands, num_operands, type, 1, attrs,
					   found->main->label, found->main->source);

	if (!node)
		rewrite_nomem(rw);
	return node ? node->results[0] : NULL;
}

/* Returns the part of each row of x that is rotated; NULL when out of memory. */
static struct ir_value *emit_begin(struct rewrite *rw, const struct pattern *found)
{
	const struct ir_type type = rotated_type(found);
	struct ir_value *x = rw->value[found->x->id];
	union ir_attrs begin = { 0 };

	if (ir_type_same_shape(&type, &found->x->type))
		return x;
	for (uint32_t i = 0; i < type.rank; i++)
		begin.slice.strides[i] = 1;
	return add_main(rw, found, IR_OP_SLICE, &x, 1, &type, &begin);
}

/*
 * Returns cosines or sines reshaped for rows that are split into pairs: one number for each pair,
 * or one for each number of a pair.
 */
static struct ir_value *emit_angles(struct rewrite *rw, const struct pattern *found,
				    const struct ir_node *root, const struct ir_value *angles)
{
	static const union ir_attrs none;
	struct ir_value *value = rw->value[angles->id];
	struct ir_type type = angles->type;

	if (!type.rank)
		return value;
	type = split_rows(type, last_dim(angles) == last_dim(root->results[0]) ? 2 : 1);
	return add_main(rw, found, IR_OP_RESHAPE, &value, 1, &type, &none);
}

/*
 * Emits rows of pairs, the rotation, and a reshape to whole rows; returns the rotation's node; NULL
 * when out of memory.
 */
static struct ir_node *emit_pairs(struct rewrite *rw, const struct ir_node *root,
				  const struct pattern *found)
{
	static const union ir_attrs none;
	const struct ir_type type = split_rows(root->results[0]->type, 2);
	struct ir_value *operands[3], *rotated;

	operands[0] = has_pairs(found, &root->results[0]->type) ? rw->value[found->x->id] :
								  emit_begin(rw, found);
	if (operands[0] && !has_pairs(found, &root->results[0]->type))
		operands[0] = add_main(rw, found, IR_OP_RESHAPE, operands, 1, &type, &none);
	operands[1] = operands[0] ? emit_angles(rw, found, root, found->cosine) : NULL;
	operands[2] = operands[1] ? emit_angles(rw, found, root, found->sine) : NULL;
	rotated = operands[2] ? add_main(rw, found, IR_OP_ROTARY, operands, 3, &type, &none) : NULL;
	if (!rotated || !rewrite_emit(rw, IR_OP_RESHAPE, &rotated, 1, &none, root, NULL))
		return NULL;
	return rotated->def;
}

/*
 * Emits the rotation of the first numbers of each row, and a concat with the other numbers; returns
 * the rotation's node; NULL when out of memory.
 */
static struct ir_node *emit_part(struct rewrite *rw, const struct ir_node *root,
				 const struct pattern *found, struct ir_value **operands)
{
	static const union ir_attrs none;
	const struct ir_type type = rotated_type(found);
	struct ir_value *parts[MAX_PARTS];

	operands[0] = emit_begin(rw, found);
	parts[0] = operands[0] ? add_main(rw, found, IR_OP_ROTARY, operands, 3, &type, &none) :
				 NULL;
	for (uint32_t i = 2; i < root->num_operands; i++)
		parts[i - 1] = rw->value[root->operands[i]->id];
	if (!parts[0] || !rewrite_emit(rw, IR_OP_CONCAT, parts, root->num_operands - 1,
				       &root->attrs, root, NULL))
		return NULL;
	return parts[0]->def;
}

static int emit(struct rewrite *rw, const struct ir_node *root, const struct pattern *found,
		const bool *gone)
{
	static const union ir_attrs none;
	struct ir_value *operands[3] = {
		rw->value[found->x->id],
		rw->value[found->cosine->id],
		rw->value[found->sine->id],
	};
	struct ir_node *node;

	if (found->pairs)
		node = emit_pairs(rw, root, found);
	else if (found->rotated)
		node = emit_part(rw, root, found, operands);
	else
		node = rewrite_emit(rw, IR_OP_ROTARY, operands, 3, &none, found->main, root);
	if (!node)
		return -1;
	rw->fate[found->main->id] = (struct rewrite_fate){ WNN_FATE_KEPT, node->id };
	for (uint32_t i = 0; i < found->num_inner; i++)
		if (found->inner[i] != found->main && gone[found->inner[i]->id])
			rw->fate[found->inner[i]->id] =
				(struct rewrite_fate){ WNN_FATE_FUSED, node->id };
	return 0;
}

int pass_rotary(struct rewrite *rw, const struct pass_context *ctx)
{
	uint32_t count = rw->from->num_nodes;
	bool *gone = wnn_calloc(count + 1, sizeof(*gone)), *root = wnn_calloc(count + 1, 1);
	int ret = gone && root ? 0 : rewrite_nomem(rw);
	struct pattern found;

	(void)ctx;
	for (uint32_t n = 0; n < count && !ret; n++) {
		root[n] = find(rw, rw->from->nodes[n], &found);
		if (root[n])
			mark_gone(rw, &found, rw->from->nodes[n], gone);
	}
	for (uint32_t n = 0; n < count && !ret; n++) {
		const struct ir_node *node = rw->from->nodes[n];

		if (gone[n])
			continue;
		if (root[n] && find(rw, node, &found))
			ret = emit(rw, node, &found, gone);
		else
			ret = rewrite_copy(rw, node);
	}
	wnn_free(gone);
	wnn_free(root);
	return ret;
}
