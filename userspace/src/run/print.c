// SPDX-License-Identifier: MIT
/*
 * Prints a compiled graph as text: its nodes, its plans, or its programs; and tells its sizes and
 * how its nodes are computed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "isa/assembler.h"
#include "run/compiled_private.h"
#include "util/malloc.h"

static int print_plan(const struct run_compiled *c, const struct run_step *step, FILE *f)
{
	char *text = npu_program_print(step->program, c->graph);

	if (!text)
		return -1;
	fputs(text, f);
	wnn_free(text);
	return 0;
}

static void print_program(const struct run_step *step, FILE *f)
{
	char text[ONPU_TEXT_MAX];

	for (uint32_t i = 0; i < step->program->num_insns; i++) {
		onpu_disasm(step->program->insns[i], text, sizeof(text));
		fprintf(f, "%6" PRIu32 ": %s\n", i, text);
	}
}

/* Prints all programs of the graph, with a line for each CPU step between them. Returns 0 or -1. */
static int print_steps(const struct run_compiled *c, enum run_text kind, FILE *f)
{
	for (uint32_t s = 0; s < c->num_steps; s++) {
		const struct run_step *step = &c->steps[s];
		const struct ir_node *node = c->graph->nodes[step->first];

		if (!step->program) {
			fprintf(f, "; step %" PRIu32 ": node %" PRIu32 " (%s) on the CPU: %s\n", s,
				node->id, node->source, cpu_plan_name(step->plan));
			continue;
		}
		fprintf(f, "; step %" PRIu32 ": %" PRIu32 " nodes from %" PRIu32 " on the NPU\n", s,
			step->count, node->id);
		if (kind == RUN_TEXT_PROGRAM)
			print_program(step, f);
		else if (print_plan(c, step, f))
			return -1;
	}
	return 0;
}

static bool has_program(const struct run_compiled *c)
{
	for (uint32_t s = 0; s < c->num_steps; s++)
		if (c->steps[s].program)
			return true;
	return false;
}

char *run_compiled_text(const struct run_compiled *c, enum run_text kind, struct wnn_error *err)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f;
	int ret;

	if (kind == RUN_TEXT_NODES) {
		text = ir_print(c->graph);
		if (!text)
			wnn_error_nomem(err, "the text of a graph");
		return text;
	}
	if (!has_program(c)) {
		wnn_error_set(
			err, WNN_NOT_SUPPORTED,
			"the whole graph runs on the CPU, so there is no plan or program of the "
			"NPU to print");
		return NULL;
	}
	f = open_memstream(&text, &size);
	if (!f) {
		wnn_error_nomem(err, "the text of a graph");
		return NULL;
	}
	ret = print_steps(c, kind, f);
	if (fclose(f) || ret) {
		wnn_free(text);
		wnn_error_nomem(err, "the text of a graph");
		return NULL;
	}
	return text;
}

uint64_t run_compiled_bytes(const struct run_compiled *c)
{
	uint64_t bytes = c->code_bytes;

	for (size_t i = 0; i < c->num_blocks; i++)
		bytes += c->blocks[i]->size;
	for (uint32_t v = 0; v < c->graph->num_values; v++)
		if (c->graph->values[v] && c->graph->values[v]->constant)
			bytes += c->graph->values[v]->constant->bytes;
	return bytes;
}

uint64_t run_compiled_arena_bytes(const struct run_compiled *compiled)
{
	return compiled->arena_bytes;
}

uint32_t run_compiled_spilled(const struct run_compiled *compiled)
{
	uint32_t count = 0;

	for (uint32_t s = 0; s < compiled->num_steps; s++)
		count += compiled->steps[s].program &&
			 compiled->steps[s].program->residency_error[0];
	return count;
}

const struct ir_graph *run_compiled_graph(const struct run_compiled *c)
{
	return c->graph;
}

/* Returns the step of a node; NULL when the node is a view, which has no step. */
static const struct run_step *step_of(const struct run_compiled *c, const struct ir_node *node)
{
	uint32_t lo = 0, hi = c->num_steps;

	/* Binary search: steps are in the order of nodes. */
	while (lo + 1 < hi) {
		uint32_t middle = lo + (hi - lo) / 2;

		if (c->steps[middle].first <= node->id)
			lo = middle;
		else
			hi = middle;
	}
	if (lo == hi || node->id < c->steps[lo].first ||
	    node->id - c->steps[lo].first >= c->steps[lo].count)
		return NULL;
	return &c->steps[lo];
}

const struct npu_node_info *run_compiled_npu_info(const struct run_compiled *c,
						  const struct ir_node *node)
{
	const struct run_step *step = step_of(c, node);

	return step && step->program ? &step->program->nodes[node->id - step->first] : NULL;
}

const char *run_compiled_cpu_kernel(const struct run_compiled *c, const struct ir_node *node)
{
	const struct run_step *step = step_of(c, node);

	if (c->is_view[node->id])
		return NULL;
	return step && step->plan ? cpu_plan_name(step->plan) : NULL;
}

void run_compiled_explain_cpu(const struct run_compiled *c, const struct ir_node *node, char *text,
			      size_t size)
{
	const struct run_step *step = step_of(c, node);

	text[0] = 0;
	/* A node that is fused with the one before it has no plan of its own. */
	if (step && step->plan && step->first == node->id)
		cpu_plan_explain(step->plan, text, size);
}
