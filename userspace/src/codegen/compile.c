// SPDX-License-Identifier: MIT
/* npu_compile: lowers the nodes of a range one after the other, encodes, and verifies what came
 * out. */
#include "codegen/encode.h"
#include "plan/operators.h"

#include <string.h>

#include "util/malloc.h"

/* ---- nodes that do not compile */

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

/* The plan goes on behind the node at hand, to find all that fail. */
static void refuse(struct plan *plan)
{
	const struct ir_node *node = plan->graph->nodes[plan->first + plan->node];
	struct npu_refusals *refusals = plan->refusals;

	if (!plan->failed || plan->nomem || plan->keep || !refusals)
		return;
	plan->failed = false;
	if (!refusals->why) {
		refusals->num_nodes = plan->graph->num_nodes;
		refusals->why = wnn_calloc(refusals->num_nodes, sizeof(*refusals->why));
	}
	if (!refusals->why || !(refusals->why[node->id] = wnn_strdup(plan->why))) {
		plan_nomem(plan);
		return;
	}
	refusals->count++;
	plan->refused++;
}

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
		refuse(plan);
	}
	plan->failed |= plan->refused > 0;
}

/* ---- estimated time: engines in order, tokens at the end of what signals them */

struct tokens {
	uint64_t *time;
	size_t count, cap, taken;
};

struct timeline {
	struct tokens tokens[ONPU_ENG_COUNT][ONPU_ENG_COUNT];
	uint64_t free[ONPU_ENG_COUNT], issue, last;
};

/* An instruction and about two new slots. */
#define ISSUE_CYCLES 8

static void run_op(struct plan *plan, struct timeline *tl, const struct plan_op *op)
{
	uint64_t start;

	tl->issue += ISSUE_CYCLES;
	if (op->op == ONPU_OP_PREEMPT) {
		tl->issue = tl->issue > tl->last ? tl->issue : tl->last;
		return;
	}
	start = tl->free[op->engine] > tl->issue ? tl->free[op->engine] : tl->issue;
	for (int e = 0; e < ONPU_ENG_COUNT; e++) {
		struct tokens *tokens = &tl->tokens[e][op->engine];

		if (!(op->waits >> e & 1))
			continue;
		if (tokens->time[tokens->taken] > start)
			start = tokens->time[tokens->taken];
		tokens->taken++;
	}
	tl->free[op->engine] = start + op->cost;
	if (tl->free[op->engine] > tl->last)
		tl->last = tl->free[op->engine];
	for (int e = 0; e < ONPU_ENG_COUNT; e++) {
		struct tokens *tokens = &tl->tokens[op->engine][e];

		if (!(op->signals >> e & 1) || plan_grow(plan, &tokens->time, &tokens->cap,
							 tokens->count + 1, sizeof(*tokens->time)))
			continue;
		tokens->time[tokens->count++] = start + op->cost;
	}
}

static uint64_t estimate(struct plan *plan)
{
	struct timeline *tl = wnn_calloc(1, sizeof(*tl));
	uint64_t total;

	if (!tl) {
		plan_nomem(plan);
		return 0;
	}
	for (size_t i = 0; i < plan->num_ops && !plan->failed; i++) {
		uint64_t before = tl->last;

		run_op(plan, tl, &plan->ops[i]);
		plan->nodes[plan->ops[i].node].est_cycles += tl->last - before;
	}
	total = tl->last;
	for (int a = 0; a < ONPU_ENG_COUNT; a++)
		for (int b = 0; b < ONPU_ENG_COUNT; b++)
			wnn_free(tl->tokens[a][b].time);
	wnn_free(tl);
	return total;
}

/* ---- the program */

static void take_results(struct plan *plan, struct npu_program *program)
{
	uint32_t count;
	const struct npu_binding *bindings = values_bindings(plan, &count);

	program->bindings = wnn_malloc((count + 1) * sizeof(*bindings));
	if (!program->bindings) {
		plan_nomem(plan);
		return;
	}
	if (count)
		memcpy(program->bindings, bindings, count * sizeof(*bindings));
	program->num_bindings = count;
	program->arena_bytes = values_arena_bytes(plan);
	program->constants = plan->constants;
	program->constant_bytes = plan->constant_bytes;
	program->nodes = plan->nodes;
	program->num_nodes = plan->count;
	plan->constants = NULL;
	plan->nodes = NULL;
}

static int compile(struct plan *plan, const uint32_t *live_out, uint32_t num_live_out, bool profile,
		   struct npu_program *program)
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
		program->est_cycles = estimate(plan);
	if (!plan->failed && encode_plan(plan, profile, program))
		refuse(plan);
	if (!plan->failed && !plan->refused)
		take_results(plan, program);
	return plan->failed || plan->refused ? -1 : 0;
}

/* Index in the range of the node that an instruction belongs to; as many as there are: none. */
static uint32_t node_of_insn(const struct npu_program *program, uint32_t insn)
{
	uint32_t i = 0;

	while (i < program->num_nodes &&
	       insn - program->nodes[i].first_insn >= program->nodes[i].num_insns)
		i++;
	return i;
}

/* All nodes are to blame for what is not the instruction of one. */
static int verify(struct plan *plan, const struct npu_program *program)
{
	struct wnn_error cause = { 0 };
	uint32_t insn, node;

	if (!npu_program_verify(program, plan->caps, &insn, &cause))
		return 0;
	if (cause.status == WNN_UNKNOWN_ERROR)
		plan_nomem(plan);
	node = node_of_insn(program, insn);
	for (uint32_t i = 0; i < plan->count; i++) {
		if (node < plan->count && i != node)
			continue;
		plan->node = i;
		plan_fail(plan, "%s", cause.message);
		refuse(plan);
	}
	return -1;
}

static struct npu_program *compile_range(struct plan *plan, const uint32_t *live_out,
					 uint32_t num_live_out, bool profile)
{
	struct npu_program *program = wnn_calloc(1, sizeof(*program));
	int ret;

	if (!program) {
		plan_nomem(plan);
		return NULL;
	}
	ret = compile(plan, live_out, num_live_out, profile, program) || verify(plan, program);
	plan_release(plan);
	if (!ret)
		return program;
	npu_program_destroy(program);
	return NULL;
}

int npu_compile(const struct ir_graph *graph, uint32_t first, uint32_t count,
		const uint32_t *live_out, uint32_t num_live_out, const struct npu_caps *caps,
		bool profile, struct npu_refusals *refusals, struct npu_program **out,
		struct wnn_error *err)
{
	const struct plan fresh = { .caps = caps,
				    .graph = graph,
				    .first = first,
				    .count = count,
				    .err = err,
				    .refusals = refusals };
	struct plan plan = fresh;

	plan.keep = true;
	*out = compile_range(&plan, live_out, num_live_out, profile);
	/* Values that stay in SRAM take room from tiles and places to cut a program into jobs. */
	if (!*out && !plan.nomem) {
		struct wnn_error kept = *err;

		plan = fresh;
		*out = compile_range(&plan, live_out, num_live_out, profile);
		if (*out)
			memcpy((*out)->residency_error, kept.message,
			       sizeof((*out)->residency_error));
	}
	return *out ? 0 : -1;
}

void npu_program_destroy(struct npu_program *program)
{
	if (!program)
		return;
	wnn_free(program->jobs);
	wnn_free(program->insns);
	wnn_free(program->slots);
	wnn_free(program->patches);
	wnn_free(program->constants);
	wnn_free(program->bindings);
	wnn_free(program->nodes);
	wnn_free(program);
}
