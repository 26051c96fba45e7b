// SPDX-License-Identifier: MIT
/*
 * Runs groups: builds graphs for the shapes of the inputs, and gives each run tensors of its own.
 */
#include <stdlib.h>
#include <string.h>

#include <webnn/webnn_npu.h>

#include "group.h"
#include "profile.h"

static size_t find_port(const struct onpu_port *ports, size_t count, WNNStringView name)
{
	for (size_t i = 0; i < count; i++)
		if (ports[i].name.length == name.length &&
		    !memcmp(ports[i].name.data, name.data, name.length))
			return i;
	return SIZE_MAX;
}

static size_t bytes_of(WNNOperandDataType type, size_t elements)
{
	switch (type) {
	case WNNOperandDataType_Int64:
	case WNNOperandDataType_Uint64:
		return elements * 8;
	case WNNOperandDataType_Float16:
		return elements * 2;
	case WNNOperandDataType_Int8:
	case WNNOperandDataType_Uint8:
		return elements;
	case WNNOperandDataType_Int4:
	case WNNOperandDataType_Uint4:
		return (elements + 1) / 2;
	default:
		return elements * 4;
	}
}

/* Returns 0; -1: memory is exhausted; 1: the graph does not fit the ports. */
static int make_slots(WNNNamedOperandDescriptorArray from, const struct onpu_port *ports,
		      size_t port_count, struct onpu_slot **out, size_t *count)
{
	*out = calloc(from.count + 1, sizeof(**out));
	if (!*out)
		return -1;
	*count = from.count;
	for (size_t i = 0; i < from.count; i++) {
		struct onpu_slot *slot = &(*out)[i];
		size_t elements = 1;

		slot->port = find_port(ports, port_count, from.data[i].name);
		slot->descriptor = (WNNTensorDescriptor)WNN_TENSOR_DESCRIPTOR_INIT;
		slot->descriptor.dataType = from.data[i].dataType;
		slot->descriptor.shape = from.data[i].shape;
		slot->descriptor.readable = slot->descriptor.writable = WNN_TRUE;
		slot->shape.rank = from.data[i].shape.count;
		if (slot->port == SIZE_MAX || slot->shape.rank > ONPU_MAX_RANK ||
		    !onpu_is_type(ports[slot->port].type, from.data[i].dataType))
			return 1;
		for (size_t k = 0; k < slot->shape.rank; k++) {
			slot->shape.dims[k] = from.data[i].shape.data[k];
			elements *= from.data[i].shape.data[k];
		}
		slot->size = bytes_of(from.data[i].dataType, elements);
		slot->element = bytes_of(from.data[i].dataType, 1);
	}
	return 0;
}

/* Returns what make_slots() does. */
static int make_empties(const struct onpu_group *group, WNNOnnxValueInfoArray from,
			struct onpu_program *program)
{
	program->empties = calloc(from.count + 1, sizeof(*program->empties));
	if (!program->empties)
		return -1;
	program->empty_count = from.count;
	for (size_t i = 0; i < from.count; i++) {
		struct onpu_empty *empty = &program->empties[i];

		empty->port = find_port(group->outputs, group->output_count, from.data[i].name);
		empty->shape.rank = from.data[i].rank;
		if (empty->port == SIZE_MAX || empty->shape.rank > ONPU_MAX_RANK)
			return 1;
		for (size_t k = 0; k < empty->shape.rank; k++)
			empty->shape.dims[k] = from.data[i].dimensions[k].size;
	}
	return 0;
}

struct ort_status *onpu_program_create(struct onpu_group *group, WNNGraph graph,
				       WNNOnnxValueInfoArray empty, const struct onpu_shape *shapes,
				       struct onpu_program **out)
{
	struct onpu_program *program = calloc(1, sizeof(*program));
	int wrong;

	if (program)
		program->shapes = malloc((group->input_count + 1) * sizeof(*shapes));
	if (!program || !program->shapes) {
		free(program);
		wnnGraphRelease(graph);
		return onpu_nomem(&group->ep->factory->ort);
	}
	program->graph = graph;
	memcpy(program->shapes, shapes, group->input_count * sizeof(*shapes));
	wrong = make_slots(wnnGraphGetInputs(graph), group->inputs, group->input_count,
			   &program->inputs, &program->input_count);
	if (!wrong)
		wrong = make_slots(wnnGraphGetOutputs(graph), group->outputs, group->output_count,
				   &program->outputs, &program->output_count);
	if (!wrong)
		wrong = make_empties(group, empty, program);
	if (wrong) {
		onpu_program_release(program);
		if (wrong < 0)
			return onpu_nomem(&group->ep->factory->ort);
		return onpu_error(&group->ep->factory->ort, ORT_FAIL,
				  ONPU_PROVIDER
				  ": %s: the compiled graph has inputs or outputs of other "
				  "names or types than the nodes",
				  group->name);
	}
	*out = program;
	return NULL;
}

static void free_binding(const struct onpu_program *program, struct onpu_binding *binding)
{
	for (size_t i = 0; i < program->input_count + program->output_count && binding->bound;
	     i++) {
		wnnTensorRelease(binding->bound[i].lent);
		wnnTensorRelease(binding->bound[i].own);
	}
	free(binding->bound);
	free(binding->inputs);
	free(binding->outputs);
	free(binding);
}

void onpu_program_release(struct onpu_program *program)
{
	while (program->free) {
		struct onpu_binding *next = program->free->next;

		free_binding(program, program->free);
		program->free = next;
	}
	wnnGraphRelease(program->graph);
	free(program->inputs);
	free(program->outputs);
	free(program->empties);
	free(program->shapes);
	free(program);
}

static struct ort_status *make_binding(struct onpu_group *group, struct onpu_program *program,
				       struct onpu_binding **out)
{
	size_t ins = program->input_count, outs = program->output_count;
	struct onpu_binding *binding = calloc(1, sizeof(*binding));

	if (!binding)
		return onpu_nomem(&group->ep->factory->ort);
	binding->inputs = calloc(ins + 1, sizeof(*binding->inputs));
	binding->outputs = calloc(outs + 1, sizeof(*binding->outputs));
	binding->bound = calloc(ins + outs + 1, sizeof(*binding->bound));
	if (!binding->inputs || !binding->outputs || !binding->bound) {
		free_binding(program, binding);
		return onpu_nomem(&group->ep->factory->ort);
	}
	for (size_t i = 0; i < ins; i++)
		binding->inputs[i].name = wnnGraphGetInputs(program->graph).data[i].name;
	for (size_t i = 0; i < outs; i++)
		binding->outputs[i].name = wnnGraphGetOutputs(program->graph).data[i].name;
	*out = binding;
	return NULL;
}

static struct ort_status *shape_of(const struct ort_api *ort, const struct ort_value *value,
				   struct onpu_shape *shape)
{
	struct ort_status *status;
	struct ort_tensor_info *info;
	const int64_t *dims;
	int type;

	if (ort->GetTensorElementTypeAndShapeDataReference) {
		ORT_TRY(ort->GetTensorElementTypeAndShapeDataReference(value, &type, &dims,
								       &shape->rank));
		if (shape->rank && shape->rank <= ONPU_MAX_RANK)
			memcpy(shape->dims, dims, shape->rank * sizeof(*dims));
		return NULL;
	}
	ORT_TRY(ort->GetTensorTypeAndShape(value, &info));
	status = ort->GetDimensionsCount(info, &shape->rank);
	if (!status && shape->rank <= ONPU_MAX_RANK)
		status = ort->GetDimensions(info, shape->dims, shape->rank);
	ort->ReleaseTensorTypeAndShapeInfo(info);
	return status;
}

static struct ort_status *read_shapes(struct onpu_group *group, struct ort_kernel_context *context,
				      struct onpu_shape *shapes)
{
	const struct ort_api *ort = &group->ep->factory->ort;

	for (size_t i = 0; i < group->input_count; i++) {
		const struct ort_value *value;

		shapes[i] = group->inputs[i].shape;
		if (!group->inputs[i].dynamic)
			continue;
		ORT_TRY(ort->KernelContext_GetInput(context, group->inputs[i].index, &value));
		ORT_TRY(shape_of(ort, value, &shapes[i]));
		if (shapes[i].rank > ONPU_MAX_RANK)
			return onpu_error(ort, ORT_INVALID_ARGUMENT,
					  ONPU_PROVIDER ": %s: input \"%.*s\" has %zu dimensions, "
							"and 8 is the most",
					  group->name, (int)group->inputs[i].name.length,
					  group->inputs[i].name.data, shapes[i].rank);
	}
	return NULL;
}

static bool same_shapes(const struct onpu_group *group, const struct onpu_shape *a,
			const struct onpu_shape *b)
{
	for (size_t i = 0; i < group->input_count; i++)
		if (group->inputs[i].dynamic &&
		    (a[i].rank != b[i].rank ||
		     memcmp(a[i].dims, b[i].dims, a[i].rank * sizeof(a[i].dims[0]))))
			return false;
	return true;
}

/* Room for a shape as text: eight sizes of up to 20 characters. */
#define SHAPE_TEXT 200

static const char *shape_text(const struct onpu_shape *shape, char text[SHAPE_TEXT])
{
	size_t used = (size_t)snprintf(text, SHAPE_TEXT, "[");

	if (shape->rank > ONPU_MAX_RANK) {
		snprintf(text, SHAPE_TEXT, "%zu dimensions", shape->rank);
		return text;
	}
	for (size_t i = 0; i < shape->rank; i++)
		used += (size_t)snprintf(text + used, SHAPE_TEXT - used, "%s%lld", i ? "," : "",
					 (long long)shape->dims[i]);
	snprintf(text + used, SHAPE_TEXT - used, "]");
	return text;
}

/* Returns NULL; an error: an input has another shape than the saved graph was compiled for. */
static struct ort_status *check_fixed(const struct onpu_group *group,
				      struct ort_kernel_context *context)
{
	const struct ort_api *ort = &group->ep->factory->ort;

	for (size_t i = 0; i < group->input_count; i++) {
		const struct onpu_port *port = &group->inputs[i];
		const struct ort_value *value;
		struct onpu_shape shape = { 0 };
		char given[SHAPE_TEXT], right[SHAPE_TEXT];

		if (!port->fixed)
			continue;
		ORT_TRY(ort->KernelContext_GetInput(context, port->index, &value));
		ORT_TRY(shape_of(ort, value, &shape));
		if (shape.rank != port->shape.rank ||
		    memcmp(shape.dims, port->shape.dims, shape.rank * sizeof(shape.dims[0])))
			return onpu_error(ort, ORT_INVALID_ARGUMENT,
					  ONPU_PROVIDER
					  ": %s: input \"%.*s\" has another shape than "
					  "the model was compiled for: %s instead of %s",
					  group->name, (int)port->name.length, port->name.data,
					  shape_text(&shape, given),
					  shape_text(&port->shape, right));
	}
	return NULL;
}

/*
 * Returns the program for these shapes and moves it to the front of the list; NULL: there is none.
 * The caller holds the lock.
 */
static struct onpu_program *find_program(struct onpu_group *group, const struct onpu_shape *shapes)
{
	struct onpu_program **link = &group->programs;

	for (; *link; link = &(*link)->next) {
		struct onpu_program *program = *link;

		if (!same_shapes(group, program->shapes, shapes))
			continue;
		*link = program->next;
		program->next = group->programs;
		group->programs = program;
		return program;
	}
	return NULL;
}

/*
 * Frees the least recently used programs, unless a run uses them, when there are more than
 * ONPU_MAX_PROGRAMS. The caller holds the lock.
 */
static void forget_programs(struct onpu_group *group)
{
	struct onpu_program **link = &group->programs;
	size_t count = 0;

	while (*link) {
		struct onpu_program *program = *link;

		if (++count > ONPU_MAX_PROGRAMS && !program->users) {
			*link = program->next;
			onpu_program_release(program);
		} else {
			link = &program->next;
		}
	}
}

/*
 * Takes pointers to the weights that ONNX Runtime passes to the run, for a build. The caller holds
 * the lock. Returns NULL, or an error of ONNX Runtime.
 */
static struct ort_status *take_weights(struct onpu_group *group, struct ort_kernel_context *context)
{
	const struct ort_api *ort = &group->ep->factory->ort;

	for (size_t i = 0; i < group->read.graph.tensorCount; i++) {
		const struct ort_value *value;
		void *data;

		if (group->weights[i] == SIZE_MAX || !group->read.tensors[i].size)
			continue;
		ORT_TRY(ort->KernelContext_GetInput(context, group->weights[i], &value));
		ORT_TRY(ort->GetTensorMutableData((struct ort_value *)(uintptr_t)value, &data));
		group->read.tensors[i].data = data;
	}
	return NULL;
}

/*
 * Sets *out to a program for the shapes of a run, which is built if there is none, and *binding to
 * tensors for it that no run uses, or to NULL if there are none: the caller makes some then.
 * put_program() gives both back. Returns NULL, or an error: then there is nothing to give back.
 */
static struct ort_status *get_program(struct onpu_group *group, struct ort_kernel_context *context,
				      const struct onpu_shape *shapes, struct onpu_program **out,
				      struct onpu_binding **binding)
{
	struct onpu_program *program;
	struct ort_status *status = NULL;

	*binding = NULL;
	pthread_mutex_lock(&group->lock);
	program = group->dynamic ? find_program(group, shapes) : group->programs;
	if (!program) {
		status = take_weights(group, context);
		if (!status)
			status = onpu_group_build(group, shapes, &program);
		if (!status) {
			program->next = group->programs;
			group->programs = program;
			program->users++;
			forget_programs(group);
			program->users--;
		}
	}
	if (!status) {
		program->users++;
		*binding = program->free;
		if (*binding)
			program->free = (*binding)->next;
	}
	pthread_mutex_unlock(&group->lock);
	*out = program;
	return status;
}

static void put_program(struct onpu_group *group, struct onpu_program *program,
			struct onpu_binding *binding)
{
	pthread_mutex_lock(&group->lock);
	program->users--;
	if (binding) {
		binding->next = program->free;
		program->free = binding;
	}
	pthread_mutex_unlock(&group->lock);
}

static bool is_aligned(const struct onpu_slot *slot, const void *data)
{
	return (uintptr_t)data % slot->element == 0;
}

/* Returns a tensor in ONNX Runtime's memory, which the graph reads or writes directly. */
static struct ort_status *use_memory(struct onpu_group *group, const struct onpu_slot *slot,
				     struct onpu_bound *bound, void *data, WNNTensor *tensor)
{
	WNNTensorHostMemory memory = WNN_TENSOR_HOST_MEMORY_INIT;
	WNNTensorDescriptor descriptor = slot->descriptor;
	WNNStatus status = WNNStatus_Success;

	memory.data = data;
	memory.size = slot->size;
	descriptor.nextInChain = &memory.chain;
	if (!bound->lent)
		status = wnnContextCreateTensorSync(group->ep->context, &descriptor,
						    WNN_WAIT_FOREVER, &bound->lent);
	else if (bound->data != data)
		status = wnnTensorSetHostMemory(bound->lent, &memory);
	bound->data = status == WNNStatus_Success ? data : NULL;
	*tensor = bound->lent;
	return status == WNNStatus_Success ?
		       NULL :
		       onpu_webnn_error(&group->ep->factory->ort, group->name);
}

static struct ort_status *use_own(struct onpu_group *group, const struct onpu_slot *slot,
				  struct onpu_bound *bound, WNNTensor *tensor)
{
	if (!bound->own &&
	    wnnContextCreateTensorSync(group->ep->context, &slot->descriptor, WNN_WAIT_FOREVER,
				       &bound->own) != WNNStatus_Success)
		return onpu_webnn_error(&group->ep->factory->ort, group->name);
	*tensor = bound->own;
	return NULL;
}

static struct ort_status *bind_inputs(struct onpu_group *group, struct onpu_program *program,
				      struct onpu_binding *binding,
				      struct ort_kernel_context *context, WNNDispatchCopies *copies)
{
	const struct ort_api *ort = &group->ep->factory->ort;

	for (size_t i = 0; i < program->input_count; i++) {
		const struct onpu_slot *slot = &program->inputs[i];
		struct onpu_bound *bound = &binding->bound[i];
		WNNTensor *tensor = &binding->inputs[i].tensor;
		const struct ort_value *value;
		void *data;

		ORT_TRY(ort->KernelContext_GetInput(context, group->inputs[slot->port].index,
						    &value));
		ORT_TRY(ort->GetTensorMutableData((struct ort_value *)(uintptr_t)value, &data));
		if (is_aligned(slot, data)) {
			ORT_TRY(use_memory(group, slot, bound, data, tensor));
			continue;
		}
		ORT_TRY(use_own(group, slot, bound, tensor));
		if (wnnContextWriteTensor(group->ep->context, *tensor, data, slot->size) !=
		    WNNStatus_Success)
			return onpu_webnn_error(ort, group->name);
		copies->bytesIn += slot->size;
	}
	return NULL;
}

/*
 * Returns whether an output's memory overlaps that of an input, as programs may bind one memory for
 * both.
 */
static bool overlaps(const struct onpu_program *program, const struct onpu_binding *binding,
		     const struct onpu_slot *slot, const char *data)
{
	for (size_t i = 0; i < program->input_count; i++) {
		const char *input = binding->bound[i].data;

		if (binding->inputs[i].tensor == binding->bound[i].lent &&
		    (uintptr_t)data < (uintptr_t)input + program->inputs[i].size &&
		    (uintptr_t)input < (uintptr_t)data + slot->size)
			return true;
	}
	return false;
}

static struct ort_status *bind_outputs(struct onpu_group *group, struct onpu_program *program,
				       struct onpu_binding *binding,
				       struct ort_kernel_context *context)
{
	const struct ort_api *ort = &group->ep->factory->ort;

	for (size_t i = 0; i < program->output_count; i++) {
		const struct onpu_slot *slot = &program->outputs[i];
		struct onpu_bound *bound = &binding->bound[program->input_count + i];
		WNNTensor *tensor = &binding->outputs[i].tensor;
		struct ort_value *value;
		void *data;

		ORT_TRY(ort->KernelContext_GetOutput(context, group->outputs[slot->port].index,
						     slot->shape.dims, slot->shape.rank, &value));
		ORT_TRY(ort->GetTensorMutableData(value, &data));
		if (is_aligned(slot, data) && !overlaps(program, binding, slot, data)) {
			ORT_TRY(use_memory(group, slot, bound, data, tensor));
			continue;
		}
		ORT_TRY(use_own(group, slot, bound, tensor));
		bound->target = data;
	}
	return NULL;
}

/* Tells ONNX Runtime the shapes of the outputs without elements. */
static struct ort_status *give_empties(struct onpu_group *group, const struct onpu_program *program,
				       struct ort_kernel_context *context)
{
	for (size_t i = 0; i < program->empty_count; i++) {
		const struct onpu_empty *empty = &program->empties[i];
		struct ort_value *value;

		ORT_TRY(group->ep->factory->ort.KernelContext_GetOutput(
			context, group->outputs[empty->port].index, empty->shape.dims,
			empty->shape.rank, &value));
	}
	return NULL;
}

static struct ort_status *read_outputs(struct onpu_group *group, struct onpu_program *program,
				       struct onpu_binding *binding, WNNDispatchCopies *copies)
{
	for (size_t i = 0; i < program->output_count; i++) {
		struct onpu_bound *bound = &binding->bound[program->input_count + i];
		size_t size = program->outputs[i].size;

		if (binding->outputs[i].tensor != bound->own)
			continue;
		if (wnnContextReadTensorIntoSync(group->ep->context, bound->own, bound->target,
						 size, WNN_WAIT_FOREVER) != WNNStatus_Success)
			return onpu_webnn_error(&group->ep->factory->ort, group->name);
		copies->bytesOut += size;
	}
	return NULL;
}

static struct ort_status *run(struct onpu_group *group, struct onpu_program *program,
			      struct onpu_binding *binding, struct ort_kernel_context *context)
{
	WNNDispatchStatistics statistics = WNN_DISPATCH_STATISTICS_INIT;
	WNNDispatchCopies copies = WNN_DISPATCH_COPIES_INIT, own = copies;
	bool profiling = atomic_load(&group->ep->profiling);
	int64_t start = profiling ? onpu_profile_now() : 0;

	statistics.nextInChain = &copies.chain;
	ORT_TRY(give_empties(group, program, context));
	if (!program->graph)
		return NULL;
	ORT_TRY(bind_inputs(group, program, binding, context, &own));
	ORT_TRY(bind_outputs(group, program, binding, context));
	if (wnnContextDispatchMeasuredSync(group->ep->context, program->graph, program->input_count,
					   binding->inputs, program->output_count, binding->outputs,
					   WNN_WAIT_FOREVER,
					   profiling ? &statistics : NULL) != WNNStatus_Success)
		return onpu_webnn_error(&group->ep->factory->ort, group->name);
	ORT_TRY(read_outputs(group, program, binding, &own));
	copies.bytesIn += own.bytesIn;
	copies.bytesOut += own.bytesOut;
	if (profiling)
		onpu_profile_add(group->ep, group->name, start, &statistics, &copies);
	return NULL;
}

struct ort_status *onpu_group_compute(struct ort_compute_info *info, void *state,
				      struct ort_kernel_context *context)
{
	struct onpu_group *group = (struct onpu_group *)info;
	struct onpu_shape few[16], *shapes = few;
	struct onpu_binding *binding = NULL;
	struct onpu_program *program;
	struct ort_status *status = NULL;

	(void)state;
	if (group->dynamic && group->input_count > sizeof(few) / sizeof(few[0])) {
		shapes = malloc(group->input_count * sizeof(*shapes));
		if (!shapes)
			return onpu_nomem(&group->ep->factory->ort);
	}
	status = group->dynamic ? read_shapes(group, context, shapes) : check_fixed(group, context);
	if (!status)
		status = get_program(group, context, shapes, &program, &binding);
	if (!status) {
		if (!binding)
			status = make_binding(group, program, &binding);
		if (!status)
			status = run(group, program, binding, context);
		put_program(group, program, binding);
	}
	if (shapes != few)
		free(shapes);
	return status;
}
