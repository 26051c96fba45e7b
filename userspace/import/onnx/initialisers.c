// SPDX-License-Identifier: MIT
/* Gives the names of a graph's initialisers their values, dense and sparse ones. */
#include "node.h"
#include "scope.h"

int onnx_set_name(struct onnx_import *import, struct onnx_scope *scope, const char *name,
		  struct onnx_value *value)
{
	if (onnx_scope_set(scope, import->arena, name, value)) {
		import->status = onnx_nomem();
		return -1;
	}
	return 0;
}

static const char *unknown_type(struct onnx_import *import, const Onnx__TensorProto *tensor)
{
	const char *type = onnx_type_name(tensor->data_type);
	const char *text =
		*type ? onnx_arena_printf(import->arena,
					  "the tensor \"%s\" is of type %s, which no constant here "
					  "can have",
					  tensor->name ? tensor->name : "", type) :
			onnx_arena_printf(import->arena,
					  "the tensor \"%s\" is of type %d, which is not known",
					  tensor->name ? tensor->name : "", tensor->data_type);

	if (!text)
		import->status = onnx_nomem();
	return text;
}

static int set_initialiser(struct onnx_import *import, struct onnx_scope *scope,
			   const Onnx__TensorProto *tensor)
{
	struct onnx_value *value = onnx_arena_alloc(import->arena, sizeof(*value));

	if (!value) {
		import->status = onnx_nomem();
		return -1;
	}
	/* A weight of unknown type is refused only when a node uses it. */
	if (!onnx_type_bits(tensor->data_type)) {
		value->refused = true;
		value->unsaid = unknown_type(import, tensor);
		if (!value->unsaid)
			return -1;
	} else {
		import->status = onnx_value_of_tensor(import->model, import->arena, tensor, value);
		if (import->status != WNNStatus_Success)
			return -1;
	}
	return onnx_set_name(import, scope, tensor->name ? tensor->name : "", value);
}

/*
 * Makes a dense value of a sparse tensor, if its name is used: a few bytes in the file may take
 * much memory. Returns 0; -1: an error, which import->status has. When the import then has computed
 * more than ONNX_MAX_WORK elements, the value is marked as refused.
 */
static int set_sparse(struct onnx_import *import, struct onnx_scope *scope,
		      const Onnx__SparseTensorProto *tensor)
{
	const char *name = tensor->values ? tensor->values->name : NULL;
	struct onnx_value *value;

	if (!onnx_uses_has(&import->uses, name))
		return 0;
	value = onnx_arena_alloc(import->arena, sizeof(*value));
	if (!value) {
		import->status = onnx_nomem();
		return -1;
	}
	import->status = onnx_value_of_sparse(import->model, import->arena, tensor, value);
	if (import->status != WNNStatus_Success)
		return -1;
	import->work += (uint64_t)onnx_shape_elements(&value->shape);
	if (import->work > ONNX_MAX_WORK) {
		value->refused = true;
		value->unsaid = onnx_arena_printf(
			import->arena,
			"the sparse tensors are too big together: %llu elements, at most %llu",
			(unsigned long long)import->work, (unsigned long long)ONNX_MAX_WORK);
	}
	return onnx_set_name(import, scope, name, value);
}

int onnx_set_initialisers(struct onnx_import *import, struct onnx_scope *scope,
			  const Onnx__GraphProto *graph)
{
	for (size_t i = 0; i < graph->n_initializer; i++)
		if (set_initialiser(import, scope, graph->initializer[i]))
			return -1;
	for (size_t i = 0; i < graph->n_sparse_initializer; i++)
		if (set_sparse(import, scope, graph->sparse_initializer[i]))
			return -1;
	return 0;
}
