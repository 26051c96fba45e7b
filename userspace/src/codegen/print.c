// SPDX-License-Identifier: MIT
/* Prints a program as text, one node a line, in a stable form that tests compare. */
#include "codegen/program.h"

#include <onpu/slots.h>

#include <inttypes.h>
#include <stdio.h>

#include "util/malloc.h"

static const char *exactness_name(enum npu_exactness exactness)
{
	static const char *const names[] = {
		[NPU_EXACT] = "exact",
		[NPU_SPLIT_K] = "split-k",
		[NPU_SPLIT_REDUCE] = "split-reduce",
		[NPU_SPLIT_KEYS] = "split-keys",
	};

	return names[exactness];
}

static uint32_t keep_start(const struct npu_program *program)
{
	const union onpu_slot *slots = program->slots;

	return slots[program->jobs[0].first_slot].program.keep_start;
}

static void print_head(FILE *file, const struct npu_program *program)
{
	fprintf(file,
		"program: %" PRIu32 " instructions, %" PRIu32 " slots, %" PRIu64
		" constant bytes, %" PRIu64 " arena bytes, about %" PRIu64 " cycles\n",
		program->num_insns, program->num_slots, program->constant_bytes,
		program->arena_bytes, program->est_cycles);
	if (keep_start(program))
		fprintf(file,
			"a dispatch behind another one finds weights in SRAM and begins at instruction %" PRIu32
			"\n",
			keep_start(program));
	if (program->residency_error[0])
		fprintf(file, "nothing stays in SRAM between nodes: %s\n",
			program->residency_error);
	for (uint32_t i = 0; i < program->num_bindings; i++)
		fprintf(file, "binding %" PRIu32 ": value %" PRIu32 ", %" PRIu64 " bytes, %s\n", i,
			program->bindings[i].value_id, program->bindings[i].bytes,
			program->bindings[i].written ? "written" : "read");
}

static void print_node(FILE *file, const struct npu_node_info *info, const struct ir_node *node)
{
	fprintf(file,
		"node %" PRIu32 " %s: %s, %s, %" PRIu32 " tiles, %" PRIu32 " instructions, %" PRIu64
		" macs, %" PRIu64 " bytes in, %" PRIu64 " bytes out, about %" PRIu64 " cycles\n",
		info->node_id, node ? ir_op_name(node->op) : "?",
		info->kernel ? info->kernel : "no code", exactness_name(info->exactness),
		info->num_tiles, info->num_insns, info->macs, info->bytes_ld, info->bytes_st,
		info->est_cycles);
}

char *npu_program_print(const struct npu_program *program, const struct ir_graph *graph)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return NULL;
	print_head(file, program);
	for (uint32_t i = 0; i < program->num_nodes; i++)
		print_node(file, &program->nodes[i], graph->nodes[program->nodes[i].node_id]);
	if (fclose(file)) {
		wnn_free(text);
		return NULL;
	}
	return text;
}
