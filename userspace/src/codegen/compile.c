// SPDX-License-Identifier: MIT
/*
 * npu_compile(): plans a range of nodes, encodes the plan as a program, and verifies the program.
 * run/ calls it for each sequence of NPU nodes.
 */
#include "codegen/encode.h"
#include "plan/list/ahead.h"
#include "plan/lower/range.h"
#include "plan/place/place.h"
#include "plan/stream/stream.h"

#include <stdio.h>
#include <string.h>

#include "util/malloc.h"

/* The range to compile, its live-out values, and the graph of streamed groups made from it. */
struct source {
	struct plan fresh;
	const uint32_t *live_out;
	uint32_t num_live_out;
	struct stream_graph stream; /* stream.graph NULL: no groups are streamed */
	/*
	 * copies of stream.first_form and stream.manner, which are still valid when the stream is
	 * released
	 */
	bool first_form;
	uint8_t manner;
};

/* Copies the bindings to the program, with the ids of the values in the caller's graph. */
static void take_bindings(struct plan *plan, const struct stream_graph *stream,
			  struct npu_program *program)
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
	for (uint32_t i = 0; stream->graph && i < count; i++)
		program->bindings[i].value_id = stream->value[program->bindings[i].value_id];
}

/*
 * Adds the report of a block to that of the node that it comes from; `same_op`: whether both have
 * the same operator.
 */
static void add_info(struct npu_node_info *info, const struct npu_node_info *part, bool same_op)
{
	if (part->kernel && (same_op || !info->kernel))
		info->kernel = part->kernel;
	if (part->exactness != NPU_EXACT)
		info->exactness = part->exactness;
	info->num_insns += part->num_insns;
	info->num_tiles += part->num_tiles;
	info->est_cycles += part->est_cycles;
	info->macs += part->macs;
	info->bytes_ld += part->bytes_ld;
	info->bytes_st += part->bytes_st;
}

/*
 * Moves the reports of the nodes to the program; the report of a streamed node is the sum over its
 * blocks.
 */
static void take_nodes(struct plan *plan, const struct source *source, struct npu_program *program)
{
	const struct plan *range = &source->fresh;
	const uint32_t *origin = source->stream.node;

	program->num_nodes = range->count;
	if (!source->stream.graph) {
		program->nodes = plan->report.nodes;
		plan->report.nodes = NULL;
		return;
	}
	program->nodes = wnn_calloc(range->count + 1, sizeof(*program->nodes));
	if (!program->nodes) {
		plan_nomem(plan);
		return;
	}
	for (uint32_t n = 0; n < range->count; n++)
		program->nodes[n].node_id = range->graph->nodes[range->first + n]->id;
	for (uint32_t i = 0; i < plan->count; i++)
		if (source->stream.split[i] && plan->report.nodes[i].exactness == NPU_EXACT)
			plan->report.nodes[i].exactness = NPU_SPLIT_KEYS;
	for (uint32_t i = 0; i < plan->count; i++)
		add_info(&program->nodes[origin[i]], &plan->report.nodes[i],
			 plan->graph->nodes[i]->op ==
				 range->graph->nodes[range->first + origin[i]]->op);
	for (uint32_t i = 0; i < program->num_insns; i++)
		program->insn_node[i] = program->insn_node[i] < plan->count ?
						origin[program->insn_node[i]] :
						range->count;
}

/* Plans and encodes; fills in *program except its nodes. Returns 0, or -1 on failure. */
static int compile(struct plan *plan, const struct source *source, bool profile,
		   struct npu_program *program)
{
	const uint32_t *live_out = source->stream.graph ? source->stream.live_out :
							  source->live_out;

	if (plan_locate(plan, live_out, source->num_live_out) ||
	    plan_nodes(plan, &program->est_cycles))
		return -1;
	if (!plan->sram.pinned)
		plan_load_ahead(plan);
	if (encode_plan(plan, profile, program))
		plan_refuse(plan);
	if (plan->report.failed || plan->report.refused)
		return -1;
	take_bindings(plan, &source->stream, program);
	program->arena_bytes = values_arena_bytes(plan);
	program->constants = plan->constants;
	program->constant_bytes = plan->constants.bytes;
	plan->constants = (struct plan_constants){ .sections = NULL };
	return plan->report.failed ? -1 : 0;
}

/*
 * Verifies the program. A defect is reported for the node of its instruction, or for all nodes when
 * it is not in a single instruction. Returns 0, or -1 for a defect.
 */
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

/*
 * Returns the plan to begin with: for the graph of streamed groups if there is one, else for the
 * range.
 */
static struct plan plan_of(const struct source *source)
{
	struct plan plan = source->fresh;

	plan_set_manner(&plan, source->manner);
	plan.first_form = source->first_form;
	plan.manners = source->stream.manners;
	if (source->stream.graph) {
		plan.graph = source->stream.graph;
		plan.first = 0;
		plan.count = plan.graph->num_nodes;
		plan.report.refusals = NULL;
	}
	return plan;
}

static struct npu_program *compile_range(struct plan *plan, const struct source *source,
					 bool profile)
{
	struct npu_program *program = wnn_calloc(1, sizeof(*program));
	int ret;

	if (!program) {
		plan_nomem(plan);
		return NULL;
	}
	ret = compile(plan, source, profile, program) || verify(plan, program);
	/* Must come last: up to here errors are reported for the nodes of the plan. */
	if (!ret)
		take_nodes(plan, source, program);
	ret |= plan->report.failed;
	plan_release(plan);
	if (!ret)
		return program;
	npu_program_destroy(program);
	return NULL;
}

/* Returns the cycles in which both DMA engines load the pinned weights to SRAM. */
static uint64_t pinned_cycles(const struct npu_caps *caps, const struct plan_pinned *pinned)
{
	return wnn_div_up(pinned->bytes, 2 * (uint64_t)caps->dma_bytes_per_cycle);
}

/*
 * Returns true if the loads of pinned weights, one after the other, take at least 1/16 of the
 * cycles of a program. A program may make them twice: pinning then saves up to an eighth, the least
 * that is_worth_it() accepts.
 */
static bool loads_matter(const struct npu_caps *caps, const struct plan_pinned *pinned,
			 uint64_t cycles)
{
	return pinned->count * ONPU_CYCLES_DMA + 2 * pinned_cycles(caps, pinned) >= cycles / 16;
}

/*
 * Returns true if pinned weights save enough: an eighth of the time of later dispatches, while the
 * first dispatch, which computes nothing while it loads them, takes at most an eighth longer; or a
 * quarter, while the first takes at most a quarter longer. When graphs alternate on a device, each
 * dispatch may be a first one.
 */
static bool is_worth_it(uint64_t later, uint64_t first, uint64_t without)
{
	return (later <= without - without / 8 && first <= without + without / 8) ||
	       (later <= without - without / 4 && first <= without + without / 4);
}

/*
 * Compiles the range with weights that stay in SRAM from one dispatch to the next. `cycles`: cycles
 * of the program that loads them at each dispatch. Returns NULL when the program saves too little,
 * or does not compile.
 */
static struct npu_program *compile_pinned(const struct source *source, bool profile,
					  uint64_t cycles)
{
	struct source with = *source;
	struct wnn_error unused = { 0 };
	struct npu_program *program = NULL;
	struct plan_pinned pinned;
	uint64_t load;
	struct plan plan;

	if (!pinned_find(&source->fresh, &pinned) && pinned.count &&
	    loads_matter(source->fresh.caps, &pinned, cycles)) {
		with.stream = (struct stream_graph){ .graph = NULL };
		with.fresh.sram.pinned = &pinned;
		with.fresh.report.err = &unused;
		with.fresh.report.refusals = NULL;
		plan = plan_of(&with);
		program = compile_range(&plan, &with, profile);
	}
	load = pinned_cycles(source->fresh.caps, &pinned);
	if (program && !is_worth_it(program->est_cycles, program->est_cycles + load, cycles)) {
		npu_program_destroy(program);
		program = NULL;
	}
	if (program)
		program->est_cycles += load;
	pinned_release(&pinned);
	return program;
}

int npu_compile(const struct ir_graph *graph, uint32_t first, uint32_t count,
		const uint32_t *live_out, uint32_t num_live_out, const struct npu_caps *caps,
		bool profile, struct npu_refusals *refusals, struct npu_program **out,
		struct wnn_error *err)
{
	struct source source = { .fresh = { .caps = caps,
					    .graph = graph,
					    .first = first,
					    .count = count,
					    .sram = { .keep = count > 1 },
					    .report = { .refusals = refusals } },
				 .live_out = live_out,
				 .num_live_out = num_live_out };
	struct wnn_error unused = { 0 };
	struct plan plan;

	source.fresh.report.err = &unused;
	plan_remember(&source.fresh);
	stream_search(&source.fresh, live_out, num_live_out, &source.stream);
	source.first_form = source.stream.first_form;
	source.manner = source.stream.manner;
	source.fresh.report.err = err;
	*out = NULL;
	if (source.stream.graph) {
		plan = plan_of(&source);
		*out = compile_range(&plan, &source, profile);
		stream_graph_release(&source.stream);
	}
	if (!*out) {
		plan = plan_of(&source);
		*out = compile_range(&plan, &source, profile);
	}
	/*
	 * Tries again without values that stay in SRAM, as these leave less SRAM to tiles, and
	 * fewer positions where a program can be cut into jobs.
	 */
	if (!*out && !plan.report.nomem && count > 1) {
		struct wnn_error kept = *err;

		source.fresh.sram.keep = false;
		plan = plan_of(&source);
		*out = compile_range(&plan, &source, profile);
		if (*out)
			snprintf((*out)->residency_error, sizeof((*out)->residency_error), "%.*s",
				 (int)sizeof((*out)->residency_error) - 1, kept.message);
	}
	if (*out) {
		struct npu_program *pinned = compile_pinned(&source, profile, (*out)->est_cycles);

		if (pinned) {
			npu_program_destroy(*out);
			*out = pinned;
		}
	}
	stream_graph_release(&source.stream);
	plan_forget(&source.fresh);
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
	constants_release(&program->constants);
	wnn_free(program->bindings);
	wnn_free(program->nodes);
	wnn_free(program);
}
