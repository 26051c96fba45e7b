// SPDX-License-Identifier: MIT
#include <string.h>

#include "plan.h"

/* Whether an operator only gives its operand's memory another shape, so that nothing is computed. */
static bool is_view(const struct gg_tensor *op)
{
	static const char *const names[] = { "NONE", "VIEW", "RESHAPE", "PERMUTE", "TRANSPOSE" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(base.op_name(op->op), names[i]))
			return true;
	return false;
}

bool onpu_supports(const struct gg_tensor *op)
{
	return is_view(op);
}

int onpu_compute(struct gg_graph *graph)
{
	for (int i = 0; i < base.graph_n_nodes(graph); i++) {
		const struct gg_tensor *node = base.graph_node(graph, i);

		if (!is_view(node)) {
			onpu_say("%s cannot be computed on the device", base.op_name(node->op));
			return -1;
		}
	}
	return 0;
}
