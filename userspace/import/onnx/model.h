/* SPDX-License-Identifier: MIT */
/* The object behind a WNNOnnxModel. */
#ifndef ONNX_MODEL_H
#define ONNX_MODEL_H

#include <webnn/onnx.h>

#include "draw.h"
#include "file.h"
#include "memory.h"
#include "onnx.pb-c.h"
#include "value.h"

/* A size that was given for a dimension by its name. */
struct onnx_dimension {
	char *name;
	uint32_t size;
};

struct onnx_scope;

/* The program's settings for an input, by its place in the list of inputs, or for an item of a sequence. */
struct onnx_input {
	const Onnx__ValueInfoProto *proto; /* NULL for an item */
	const char *name;
	const Onnx__TypeProto__Tensor *tensor; /* type of it, or of its items; may be NULL */
	bool sequence, optional;
	bool empty; /* there are no items, or nothing at all */
	size_t item_count;
	struct onnx_input *items; /* inputs NAME/0, NAME/1 ... */
	bool has_shape;
	struct onnx_shape shape;
	struct onnx_value *value; /* constant */
};

struct onnx_model {
	unsigned int references;
	struct onnx_file *file; /* the model itself */
	struct onnx_file *external;
	char *folder; /* of external data; NULL: none is allowed */
	Onnx__ModelProto *proto;
	bool described; /* proto lies in the arena: wnnOnnxLoadGraph() made it */
	bool probing;	/* weights need not be copied: no graph is built */
	ProtobufCAllocator allocator;
	struct onnx_arena arena;       /* lives as long as the model */
	struct onnx_arena info_arena;  /* of the lists that were given out last */
	struct onnx_arena build_arena; /* of the last build */
	size_t input_count;
	struct onnx_input *inputs; /* without those that are initialisers */
	size_t output_count;
	const Onnx__ValueInfoProto *const *outputs; /* those of the file, or where it is cut */
	size_t dimension_count;
	struct onnx_dimension *dimensions;
	size_t refusal_count;
	WNNOnnxRefusal *refusals; /* in build_arena */
	size_t notice_count, notice_room;
	WNNOnnxRefusal *notices; /* in build_arena */
	size_t random_count;
	struct onnx_random *random; /* inputs that are drawn, the last one first, in build_arena */
	size_t empty_count;
	WNNOnnxValueInfo *empty;      /* outputs without elements, in build_arena */
	WNNOnnxValueInfoArray values; /* of the last build, in build_arena */
};

/* Size of a dimension as far as it is known, else WNN_ONNX_DIMENSION_UNKNOWN. */
int64_t onnx_model_dimension(const struct onnx_model *model,
			     const Onnx__TensorShapeProto__Dimension *dimension);

/*
 * Fills in @info for an input or output; @input holds what the user has set, or is NULL. Returns -1
 * when memory is exhausted.
 */
int onnx_model_describe(const struct onnx_model *model, struct onnx_arena *arena,
			const Onnx__ValueInfoProto *proto, const struct onnx_input *input,
			WNNOnnxValueInfo *info);
/* Lists the weights and what nodes make, as @scope has it; NULL: as the file says. */
int onnx_model_list_values(struct onnx_model *model, struct onnx_arena *arena,
			   const struct onnx_scope *scope, WNNOnnxValueInfoArray *values);

/* Whether graphs may read weights where the model has them, as long as they hold its file. */
bool onnx_model_lends(const struct onnx_model *model);

/* Lists the inputs that are no initializers, and the outputs. */
WNNStatus onnx_model_find_values(struct onnx_model *model);
/* The description of an input, whose shape is not looked at yet. */
struct onnx_input onnx_input_of(const Onnx__ValueInfoProto *proto);
WNNStatus onnx_model_check(const Onnx__ModelProto *proto);

/* The type of a tensor, which may be optional; NULL: it is something else. */
const Onnx__TypeProto__Tensor *onnx_tensor_type(const Onnx__TypeProto *type);
/* The type of the tensors of a sequence, which may be optional; NULL: it is something else. */
const Onnx__TypeProto__Tensor *onnx_item_type(const Onnx__TypeProto *type);

/* Takes over the shapes of inputs that the file says, with the dimensions that were set. */
void onnx_model_learn_shape(const struct onnx_model *model, struct onnx_input *input);
void onnx_model_learn_shapes(struct onnx_model *model);

/*
 * Tells which nodes can be part of a graph, when the outputs of those that cannot are inputs of the shapes that the
 * model says: one item for each node of the main graph.
 */
WNNStatus onnx_probe(struct onnx_model *model, WNNGraphBuilder builder, WNNBool *supported);

/* Adds the model to a builder; outputs in build_arena. */
WNNStatus onnx_import(struct onnx_model *model, WNNGraphBuilder builder, size_t *count,
		      WNNNamedOperand **outputs);

#endif
