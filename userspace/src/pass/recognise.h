/* SPDX-License-Identifier: MIT */
/* Patterns of operators that are one function; recognise.c and recognise_norm.c find them. */
#ifndef WNN_PASS_RECOGNISE_H
#define WNN_PASS_RECOGNISE_H

#include "pass/rewrite.h"

#define MAX_INNER 12 /* the most nodes of a pattern before its last node */

/*
 * A match: the fused operator, and the matched nodes other than the last one, whose results only
 * nodes of the match use.
 */
struct pattern {
	enum ir_op op;
	union ir_attrs attrs;
	/* Operands of the fused operator; absent ones are NULL. */
	const struct ir_value *operands[3];
	const struct ir_node *main; /* gives the fused node's label, and the begin of its source */
	const struct ir_node *inner[MAX_INNER];
	uint32_t num_inner;
};

struct search {
	const struct rewrite *rw;
	struct pattern *found;
	bool cpu; /* all nodes run on the CPU */
};

/*
 * Whether all elements of a constant are one number that is about `wanted`: up to a relative error
 * of 10^-3 for float16 and of 10^-6 for float32.
 */
bool recognise_is_about(const struct ir_value *value, double wanted);
/* Whether a node is this function and has no activation; false for NULL. */
bool recognise_is_binary(const struct ir_node *node, enum ir_binary kind);
bool recognise_is_unary(const struct ir_node *node, enum ir_unary kind);
/*
 * Returns the node that makes a value, and adds it to the pattern, if nothing else uses the value;
 * else NULL.
 */
const struct ir_node *recognise_take(struct search *s, const struct ir_value *value);

/* ---- recognise_norm.c */
/*
 * Finds the normalisation whose quotient or product is `root`, or as Keras writes it, whose last
 * sum is root, and fills the pattern. @user: by value id, the last node that uses it. Returns the
 * last node of the pattern, which may be a cast, a product with a scale or a sum with a bias behind
 * root; NULL when there is no pattern.
 */
const struct ir_node *recognise_normalisation(struct search *s, const struct ir_node *const *user,
					      const struct ir_node *root);
/*
 * Returns operand i of the fused operator in the new graph. A scale or bias with dimensions of 1
 * beside those of the axes is reshaped. NULL when out of memory.
 */
struct ir_value *recognise_operand(struct rewrite *rw, const struct pattern *found, uint32_t i);

#endif
