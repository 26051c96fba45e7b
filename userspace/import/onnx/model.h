/* SPDX-License-Identifier: MIT */
/* The structure that a WNNOnnxModel points to. */
#ifndef ONNX_MODEL_H
#define ONNX_MODEL_H

#include <webnn/onnx.h>

#include "../common/hash.h"
#include "draw.h"
#include "file.h"
#include "memory.h"
#include "onnx.pb-c.h"
#include "value.h"

/* The size that the program gave for a named dimension. */
struct onnx_dimension {
	char *name;
	uint32_t size;
};

/* The range that the program gave for a named dimension. */
struct onnx_range {
	const char *name;
	uint32_t min, max;
};

struct onnx_scope;

/* The program's settings for the model input of the same index, or for an item of a sequence. */
struct onnx_input {
	const Onnx__ValueInfoProto *proto; /* NULL for an item */
	const char *name;
	const Onnx__TypeProto__Tensor *tensor; /* type of the input or of its items; may be NULL */
	bool sequence, optional;
	bool empty; /* the sequence has no items, or the optional value is absent */
	size_t item_count;
	struct onnx_input *items; /* the items of a sequence, inputs NAME/0, NAME/1 ... */
	bool has_shape;
	bool learned; /* the shape is that of the file, with the dimensions that were set */
	struct onnx_shape shape;
	struct onnx_value *value; /* the constant that the program gave for the input, or NULL */
};

/* A tensor of the main graph whose elements have to be known, or are. */
struct onnx_known {
	struct onnx_known *next;
	const char *name;
	bool needed; /* a node that the last build refused needs the elements */
	/* the elements become an input of the graph unless a node needs them */
	bool varies;
	struct onnx_value value; /* data is NULL until the program gives the elements */
};

/* A graph input whose elements the program has computed. */
struct onnx_computed {
	const char *name;
	const struct onnx_value *value;
	struct onnx_computed *next;
};

struct onnx_model {
	unsigned int references;
	struct onnx_file *file;
	struct onnx_file *external;
	char *folder; /* folder of external data; NULL: the model may have no external data */
	Onnx__ModelProto *proto;
	bool described; /* proto is in the arena, because wnnOnnxLoadGraph() made it */
	bool probing;	/* weights need not be copied, because no graph is built */
	ProtobufCAllocator allocator;
	struct onnx_arena arena;      /* lives as long as the model */
	struct onnx_arena info_arena; /* the lists that the program got last */
	struct onnx_arena build_arena;
	size_t input_count;
	struct onnx_input *inputs; /* all inputs but those that are initialisers */
	size_t output_count;
	/* outputs of the file, or those that the program chose to cut the model at */
	const Onnx__ValueInfoProto *const *outputs;
	size_t dimension_count;
	struct onnx_dimension *dimensions;
	size_t range_count;
	struct onnx_range *ranges; /* each has the name of an item of @dimensions */
	size_t refusal_count;
	WNNOnnxRefusal *refusals; /* nodes that the last build refused; in build_arena */
	size_t notice_count, notice_room;
	WNNOnnxRefusal *notices;  /* notices of the last build; in build_arena */
	struct onnx_known *known; /* in the order in which they were needed first; in arena */
	size_t random_count;
	struct onnx_random *random; /* inputs that are drawn, the last one first; in build_arena */
	size_t computed_count;
	struct onnx_computed *computed; /* the last one first; in build_arena */
	struct import_hash key;		/* hash of what the last build has read */
	size_t empty_count;
	WNNOnnxValueInfo *empty;      /* outputs without elements; in build_arena */
	WNNOnnxValueInfoArray values; /* the values of the last build, in build_arena */
};

/*
 * Returns the size of a dimension as the file or the program says, else WNN_ONNX_DIMENSION_UNKNOWN.
 */
int64_t onnx_model_dimension(const struct onnx_model *model,
			     const Onnx__TensorShapeProto__Dimension *dimension);

/*
 * Fills in @info for an input or output; @input holds what the user has set, or is NULL. Returns 0,
 * or -1 when memory is exhausted.
 */
int onnx_model_describe(const struct onnx_model *model, struct onnx_arena *arena,
			const Onnx__ValueInfoProto *proto, const struct onnx_input *input,
			WNNOnnxValueInfo *info);
/*
 * Sets *values to the weights and the outputs of nodes, with types and shapes from @scope; NULL:
 * from the file. Returns 0, or -1 when memory is exhausted.
 */
int onnx_model_list_values(struct onnx_model *model, struct onnx_arena *arena,
			   const struct onnx_scope *scope, WNNOnnxValueInfoArray *values);

/* computed.c: returns the key of the last import, and of the files that it has read. */
struct import_hash onnx_key_of(const struct onnx_model *model);
/* Returns the item of model->known with a name; NULL: there is none. */
struct onnx_known *onnx_known_find(const struct onnx_model *model, const char *name);

/* Whether graphs may read weights from the model's file, which they hold a reference to. */
bool onnx_model_lends(const struct onnx_model *model);

/*
 * Sets the model's lists of inputs that are not initializers, and of outputs. Returns
 * WNNStatus_Success, or an error for an input without a name or for lack of memory.
 */
WNNStatus onnx_model_find_values(struct onnx_model *model);
/* Returns the description of an input, still without its shape. */
struct onnx_input onnx_input_of(const Onnx__ValueInfoProto *proto);
WNNStatus onnx_model_check(const Onnx__ModelProto *proto);

/* Returns the type of a tensor or of an optional tensor; NULL: the type is another one. */
const Onnx__TypeProto__Tensor *onnx_tensor_type(const Onnx__TypeProto *type);
/*
 * Returns the type of the tensors in a sequence or optional sequence; NULL: the type is another
 * one.
 */
const Onnx__TypeProto__Tensor *onnx_item_type(const Onnx__TypeProto *type);

/* Copy the shape of one input, or of all, from the file, with the dimensions that were set. */
void onnx_model_learn_shape(const struct onnx_model *model, struct onnx_input *input);
void onnx_model_learn_shapes(struct onnx_model *model);

/*
 * Sets @supported, one item for each node of the main graph: whether the node can be part of a
 * graph. The outputs of unsupported nodes are taken as inputs with the shapes that the model says.
 */
WNNStatus onnx_probe(struct onnx_model *model, WNNGraphBuilder builder, WNNBool *supported);

/*
 * Adds the model to a builder and sets *outputs, which is in build_arena, to its *count outputs.
 * Returns another status than WNNStatus_Success after a refusal or error.
 */
WNNStatus onnx_import(struct onnx_model *model, WNNGraphBuilder builder, size_t *count,
		      WNNNamedOperand **outputs);

#endif
