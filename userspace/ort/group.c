// SPDX-License-Identifier: MIT
/* Compiles groups of nodes to graphs. */
#include "cache.h"
#include "context.h"

#include <stdlib.h>
#include <string.h>

#include <webnn/webnn_npu.h>

static struct ort_status *create_state(struct ort_compute_info *info,
				       struct ort_node_context *context, void **state)
{
	(void)context;
	*state = info;
	return NULL;
}

static void release_state(struct ort_compute_info *info, void *state)
{
	(void)info;
	(void)state;
}

struct ort_status *onpu_find_index(const struct onpu_reading *r,
				   const struct ort_value_info *const *values, size_t count,
				   WNNStringView name, size_t *position)
{
	*position = SIZE_MAX;
	for (size_t i = 0; i < count; i++) {
		const char *text;

		if (!values[i])
			continue;
		ORT_TRY(r->ort->GetValueInfoName(values[i], &text));
		if (strlen(text) == name.length && !memcmp(text, name.data, name.length)) {
			*position = i;
			return NULL;
		}
	}
	return NULL;
}

static struct ort_status *make_port(const struct onpu_reading *r, const WNNOnnxValue *value,
				    const struct ort_value_info *const *values, size_t count,
				    struct onpu_port *port)
{
	*port = (struct onpu_port){ .name = value->name, .type = value->elementType };
	ORT_TRY(onpu_find_index(r, values, count, value->name, &port->index));
	if (port->index == SIZE_MAX)
		return onpu_error(r->ort, ORT_FAIL,
				  ONPU_PROVIDER ": the fused node has no value \"%.*s\"",
				  (int)value->name.length, value->name.data);
	if (value->rank == WNN_ONNX_RANK_UNKNOWN || value->rank > ONPU_MAX_RANK) {
		port->dynamic = true;
		return NULL;
	}
	port->shape.rank = value->rank;
	for (size_t i = 0; i < value->rank; i++) {
		port->shape.dims[i] = value->dimensions[i].size;
		port->dynamic = port->dynamic || value->dimensions[i].size < 0;
	}
	return NULL;
}

static struct ort_status *make_ports(struct onpu_group *group, const struct onpu_reading *r,
				     const struct ort_node *fused)
{
	const WNNOnnxGraph *graph = &group->read.graph;
	const struct ort_value_info **inputs, **outputs;
	size_t input_count, output_count;

	ORT_TRY(onpu_node_inputs(r, fused, &input_count, &inputs));
	ORT_TRY(onpu_node_outputs(r, fused, &output_count, &outputs));
	group->input_count = graph->inputCount;
	group->output_count = graph->outputCount;
	group->inputs = onpu_take(r, graph->inputCount * sizeof(*group->inputs));
	group->outputs = onpu_take(r, graph->outputCount * sizeof(*group->outputs));
	group->weights = onpu_take(r, graph->tensorCount * sizeof(*group->weights));
	if (!group->inputs || !group->outputs || !group->weights)
		return onpu_nomem(r->ort);
	for (size_t i = 0; i < graph->inputCount; i++) {
		ORT_TRY(make_port(r, &graph->inputs[i], inputs, input_count, &group->inputs[i]));
		group->dynamic = group->dynamic || group->inputs[i].dynamic;
	}
	for (size_t i = 0; i < graph->outputCount; i++)
		ORT_TRY(make_port(r, &graph->outputs[i], outputs, output_count,
				  &group->outputs[i]));
	for (size_t i = 0; i < graph->tensorCount; i++)
		ORT_TRY(onpu_find_index(r, inputs, input_count, graph->tensors[i].name,
					&group->weights[i]));
	return NULL;
}

/*
 * Copies constants that a run does not pass: small ones, and those that only graphs within nodes
 * use. Returns NULL; an error: no memory.
 */
static struct ort_status *keep_constants(struct onpu_group *group, const struct onpu_reading *r)
{
	for (size_t i = 0; i < group->read.graph.tensorCount; i++) {
		WNNOnnxTensor *tensor = &group->read.tensors[i];
		void *copy;

		if (group->weights[i] != SIZE_MAX || !tensor->size)
			continue;
		copy = onpu_take(r, tensor->size);
		if (!copy)
			return onpu_nomem(r->ort);
		tensor->data = memcpy(copy, tensor->data, tensor->size);
	}
	return NULL;
}

/*
 * Sets the shapes of the inputs from the model and the options dim.NAME; false: some size stays
 * unknown.
 */
static bool known_shapes(const struct onpu_group *group, struct onpu_shape *shapes)
{
	const struct onpu_options *options = &group->ep->options;

	for (size_t i = 0; i < group->input_count; i++) {
		const WNNOnnxValue *value = &group->read.graph.inputs[i];

		if (value->rank > ONPU_MAX_RANK)
			return false;
		shapes[i].rank = value->rank;
		for (size_t k = 0; k < value->rank; k++) {
			shapes[i].dims[k] = value->dimensions[k].size;
			for (size_t n = 0; n < options->dimension_count && shapes[i].dims[k] < 0;
			     n++)
				if (!strcmp(options->dimensions[n].name,
					    value->dimensions[k].name.data))
					shapes[i].dims[k] = options->dimensions[n].size;
			if (shapes[i].dims[k] < 0)
				return false;
		}
	}
	return true;
}

/*
 * Builds the graph before the first run, if the shapes are known; does nothing if they are not.
 * Returns NULL, or an error.
 */
static struct ort_status *build_early(struct onpu_group *group)
{
	struct onpu_shape *shapes = calloc(group->input_count + 1, sizeof(*shapes));
	struct onpu_program *program = NULL;
	struct ort_status *status = NULL;

	if (!shapes)
		return onpu_nomem(&group->ep->factory->ort);
	if (known_shapes(group, shapes))
		status = onpu_group_build(group, shapes, &program);
	group->programs = program;
	free(shapes);
	return status;
}

/* Sets the folder of the model, when the model was loaded from a file. Returns NULL, or an error. */
static struct ort_status *find_folder(struct onpu_group *group, const struct onpu_reading *r,
				      const struct ort_graph *graph)
{
	const char *model = NULL, *slash;
	char *folder;

	ORT_TRY(r->ort->Graph_GetModelPath(graph, &model));
	if (!model || !*model)
		return NULL;
	slash = strrchr(model, '/');
	/* The folder of a file in the root is the root itself. */
	folder = onpu_take(r, slash ? (size_t)(slash - model) + 2 : 2);
	if (!folder)
		return onpu_nomem(r->ort);
	strcpy(folder, ".");
	if (slash)
		memcpy(folder, model, slash == model ? 1 : (size_t)(slash - model));
	group->folder = folder;
	return NULL;
}

static struct ort_status *fill(struct onpu_group *group, const struct ort_graph *graph,
			       const struct ort_node *fused)
{
	struct onpu_reading reading = {
		.ort = &group->ep->factory->ort,
		.chunks = &group->chunks,
		.options = &(struct onpu_options){ 0 },
		.trial = -1,
		.keep = true,
	};
	const char *name;

	ORT_TRY(reading.ort->Node_GetName(fused, &name));
	group->name = import_chunks_take(&group->chunks, strlen(name) + 1, 0);
	if (!group->name)
		return onpu_nomem(reading.ort);
	strcpy(group->name, name);
	ORT_TRY(onpu_read_graph(&reading, graph, &group->read));
	if (group->read.graph.nodeCount == 1 && onpu_context_is(reading.ort, group->read.nodes[0]))
		return onpu_context_load(group, &reading, graph, fused);
	ORT_TRY(make_ports(group, &reading, fused));
	ORT_TRY(find_folder(group, &reading, graph));
	ORT_TRY(build_early(group));
	return group->dynamic ? keep_constants(group, &reading) : NULL;
}

struct ort_status *onpu_group_create(struct onpu_ep *ep, const struct ort_graph *graph,
				     const struct ort_node *fused, struct onpu_group **out)
{
	struct onpu_group *group = calloc(1, sizeof(*group));
	struct ort_status *status;

	if (!group)
		return onpu_nomem(&ep->factory->ort);
	group->base.version = ep->factory->ort.version;
	group->base.create_state = create_state;
	group->base.compute = onpu_group_compute;
	group->base.release_state = release_state;
	group->ep = ep;
	pthread_mutex_init(&group->lock, NULL);
	status = fill(group, graph, fused);
	if (status)
		onpu_group_release(group);
	else
		*out = group;
	return status;
}

void onpu_group_release(struct onpu_group *group)
{
	while (group->programs) {
		struct onpu_program *next = group->programs->next;

		onpu_program_release(group->programs);
		group->programs = next;
	}
	pthread_mutex_destroy(&group->lock);
	import_chunks_free(&group->chunks);
	free(group);
}

static struct ort_status *set_shapes(struct onpu_group *group, WNNOnnxModel model,
				     const struct onpu_shape *shapes)
{
	for (size_t i = 0; i < group->input_count; i++) {
		uint32_t dims[ONPU_MAX_RANK];

		for (size_t k = 0; k < shapes[i].rank; k++)
			dims[k] = (uint32_t)shapes[i].dims[k];
		if (wnnOnnxModelSetInputShape(model, group->inputs[i].name,
					      shapes[i].rank ?
						      (WNNUint32Array){ shapes[i].rank, dims } :
						      WNN_UINT32_EMPTY) != WNNStatus_Success)
			return onpu_onnx_error(&group->ep->factory->ort, group->name);
	}
	return NULL;
}

static void report(struct onpu_ep *ep, WNNGraph graph)
{
	static const char *const places[] = { "", "npu", "cpu", "folded" };
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;

	if (!ep->report || wnnGraphGetPlacement(graph, &placement) != WNNStatus_Success)
		return;
	for (size_t i = 0; i < placement.nodeCount; i++) {
		const WNNNodePlacement *node = &placement.nodes[i];

		onpu_report(ep,
			    (size_t)node->device < sizeof(places) / sizeof(places[0]) ?
				    places[node->device] :
				    "",
			    node->operatorName, node->label, node->reasonText);
	}
}

static struct ort_status *load(struct onpu_group *group, WNNOnnxModel *model)
{
	WNNOnnxDescription description = WNN_ONNX_DESCRIPTION_INIT;
	WNNOnnxTensorFiles files = WNN_ONNX_TENSOR_FILES_INIT;

	description.graph = &group->read.graph;
	description.operatorSetCount = group->read.set_count;
	description.operatorSets = group->read.sets;
	/*
	 * Weights that are read from their file need no copy in memory while they are packed. A
	 * graph for another shape may be built when the file is no longer there.
	 */
	if (group->folder && !group->dynamic) {
		files.folder = (WNNStringView){ group->folder, strlen(group->folder) };
		files.files = group->read.files;
		description.nextInChain = &files.chain;
	}
	if (wnnOnnxLoadGraph(&description, model) != WNNStatus_Success)
		return onpu_onnx_error(&group->ep->factory->ort, group->name);
	return NULL;
}

/*
 * Builds a program, and keeps its graph in a file when there is a path. A file has no outputs
 * without elements, so that a graph that lacks such outputs is not kept.
 */
static struct ort_status *build(struct onpu_group *group, const struct onpu_shape *shapes,
				const char *path, struct onpu_program **program)
{
	WNNOnnxValueInfoArray empty;
	struct ort_status *status;
	WNNGraph graph = NULL;
	WNNOnnxModel model;

	ORT_TRY(load(group, &model));
	status = set_shapes(group, model, shapes);
	if (!status && wnnOnnxModelBuildSync(model, group->ep->context, WNN_WAIT_FOREVER, &graph) !=
			       WNNStatus_Success)
		status = onpu_onnx_error(&group->ep->factory->ort, group->name);
	empty = wnnOnnxModelGetEmptyOutputs(model);
	if (status && empty.count == group->output_count) {
		/* The error says that no output has elements. */
		group->ep->factory->ort.ReleaseStatus(status);
		status = NULL;
	}
	if (!status) {
		if (path && !empty.count)
			onpu_cache_save(group, path, graph);
		if (graph)
			report(group->ep, graph);
		status = onpu_program_create(group, graph, empty, shapes, program);
	}
	wnnOnnxModelRelease(model);
	return status;
}

struct ort_status *onpu_group_build(struct onpu_group *group, const struct onpu_shape *shapes,
				    struct onpu_program **program)
{
	char *path = onpu_cache_path(group, shapes);
	WNNGraph graph = path ? onpu_cache_load(group, path) : NULL;
	struct ort_status *status;

	if (graph) {
		report(group->ep, graph);
		status = onpu_program_create(group, graph, (WNNOnnxValueInfoArray){ 0, NULL },
					     shapes, program);
	} else {
		status = build(group, shapes, path, program);
	}
	free(path);
	return status;
}

struct ort_status *onpu_compile(struct ort_ep *base, const struct ort_graph **graphs,
				const struct ort_node **fused, size_t count,
				struct ort_compute_info **infos, struct ort_node **contexts)
{
	struct onpu_ep *ep = (struct onpu_ep *)base;

	for (size_t i = 0; i < count; i++) {
		struct onpu_group *group = NULL;
		struct ort_status *status = onpu_group_create(ep, graphs[i], fused[i], &group);

		if (!status && ep->options.context_enable && contexts)
			status = onpu_context_save(group, graphs[i], &contexts[i]);
		if (status) {
			if (group)
				onpu_group_release(group);
			onpu_release_compute_infos(base, infos, i);
			memset(infos, 0, i * sizeof(struct ort_compute_info *));
			return status;
		}
		infos[i] = &group->base;
	}
	return NULL;
}

void onpu_release_compute_infos(struct ort_ep *ep, struct ort_compute_info **infos, size_t count)
{
	(void)ep;
	for (size_t i = 0; i < count; i++)
		if (infos[i])
			onpu_group_release((struct onpu_group *)infos[i]);
}
