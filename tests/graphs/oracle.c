// SPDX-License-Identifier: MIT
/*
 * Computes the expected results of a graph. The reference kernels run with every float as a double,
 * on operands that were rounded to their types; the allowed errors of a device are computed node by
 * node.
 */
#include "oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/element.h"

void oracle_fail(const char *what)
{
	fprintf(stderr, "graph-fuzz: oracle: %s\n", what);
	abort();
}

double *new_doubles(int64_t count)
{
	double *data = calloc((size_t)count + 1, sizeof(*data));

	if (!data)
		oracle_fail("memory is exhausted");
	return data;
}

/* --- Kernels in double precision --- */

static bool is_wide(const struct ir_type *type)
{
	return type->dtype == IR_F64;
}

void kernel_init(struct kernel *kernel, const struct work *work)
{
	const struct ir_node *node = work->node;

	memset(kernel, 0, sizeof(*kernel));
	kernel->cpu = work->cpu;
	kernel->node = *node;
	kernel->node.operands = kernel->operands;
	kernel->node.results = kernel->results;
	for (uint32_t i = 0; i < node->num_operands; i++) {
		if (!node->operands[i])
			continue;
		kernel->values[i] = *node->operands[i];
		kernel->operands[i] = &kernel->values[i];
		kernel->in[i] = work->in[i].native;
		if (work->in[i].is_float)
			kernel_set(kernel, i, work->in[i].wide);
	}
	for (uint32_t r = 0; r < node->num_results; r++) {
		struct ir_value *value = &kernel->values[ORACLE_MAX_OPERANDS + r];
		bool from_integer = node->op == IR_OP_CAST && !work->in[0].is_float;

		*value = *node->results[r];
		kernel->results[r] = value;
		/*
		 * The float result of a cast from an integer keeps its type: an integer that is
		 * rounded to double first may miss the nearest number of a narrower type.
		 */
		if (ir_dtype_is_float(value->type.dtype) && !from_integer)
			value->type.dtype = IR_F64;
	}
	if (node->op == IR_OP_PAD && work->in[0].is_float) {
		double value = cpu_load(node->results[0]->type.dtype, &node->attrs.pad.value, 0);

		memcpy(&kernel->node.attrs.pad.value, &value, sizeof(value));
	}
}

void kernel_set(struct kernel *kernel, uint32_t i, const double *data)
{
	kernel->values[i].type.dtype = IR_F64;
	kernel->in[i] = data;
}

void kernel_widen_result(struct kernel *kernel)
{
	for (uint32_t r = 0; r < kernel->node.num_results; r++)
		kernel->results[r]->type.dtype = IR_F64;
}

void *kernel_run(const struct kernel *kernel, uint32_t r)
{
	struct wnn_error err = { 0 };
	void *out[3] = { NULL };

	for (uint32_t i = 0; i < kernel->node.num_results; i++) {
		out[i] = calloc(1, (size_t)ir_type_bytes(&kernel->results[i]->type) + 1);
		if (!out[i])
			oracle_fail("memory is exhausted");
	}
	if (cpu_run_node(kernel->cpu, CPU_REFERENCE, &kernel->node, kernel->in, out, &err))
		oracle_fail(err.message);
	for (uint32_t i = 0; i < kernel->node.num_results; i++)
		if (i != r)
			free(out[i]);
	return out[r];
}

/* --- Operands and results --- */

static void read_operand(struct operand *operand, const struct truth *truth, bool *slack)
{
	operand->type = &truth->type;
	operand->count = truth->count;
	operand->native = truth->native;
	operand->is_float = ir_dtype_is_float(truth->type.dtype);
	if (operand->is_float) {
		operand->wide = new_doubles(truth->count);
		for (int64_t i = 0; i < truth->count; i++)
			operand->wide[i] = cpu_load(truth->type.dtype, truth->native, i);
	}
	if (!truth->bound)
		return;
	operand->slack = new_doubles(truth->count);
	*slack = true;
	for (int64_t i = 0; i < truth->count; i++) {
		double rounded = truth->exact ? fabs(operand->wide[i] - truth->exact[i]) : 0;

		operand->slack[i] = truth->bound[i] + rounded;
		/*
		 * The slack is NaN if the operand is NaN, if the operand and its exact value are
		 * the same infinity, or if the bound is NaN. With a finite exact value, the device
		 * may then have any value; otherwise the bound counts, and a bound that is NaN
		 * allows any value.
		 */
		if (isnan(operand->slack[i]))
			operand->slack[i] = truth->exact && isfinite(truth->exact[i]) ?
						    INFINITY :
						    truth->bound[i];
		if (isnan(operand->slack[i]))
			operand->slack[i] = INFINITY;
	}
}

static void take_result(struct truth *out, void *data, bool wide)
{
	if (!ir_dtype_is_float(out->type.dtype)) {
		out->native = data;
		return;
	}
	if (!wide) {
		out->native = data;
		out->exact = new_doubles(out->count);
		for (int64_t i = 0; i < out->count; i++)
			out->exact[i] = cpu_load(out->type.dtype, data, i);
		return;
	}
	out->exact = data;
	out->native = calloc(1, (size_t)ir_type_bytes(&out->type) + 1);
	if (!out->native)
		oracle_fail("memory is exhausted");
	for (int64_t i = 0; i < out->count; i++)
		cpu_store(out->type.dtype, out->native, i, out->exact[i]);
}

static void make_node(struct truths *truths, struct cpu_context *cpu, const struct ir_node *node)
{
	struct work work = { .cpu = cpu, .node = node, .num_operands = node->num_operands };
	struct kernel kernel;

	if (node->num_operands > ORACLE_MAX_OPERANDS || node->num_results > 3)
		oracle_fail("a node with too many operands or results");
	for (uint32_t i = 0; i < node->num_operands; i++)
		if (node->operands[i])
			read_operand(&work.in[i], &truths->values[node->operands[i]->id],
				     &work.slack);
	kernel_init(&kernel, &work);
	for (uint32_t r = 0; r < node->num_results; r++) {
		struct truth *out = &truths->values[node->results[r]->id];

		work.out[r] = out;
		out->type = node->results[r]->type;
		out->count = ir_type_elements(&out->type);
		take_result(out, kernel_run(&kernel, r), is_wide(&kernel.results[r]->type));
		out->bound = oracle_bound(&work, r);
	}
	for (uint32_t i = 0; i < node->num_operands; i++) {
		free(work.in[i].wide);
		free(work.in[i].slack);
	}
}

/* --- Graphs --- */

static void make_leaves(const struct graph *graph, struct truths *truths)
{
	const struct ir_graph *ir = truths->recording->graph;

	for (uint32_t v = 0; v < ir->num_values; v++) {
		const struct ir_value *value = ir->values[v];
		struct truth *truth = &truths->values[value->id];

		truth->type = value->type;
		truth->count = ir_type_elements(&value->type);
		if (value->kind == IR_VALUE_CONSTANT) {
			truth->native = malloc((size_t)ir_type_bytes(&value->type) + 1);
			if (truth->native)
				memcpy(truth->native, value->constant->data,
				       (size_t)ir_type_bytes(&value->type));
		} else if (value->kind == IR_VALUE_INPUT) {
			truth->native =
				graph_data(&graph->values[strtoul(value->name + 1, NULL, 10)]);
		} else {
			continue;
		}
		if (!truth->native)
			oracle_fail("memory is exhausted");
	}
}

int truths_make(const struct graph *graph, struct truths *truths, struct wnn_error *err)
{
	struct cpu_context *cpu;
	const struct ir_graph *ir;

	memset(truths, 0, sizeof(*truths));
	truths->recording = graph_recording(graph, err);
	if (!truths->recording)
		return -1;
	ir = truths->recording->graph;
	truths->count = ir->num_values;
	truths->values = calloc(ir->num_values + 1, sizeof(*truths->values));
	cpu = cpu_context_create(1);
	if (!truths->values || !cpu)
		oracle_fail("memory is exhausted");
	make_leaves(graph, truths);
	for (uint32_t n = 0; n < ir->num_nodes; n++)
		make_node(truths, cpu, ir->nodes[n]);
	cpu_context_destroy(cpu);
	return 0;
}

void truths_free(struct truths *truths)
{
	for (uint32_t v = 0; v < truths->count; v++) {
		free(truths->values[v].native);
		free(truths->values[v].exact);
		free(truths->values[v].bound);
	}
	free(truths->values);
	wnn_recording_destroy(truths->recording);
}
