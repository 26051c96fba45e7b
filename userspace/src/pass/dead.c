// SPDX-License-Identifier: MIT
/*
 * Leaves out nodes and constants that no output depends on.
 *
 * Precondition: a verified graph. Postcondition: every node has a result that is used. Inputs stay.
 *
 *	%1 = unary(%0) exp
 *	%2 = unary(%0) log			->	%2 = unary(%0) log
 *	output "y" = %2					output "y" = %2
 */

#include "pass/rewrite.h"

#include "util/malloc.h"

static bool is_used(const struct rewrite *rw, const struct ir_node *node)
{
	for (uint32_t i = 0; i < node->num_results; i++)
		if (rw->uses[node->results[i]->id])
			return true;
	return false;
}

int pass_drop_dead(struct rewrite *rw, const struct pass_context *ctx)
{
	bool *keep = wnn_calloc(rw->from->num_nodes + 1, sizeof(*keep));
	int ret = keep ? 0 : rewrite_nomem(rw);

	(void)ctx;
	/*
	 * Visits nodes before the nodes that make their operands, so that a dead node also removes
	 * the uses of its operands.
	 */
	for (uint32_t n = rw->from->num_nodes; n-- > 0 && !ret;) {
		const struct ir_node *node = rw->from->nodes[n];

		keep[n] = is_used(rw, node);
		for (uint32_t i = 0; !keep[n] && i < node->num_operands; i++)
			if (node->operands[i])
				rw->uses[node->operands[i]->id]--;
	}
	for (uint32_t n = 0; n < rw->from->num_nodes && !ret; n++)
		if (keep[n])
			ret = rewrite_copy(rw, rw->from->nodes[n]);
	wnn_free(keep);
	return ret;
}
