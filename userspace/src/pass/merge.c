// SPDX-License-Identifier: MIT
/*
 * Eliminates common subexpressions: keeps only the first of several nodes with equal operator,
 * attributes and operands.
 *
 * Precondition: a verified graph. Postcondition: no two nodes are equal.
 *
 *	%1 = unary(%0) exp			%1 = unary(%0) exp
 *	%2 = unary(%0) exp		->	%3 = binary(%1, %1) add
 *	%3 = binary(%1, %2) add
 */
#include <string.h>

#include "pass/rewrite.h"

#include "util/malloc.h"

static uint32_t hash(const struct rewrite *rw, const struct ir_node *node)
{
	uint32_t h = 2166136261u ^ node->op, word;

	for (uint32_t i = 0; i < node->num_operands; i++) {
		uint32_t id = node->operands[i] ? rw->value[node->operands[i]->id]->id : UINT32_MAX;

		h = (h ^ id) * 16777619u;
	}
	/* The hash includes attributes, because many nodes differ only in these. */
	_Static_assert(sizeof(node->attrs) % sizeof(word) == 0, "attributes are whole words");
	for (size_t at = 0; at < sizeof(node->attrs); at += sizeof(word)) {
		memcpy(&word, (const char *)&node->attrs + at, sizeof(word));
		h = (h ^ word) * 16777619u;
	}
	return h ^ h >> 15;
}

static bool same_types(const struct ir_node *a, const struct ir_node *b)
{
	for (uint32_t i = 0; i < a->num_results; i++)
		if (a->results[i]->type.dtype != b->results[i]->type.dtype ||
		    !ir_type_same_shape(&a->results[i]->type, &b->results[i]->type))
			return false;
	return true;
}

/*
 * Whether two nodes are equal. Attributes are compared as bytes: a difference in padding bytes only
 * misses a merge.
 */
static bool equal(const struct rewrite *rw, const struct ir_node *a, const struct ir_node *b)
{
	if (a->op != b->op || a->num_operands != b->num_operands ||
	    a->num_results != b->num_results || memcmp(&a->attrs, &b->attrs, sizeof(a->attrs)) ||
	    !same_types(a, b))
		return false;
	for (uint32_t i = 0; i < a->num_operands; i++) {
		if (!a->operands[i] != !b->operands[i])
			return false;
		if (a->operands[i] &&
		    rw->value[a->operands[i]->id] != rw->value[b->operands[i]->id])
			return false;
	}
	return true;
}

int pass_merge(struct rewrite *rw, const struct pass_context *ctx)
{
	uint32_t size = 64, at;
	const struct ir_node **table;
	int ret = 0;

	(void)ctx;
	while (size < rw->from->num_nodes * 2)
		size *= 2;
	table = wnn_calloc(size, sizeof(*table));
	if (!table)
		return rewrite_nomem(rw);
	for (uint32_t n = 0; n < rw->from->num_nodes && !ret; n++) {
		const struct ir_node *node = rw->from->nodes[n];

		for (at = hash(rw, node) & (size - 1); table[at]; at = (at + 1) & (size - 1))
			if (equal(rw, table[at], node))
				break;
		if (!table[at]) {
			table[at] = node;
			ret = rewrite_copy(rw, node);
			continue;
		}
		for (uint32_t i = 0; i < node->num_results; i++)
			rw->value[node->results[i]->id] = rw->value[table[at]->results[i]->id];
		rw->fate[node->id] =
			(struct rewrite_fate){ WNN_FATE_FUSED, rw->fate[table[at]->id].node };
	}
	wnn_free(table);
	return ret;
}
