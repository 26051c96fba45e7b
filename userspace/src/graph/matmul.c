// SPDX-License-Identifier: MIT
/*
 * The rules of gemm and matmul: they check a call, infer the types of its results and emit IR
 * nodes.
 */
#include "graph/rules.h"

int rule_gemm(struct wnn_rule *rule)
{
	const WNNGemmOptions *options = rule_options(rule, WNNGemmOptions);
	const struct ir_type *a = rule_type(rule, 0), *b = rule_type(rule, 1);
	const struct ir_type *c = rule_type(rule, 2);
	bool ta = options->aTranspose, tb = options->bTranspose;
	int64_t dims[2] = { ir_type_dim(a, ta ? 1 : 0), ir_type_dim(b, tb ? 0 : 1) };
	int64_t inner_a = ir_type_dim(a, ta ? 0 : 1), inner_b = ir_type_dim(b, tb ? 1 : 0);
	struct ir_type type = ir_type_make(a->dtype, 2, dims);
	union ir_attrs attrs = { .matmul = {
					 .a_transpose = ta,
					 .b_transpose = tb,
					 .alpha = wnn_double_cast(a->dtype, options->alpha),
					 .beta = wnn_double_cast(a->dtype, options->beta),
					 .act = rule_no_activation(),
				 } };

	if (inner_a != inner_b)
		return rule_error(rule, "a%s has %" PRId64 " columns, but b%s has %" PRId64 " rows",
				  ta ? " transposed" : "", inner_a, tb ? " transposed" : "",
				  inner_b);
	if (c && !rule_broadcasts_to(c, &type))
		return rule_error(rule, "c of shape %s cannot be broadcast to %s", SHAPE(c),
				  SHAPE(&type));
	return rule_emit_call(rule, IR_OP_MATMUL, &type, &attrs);
}

int rule_matmul(struct wnn_rule *rule)
{
	const struct ir_type *a = rule_type(rule, 0), *b = rule_type(rule, 1);
	int64_t rows = ir_type_dim(a, a->rank - 2), columns = ir_type_dim(b, b->rank - 1);
	int64_t inner_a = ir_type_dim(a, a->rank - 1), inner_b = ir_type_dim(b, b->rank - 2);
	struct ir_type batch_a = *a, batch_b = *b, type;
	union ir_attrs attrs = { .matmul = {
					 .alpha = 1,
					 .beta = 1,
					 .act = rule_no_activation(),
				 } };

	if (inner_a != inner_b)
		return rule_error(rule,
				  "a of shape %s has %" PRId64 " columns, but b of shape %s "
				  "has %" PRId64 " rows",
				  SHAPE(a), inner_a, SHAPE(b), inner_b);
	batch_a.rank -= 2;
	batch_b.rank -= 2;
	if (rule_broadcast(rule, &batch_a, "the batch of a", &batch_b, "the batch of b", &type))
		return -1;
	type.dim[type.rank++].value = rows;
	type.dim[type.rank++].value = columns;
	return rule_emit_call(rule, IR_OP_MATMUL, &type, &attrs);
}
