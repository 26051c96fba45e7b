// SPDX-License-Identifier: MIT
/*
 * compute() of older drafts: makes tensors for named buffers, dispatches once, and waits for the
 * end.
 */
#include <stdio.h>
#include <string.h>

#include "api/graph.h"
#include "api/tensor.h"
#include "graph/label.h"
#include "util/malloc.h"
#include "util/printable.h"

struct compute {
	WNNContext context;
	uint64_t timeout;
	size_t num_inputs, num_tensors;
	/* tensors of the inputs, then of the outputs, in the order of the graph's lists */
	WNNNamedTensor *tensors;
};

static size_t find(WNNNamedOperandDescriptorArray list, WNNStringView name)
{
	size_t i = 0;

	while (i < list.count && wnn_view_compare(&list.data[i].name, &name))
		i++;
	return i;
}

static WNNStatus data_error(const char *kind, WNNStringView name, const char *what)
{
	char text[96];

	wnn_text_printable(text, sizeof(text), name.data, wnn_view_length(&name));
	return api_error_status(WNNStatus_DataError, "compute: %s \"%s\" %s", kind, text, what);
}

/*
 * Checks the name and the memory of an input's or output's buffer, and sets *index to its index in
 * the graph's list. Returns an error for an unknown or repeated name, and for NULL memory.
 */
static WNNStatus check_buffer(const struct compute *c, WNNNamedOperandDescriptorArray list,
			      size_t first, WNNStringView name, const void *data, const char *kind,
			      size_t *index)
{
	*index = find(list, name);
	if (*index == list.count)
		return data_error(kind, name,
				  *kind == 'o' ? "is not in the graph" :
						 "is not in the graph, which leaves out inputs "
						 "that no output depends on");
	if (c->tensors[first + *index].tensor)
		return data_error(kind, name, "is given twice");
	if (!data)
		return data_error(kind, name, "has no buffer: it is NULL");
	return WNNStatus_Success;
}

/*
 * Makes a tensor for one input or output, whose bytes must fit in the buffer. Returns Success or an
 * error.
 */
static WNNStatus make_tensor(struct compute *c, WNNNamedTensor *named,
			     const WNNNamedOperandDescriptor *port, size_t size, const char *kind)
{
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNStatus status;
	char what[80];

	descriptor.dataType = port->dataType;
	descriptor.shape = port->shape;
	descriptor.readable = descriptor.writable = WNN_TRUE;
	named->name = port->name;
	status = wnnContextCreateTensorSync(c->context, &descriptor, c->timeout, &named->tensor);
	if (!status && wnnTensorGetByteLength(named->tensor) > size) {
		snprintf(what, sizeof(what), "has a buffer of %zu bytes, expected at least %zu",
			 size, wnnTensorGetByteLength(named->tensor));
		return data_error(kind, port->name, what);
	}
	return status;
}

static WNNStatus write_inputs(struct compute *c, WNNNamedOperandDescriptorArray list, size_t count,
			      const WNNCompatInput *inputs)
{
	WNNStatus status = WNNStatus_Success;

	for (size_t i = 0; i < count && !status; i++) {
		WNNNamedTensor *named;
		size_t k;

		status = check_buffer(c, list, 0, inputs[i].name, inputs[i].data, "input", &k);
		if (status)
			break;
		named = &c->tensors[k];
		status = make_tensor(c, named, &list.data[k], inputs[i].size, "input");
		if (!status)
			status = wnnContextWriteTensor(c->context, named->tensor, inputs[i].data,
						       wnnTensorGetByteLength(named->tensor));
	}
	for (size_t k = 0; k < list.count && !status; k++)
		if (!c->tensors[k].tensor)
			status = data_error("input", list.data[k].name, "is missing");
	return status;
}

/*
 * Makes tensors for all outputs, also for those that the application does not ask for. Returns
 * Success or an error.
 */
static WNNStatus make_outputs(struct compute *c, WNNNamedOperandDescriptorArray list, size_t count,
			      const WNNCompatOutput *outputs)
{
	WNNStatus status = WNNStatus_Success;

	for (size_t i = 0; i < count && !status; i++) {
		size_t k;

		status = check_buffer(c, list, c->num_inputs, outputs[i].name, outputs[i].data,
				      "output", &k);
		if (!status)
			status = make_tensor(c, &c->tensors[c->num_inputs + k], &list.data[k],
					     outputs[i].size, "output");
	}
	for (size_t k = 0; k < list.count && !status; k++)
		if (!c->tensors[c->num_inputs + k].tensor)
			status = make_tensor(c, &c->tensors[c->num_inputs + k], &list.data[k],
					     SIZE_MAX, "output");
	return status;
}

static WNNStatus read_outputs(struct compute *c, WNNNamedOperandDescriptorArray list, size_t count,
			      const WNNCompatOutput *outputs)
{
	WNNStatus status = WNNStatus_Success;

	for (size_t i = 0; i < count && !status; i++) {
		WNNTensor tensor = c->tensors[c->num_inputs + find(list, outputs[i].name)].tensor;

		status = wnnContextReadTensorIntoSync(c->context, tensor, outputs[i].data,
						      wnnTensorGetByteLength(tensor), c->timeout);
	}
	return status;
}

static WNNStatus run(struct compute *c, WNNGraph graph, size_t input_count,
		     const WNNCompatInput *inputs, size_t output_count,
		     const WNNCompatOutput *outputs)
{
	WNNNamedOperandDescriptorArray in = wnnGraphGetInputs(graph);
	WNNNamedOperandDescriptorArray out = wnnGraphGetOutputs(graph);
	WNNStatus status = write_inputs(c, in, input_count, inputs);

	if (!status)
		status = make_outputs(c, out, output_count, outputs);
	if (!status)
		status = wnnContextDispatch(c->context, graph, in.count, c->tensors, out.count,
					    c->tensors + c->num_inputs);
	if (!status)
		status = wnnContextWaitIdle(c->context, c->timeout);
	if (!status)
		status = read_outputs(c, out, output_count, outputs);
	return status;
}

WNNStatus wnnCompatCompute(WNNContext context, WNNGraph graph, size_t inputCount,
			   WNNCompatInput const *inputs, size_t outputCount,
			   WNNCompatOutput const *outputs, uint64_t timeoutNS)
{
	struct compute c = { .context = context, .timeout = timeoutNS };
	WNNStatus status;

	if (!api_check(graph, "wnnCompatCompute", "graph") ||
	    !api_check(context, "wnnCompatCompute", "context"))
		return wnnGetLastError(NULL);
	if ((inputCount && !inputs) || (outputCount && !outputs))
		return api_error_status(WNNStatus_TypeError, "wnnCompatCompute: %s is NULL",
					inputCount && !inputs ? "inputs" : "outputs");
	c.num_inputs = graph->num_inputs;
	c.num_tensors = (size_t)graph->num_inputs + graph->num_outputs;
	c.tensors = wnn_calloc(c.num_tensors + 1, sizeof(*c.tensors));
	if (!c.tensors)
		return api_error_status(WNNStatus_UnknownError, "compute: out of memory");
	status = run(&c, graph, inputCount, inputs, outputCount, outputs);
	for (size_t i = 0; i < c.num_tensors; i++)
		wnnTensorRelease(c.tensors[i].tensor);
	wnn_free(c.tensors);
	return status;
}
