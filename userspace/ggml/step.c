// SPDX-License-Identifier: MIT
/*
 * Makes and runs the steps of a graph of ggml. Each is a graph of WebNN with the memory that it
 * reads and writes, or a node whose elements the host moves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

/* Memory of ggml that a graph of WebNN reads or writes. */
struct bound {
	WNNNamedTensor named;
	char name[16];
	/* the tensor whose elements become floats before each dispatch, or NULL */
	const struct gg_tensor *quantised;
	/* copy of *quantised, which the program may have freed */
	struct gg_tensor copy;
	void *data; /* memory of ggml */
	/* memory of the step that is used instead of @data, or NULL */
	void *own;
	size_t size;
};

struct onpu_step {
	struct onpu_step *next;
	struct gg_tensor *move; /* copy of the node that the host computes, or NULL */
	struct gg_tensor *sources;
	WNNGraph graph;
	size_t input_count, output_count;
	struct bound *bound; /* inputs, then outputs */
	WNNNamedTensor *tensors;
};

struct onpu_step **onpu_step_next(struct onpu_step *step)
{
	return &step->next;
}

bool onpu_step_is_move(const struct onpu_step *step)
{
	return step->move;
}

struct onpu_step *onpu_step_free(struct onpu_step *step)
{
	struct onpu_step *next = step->next;

	for (size_t i = 0; i < step->input_count + step->output_count; i++) {
		if (step->bound[i].named.tensor)
			wnnTensorRelease(step->bound[i].named.tensor);
		free(step->bound[i].own);
	}
	if (step->graph)
		wnnGraphRelease(step->graph);
	free(step->bound);
	free(step->tensors);
	free(step->sources);
	free(step->move);
	free(step);
	return next;
}

struct onpu_step *onpu_step_move(const struct gg_tensor *node)
{
	struct onpu_step *step = calloc(1, sizeof(*step));

	if (step) {
		step->move = malloc(sizeof(*step->move));
		step->sources = calloc(GG_SOURCES, sizeof(*step->sources));
	}
	if (!step || !step->move || !step->sources) {
		onpu_say("memory is exhausted");
		if (step)
			onpu_step_free(step);
		return NULL;
	}
	/* The program may free the tensors before the step runs again; their memory stays. */
	*step->move = *node;
	for (size_t i = 0; i < GG_SOURCES; i++) {
		if (!node->src[i])
			continue;
		step->sources[i] = *node->src[i];
		step->move->src[i] = &step->sources[i];
	}
	return step;
}

/* ---- graphs of WebNN */

static bool overlap(const void *a, size_t a_size, const void *b, size_t b_size)
{
	return (uintptr_t)a < (uintptr_t)b + b_size && (uintptr_t)b < (uintptr_t)a + a_size;
}

/*
 * Returns whether a later value of the same graph has a part of a value's memory. Then nothing
 * reads the value after the graph.
 */
static bool is_overwritten(const struct onpu_emit *e, size_t index)
{
	const struct gg_tensor *tensor = e->values[index].tensor;
	size_t size = base.nbytes(tensor);

	for (size_t i = index + 1; i < e->value_count; i++)
		if (overlap(tensor->data, size, e->values[i].tensor->data,
			    base.nbytes(e->values[i].tensor)))
			return true;
	return false;
}

static int build(struct onpu_step *step, struct onpu_emit *e)
{
	WNNNamedOperand *outputs = calloc(e->value_count, sizeof(*outputs));
	WNNStatus status = WNNStatus_UnknownError;

	step->bound = calloc(e->input_count + e->value_count, sizeof(*step->bound));
	step->tensors = calloc(e->input_count + e->value_count, sizeof(*step->tensors));
	if (!outputs || !step->bound || !step->tensors) {
		onpu_say("memory is exhausted");
		free(outputs);
		return -1;
	}
	step->input_count = e->input_count;
	for (size_t i = 0; i < e->value_count; i++) {
		struct bound *bound = &step->bound[step->input_count + step->output_count];
		const struct gg_tensor *tensor = e->values[i].tensor;

		if (is_overwritten(e, i))
			continue;
		snprintf(bound->name, sizeof(bound->name), "out%zu", step->output_count);
		bound->data = tensor->data;
		bound->size = base.nbytes(tensor);
		outputs[step->output_count].name = (WNNStringView){ bound->name, WNN_STRLEN };
		outputs[step->output_count++].operand = e->values[i].operand;
	}
	status = wnnGraphBuilderBuildSync(e->builder, step->output_count, outputs, WNN_WAIT_FOREVER,
					  &step->graph);
	free(outputs);
	if (status == WNNStatus_Success)
		return 0;
	onpu_say_error("a graph is not built");
	return -1;
}

/*
 * Creates the tensor for a port of the graph, in memory of ggml or, with @is_own, in memory of the
 * step. Returns 0, or -1 after a message.
 */
static int bind(struct bound *bound, const WNNNamedOperandDescriptor *port, bool is_own)
{
	WNNTensorHostMemory memory = WNN_TENSOR_HOST_MEMORY_INIT;
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;

	if (is_own) {
		bound->own = onpu_alloc(bound->size);
		if (!bound->own) {
			onpu_say("memory is exhausted");
			return -1;
		}
	}
	memory.data = bound->own ? bound->own : bound->data;
	memory.size = bound->size;
	descriptor.nextInChain = &memory.chain;
	descriptor.dataType = port->dataType;
	descriptor.shape = port->shape;
	descriptor.readable = WNN_TRUE;
	descriptor.writable = WNN_TRUE;
	bound->named.name = (WNNStringView){ bound->name, WNN_STRLEN };
	if (wnnContextCreateTensorSync(onpu.context, &descriptor, WNN_WAIT_FOREVER,
				       &bound->named.tensor) == WNNStatus_Success)
		return 0;
	onpu_say_error("a tensor for the memory of ggml is not made");
	return -1;
}

static const WNNNamedOperandDescriptor *find_port(WNNNamedOperandDescriptorArray ports,
						  const char *name)
{
	for (size_t i = 0; i < ports.count; i++)
		if (ports.data[i].name.length == strlen(name) &&
		    !memcmp(ports.data[i].name.data, name, strlen(name)))
			return &ports.data[i];
	return NULL;
}

/*
 * Creates a tensor for each input of the graph and returns 0, or -1. Inputs that no result depends
 * on get none, as the library may have dropped them.
 */
static int bind_inputs(struct onpu_step *step, const struct onpu_emit *e)
{
	WNNNamedOperandDescriptorArray ports = wnnGraphGetInputs(step->graph);

	for (size_t i = 0; i < e->input_count; i++) {
		const struct onpu_input *input = &e->inputs[i];
		struct bound *bound = &step->bound[i];
		const WNNNamedOperandDescriptor *port = find_port(ports, input->name);

		memcpy(bound->name, input->name, sizeof(bound->name));
		bound->data = (void *)(uintptr_t)input->data;
		bound->size = input->count * wnnOperandDataTypeGetSize(input->type);
		if (input->quantised) {
			bound->copy = *input->quantised;
			bound->quantised = &bound->copy;
		}
		if (port && bind(bound, port, input->quantised))
			return -1;
	}
	return 0;
}

/*
 * Creates a tensor for each output of the graph and returns 0, or -1. An output whose memory the
 * graph also reads gets memory of the step, which is copied after the dispatch.
 */
static int bind_outputs(struct onpu_step *step)
{
	WNNNamedOperandDescriptorArray ports = wnnGraphGetOutputs(step->graph);

	for (size_t i = 0; i < step->output_count; i++) {
		struct bound *bound = &step->bound[step->input_count + i];
		bool is_own = false;

		for (size_t j = 0; j < step->input_count; j++)
			is_own |= step->bound[j].named.tensor && !step->bound[j].own &&
				  overlap(bound->data, bound->size, step->bound[j].data,
					  step->bound[j].size);
		if (bind(bound, find_port(ports, bound->name), is_own))
			return -1;
	}
	return 0;
}

struct onpu_step *onpu_step_build(struct onpu_emit *e)
{
	struct onpu_step *step = calloc(1, sizeof(*step));
	size_t kept = 0;

	if (!step) {
		onpu_say("memory is exhausted");
		onpu_emit_exit(e);
		return NULL;
	}
	if (build(step, e) || bind_inputs(step, e) || bind_outputs(step)) {
		onpu_step_free(step);
		onpu_emit_exit(e);
		return NULL;
	}
	/* List the tensors, without inputs that were dropped. */
	for (size_t i = 0; i < step->input_count + step->output_count; i++)
		if (step->bound[i].named.tensor)
			step->tensors[kept++] = step->bound[i].named;
	onpu_emit_exit(e);
	return step;
}

/* ---- computing */

static void read_quantised(struct bound *bound)
{
	const struct gg_tensor *tensor = bound->quantised;
	const struct gg_type_traits *traits = base.get_type_traits(tensor->type);

	for (int64_t i = 0; i < tensor->ne[1] * tensor->ne[2] * tensor->ne[3]; i++)
		traits->to_float((const char *)bound->data + (size_t)i * tensor->nb[1],
				 (float *)bound->own + i * tensor->ne[0], tensor->ne[0]);
}

int onpu_step_run(struct onpu_step *step)
{
	size_t inputs = 0;

	if (step->move) {
		onpu_counts.moves++;
		return onpu_move(step->move);
	}
	onpu_counts.dispatches++;
	for (size_t i = 0; i < step->input_count; i++) {
		inputs += step->bound[i].named.tensor ? 1 : 0;
		if (step->bound[i].named.tensor && step->bound[i].quantised)
			read_quantised(&step->bound[i]);
	}
	if (wnnContextDispatchMeasuredSync(onpu.context, step->graph, inputs, step->tensors,
					   step->output_count, step->tensors + inputs,
					   WNN_WAIT_FOREVER, NULL) != WNNStatus_Success) {
		onpu_say_error("a graph is not computed");
		return -1;
	}
	for (size_t i = 0; i < step->output_count; i++) {
		struct bound *bound = &step->bound[step->input_count + i];

		if (bound->own)
			memcpy(bound->data, bound->own, bound->size);
	}
	return 0;
}
