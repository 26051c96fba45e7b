// SPDX-License-Identifier: MIT
/*
 * Records the nodes of a graph that do not compile, each with its reason, so that they can run on
 * the CPU.
 */
#include "plan/list/plan.h"
#include "util/malloc.h"

const char *npu_refusals_why(const struct npu_refusals *refusals, const struct ir_node *node)
{
	return refusals->why ? refusals->why[node->id] : NULL;
}

void npu_refusals_destroy(struct npu_refusals *refusals)
{
	for (uint32_t i = 0; refusals->why && i < refusals->num_nodes; i++)
		wnn_free(refusals->why[i]);
	wnn_free(refusals->why);
	*refusals = (struct npu_refusals){ 0 };
}

void plan_refuse(struct plan *plan)
{
	const struct ir_node *node = plan->graph->nodes[plan->first + plan->report.node];
	struct npu_refusals *refusals = plan->report.refusals;

	if (!plan->report.failed || plan->report.nomem || plan->sram.keep || !refusals)
		return;
	plan->report.failed = false;
	if (!refusals->why) {
		refusals->num_nodes = plan->graph->num_nodes;
		refusals->why = wnn_calloc(refusals->num_nodes, sizeof(*refusals->why));
	}
	if (refusals->why && refusals->why[node->id])
		return; /* the node was refused already, because of other instructions */
	if (!refusals->why || !(refusals->why[node->id] = wnn_strdup(plan->report.why))) {
		plan_nomem(plan);
		return;
	}
	refusals->count++;
	plan->report.refused++;
}
