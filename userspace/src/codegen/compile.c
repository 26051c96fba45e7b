// SPDX-License-Identifier: MIT
/* npu_compile: plans a range of nodes, encodes the plan, and verifies what came out. */
#include "codegen/encode.h"
#include "plan/lower/range.h"
#include "plan/place/place.h"

#include <string.h>

#include "util/malloc.h"

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
	program->constants = plan->constants.data;
	program->constant_bytes = plan->constants.bytes;
	program->nodes = plan->report.nodes;
	program->num_nodes = plan->count;
	plan->constants.data = NULL;
	plan->report.nodes = NULL;
}

static int compile(struct plan *plan, const uint32_t *live_out, uint32_t num_live_out, bool profile,
		   struct npu_program *program)
{
	if (plan_range(plan, live_out, num_live_out, &program->est_cycles))
		return -1;
	if (encode_plan(plan, profile, program))
		plan_refuse(plan);
	if (!plan->report.failed && !plan->report.refused)
		take_results(plan, program);
	return plan->report.failed || plan->report.refused ? -1 : 0;
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
	node = insn < program->num_insns ? program->insn_node[insn] : plan->count;
	for (uint32_t i = 0; i < plan->count; i++) {
		if (node < plan->count && i != node)
			continue;
		plan->report.node = i;
		plan_fail(plan, "%s", cause.message);
		plan_refuse(plan);
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
				    .report = { .err = err, .refusals = refusals } };
	struct plan plan = fresh;

	plan.sram.keep = true;
	*out = compile_range(&plan, live_out, num_live_out, profile);
	/* Values that stay in SRAM take room from tiles and places to cut a program into jobs. */
	if (!*out && !plan.report.nomem) {
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
	wnn_free(program->insn_node);
	wnn_free(program->slots);
	wnn_free(program->patches);
	wnn_free(program->constants);
	wnn_free(program->bindings);
	wnn_free(program->nodes);
	wnn_free(program);
}
