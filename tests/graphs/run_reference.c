// SPDX-License-Identifier: MIT
/*
 * Runs a graph on the reference kernels of the CPU, which the public API uses only for nodes that
 * have no fast kernel.
 */
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu.h"
#include "graph.h"
#include "oracle.h"

static void run_node(struct cpu_context *cpu, const struct ir_node *node, void **data)
{
	const void *in[ORACLE_MAX_OPERANDS] = { NULL };
	struct wnn_error err = { 0 };
	void *out[3];

	for (uint32_t i = 0; i < node->num_operands; i++)
		in[i] = node->operands[i] ? data[node->operands[i]->id] : NULL;
	for (uint32_t i = 0; i < node->num_results; i++) {
		out[i] = calloc(1, (size_t)ir_type_bytes(&node->results[i]->type) + 1);
		if (!out[i])
			oracle_fail("memory is exhausted");
		data[node->results[i]->id] = out[i];
	}
	if (cpu_run_node(cpu, CPU_REFERENCE, node, in, out, &err))
		oracle_fail(err.message);
}

void run_reference(const struct truths *truths, struct run *run)
{
	const struct ir_graph *ir = truths->recording->graph;
	void **data = calloc(ir->num_values + 1, sizeof(*data));
	struct cpu_context *cpu = cpu_context_create(1);

	if (!data || !cpu)
		oracle_fail("memory is exhausted");
	memset(run, 0, sizeof(*run));
	for (uint32_t v = 0; v < ir->num_values; v++)
		if (ir->values[v]->kind != IR_VALUE_RESULT)
			data[ir->values[v]->id] = truths->values[ir->values[v]->id].native;
	for (uint32_t n = 0; n < ir->num_nodes; n++)
		run_node(cpu, ir->nodes[n], data);
	/* The run takes the outputs over. */
	for (uint32_t i = 0; i < ir->num_outputs; i++) {
		unsigned long v = strtoul(ir->outputs[i].name + 1, NULL, 10);

		run->outputs[v] = data[ir->outputs[i].value->id];
		data[ir->outputs[i].value->id] = NULL;
	}
	for (uint32_t v = 0; v < ir->num_values; v++)
		if (ir->values[v]->kind == IR_VALUE_RESULT)
			free(data[ir->values[v]->id]);
	free(data);
	cpu_context_destroy(cpu);
}
