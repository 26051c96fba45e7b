// SPDX-License-Identifier: MIT
/*
 * Plans a range of nodes: chooses the memory of values, lowers the nodes one after the other, and
 * schedules the instructions. The code generator and the search for streamed groups call it.
 */
#include "plan/kernel/choices.h"
#include "plan/list/hazards.h"
#include "plan/list/schedule.h"
#include "plan/lower/range.h"

#include "plan/lower/lower.h"
#include "plan/operators.h"
#include "plan/place/place.h"
#include "util/malloc.h"

/*
 * Lowers a node. A convolution that is fused with an addition is lowered at the position of the
 * addition, where the operands of both exist.
 */
static void lower_node(struct plan *plan, uint32_t i)
{
	const struct ir_node *node = plan->graph->nodes[plan->first + i];
	uint32_t fused = values_fused(plan, i);

	if (fused == NOT_FUSED) {
		plan_operators[node->op].lower(plan, node);
	} else if (fused < i) {
		plan->report.node = fused;
		lower_conv_add(plan, plan->graph->nodes[plan->first + fused], node);
	}
}

static void lower_range(struct plan *plan)
{
	for (uint32_t i = 0; i < plan->count && !plan->report.failed; i++) {
		const struct ir_node *node = plan->graph->nodes[plan->first + i];
		struct npu_reason reason = { 0 };

		plan->report.node = i;
		plan->report.nodes[i].node_id = node->id;
		plan->report.nodes[i].exactness = NPU_EXACT;
		plan->list.at_boundary = true;
		plan->list.node_begin = plan->list.num_ops;
		if (plan->manners)
			plan_set_manner(plan, plan->manners[i]);
		residents_begin(plan);
		if (npu_supports(node, plan->caps, &reason))
			lower_node(plan, i);
		else
			plan_fail(plan, "%s", reason.text);
		plan_refuse(plan);
	}
	plan->report.failed |= plan->report.refused > 0;
}

int plan_locate(struct plan *plan, const uint32_t *live_out, uint32_t num_live_out)
{
	uint32_t num_bindings;

	if (!plan->list.depend)
		plan->list.depend = depend_create();
	if (!plan->list.hazards)
		plan->list.hazards = hazards_create();
	plan->report.nodes = wnn_calloc(plan->count + 1, sizeof(*plan->report.nodes));
	if (!plan->list.depend || !plan->list.hazards || !plan->report.nodes)
		plan_nomem(plan);
	if (plan->report.failed || values_locate(plan, live_out, num_live_out))
		return -1;
	plan->list.bindings = values_bindings(plan, &num_bindings);
	return 0;
}

int plan_nodes(struct plan *plan, uint64_t *cycles)
{
	lower_range(plan);
	/*
	 * A dry plan needs only the cycles, on which the bytes of preemption points have no effect.
	 */
	if (!plan->report.failed && !plan->constants.dry)
		plan_finish(plan);
	if (!plan->report.failed)
		*cycles = plan_schedule(plan);
	return plan->report.failed ? -1 : 0;
}

void plan_remember(struct plan *plan)
{
	plan->choices = contract_choices_create();
}

void plan_forget(struct plan *plan)
{
	contract_choices_destroy(plan->choices);
	plan->choices = NULL;
}

void plan_lend(struct plan *plan, struct plan_list *kept)
{
	plan->list.ops = kept->ops;
	plan->list.cap_ops = kept->cap_ops;
	plan->list.births = kept->births;
	plan->list.cap_births = kept->cap_births;
	plan->list.depend = kept->depend;
	plan->list.hazards = kept->hazards;
	*kept = (struct plan_list){ .ops = NULL };
}

void plan_keep(struct plan *plan, struct plan_list *kept)
{
	struct plan_list *list = &plan->list;

	*kept = (struct plan_list){ .ops = list->ops,
				    .cap_ops = list->cap_ops,
				    .births = list->births,
				    .cap_births = list->cap_births,
				    .depend = list->depend,
				    .hazards = list->hazards };
	if (kept->depend)
		depend_reset(kept->depend);
	if (kept->hazards)
		hazards_reset(kept->hazards);
	list->ops = NULL;
	list->births = NULL;
	list->depend = NULL;
	list->hazards = NULL;
	plan_release(plan);
}

void plan_list_release(struct plan_list *list)
{
	wnn_free(list->ops);
	wnn_free(list->emitted);
	wnn_free(list->births);
	plan_set_release(&list->views);
	plan_set_release(&list->params);
	depend_destroy(list->depend);
	depend_destroy(list->ordered);
	hazards_destroy(list->hazards);
}

void plan_release(struct plan *plan)
{
	plan_list_release(&plan->list);
	constants_release(&plan->constants);
	wnn_free(plan->report.nodes);
	values_destroy(plan->values);
}
