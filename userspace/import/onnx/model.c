// SPDX-License-Identifier: MIT
/* The public functions that load, build and release models. */
#include "model.h"
#include "range.h"

#include <string.h>

#include "kind.h"
#include "order.h"
#include "wire.h"

static void *proto_alloc(void *failed, size_t size)
{
	void *memory = import_alloc(size);

	if (!memory)
		*(bool *)failed = true;
	return memory;
}

static void proto_free(void *unused, void *memory)
{
	(void)unused;
	import_free(memory);
}

static char *copy_text(WNNStringView text)
{
	size_t length = !text.data		  ? 0 :
			text.length == WNN_STRLEN ? strlen(text.data) :
						    text.length;
	char *copy = import_alloc(length + 1);

	if (copy && length)
		memcpy(copy, text.data, length);
	return copy;
}

static bool is_initialiser(const Onnx__GraphProto *graph, const char *name)
{
	for (size_t i = 0; i < graph->n_initializer; i++)
		if (graph->initializer[i]->name && !strcmp(graph->initializer[i]->name, name))
			return true;
	for (size_t i = 0; i < graph->n_sparse_initializer; i++) {
		const Onnx__TensorProto *values = graph->sparse_initializer[i]->values;

		if (values && values->name && !strcmp(values->name, name))
			return true;
	}
	return false;
}

struct onnx_input onnx_input_of(const Onnx__ValueInfoProto *proto)
{
	const Onnx__TypeProto__Tensor *tensor = onnx_tensor_type(proto->type);
	const Onnx__TypeProto__Tensor *items = tensor ? NULL : onnx_item_type(proto->type);

	return (struct onnx_input){
		.proto = proto,
		.name = proto->name,
		.tensor = tensor ? tensor : items,
		.sequence = items != NULL,
		.optional = proto->type &&
			    proto->type->value_case == ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE,
	};
}

WNNStatus onnx_model_find_values(struct onnx_model *model)
{
	const Onnx__GraphProto *graph = model->proto->graph;

	model->output_count = graph->n_output;
	model->outputs = (const Onnx__ValueInfoProto *const *)graph->output;
	model->inputs =
		onnx_arena_alloc(&model->arena, (graph->n_input + 1) * sizeof(*model->inputs));
	if (!model->inputs)
		return onnx_nomem();
	for (size_t i = 0; i < graph->n_input; i++) {
		const char *name = graph->input[i]->name;

		if (!name)
			return onnx_error(WNNStatus_OperationError,
					  "the model is damaged: an input has no name");
		if (!is_initialiser(graph, name))
			model->inputs[model->input_count++] = onnx_input_of(graph->input[i]);
	}
	return WNNStatus_Success;
}

static WNNStatus check_outputs(const Onnx__GraphProto *graph)
{
	for (size_t i = 0; i < graph->n_output; i++)
		if (!graph->output[i]->name)
			return onnx_error(WNNStatus_OperationError,
					  "the model is damaged: an output has no name");
	return WNNStatus_Success;
}

WNNStatus onnx_model_check(const Onnx__ModelProto *proto)
{
	if (!proto->graph)
		return onnx_error(WNNStatus_OperationError,
				  "the model is damaged: it has no graph");
	for (size_t i = 0; i < proto->n_opset_import; i++) {
		const Onnx__OperatorSetIdProto *set = proto->opset_import[i];

		if ((!set->domain || !*set->domain || !strcmp(set->domain, "ai.onnx")) &&
		    set->version < 1)
			return onnx_error(WNNStatus_OperationError,
					  "the model is damaged: it is of operator set %lld",
					  (long long)set->version);
	}
	return check_outputs(proto->graph);
}

static WNNStatus unpack(struct onnx_model *model)
{
	const char *wrong;
	uint8_t *slim;
	bool failed = false;
	size_t size;
	WNNStatus status = onnx_wire_slim(ONNX_MODEL, model->file->data, model->file->size, &slim,
					  &size, &wrong);

	if (status != WNNStatus_Success)
		return wrong ? onnx_error(status, "the model is damaged: %s", wrong) : onnx_nomem();
	model->allocator = (ProtobufCAllocator){ proto_alloc, proto_free, &failed };
	model->proto = onnx__model_proto__unpack(&model->allocator, size, slim);
	model->allocator.allocator_data = NULL;
	import_free(slim);
	if (!model->proto)
		return failed ? onnx_nomem() :
				onnx_error(
					WNNStatus_OperationError,
					"the model is damaged: it is no ONNX model, or a string or "
					"number in it is cut off");
	status = onnx_model_check(model->proto);
	if (status == WNNStatus_Success)
		status = onnx_order(model->proto);
	return status == WNNStatus_Success ? onnx_model_find_values(model) : status;
}

/*
 * Sets *out to a model of the file and returns WNNStatus_Success, or another status with the last
 * error. The file and the folder's name are taken over in any case.
 */
static WNNStatus load(struct onnx_file *file, char *folder, WNNOnnxModel *out)
{
	struct onnx_model *model = import_alloc(sizeof(*model));
	WNNStatus status;

	if (!model) {
		onnx_file_put(file);
		import_free(folder);
		return onnx_nomem();
	}
	model->references = 1;
	model->file = file;
	model->folder = folder;
	status = unpack(model);
	if (status == WNNStatus_OperationError) {
		const char *is = onnx_kind_of_file(file->data, file->size);

		if (is)
			onnx_error(status, "it is no model of ONNX; it is %s", is);
	}
	if (status != WNNStatus_Success) {
		onnx_error_in(file->name);
		wnnOnnxModelRelease((WNNOnnxModel)model);
	} else {
		*out = (WNNOnnxModel)model;
	}
	return status;
}

WNNStatus wnnOnnxLoadFile(WNNStringView path, WNNOnnxLoadOptions const *options,
			  WNNOnnxModel *model)
{
	struct onnx_file *file;
	char *name, *folder, *slash;
	WNNStatus status;

	if (!model || !path.data)
		return onnx_error(WNNStatus_TypeError, "%s is missing", model ? "path" : "model");
	*model = NULL;
	name = copy_text(path);
	if (!name)
		return onnx_nomem();
	status = onnx_file_open(name, true, &file);
	if (status != WNNStatus_Success) {
		import_free(name);
		return status;
	}
	if (options && options->folder.data && options->folder.length) {
		folder = copy_text(options->folder);
		import_free(name);
	} else {
		slash = strrchr(name, '/');
		folder = name;
		if (!slash)
			strcpy(folder, ".");
		else
			slash[slash == name] = 0;
	}
	if (!folder) {
		onnx_file_put(file);
		return onnx_nomem();
	}
	return load(file, folder, model);
}

WNNStatus wnnOnnxLoadMemory(void const *data, size_t size, WNNOnnxLoadOptions const *options,
			    WNNOnnxModel *model)
{
	struct onnx_file *file;
	char *folder = NULL;
	WNNStatus status;

	if (!model || (!data && size))
		return onnx_error(WNNStatus_TypeError, "%s is missing", model ? "data" : "model");
	*model = NULL;
	if (options && options->folder.data && options->folder.length) {
		folder = copy_text(options->folder);
		if (!folder)
			return onnx_nomem();
	}
	status = onnx_file_copy(data, size, &file);
	if (status != WNNStatus_Success) {
		import_free(folder);
		return status;
	}
	return load(file, folder, model);
}

void wnnOnnxModelAddRef(WNNOnnxModel handle)
{
	struct onnx_model *model = (struct onnx_model *)handle;

	if (model)
		model->references++;
}

void wnnOnnxModelRelease(WNNOnnxModel handle)
{
	struct onnx_model *model = (struct onnx_model *)handle;

	if (!model || --model->references)
		return;
	if (model->proto && !model->described)
		onnx__model_proto__free_unpacked(model->proto, &model->allocator);
	while (model->external) {
		struct onnx_file *next = model->external->next;

		onnx_file_put(model->external);
		model->external = next;
	}
	onnx_file_put(model->file);
	import_free(model->folder);
	onnx_arena_free(&model->arena);
	onnx_arena_free(&model->info_arena);
	onnx_arena_free(&model->build_arena);
	import_free(model);
}

bool onnx_model_lends(const struct onnx_model *model)
{
	return !model->file->lent || model->file->release || model->probing;
}

/* Frees what the last build or probe left, and clears the pointers to it. */
static void forget_build(struct onnx_model *model)
{
	onnx_arena_free(&model->build_arena);
	model->refusals = NULL;
	model->refusal_count = 0;
	model->notices = NULL;
	model->notice_count = model->notice_room = 0;
	model->empty = NULL;
	model->empty_count = 0;
	model->values = (WNNOnnxValueInfoArray){ 0, NULL };
	model->random = NULL;
	for (struct onnx_known *known = model->known; known; known = known->next)
		known->needed = false;
	model->random_count = 0;
	model->computed = NULL;
	model->computed_count = 0;
}

WNNStatus wnnOnnxModelAddToBuilder(WNNOnnxModel handle, WNNGraphBuilder builder, size_t *count,
				   WNNNamedOperand const **outputs)
{
	struct onnx_model *model = (struct onnx_model *)handle;
	WNNNamedOperand *named = NULL;
	WNNStatus status;

	if (!model || !builder || !count || !outputs)
		return onnx_error(WNNStatus_TypeError, "%s is missing",
				  !model   ? "model" :
				  !builder ? "builder" :
				  !count   ? "count" :
					     "outputs");
	*count = 0;
	*outputs = NULL;
	forget_build(model);
	status = onnx_import(model, builder, count, &named);
	if (status == WNNStatus_Success)
		*outputs = named;
	else
		*count = 0;
	return status;
}

WNNStatus wnnOnnxModelProbe(WNNOnnxModel handle, WNNContext context, size_t count,
			    WNNBool *supported)
{
	struct onnx_model *model = (struct onnx_model *)handle;
	WNNError error = WNN_ERROR_INIT;
	WNNGraphBuilder builder;
	WNNStatus status;

	if (!model || !supported)
		return onnx_error(WNNStatus_TypeError, "%s is missing",
				  model ? "supported" : "model");
	if (count != model->proto->graph->n_node)
		return onnx_error(WNNStatus_TypeError,
				  "count is %zu, but the model has %zu nodes: count must be that "
				  "of wnnOnnxModelGetNodeCount()",
				  count, model->proto->graph->n_node);
	builder = wnnContextCreateGraphBuilder(context);
	if (!builder) {
		status = wnnGetLastError(&error);
		return onnx_error(status, "%.*s", (int)error.message.length, error.message.data);
	}
	forget_build(model);
	model->probing = true;
	status = onnx_probe(model, builder, supported);
	model->probing = false;
	wnnGraphBuilderRelease(builder);
	return status;
}

static WNNStatus build(WNNOnnxModel model, WNNContext context, WNNGraphBuilder builder,
		       uint64_t timeout, WNNGraph *graph)
{
	struct onnx_model *of = (struct onnx_model *)model;
	WNNNamedOperand const *outputs;
	WNNError error = WNN_ERROR_INIT;
	WNNStatus status;
	size_t count;

	status = of->range_count ? onnx_range_add(of, context, builder, &count, &outputs) :
				   wnnOnnxModelAddToBuilder(model, builder, &count, &outputs);
	if (status != WNNStatus_Success)
		return status;
	if (!count)
		return onnx_error(WNNStatus_NotSupportedError,
				  "no output of the model has elements: there is nothing to "
				  "compute");
	status = wnnGraphBuilderBuildSync(builder, count, outputs, timeout, graph);
	if (status == WNNStatus_Success)
		return status;
	wnnGetLastError(&error);
	return onnx_error(status, "%.*s", (int)error.message.length, error.message.data);
}

WNNStatus wnnOnnxModelBuildSync(WNNOnnxModel model, WNNContext context, uint64_t timeout,
				WNNGraph *graph)
{
	WNNError error = WNN_ERROR_INIT;
	WNNGraphBuilder builder;
	WNNStatus status;

	if (!model || !graph)
		return onnx_error(WNNStatus_TypeError, "%s is missing", model ? "graph" : "model");
	*graph = NULL;
	builder = wnnContextCreateGraphBuilder(context);
	if (!builder) {
		status = wnnGetLastError(&error);
		return onnx_error(status, "%.*s", (int)error.message.length, error.message.data);
	}
	status = build(model, context, builder, timeout, graph);
	wnnGraphBuilderRelease(builder);
	return status;
}

WNNOnnxValueInfoArray wnnOnnxModelGetEmptyOutputs(WNNOnnxModel handle)
{
	struct onnx_model *model = (struct onnx_model *)handle;

	return model ? (WNNOnnxValueInfoArray){ model->empty_count, model->empty } :
		       (WNNOnnxValueInfoArray){ 0, NULL };
}

WNNOnnxRefusalArray wnnOnnxModelGetNotices(WNNOnnxModel handle)
{
	struct onnx_model *model = (struct onnx_model *)handle;

	return model ? (WNNOnnxRefusalArray){ model->notice_count, model->notices } :
		       (WNNOnnxRefusalArray){ 0, NULL };
}

WNNOnnxRefusalArray wnnOnnxModelGetRefusals(WNNOnnxModel handle)
{
	struct onnx_model *model = (struct onnx_model *)handle;

	return model ? (WNNOnnxRefusalArray){ model->refusal_count, model->refusals } :
		       (WNNOnnxRefusalArray){ 0, NULL };
}
