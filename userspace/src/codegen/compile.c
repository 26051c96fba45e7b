// SPDX-License-Identifier: MIT
/* npu_compile: lowers the nodes of a range one after the other, encodes, and verifies what came
 * out. */
#include "codegen/encode.h"

#include <stdlib.h>
#include <string.h>

static void lower(struct plan *plan, const struct ir_node *node)
{
	switch (node->op) {
	case IR_OP_CONV:
		lower_conv(plan, node);
		break;
	case IR_OP_MATMUL:
		lower_matmul(plan, node);
		break;
	case IR_OP_POOL:
		lower_pool(plan, node);
		break;
	case IR_OP_REDUCE:
		lower_reduce(plan, node);
		break;
	case IR_OP_SOFTMAX:
		lower_softmax(plan, node);
		break;
	case IR_OP_ARG:
		lower_arg(plan, node);
		break;
	case IR_OP_CUMSUM:
		lower_cumsum(plan, node);
		break;
	case IR_OP_GRU: case IR_OP_LSTM:
		lower_recurrent(plan, node);
		break;
	case IR_OP_BATCHNORM: case IR_OP_INSTNORM: case IR_OP_LAYERNORM:
		lower_norm(plan, node);
		break;
	case IR_OP_COPY:
	case IR_OP_RESHAPE:
	case IR_OP_TRANSPOSE:
	case IR_OP_CONCAT:
	case IR_OP_SLICE:
	case IR_OP_EXPAND: case IR_OP_PAD: case IR_OP_REVERSE: case IR_OP_TILE:
		lower_move(plan, node);
		break;
	case IR_OP_GATHER:
		lower_gather(plan, node);
		break;
	case IR_OP_SCATTER:
		lower_scatter(plan, node);
		break;
	case IR_OP_RESAMPLE:
		lower_resample(plan, node);
		break;
	case IR_OP_QUANTIZE:
	case IR_OP_DEQUANTIZE:
		lower_quantize(plan, node);
		break;
	default:
		lower_elementwise(plan, node);
	}
}

static void lower_range(struct plan *plan)
{
	for (uint32_t i = 0; i < plan->count && !plan->failed; i++) {
		const struct ir_node *node = plan->graph->nodes[plan->first + i];
		struct npu_reason reason = { 0 };

		plan->node = i;
		plan->nodes[i].node_id = node->id;
		plan->nodes[i].exactness = NPU_EXACT;
		if (!npu_supports(node, plan->caps, &reason)) {
			plan_fail(plan, "node %u (%s): %s", node->id, ir_op_name(node->op),
				  reason.text);
			return;
		}
		plan->at_boundary = true;
		residents_begin(plan);
		lower(plan, node);
	}
}

/* ---- estimated time: engines in order, tokens at the end of what signals them */

struct tokens {
	uint64_t *time;
	size_t count, cap, taken;
};

struct timeline {
	struct tokens tokens[PLAN_ENGINES][PLAN_ENGINES];
	uint64_t free[PLAN_ENGINES], issue, last;
};

static void run_op(struct plan *plan, struct timeline *tl, const struct plan_op *op)
{
	uint64_t start;

	tl->issue += 8;		/* an instruction and about two new slots */
	if (op->op == ONPU_OP_PREEMPT) {
		tl->issue = tl->issue > tl->last ? tl->issue : tl->last;
		return;
	}
	start = tl->free[op->engine] > tl->issue ? tl->free[op->engine] : tl->issue;
	for (int e = 0; e < PLAN_ENGINES; e++) {
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
	for (int e = 0; e < PLAN_ENGINES; e++) {
		struct tokens *tokens = &tl->tokens[op->engine][e];

		if (!(op->signals >> e & 1) || plan_grow(plan, &tokens->time, &tokens->cap,
							 tokens->count + 1, sizeof(*tokens->time)))
			continue;
		tokens->time[tokens->count++] = start + op->cost;
	}
}

static uint64_t estimate(struct plan *plan)
{
	struct timeline *tl = calloc(1, sizeof(*tl));
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
	for (int a = 0; a < PLAN_ENGINES; a++)
		for (int b = 0; b < PLAN_ENGINES; b++)
			free(tl->tokens[a][b].time);
	free(tl);
	return total;
}

/* ---- the program */

static void take_results(struct plan *plan, struct npu_program *program)
{
	uint32_t count;
	const struct npu_binding *bindings = values_bindings(plan, &count);

	program->bindings = malloc((count + 1) * sizeof(*bindings));
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
	plan->nodes = calloc(plan->count + 1, sizeof(*plan->nodes));
	if (!plan->hazards || !plan->nodes)
		plan_nomem(plan);
	if (plan->failed || values_place(plan, live_out, num_live_out))
		return -1;
	lower_range(plan);
	if (!plan->failed)
		plan_finish(plan);
	if (!plan->failed)
		program->est_cycles = estimate(plan);
	if (!plan->failed)
		encode_plan(plan, profile, program);
	if (!plan->failed)
		take_results(plan, program);
	return plan->failed ? -1 : 0;
}

static struct npu_program *compile_range(struct plan plan, const uint32_t *live_out,
					 uint32_t num_live_out, bool profile)
{
	struct npu_program *program = calloc(1, sizeof(*program));
	int ret;

	if (!program) {
		wnn_error_nomem(plan.err, "an NPU program");
		return NULL;
	}
	ret = compile(&plan, live_out, num_live_out, profile, program);
	plan_release(&plan);
	if (!ret)
		return program;
	npu_program_destroy(program);
	return NULL;
}

int npu_compile(const struct ir_graph *graph, uint32_t first, uint32_t count,
		const uint32_t *live_out, uint32_t num_live_out, const struct npu_caps *caps,
		bool profile, struct npu_program **out, struct wnn_error *err)
{
	struct plan plan = { .caps = caps, .graph = graph, .first = first, .count = count,
			     .keep = true, .err = err };
	struct npu_program *program = compile_range(plan, live_out, num_live_out, profile);

	/* Values that stay in SRAM may leave no place to cut a long program into jobs. */
	if (!program) {
		plan.keep = false;
		program = compile_range(plan, live_out, num_live_out, profile);
	}
	*out = NULL;
	if (!program)
		return -1;
	if (npu_program_verify(program, caps, err)) {
		npu_program_destroy(program);
		return -1;
	}
	*out = program;
	return 0;
}

void npu_program_destroy(struct npu_program *program)
{
	if (!program)
		return;
	free(program->jobs);
	free(program->insns);
	free(program->slots);
	free(program->patches);
	free(program->constants);
	free(program->bindings);
	free(program->nodes);
	free(program);
}
