/* SPDX-License-Identifier: MIT */
/*
 * Makes operators of WebNN of those of ggml. A tensor of ggml, whose innermost size is ne[0], is an
 * operand of four dimensions with the sizes ne[3], ne[2], ne[1], ne[0].
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
	uint32_t count;			   /* of elements */
	const struct gg_tensor *quantised; /* becomes floats before each dispatch; or NULL */
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

/* Notes why an operator is not supported. Returns NULL. */
WNNOperand onpu_refuse(struct onpu_emit *e, const char *why);
void onpu_emit_exit(struct onpu_emit *e);

/* What ggml does with a node. */
enum onpu_kind {
	KIND_NONE, /* unsupported */
	KIND_VIEW, /* nothing is computed */
	KIND_MOVE, /* elements are moved by the host, see move.c */
	KIND_GRAPH /* it is an operator of a graph */
};
enum onpu_kind onpu_kind(const struct gg_tensor *op);

/* ops.c: returns the result of an operator in its type and shape. */
WNNOperand onpu_emit_op(struct onpu_emit *e, const struct gg_tensor *op);
/* Returns a parameter of an operator that is a float. */
float onpu_number(const struct gg_tensor *op, int index);

/* values.c */

/* Returns a tensor's operand: computed in the graph, a constant, or an input. */
WNNOperand onpu_value(struct onpu_emit *e, const struct gg_tensor *tensor);
/* Returns it in float32. */
WNNOperand onpu_float(struct onpu_emit *e, const struct gg_tensor *tensor);
int onpu_value_set(struct onpu_emit *e, const struct gg_tensor *tensor, WNNOperand operand);
bool onpu_value_has(const struct onpu_emit *e, const struct gg_tensor *tensor);
/* Returns an input of the memory at data; for a quantised tensor, of its elements as floats. */
WNNOperand onpu_input(struct onpu_emit *e, const void *data, WNNOperandDataType type,
		      uint32_t count, const struct gg_tensor *quantised);
WNNOperandDataType onpu_data_type(const struct gg_tensor *tensor);
/* Whether a tensor's elements do not change while graphs that use them are kept. */
bool onpu_is_weight(const struct gg_tensor *tensor);
bool onpu_is_contiguous(const struct gg_tensor *tensor);
int64_t onpu_count(const struct gg_tensor *tensor);
/* Returns the tensor whose memory a tensor lies in. */
const struct gg_tensor *onpu_root(const struct gg_tensor *tensor);

/* weights.c: the product of x, [..., K], and a matrix [N, K] of ggml whose type is quantised. */
WNNOperand onpu_emit_weights(struct onpu_emit *e, const struct gg_tensor *matrix, WNNOperand x);
/* Frees what was made of weights. No graph may be left that uses it. */
void onpu_weights_forget(void);

/* attention.c */
WNNOperand onpu_emit_rope(struct onpu_emit *e, const struct gg_tensor *op);
WNNOperand onpu_emit_soft_max(struct onpu_emit *e, const struct gg_tensor *op);
WNNOperand onpu_emit_flash_attention(struct onpu_emit *e, const struct gg_tensor *op);

/* move.c: moves elements in memory of the host. */
bool onpu_can_move(const struct gg_tensor *op);
/* Returns 0, or -1 with a line on stderr: an index that is out of range. */
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

/* The shape of a tensor's operand. */
struct onpu_shape onpu_shape(const struct gg_tensor *tensor);
WNNOperand x_unary(struct onpu_emit *e, onpu_unary function, WNNOperand x);
WNNOperand x_binary(struct onpu_emit *e, onpu_binary function, WNNOperand a, WNNOperand b);
WNNOperand x_number(struct onpu_emit *e, WNNOperandDataType type, double number);
WNNOperand x_constant(struct onpu_emit *e, WNNOperandDataType type, struct onpu_shape shape,
		      const void *data);
/* As x_constant(), of memory that stays as long as the graph. */
WNNOperand x_borrow(struct onpu_emit *e, WNNOperandDataType type, struct onpu_shape shape,
		    const void *data);
WNNOperand x_reshape(struct onpu_emit *e, WNNOperand x, struct onpu_shape shape);
WNNOperand x_transpose(struct onpu_emit *e, WNNOperand x, struct onpu_shape permutation);
WNNOperand x_slice(struct onpu_emit *e, WNNOperand x, struct onpu_shape starts,
		   struct onpu_shape sizes);
/* Returns elements from start on of the last dimension of a shape. */
WNNOperand x_slice_last(struct onpu_emit *e, WNNOperand x, struct onpu_shape shape, uint32_t start,
			uint32_t size);
WNNOperand x_expand(struct onpu_emit *e, WNNOperand x, struct onpu_shape shape);
WNNOperand x_concat(struct onpu_emit *e, WNNOperand a, WNNOperand b, uint32_t axis);
WNNOperand x_cast(struct onpu_emit *e, WNNOperand x, WNNOperandDataType type);
/* Returns the sum over one axis, or the mean; keep: the axis stays, with size 1. */
WNNOperand x_sum(struct onpu_emit *e, WNNOperand x, bool mean, uint32_t axis, bool keep);
#define x_add(e, a, b)	  x_binary(e, wnnGraphBuilderAdd, a, b)
#define x_mul(e, a, b)	  x_binary(e, wnnGraphBuilderMul, a, b)
#define x_matmul(e, a, b) x_binary(e, wnnGraphBuilderMatmul, a, b)

#endif
