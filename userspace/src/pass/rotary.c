// SPDX-License-Identifier: MIT
/*
 * Makes one operator of those that compute a rotary embedding, in the two forms that exporters write: over the
 * whole row with its halves swapped, or half by half. The CPU keeps them apart, as it has fast kernels for each.
 *
 * Precondition: a verified graph without equal nodes. Postcondition: no such operators are left whose values in
 * between nothing else uses; slices that others use stay. float32 has the same bits; float16 is rounded once.
 *
 *	%4 = slice(%0) second half		%4 = slice(%0) first half
 *	%5 = unary(%4) neg			%5 = slice(%0) second half
 *	%6 = slice(%0) first half		%6 = binary(%4, %1) mul
 *	%7 = concat(%5, %6)			%7 = binary(%5, %2) mul
 *	%8 = binary(%7, %2) mul			%8 = binary(%6, %7) sub
 *	%9 = binary(%0, %1) mul			...
 *	%10 = binary(%9, %8) add		%12 = concat(%8, %11)		->	rotary(%0, %1, %2)
 *
 * More may follow in the concat of the second form, such as what lies behind both halves of the row and does not turn:
 *
 *	%13 = concat(%8, %11, rest of %0)	->	concat(rotary(begin of %0, %1, %2), rest of %0)
 */
#include <string.h>

#include "pass/rewrite.h"
#include "util/malloc.h"

#define MAX_INNER 10
#define MAX_PARTS 8 /* of a concat whose first two are halves */

struct pattern {
	const struct ir_value *x, *cosine, *sine;
	int64_t turned;		    /* numbers of each row of x, or 0: all */
	const struct ir_node *main; /* gives the first part of the name */
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

/* The product, sum or difference that makes a value which nothing else uses; NULL when none does. */
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

/*
 * The value of whose rows `value` is the first or the second half, or of as many numbers of each row as @turned; NULL when it
 * is none.
 */
static const struct ir_value *half_of(const struct ir_value *value, bool second, int64_t turned)
{
	const struct ir_node *node = value->kind == IR_VALUE_RESULT ? value->def : NULL;
	const struct ir_type *x;
	uint32_t last;

	if (!node || node->op != IR_OP_SLICE || !value->type.rank)
		return NULL;
	x = &node->operands[0]->type;
	last = x->rank - 1;
	for (uint32_t i = 0; i < x->rank; i++) {
		int64_t dim = ir_type_dim(&value->type, i), begin = i == last && second ? dim : 0;
		int64_t whole = ir_type_dim(x, i);

		if (i == last && turned)
			whole = turned <= whole ? turned : 0;
		if (node->attrs.slice.strides[i] != 1 || node->attrs.slice.starts[i] != begin ||
		    whole != (i == last ? 2 * dim : dim))
			return NULL;
	}
	return node->operands[0];
}

/* The halves of x, when all else of the pattern is known. */
static void add_halves(struct search *s)
{
	for (uint32_t i = 0, count = s->found->num_inner; i < count; i++)
		for (uint32_t o = 0; o < s->found->inner[i]->num_operands; o++) {
			const struct ir_value *value = s->found->inner[i]->operands[o];

			if (value && (half_of(value, false, s->found->turned) == s->found->x ||
				      half_of(value, true, s->found->turned) == s->found->x))
				add_inner(s, value->def);
		}
}

static const struct ir_node *take_concat(const struct ir_node *node, uint32_t most)
{
	return node && node->op == IR_OP_CONCAT && node->num_operands >= 2 &&
			       node->num_operands <= most &&
			       node->attrs.axis + 1 == node->results[0]->type.rank ?
		       node :
		       NULL;
}

/* Of x, the numbers that turn. */
static struct ir_type turned_type(const struct pattern *found)
{
	struct ir_type type = found->x->type;
	int64_t dims[IR_MAX_RANK];

	for (uint32_t i = 0; i < type.rank; i++)
		dims[i] = ir_type_dim(&type, i);
	if (found->turned)
		dims[type.rank - 1] = found->turned;
	return ir_type_make(type.dtype, type.rank, dims);
}

/* Cosines and sines may be broadcast to x, but x not to them. */
static bool fits(const struct pattern *found, const struct ir_node *root)
{
	const struct ir_type type = turned_type(found), *result = &root->results[0]->type;

	if (!ir_dtype_is_float(type.dtype) || found->cosine->type.dtype != type.dtype ||
	    found->sine->type.dtype != type.dtype || type.rank != result->rank)
		return false;
	for (uint32_t i = 0; i < type.rank; i++)
		if (ir_type_dim(&type, i) != ir_type_dim(result, i) &&
		    !(found->turned && i + 1 == type.rank))
			return false;
	return true;
}

/* ---- x * cosine + concat(-second half, first half) * sine */

static bool is_negation(const struct ir_node *node)
{
	const struct ir_unary_attrs *unary = &node->attrs.unary;

	return node->op == IR_OP_UNARY &&
	       (unary->kind == IR_NEG ||
		(unary->kind == IR_LINEAR && unary->alpha == -1 && unary->beta == 0));
}

/* The value whose halves `value` has swapped, the first of them negated. */
static const struct ir_value *swapped(struct search *s, const struct ir_value *value)
{
	const struct ir_node *concat = take_concat(rewrite_sole_producer(s->rw, value), 2);
	const struct ir_node *negation;
	const struct ir_value *x;

	negation = concat ? rewrite_sole_producer(s->rw, concat->operands[0]) : NULL;
	if (!negation || !is_negation(negation))
		return NULL;
	x = half_of(negation->operands[0], true, 0);
	if (!x || half_of(concat->operands[1], false, 0) != x)
		return NULL;
	add_inner(s, negation);
	add_inner(s, concat);
	return x;
}

/* The other factor of a product; NULL when `factor` is none. */
static const struct ir_value *beside(const struct ir_node *product, const struct ir_value *factor)
{
	if (product->operands[0] == factor)
		return product->operands[1];
	return product->operands[1] == factor ? product->operands[0] : NULL;
}

static bool find_whole(struct search *s, const struct ir_node *sum)
{
	for (uint32_t i = 0; i < 4; i++) {
		const struct ir_node *turned, *straight;

		s->found->num_inner = 0;
		turned = take_binary(s, sum->operands[i / 2], IR_MUL);
		straight = take_binary(s, sum->operands[!(i / 2)], IR_MUL);
		if (!turned || !straight)
			return false;
		s->found->x = swapped(s, turned->operands[i % 2]);
		s->found->sine = turned->operands[!(i % 2)];
		s->found->cosine = s->found->x ? beside(straight, s->found->x) : NULL;
		s->found->main = straight;
		if (s->found->cosine)
			return true;
	}
	return false;
}

/* ---- concat(first half * cosine - second half * sine, second half * cosine + first half * sine) */

static int64_t last_dim(const struct ir_value *value)
{
	return ir_type_dim(&value->type, value->type.rank - 1);
}

/* Whether a node is the product of a half of x and another value. */
static bool is_turned(const struct search *s, const struct ir_node *product, bool second,
		      const struct ir_value *factor)
{
	for (uint32_t i = 0; i < 2; i++)
		if (product->operands[!i] == factor &&
		    half_of(product->operands[i], second, s->found->turned) == s->found->x)
			return true;
	return false;
}

static bool find_halves(struct search *s, const struct ir_node *root)
{
	const struct ir_node *difference = take_binary(s, root->operands[0], IR_SUB);
	const struct ir_node *sum = take_binary(s, root->operands[1], IR_ADD), *product[4];

	if (!difference || !sum)
		return false;
	if (root->num_operands > 2)
		s->found->turned = 2 * last_dim(sum->results[0]);
	for (uint32_t i = 0; i < 4; i++) {
		product[i] = take_binary(s, (i < 2 ? difference : sum)->operands[i % 2], IR_MUL);
		if (!product[i])
			return false;
	}
	s->found->main = product[0];
	/* Cosines and sines may be halves of rows as well, so each factor is tried as that of x, as long as it fits. */
	for (uint32_t i = 0; i < 4; i++) {
		int64_t turned = s->found->turned;
		const struct ir_value *x = half_of(product[0]->operands[i / 2], false, turned);

		if (!x || half_of(product[1]->operands[i % 2], true, turned) != x)
			continue;
		s->found->x = x;
		s->found->cosine = product[0]->operands[!(i / 2)];
		s->found->sine = product[1]->operands[!(i % 2)];
		for (uint32_t k = 2; k < 4; k++)
			if (is_turned(s, product[k], true, s->found->cosine) &&
			    is_turned(s, product[5 - k], false, s->found->sine) &&
			    fits(s->found, root))
				return true;
	}
	return false;
}

/* ---- both */

static bool find(const struct rewrite *rw, const struct ir_node *root, struct pattern *found)
{
	struct search s = { rw, found };
	bool is_sum = root->op == IR_OP_BINARY && root->attrs.binary.kind == IR_ADD &&
		      root->attrs.binary.act.kind == IR_UNARY_NONE;

	memset(found, 0, sizeof(*found));
	if (is_sum ? !find_whole(&s, root) :
		     !take_concat(root, MAX_PARTS) || !find_halves(&s, root))
		return false;
	add_halves(&s);
	return fits(found, root);
}

/* Marks what is only used inside of the pattern; the slices may be used by others, and be cosines or sines themselves. */
static void mark_gone(const struct rewrite *rw, const struct pattern *found, bool *gone)
{
	for (uint32_t i = 0; i < found->num_inner; i++) {
		const struct ir_value *result = found->inner[i]->results[0];
		uint32_t inside = 0;

		for (uint32_t k = 0; k < found->num_inner; k++)
			for (uint32_t o = 0; o < found->inner[k]->num_operands; o++)
				inside += found->inner[k]->operands[o] == result;
		gone[found->inner[i]->id] |=
			found->inner[i]->op != IR_OP_SLICE ||
			(inside == rw->uses[result->id] && !rw->is_output[result->id] &&
			 result != found->cosine && result != found->sine);
	}
}

/* The numbers of each row that turn, turned, and what follows them; returns the node that turns, or NULL. */
static struct ir_node *emit_part(struct rewrite *rw, const struct ir_node *root,
				 const struct pattern *found, struct ir_value **operands)
{
	static const union ir_attrs none;
	const struct ir_type type = turned_type(found);
	struct ir_value *parts[MAX_PARTS];
	union ir_attrs begin = none;
	struct ir_node *node;

	for (uint32_t i = 0; i < type.rank; i++)
		begin.slice.strides[i] = 1;
	if (found->turned < last_dim(found->x)) {
		node = ir_add_node(rw->to, IR_OP_SLICE, operands, 1, &type, 1, &begin,
				   found->main->label, found->main->source);
		operands[0] = node ? node->results[0] : NULL;
	}
	node = operands[0] ? ir_add_node(rw->to, IR_OP_ROTARY, operands, 3, &type, 1, &none,
					 found->main->label, found->main->source) :
			     NULL;
	if (!node) {
		rewrite_nomem(rw);
		return NULL;
	}
	parts[0] = node->results[0];
	for (uint32_t i = 2; i < root->num_operands; i++)
		parts[i - 1] = rw->value[root->operands[i]->id];
	if (!rewrite_emit(rw, IR_OP_CONCAT, parts, root->num_operands - 1, &root->attrs, root,
			  NULL))
		return NULL;
	rw->fate[found->main->id] = (struct rewrite_fate){ WNN_FATE_KEPT, node->id };
	return node;
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
	struct ir_node *node = found->turned ? emit_part(rw, root, found, operands) :
					       rewrite_emit(rw, IR_OP_ROTARY, operands, 3, &none,
							    found->main, root);

	if (!node)
		return -1;
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
			mark_gone(rw, &found, gone);
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
