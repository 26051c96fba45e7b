// SPDX-License-Identifier: MIT
/* Lists the types and shapes of the values in the main graph of a model. */
#include <string.h>

#include "model.h"
#include "scope.h"

static WNNStringView view(const char *text)
{
	return (WNNStringView){ text, strlen(text) };
}

static const Onnx__ValueInfoProto *find(Onnx__ValueInfoProto *const *list, size_t count,
					const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (list[i]->name && !strcmp(list[i]->name, name))
			return list[i];
	return NULL;
}

static size_t count_values(const Onnx__GraphProto *graph)
{
	size_t count = graph->n_initializer + graph->n_sparse_initializer;

	for (size_t i = 0; i < graph->n_node; i++)
		count += graph->node[i]->n_output;
	return count;
}

static int describe_as(struct onnx_arena *arena, int type, size_t rank, const int64_t *sizes,
		       WNNOnnxValueInfo *info)
{
	WNNOnnxDimension *dimensions = onnx_arena_alloc(arena, (rank + 1) * sizeof(*dimensions));

	if (!dimensions)
		return -1;
	for (size_t i = 0; i < rank; i++)
		dimensions[i] = (WNNOnnxDimension){ .size = sizes[i], .name = view("") };
	info->kind = WNNOnnxKind_Tensor;
	info->elementType = view(onnx_type_name(type));
	info->dataType = onnx_type_webnn(type);
	info->rank = rank;
	info->dimensions = dimensions;
	return 0;
}

static int describe_weight(struct onnx_arena *arena, const Onnx__TensorProto *tensor, size_t rank,
			   const int64_t *sizes, WNNOnnxValueInfo *info)
{
	*info = (WNNOnnxValueInfo){ .name = view(tensor->name ? tensor->name : ""), .fixed = true };
	return describe_as(arena, tensor->data_type, rank, sizes, info);
}

/*
 * Describes an output of a node: with the import's type and shape if it has them, else with the
 * file's. Returns 0 or -1.
 */
static int describe_output(struct onnx_model *model, struct onnx_arena *arena,
			   const struct onnx_scope *scope, const char *name, WNNOnnxValueInfo *info)
{
	const Onnx__GraphProto *graph = model->proto->graph;
	const struct onnx_value *value = scope ? onnx_scope_get(scope, name) : NULL;
	const Onnx__ValueInfoProto *proto;

	*info = (WNNOnnxValueInfo){ .name = view(name),
				    .kind = WNNOnnxKind_Other,
				    .elementType = view(""),
				    .rank = WNN_ONNX_RANK_UNKNOWN };
	if (value && !value->refused && !value->absent && !value->sequence)
		return describe_as(arena, value->type, value->shape.rank, value->shape.dim, info);
	proto = find(graph->value_info, graph->n_value_info, name);
	if (!proto)
		proto = find(graph->output, graph->n_output, name);
	return proto ? onnx_model_describe(model, arena, proto, NULL, info) : 0;
}

int onnx_model_list_values(struct onnx_model *model, struct onnx_arena *arena,
			   const struct onnx_scope *scope, WNNOnnxValueInfoArray *values)
{
	const Onnx__GraphProto *graph = model->proto->graph;
	WNNOnnxValueInfo *infos =
		onnx_arena_alloc(arena, (count_values(graph) + 1) * sizeof(*infos));
	size_t used = 0;

	if (!infos)
		return -1;
	for (size_t i = 0; i < graph->n_initializer; i++) {
		const Onnx__TensorProto *tensor = graph->initializer[i];

		if (describe_weight(arena, tensor, tensor->n_dims, tensor->dims, &infos[used++]))
			return -1;
	}
	for (size_t i = 0; i < graph->n_sparse_initializer; i++) {
		const Onnx__SparseTensorProto *sparse = graph->sparse_initializer[i];

		if (sparse->values && describe_weight(arena, sparse->values, sparse->n_dims,
						      sparse->dims, &infos[used++]))
			return -1;
	}
	for (size_t i = 0; i < graph->n_node; i++)
		for (size_t k = 0; k < graph->node[i]->n_output; k++) {
			const char *name = graph->node[i]->output[k];

			if (name && *name &&
			    describe_output(model, arena, scope, name, &infos[used++]))
				return -1;
		}
	*values = (WNNOnnxValueInfoArray){ used, infos };
	return 0;
}

WNNOnnxValueInfoArray wnnOnnxModelGetValues(WNNOnnxModel handle)
{
	struct onnx_model *model = (struct onnx_model *)handle;
	WNNOnnxValueInfoArray values = { 0, NULL };

	if (!model)
		return values;
	if (model->values.data)
		return model->values;
	if (onnx_model_list_values(model, &model->info_arena, NULL, &values))
		onnx_nomem();
	return values;
}
