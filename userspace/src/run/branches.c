// SPDX-License-Identifier: MIT
/*
 * Finds the nodes whose results only one side of a selection needs, when the condition of the
 * selection (`where`) has a single element: a dispatch leaves out the steps of the side that the
 * condition does not select. Importers write a branch of a graph, such as If of ONNX, as both sides
 * and a selection of each result.
 *
 * A branch is one side of the selections by one condition. Branches are a tree, since a selection
 * may itself be needed in a branch only. Branch 0 (RUN_ALWAYS) contains all nodes. A node is in the
 * smallest branch that contains all that read its results.
 *
 * This holds for nodes on the CPU. Nodes of the NPU run always, so that nodes whose results they
 * read do, too: the NPU computes a program as a whole.
 */
#include "run/compiled_private.h"
#include "util/array.h"
#include "util/malloc.h"

/* The most branches that contain each other. The branch of a node is found by going up the tree. */
#define MAX_DEPTH 16
/* The most branches of one condition that are looked through to find one that is there already. */
#define MAX_OF_CONDITION 16

#define NO_USE UINT32_MAX

struct search {
	struct run_compiled *c;
	const bool *on_npu;
	uint32_t *of_value; /* [value id]: the branch that contains all uses so far, or NO_USE */
	/* [value id]: the first branch in the list of this condition, which was made last; or 0 */
	uint32_t *first_of;
	size_t room;
};

static bool is_selection(const struct ir_node *node)
{
	return node->op == IR_OP_WHERE && node->operands[0]->kind != IR_VALUE_CONSTANT &&
	       ir_type_elements(&node->operands[0]->type) == 1;
}

/* Returns the smallest branch that contains both branches. */
static uint32_t common(const struct run_branch *branches, uint32_t a, uint32_t b)
{
	while (a != b) {
		if (branches[a].depth >= branches[b].depth)
			a = branches[a].parent;
		else
			b = branches[b].parent;
	}
	return a;
}

static void add_use(struct search *s, const struct ir_value *value, uint32_t branch)
{
	uint32_t *of = &s->of_value[value->id];

	*of = *of == NO_USE ? branch : common(s->c->branches, *of, branch);
}

/*
 * Sets *branch to the side of a selection that itself is in the branch *branch. Leaves *branch as
 * it is when the condition has too many branches, or the branches contain each other too deeply.
 * Returns 0, or -1 when out of memory.
 */
static int enter(struct search *s, const struct ir_value *condition, bool taken, uint32_t *branch)
{
	struct run_compiled *c = s->c;
	uint32_t found = s->first_of[condition->id], seen = 0;

	for (; found && seen < MAX_OF_CONDITION; found = c->branches[found].next, seen++)
		if (c->branches[found].parent == *branch && c->branches[found].taken == taken)
			break;
	if (seen == MAX_OF_CONDITION || (!found && c->branches[*branch].depth == MAX_DEPTH))
		return 0;
	if (!found) {
		if (wnn_array_reserve(&c->branches, &s->room, c->num_branches + 1,
				      sizeof(*c->branches)))
			return -1;
		found = c->num_branches++;
		c->branches[found] = (struct run_branch){ .condition = condition,
							  .taken = taken,
							  .parent = *branch,
							  .depth = c->branches[*branch].depth + 1,
							  .next = s->first_of[condition->id] };
		s->first_of[condition->id] = found;
	}
	*branch = found;
	return 0;
}

/* Returns the branch of a node, all readers of which have been looked at. */
static uint32_t branch_of(const struct search *s, const struct ir_node *node)
{
	const struct run_branch *branches = s->c->branches;
	uint32_t branch = NO_USE;

	if (s->on_npu[node->id])
		return RUN_ALWAYS;
	for (uint32_t i = 0; i < node->num_results; i++) {
		uint32_t use = s->of_value[node->results[i]->id];

		if (use != NO_USE)
			branch = branch == NO_USE ? use : common(branches, branch, use);
	}
	if (branch == NO_USE)
		return RUN_ALWAYS;
	/* Conditions that are computed after the node cannot decide whether it runs. */
	for (uint32_t up = branch; up != RUN_ALWAYS; up = branches[up].parent)
		if (branches[up].condition->def && branches[up].condition->def->id >= node->id)
			branch = branches[up].parent;
	return branch;
}

/* Sets the branch of a node in @of_node, and notes the uses of its operands. Returns 0 or -1. */
static int visit(struct search *s, const struct ir_node *node, uint32_t *of_node)
{
	bool selects = !s->on_npu[node->id] && is_selection(node);

	of_node[node->id] = branch_of(s, node);
	for (uint32_t i = 0; i < node->num_operands; i++) {
		uint32_t branch = of_node[node->id];

		if (!node->operands[i])
			continue;
		if (selects && i && enter(s, node->operands[0], i == 1, &branch))
			return -1;
		add_use(s, node->operands[i], branch);
	}
	return 0;
}

static int find(struct search *s, uint32_t *of_node)
{
	struct run_compiled *c = s->c;
	const struct ir_graph *graph = c->graph;

	for (uint32_t v = 0; v < graph->num_values; v++)
		s->of_value[v] = NO_USE;
	for (uint32_t i = 0; i < graph->num_outputs; i++)
		s->of_value[graph->outputs[i].value->id] = RUN_ALWAYS;
	for (uint32_t n = graph->num_nodes; n-- > 0;)
		if (visit(s, graph->nodes[n], of_node))
			return -1;
	/*
	 * In a step of two nodes, only the second node reads the result of the first, so both are
	 * in the branch of the second.
	 */
	for (uint32_t k = 0; k < c->num_steps; k++)
		c->steps[k].branch = of_node[c->steps[k].first + c->steps[k].count - 1];
	return 0;
}

static bool has_selections(const struct ir_graph *graph)
{
	for (uint32_t n = 0; n < graph->num_nodes; n++)
		if (is_selection(graph->nodes[n]))
			return true;
	return false;
}

int run_find_branches(struct run_compiled *c, const bool *on_npu, struct wnn_error *err)
{
	struct search s = { .c = c, .on_npu = on_npu };
	uint32_t *of_node;
	int ret = -1;

	if (!has_selections(c->graph))
		return 0;
	s.of_value = wnn_calloc((size_t)c->graph->num_values + 1, sizeof(*s.of_value));
	s.first_of = wnn_calloc((size_t)c->graph->num_values + 1, sizeof(*s.first_of));
	of_node = wnn_calloc((size_t)c->graph->num_nodes + 1, sizeof(*of_node));
	if (s.of_value && s.first_of && of_node &&
	    !wnn_array_reserve(&c->branches, &s.room, 1, sizeof(*c->branches))) {
		c->branches[0] = (struct run_branch){ .parent = RUN_ALWAYS };
		c->num_branches = 1;
		ret = find(&s, of_node);
	}
	wnn_free(s.of_value);
	wnn_free(s.first_of);
	wnn_free(of_node);
	return ret ? wnn_error_nomem(err, "the branches of a graph") : 0;
}
