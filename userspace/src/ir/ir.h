/* SPDX-License-Identifier: MIT */
/*
 * The intermediate representation: one small SSA-like form between the WebNN rules (graph/) and what
 * executes (cpu/, plan/). It has its own operator table; one WebNN operator may become several nodes
 * and one node may stand for several operators (after fusion). Passes keep scratch data in side tables
 * indexed by id, never here.
 */
#ifndef WNN_IR_H
#define WNN_IR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

#define IR_MAX_RANK 8

/* Element types: an open table; WebNN uses the first eight (and the two 4-bit ones behind limits). */
enum ir_dtype {
	IR_F32,
	IR_F16,
	IR_I32,
	IR_U32,
	IR_I64,
	IR_U64,
	IR_I8,
	IR_U8,
	IR_I4,
	IR_U4,
	IR_PRED,
	IR_I16,
	IR_U16,
	IR_BF16,
	IR_F64, /* reserved for other front ends */
	IR_DTYPE_COUNT
};

/* A dimension: a value, or (symbol != 0) one that is known only at dispatch. Use the helpers. */
struct ir_dim {
	int64_t value;
	uint32_t symbol;
};

struct ir_type {
	enum ir_dtype dtype;
	uint32_t rank;
	struct ir_dim dim[IR_MAX_RANK];
};

size_t ir_dtype_bits(enum ir_dtype dtype);
const char *ir_dtype_name(enum ir_dtype dtype); /* WebNN's spelling: "float32" */
bool ir_dtype_is_float(enum ir_dtype dtype);

static inline int64_t ir_dim_value(struct ir_dim d)
{
	return d.value;
}

struct ir_type ir_type_make(enum ir_dtype dtype, uint32_t rank, const int64_t *dims);
int64_t ir_type_dim(const struct ir_type *type, uint32_t axis);
int64_t ir_type_elements(const struct ir_type *type); /* 1 for a scalar */
int64_t ir_type_bytes(const struct ir_type *type);    /* 4-bit types are packed, rounded up */
bool ir_type_same_shape(const struct ir_type *a, const struct ir_type *b);

/*
 * Operators. "fused" in a comment: the node may carry bias and an activation after the passes ran.
 * Operands in order; [x] = optional (NULL in the operand array, which keeps its length).
 */
enum ir_op {
	IR_OP_CONV,	  /* input, filter, [bias]; attrs.conv; fused activation */
	IR_OP_MATMUL,	  /* a, b, [bias]; attrs.matmul; batch dims broadcast, the bias (of rank 2
				 * at most) over them; fused activation */
	IR_OP_POOL,	  /* input; attrs.pool */
	IR_OP_UNARY,	  /* input; attrs.unary */
	IR_OP_BINARY,	  /* a, b (broadcast); attrs.binary; fused activation */
	IR_OP_COMPARE,	  /* a, b (broadcast) -> u8; attrs.binary */
	IR_OP_WHERE,	  /* condition, a, b (broadcast) */
	IR_OP_CAST,	  /* input; target type is the result's */
	IR_OP_COPY,	  /* input (identity) */
	IR_OP_RESHAPE,	  /* input */
	IR_OP_TRANSPOSE,  /* input; attrs.transpose */
	IR_OP_CONCAT,	  /* inputs...; attrs.axis */
	IR_OP_SLICE,	  /* input; attrs.slice (also each result of split) */
	IR_OP_EXPAND,	  /* input; shape is the result's */
	IR_OP_PAD,	  /* input; attrs.pad */
	IR_OP_REVERSE,	  /* input; attrs.axes */
	IR_OP_TILE,	  /* input; repetitions follow from the shapes */
	IR_OP_REDUCE,	  /* input; attrs.reduce */
	IR_OP_SOFTMAX,	  /* input; attrs.axis */
	IR_OP_ARG,	  /* input; attrs.arg: argMin, argMax */
	IR_OP_CUMSUM,	  /* input; attrs.cumsum */
	IR_OP_TRIANGULAR, /* input; attrs.triangular */
	IR_OP_BATCHNORM,  /* input, mean, variance, [scale], [bias]; attrs.norm */
	IR_OP_INSTNORM,	  /* input, [scale], [bias]; attrs.norm */
	IR_OP_LAYERNORM,  /* input, [scale], [bias]; attrs.norm */
	IR_OP_RESAMPLE,	  /* input; attrs.resample */
	IR_OP_QUANTIZE,	  /* input, scale, zero point */
	IR_OP_DEQUANTIZE, /* input, scale, zero point */
	IR_OP_GATHER,	  /* input, indices; attrs.gather */
	IR_OP_SCATTER,	  /* input, indices, updates; attrs.gather */
	IR_OP_GRU,  /* input, weight, recurrentWeight, [bias], [recurrentBias], [h0]; attrs.rnn */
	IR_OP_LSTM, /* ... , [bias], [recurrentBias], [peephole], [h0], [c0]; attrs.rnn */
	IR_OP_COUNT
};

enum ir_unary {
	IR_ABS,
	IR_NEG,
	IR_SIGN,
	IR_CEIL,
	IR_FLOOR,
	IR_ROUND_EVEN,
	IR_RECIPROCAL,
	IR_SQRT,
	IR_EXP,
	IR_LOG,
	IR_SIN,
	IR_COS,
	IR_TAN,
	IR_TANH,
	IR_ERF,
	IR_SIGMOID,
	IR_GELU,
	IR_SOFTPLUS,
	IR_SOFTSIGN,
	IR_ELU,		 /* alpha */
	IR_LEAKY_RELU,	 /* alpha */
	IR_HARD_SIGMOID, /* alpha, beta */
	IR_HARD_SWISH,
	IR_RELU,
	IR_CLAMP,  /* lo, hi: alpha and beta for float types, ilo and ihi for integers */
	IR_LINEAR, /* alpha, beta */
	IR_LOGICAL_NOT,
	IR_IS_NAN,
	IR_IS_INFINITE,
	IR_UNARY_COUNT,
	IR_UNARY_NONE = -1, /* no fused activation */
};

enum ir_binary {
	IR_ADD,
	IR_SUB,
	IR_MUL,
	IR_DIV,
	IR_MAX,
	IR_MIN,
	IR_POW,
	IR_PRELU,
	IR_AND,
	IR_OR,
	IR_XOR,
	IR_EQ,
	IR_NE,
	IR_GT,
	IR_GE,
	IR_LT,
	IR_LE, /* IR_OP_COMPARE */
	IR_BINARY_COUNT
};

enum ir_reduce {
	IR_REDUCE_SUM,
	IR_REDUCE_PROD,
	IR_REDUCE_MAX,
	IR_REDUCE_MIN,
	IR_REDUCE_MEAN,
	IR_REDUCE_L1,
	IR_REDUCE_L2,
	IR_REDUCE_SUM_SQUARE,
	IR_REDUCE_LOG_SUM,
	IR_REDUCE_LOG_SUM_EXP,
	IR_REDUCE_COUNT
};

/* A unary function with its parameters; also the activation fused into another node. */
struct ir_unary_attrs {
	int kind;	   /* enum ir_unary, or IR_UNARY_NONE */
	float alpha, beta; /* already cast to the operand's type, kept as float */
	int64_t ilo, ihi;  /* IR_CLAMP of signed integer types */
	uint64_t ulo, uhi; /* IR_CLAMP of unsigned integer types */
};

enum ir_layout { IR_NCHW, IR_NHWC };

/* Filter layouts: name, then the axes of O, I, H and W (for convTranspose2d too). */
#define IR_FILTER_LAYOUTS(X)        \
	X(OIHW, "oihw", 0, 1, 2, 3) \
	X(HWIO, "hwio", 3, 2, 0, 1) \
	X(OHWI, "ohwi", 0, 3, 1, 2) \
	X(IHWO, "ihwo", 3, 0, 1, 2) \
	X(IOHW, "iohw", 1, 0, 2, 3) \
	X(HWOI, "hwoi", 2, 3, 0, 1)
#define IR_FILTER_LAYOUT_ENUM(id, ...) IR_##id,
enum ir_filter_layout { IR_FILTER_LAYOUTS(IR_FILTER_LAYOUT_ENUM) };
#undef IR_FILTER_LAYOUT_ENUM

enum ir_pool { IR_POOL_MAX, IR_POOL_AVERAGE, IR_POOL_L2 };
enum ir_pad_mode { IR_PAD_CONSTANT, IR_PAD_EDGE, IR_PAD_REFLECTION, IR_PAD_SYMMETRIC };

struct ir_conv_attrs {
	uint32_t padding[4]; /* beginH, endH, beginW, endW */
	uint32_t strides[2], dilations[2];
	uint32_t groups;
	enum ir_layout layout; /* of input and result */
	enum ir_filter_layout filter_layout;
	bool transposed; /* convTranspose2d; filter "o" is per group */
	struct ir_unary_attrs act;
};

struct ir_matmul_attrs {
	bool a_transpose, b_transpose; /* of the last two dims */
	float alpha, beta;	       /* result = alpha*a*b + beta*bias, 1 unless from gemm */
	struct ir_unary_attrs act;
};

struct ir_pool_attrs {
	enum ir_pool kind;
	uint32_t window[2], padding[4], strides[2], dilations[2];
	enum ir_layout layout;
};

struct ir_binary_attrs {
	enum ir_binary kind;
	struct ir_unary_attrs act;
};

struct ir_reduce_attrs {
	enum ir_reduce kind;
	uint32_t axes; /* bit mask; 0 = apply to each element */
	bool keep_dims;
};

struct ir_slice_attrs {
	uint32_t starts[IR_MAX_RANK];
	uint32_t strides[IR_MAX_RANK]; /* sizes follow from the result's shape */
};

struct ir_pad_attrs {
	uint32_t begin[IR_MAX_RANK], end[IR_MAX_RANK];
	enum ir_pad_mode mode;
	uint64_t value; /* the element's bits */
};

struct ir_norm_attrs {
	uint32_t axis; /* batchNormalization */
	uint32_t num_axes;
	uint32_t axes[IR_MAX_RANK]; /* layerNormalization, in the order of scale's dims */
	enum ir_layout layout;	    /* instanceNormalization */
	float epsilon;
};

union ir_attrs {
	struct ir_conv_attrs conv;
	struct ir_matmul_attrs matmul;
	struct ir_pool_attrs pool;
	struct ir_unary_attrs unary;
	struct ir_binary_attrs binary;
	struct ir_reduce_attrs reduce;
	struct ir_slice_attrs slice;
	struct ir_pad_attrs pad;
	struct ir_norm_attrs norm;
	uint32_t axis; /* concat, softmax */
	uint32_t axes; /* reverse: bit mask */
	struct {
		uint32_t perm[IR_MAX_RANK];
	} transpose; /* result dim i = operand dim perm[i] */
	struct {
		bool max, last, keep_dims;
		uint32_t axis;
	} arg;
	struct {
		uint32_t axis;
		bool exclusive, reversed;
	} cumsum;
	struct {
		bool upper;
		int64_t diagonal;
	} triangular;
	struct {
		bool linear;
		uint32_t axes[2];
	} resample;
	struct {
		enum { IR_GATHER_AXIS, IR_GATHER_ELEMENTS, IR_GATHER_ND } kind;
		uint32_t axis;
	} gather;
	struct {
		uint32_t steps, hidden_size;
		bool reset_after, return_sequence, cell;
		enum { IR_FORWARD, IR_BACKWARD, IR_BOTH } direction;
		uint32_t gate_order; /* 0: zrn or iofg, 1: rzn or ifgo */
		int activations[3];  /* IR_RELU, IR_SIGMOID, IR_TANH */
	} rnn;
};

/* The bytes of a constant, shared by reference count; borrowed ones call release when dropped. */
struct ir_constant {
	uint32_t refs;
	size_t bytes;
	const void *data;
	void (*release)(void *userdata, const void *data);
	void *userdata;
};

enum ir_value_kind { IR_VALUE_INPUT, IR_VALUE_CONSTANT, IR_VALUE_RESULT };

struct ir_value {
	uint32_t id; /* dense, unique in the graph */
	enum ir_value_kind kind;
	struct ir_type type;
	struct ir_node *def; /* IR_VALUE_RESULT */
	uint32_t result_index;
	const char *name;	      /* graph input's name, else NULL */
	struct ir_constant *constant; /* IR_VALUE_CONSTANT */
};

struct ir_node {
	uint32_t id; /* dense, unique in the graph */
	enum ir_op op;
	uint32_t num_operands, num_results;
	struct ir_value **operands; /* optional ones may be NULL */
	struct ir_value **results;
	union ir_attrs attrs;
	const char *label;  /* the application's, "" if none */
	const char *source; /* WebNN operator(s) it stands for: "conv2d", "conv2d+relu" */
};

struct ir_output {
	const char *name;
	struct ir_value *value;
};

/*
 * A graph owns its nodes, values and strings (arena). Nodes are in topological order in `nodes`.
 */
struct ir_graph {
	struct wnn_arena *arena;
	uint32_t num_nodes, cap_nodes;
	struct ir_node **nodes;
	uint32_t num_values, cap_values;
	struct ir_value **values;
	uint32_t num_inputs, cap_inputs;
	struct ir_value **inputs;
	uint32_t num_outputs, cap_outputs;
	struct ir_output *outputs;
};

struct ir_graph *ir_graph_create(void);
void ir_graph_destroy(struct ir_graph *graph); /* NULL is fine; drops constants */

/* All return NULL when out of memory. Strings are copied into the graph. */
struct ir_value *ir_add_input(struct ir_graph *graph, const char *name, const struct ir_type *type);
struct ir_value *ir_add_constant(struct ir_graph *graph, const struct ir_type *type,
				 struct ir_constant *constant); /* takes one reference over */
/* An input or a constant of another graph; shares the constant. */
struct ir_value *ir_copy_leaf(struct ir_graph *graph, const struct ir_value *value);
struct ir_node *ir_add_node(struct ir_graph *graph, enum ir_op op, struct ir_value *const *operands,
			    uint32_t num_operands, const struct ir_type *result_types,
			    uint32_t num_results, const union ir_attrs *attrs, const char *label,
			    const char *source);
int ir_add_output(struct ir_graph *graph, const char *name, struct ir_value *value);

/* Copies `bytes`; ir_constant_borrow does not. */
struct ir_constant *ir_constant_copy(const void *data, size_t bytes);
struct ir_constant *ir_constant_borrow(const void *data, size_t bytes,
				       void (*release)(void *, const void *), void *userdata);
struct ir_constant *ir_constant_ref(struct ir_constant *constant);
void ir_constant_unref(struct ir_constant *constant);

const char *ir_op_name(enum ir_op op);
const char *ir_unary_name(int kind);
const char *ir_binary_name(enum ir_binary kind);
const char *ir_reduce_name(enum ir_reduce kind);
const char *ir_filter_layout_name(enum ir_filter_layout layout); /* "oihw" */
/* The four axes of a filter, in the order O, I, H, W. */
const uint8_t *ir_filter_axes(enum ir_filter_layout layout);

#define IR_NODE_NAME_SIZE 192
/* conv2d "stem", fit for messages; "the graph" without a node. Returns buffer. */
const char *ir_node_name(const struct ir_node *node, char *buffer, size_t size);

/* Text of a graph, one node a line; malloc'ed. */
char *ir_print(const struct ir_graph *graph);
/* Checks topological order, ids, operand counts, types; run after every pass in debug builds. */
int ir_verify(const struct ir_graph *graph, struct wnn_error *err);

#endif
