/* SPDX-License-Identifier: MIT */
/*
 * Translates operators of ggml to operators of WebNN. A tensor of ggml, whose innermost size is
 * ne[0], becomes an operand of four dimensions with the sizes ne[3], ne[2], ne[1], ne[0].
 *
 * Functions return NULL on errors, which the builder or onpu_refuse() has noted, and take NULL for
 * an operand that failed.
 */
#ifndef ONPU_GGML_EMIT_H
#define ONPU_GGML_EMIT_H

#include "backend.h"

/* Memory that a graph reads. */
struct onpu_input {
	const void *data;
	WNNOperandDataType type;
	uint32_t count; /* number of elements */
	/* the tensor whose elements become floats before each dispatch, or NULL */
	const struct gg_tensor *quantised;
	WNNOperand operand;
	char name[16];
};

/* A tensor that the graph computes. */
struct onpu_value {
	const struct gg_tensor *tensor;
	WNNOperand operand;
};

struct onpu_emit {
	WNNGraphBuilder builder;
	bool check; /* whether an operator is only tried, for tensors without memory */
	struct onpu_input *inputs;
	size_t input_count, input_space;
	struct onpu_value *values;
	size_t value_count, value_space;
	const char *refusal; /* why an operator is not supported, or NULL */
};

/* Notes why an operator is not supported, unless a reason is noted already. Returns NULL. */
WNNOperand onpu_refuse(struct onpu_emit *e, const char *why);
/* Releases the builder and frees the lists. */
void onpu_emit_exit(struct onpu_emit *e);

/* How a node of ggml is computed. */
enum onpu_kind {
	KIND_NONE, /* unsupported */
	KIND_VIEW, /* not at all: its elements are those of another tensor */
	KIND_MOVE, /* the host moves elements: see move.c */
	KIND_GRAPH /* a graph of WebNN computes it */
};
enum onpu_kind onpu_kind(const struct gg_tensor *op);

/* ops.c: returns the result of an operator, in the type and shape that ggml gives it. */
WNNOperand onpu_emit_op(struct onpu_emit *e, const struct gg_tensor *op);
/* Returns a parameter of an operator that is a float. */
float onpu_number(const struct gg_tensor *op, int index);

/* values.c */

/* Returns a tensor's operand: computed in the graph, a constant, or an input. */
WNNOperand onpu_value(struct onpu_emit *e, const struct gg_tensor *tensor);
/* Returns a tensor's operand, cast to float32. */
WNNOperand onpu_float(struct onpu_emit *e, const struct gg_tensor *tensor);
/* Notes the operand of a tensor that the graph computes. Returns 0, or -1 after onpu_refuse(). */
int onpu_value_set(struct onpu_emit *e, const struct gg_tensor *tensor, WNNOperand operand);
/* Returns whether the graph computes a tensor. */
bool onpu_value_has(const struct onpu_emit *e, const struct gg_tensor *tensor);
/*
 * Returns an input that is read from the memory at data. With a quantised tensor, its elements are
 * turned into floats before each dispatch.
 */
WNNOperand onpu_input(struct onpu_emit *e, const void *data, WNNOperandDataType type,
		      uint32_t count, const struct gg_tensor *quantised);
/* Returns the type of a tensor's operand, Undefined where WebNN has none for its elements. */
WNNOperandDataType onpu_data_type(const struct gg_tensor *tensor);
/* Returns whether a tensor's elements stay the same while graphs that use them are kept. */
bool onpu_is_weight(const struct gg_tensor *tensor);
/*
 * Returns whether a tensor's elements lie in memory without gaps, in the order of its operand's
 * dimensions.
 */
bool onpu_is_contiguous(const struct gg_tensor *tensor);
/* Returns the number of a tensor's elements. */
int64_t onpu_count(const struct gg_tensor *tensor);
/* Returns the tensor that a view is of; a tensor that is no view itself. */
const struct gg_tensor *onpu_root(const struct gg_tensor *tensor);

/* weights.c: returns the product of x, [..., K], and the transpose of a weight [N, K]. */
WNNOperand onpu_emit_weights(struct onpu_emit *e, const struct gg_tensor *matrix, WNNOperand x);
/* Repacks a matrix of weights that keeps its 4 or 8 bits, before a graph asks for it. */
void onpu_weights_repack(const struct gg_tensor *tensor);
/* Returns whether onpu_emit_weights() takes a tensor: a quantised matrix among the weights. */
bool onpu_weights_take(const struct gg_tensor *tensor);
/* Frees the repacked weights of this memory. No graph may be left that uses them. */
void onpu_weights_forget(const void *data, size_t size);

/* attention.c: each returns the result of an operator, in float32. */
WNNOperand onpu_emit_rope(struct onpu_emit *e, const struct gg_tensor *op);
WNNOperand onpu_emit_soft_max(struct onpu_emit *e, const struct gg_tensor *op);
WNNOperand onpu_emit_flash_attention(struct onpu_emit *e, const struct gg_tensor *op);

/* move.c: returns whether onpu_move() computes an operator. */
bool onpu_can_move(const struct gg_tensor *op);
/* Moves elements in memory of the host. Returns 0, or -1 after onpu_say(): a row is not there. */
int onpu_move(const struct gg_tensor *op);

/* ---- operators of WebNN, for short */

typedef WNNOperand (*onpu_unary)(WNNGraphBuilder builder, WNNOperand x,
				 const WNNOperatorOptions *options);
typedef WNNOperand (*onpu_binary)(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
				  const WNNOperatorOptions *options);

struct onpu_shape {
	uint32_t rank;
	uint32_t dim[8];
};

/* Returns a shape: SHAPE(2, 3) has two dimensions. */
#define SHAPE(...)                                                                    \
	((struct onpu_shape){ sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), \
			      { __VA_ARGS__ } })

/* Returns the shape of a tensor's operand. */
struct onpu_shape onpu_shape(const struct gg_tensor *tensor);
WNNOperand x_unary(struct onpu_emit *e, onpu_unary function, WNNOperand x);
WNNOperand x_binary(struct onpu_emit *e, onpu_binary function, WNNOperand a, WNNOperand b);
WNNOperand x_number(struct onpu_emit *e, WNNOperandDataType type, double number);
/* Returns a constant that copies its data. */
WNNOperand x_constant(struct onpu_emit *e, WNNOperandDataType type, struct onpu_shape shape,
		      const void *data);
/* Returns a constant that does not copy its data, which must stay as long as the graph. */
WNNOperand x_borrow(struct onpu_emit *e, WNNOperandDataType type, struct onpu_shape shape,
		    const void *data);
WNNOperand x_reshape(struct onpu_emit *e, WNNOperand x, struct onpu_shape shape);
WNNOperand x_transpose(struct onpu_emit *e, WNNOperand x, struct onpu_shape permutation);
WNNOperand x_slice(struct onpu_emit *e, WNNOperand x, struct onpu_shape starts,
		   struct onpu_shape sizes);
/* Returns a part of the last dimension of x, which has this shape: size elements from start on. */
WNNOperand x_slice_last(struct onpu_emit *e, WNNOperand x, struct onpu_shape shape, uint32_t start,
			uint32_t size);
WNNOperand x_expand(struct onpu_emit *e, WNNOperand x, struct onpu_shape shape);
WNNOperand x_concat(struct onpu_emit *e, WNNOperand a, WNNOperand b, uint32_t axis);
WNNOperand x_cast(struct onpu_emit *e, WNNOperand x, WNNOperandDataType type);
/* Returns the sum or the mean over one axis, which stays with size 1 if keep is set. */
WNNOperand x_sum(struct onpu_emit *e, WNNOperand x, bool mean, uint32_t axis, bool keep);
#define x_add(e, a, b)	  x_binary(e, wnnGraphBuilderAdd, a, b)
#define x_mul(e, a, b)	  x_binary(e, wnnGraphBuilderMul, a, b)
#define x_matmul(e, a, b) x_binary(e, wnnGraphBuilderMatmul, a, b)

#endif
