// SPDX-License-Identifier: MIT
/* Plans the nodes of a range one after the other. */
#include "plan/lower/range.h"

#include "plan/operators.h"
#include "plan/place/place.h"
#include "util/malloc.h"

static void lower_range(struct plan *plan)
{
	for (uint32_t i = 0; i < plan->count && !plan->failed; i++) {
		const struct ir_node *node = plan->graph->nodes[plan->first + i];
		struct npu_reason reason = { 0 };

		plan->node = i;
		plan->nodes[i].node_id = node->id;
		plan->nodes[i].exactness = NPU_EXACT;
		plan->at_boundary = true;
		residents_begin(plan);
		if (npu_supports(node, plan->caps, &reason))
			plan_operators[node->op].lower(plan, node);
		else
			plan_fail(plan, "%s", reason.text);
		plan_refuse(plan);
	}
	plan->failed |= plan->refused > 0;
}

int plan_range(struct plan *plan, const uint32_t *live_out, uint32_t num_live_out, uint64_t *cycles)
{
	plan->hazards = hazards_create();
	plan->nodes = wnn_calloc(plan->count + 1, sizeof(*plan->nodes));
	if (!plan->hazards || !plan->nodes)
		plan_nomem(plan);
	if (plan->failed || values_place(plan, live_out, num_live_out))
		return -1;
	lower_range(plan);
	if (!plan->failed)
		plan_finish(plan);
	if (!plan->failed)
		*cycles = plan_estimate(plan);
	return plan->failed ? -1 : 0;
}

void plan_release(struct plan *plan)
{
	wnn_free(plan->ops);
	plan_set_release(&plan->views);
	plan_set_release(&plan->params);
	wnn_free(plan->constants);
	wnn_free(plan->nodes);
	hazards_destroy(plan->hazards);
	values_destroy(plan->values);
	wnn_free(plan->births);
}
