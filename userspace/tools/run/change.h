/* SPDX-License-Identifier: MIT */
/*
 * webnn-run: changes the graph of a decoder of ONNX when it is loaded, so that its caches are
 * updated in place and one graph serves texts of all lengths.
 */
#ifndef ONPU_TOOLS_RUN_CHANGE_H
#define ONPU_TOOLS_RUN_CHANGE_H

#include <gguf/gguf.h>
#include <stdbool.h>
#include <webnn/onnx.h>

#include "model_file.h"

/*
 * The names of tensors that a change adds begin with this. The output with the updated cache has
 * this as its name, followed by the name of the input with the cache.
 */
#define CHANGE_NEXT "step/"
/*
 * Inputs that change_outputs() adds: where rows go in all caches, int32 [1, heads, tokens, 3] with
 * [0, head, position] for each; what is added to the scores of the positions of the caches, 0 where
 * a token sees one, [tokens, positions] or [positions], in the type of the caches.
 */
#define CHANGE_ROWS CHANGE_NEXT "rows"
#define CHANGE_MASK CHANGE_NEXT "mask"
/* A number for CHANGE_MASK that hides a position: the least finite number of float16. */
#define CHANGE_HIDDEN (-65504)
/* Room for the name of a tensor that a change makes or reads. */
#define CHANGE_NAME_SIZE 200

struct change {
	const char *path;
	Onnx__ModelProto *proto;
	Onnx__GraphProto *graph; /* of proto */
	struct gguf_error *error;
	size_t masks, constants;
	bool full; /* memory is exhausted */
};

/*
 * Reads the file at @path, and takes the branch with a past if its graph chooses between two by an
 * input use_cache_branch. Functions of type int return 0, or -1 with a message in change->error;
 * functions of type void set change->full when memory is exhausted. Call change_exit() in any case.
 */
int change_init(struct change *change, const char *path, struct gguf_error *error);
void change_exit(struct change *change);
/*
 * Loads the changed model, which reads large weights from the file at change->path: that file must
 * not change before the model is released.
 */
int change_load(struct change *change, WNNOnnxModel *model);

/* ---- parts of a graph */
bool change_same(const char *a, const char *b); /* both may be NULL */
void change_text(struct change *change, char **slot, const char *text);
/* Makes the node one of operator @kind without attributes, with @count inputs, at most 3. */
void change_node(struct change *change, Onnx__NodeProto *node, const char *kind, size_t count,
		 const char *const *inputs);
/* Appends a node with one output, and with the attribute axis unless @axis is 0. */
void change_add_node(struct change *change, const char *kind, int64_t axis, size_t count,
		     const char *const *inputs, const char *output);
/* Appends an input without a shape; @type is one of TensorProto.DataType. */
void change_add_input(struct change *change, const char *name, int32_t type);
/* Makes the tensors with these names the outputs of the graph, in place of those it had. */
void change_set_outputs(struct change *change, size_t count, const char *const *names);
/* Returns the node that computes a tensor; NULL: none does. */
Onnx__NodeProto *change_producer(const struct change *change, const char *name);

/* ---- caches */
/*
 * Makes the graph write new rows into the cache, an input, instead of appending them to it. The
 * updated cache is the tensor CHANGE_NEXT followed by the input's name. Fails when no Concat
 * appends to the cache, when a node reads the cache that is neither this Concat nor a Shape, or
 * when the cache has keys and no Softmax is found in front of which the mask can be added.
 */
int change_cache(struct change *change, const char *cache);
/*
 * Makes logits and these @count updated caches the outputs, and adds the inputs CHANGE_ROWS and
 * CHANGE_MASK.
 */
int change_outputs(struct change *change, size_t count, const char *const *caches);

#endif
