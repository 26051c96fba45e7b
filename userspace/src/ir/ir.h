/* SPDX-License-Identifier: MIT */
/*
 * The intermediate representation (IR): a small form, in which each value is assigned once, between
 * the WebNN rules (graph/) and the backends (cpu/, plan/). It has its own operators: a WebNN
 * operator may become several nodes, and a node may stand for several WebNN operators after fusion.
 * Passes keep their data in tables of their own, indexed by id, and not in these structures.
 */
#ifndef WNN_IR_H
#define WNN_IR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

#define IR_MAX_RANK 8

/*
 * Element types. WebNN's operators use the first eight; a few of them use the two 4-bit types, too.
 * No front end makes the others, from IR_PRED (a truth value in a byte) on, which are reserved.
 */
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
	IR_F64,
	IR_DTYPE_COUNT
};

/*
 * The size of a dimension. symbol != 0: the size is known only at dispatch; it is that of
 * graph->symbols[symbol - 1], and `value` is its size when all names have their maximum.
 * ir_dim_value() and ir_type_dim() read `value`.
 */
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
bool ir_dtype_is_unsigned(enum ir_dtype dtype); /* false for pred */

static inline int64_t ir_dim_value(struct ir_dim d)
{
	return d.value;
}

struct ir_type ir_type_make(enum ir_dtype dtype, uint32_t rank, const int64_t *dims);
int64_t ir_type_dim(const struct ir_type *type, uint32_t axis);
int64_t ir_type_elements(const struct ir_type *type); /* number of elements; 1 for a scalar */
int64_t ir_type_bytes(const struct ir_type *type);    /* two 4-bit elements share a byte */
bool ir_type_same_shape(const struct ir_type *a, const struct ir_type *b);

/* The operators; ops.def describes their operands, results and attributes. */
enum ir_op {
#define IR_OPERATOR(id, ...) IR_OP_##id,
#include "ir/ops.def"
#undef IR_OPERATOR
	IR_OP_COUNT
};

/* Makes an enumerator from a row of the lists below: identifier without IR_, printed name. */
#define IR_ENUMERATOR(id, ...) IR_##id,

/*
 * Functions of one operand. elu and leaky_relu use alpha; hard_sigmoid and linear use alpha and
 * beta; clamp has its limits in alpha and beta for float types, in ilo and ihi for signed integers,
 * and in ulo and uhi for unsigned integers. scaled_tanh is alpha * tanh(beta * x).
 *
 * A gate multiplies x by a function of x, also when x is NaN or infinite: swish is
 * x * sigmoid(alpha * x), mish is x * tanh(softplus(x)), gelu_tanh is
 * x * sigmoid(x * (alpha * x * x + beta)), hard_gate is x * hard_sigmoid(x) with its alpha and
 * beta, and step_gate is x * (x > alpha). Gates whose alpha is positive map minus infinity to NaN,
 * as they multiply it by 0.
 *
 * The last column of the list is the enum ir_unary_class of the function.
 */
#define IR_UNARY_KINDS(X)                       \
	X(ABS, "abs", NUMBERS)                  \
	X(NEG, "neg", NUMBERS)                  \
	X(SIGN, "sign", NUMBERS)                \
	X(CEIL, "ceil", FLOATS)                 \
	X(FLOOR, "floor", FLOATS)               \
	X(ROUND_EVEN, "round_even", FLOATS)     \
	X(RECIPROCAL, "reciprocal", FLOATS)     \
	X(SQRT, "sqrt", FLOATS)                 \
	X(EXP, "exp", FLOATS)                   \
	X(LOG, "log", FLOATS)                   \
	X(SIN, "sin", FLOATS)                   \
	X(COS, "cos", FLOATS)                   \
	X(TAN, "tan", FLOATS)                   \
	X(TANH, "tanh", FLOATS)                 \
	X(SCALED_TANH, "scaled_tanh", FLOATS)   \
	X(ERF, "erf", FLOATS)                   \
	X(SIGMOID, "sigmoid", FLOATS)           \
	X(GELU, "gelu", FLOATS)                 \
	X(SWISH, "swish", FLOATS)               \
	X(MISH, "mish", FLOATS)                 \
	X(GELU_TANH, "gelu_tanh", FLOATS)       \
	X(SOFTPLUS, "softplus", FLOATS)         \
	X(SOFTSIGN, "softsign", FLOATS)         \
	X(ELU, "elu", FLOATS)                   \
	X(LEAKY_RELU, "leaky_relu", FLOATS)     \
	X(HARD_SIGMOID, "hard_sigmoid", FLOATS) \
	X(HARD_SWISH, "hard_swish", FLOATS)     \
	X(HARD_GATE, "hard_gate", FLOATS)       \
	X(STEP_GATE, "step_gate", FLOATS)       \
	X(RELU, "relu", NUMBERS)                \
	X(CLAMP, "clamp", NUMBERS)              \
	X(LINEAR, "linear", FLOATS)             \
	X(LOGICAL_NOT, "logical_not", TRUTH)    \
	X(IS_NAN, "is_nan", TEST)               \
	X(IS_INFINITE, "is_infinite", TEST)
enum ir_unary {
	IR_UNARY_KINDS(IR_ENUMERATOR) IR_UNARY_COUNT,
	IR_UNARY_NONE = -1, /* no fused activation */
};

/* The types that a function of one operand takes and returns. */
enum ir_unary_class {
	IR_UNARY_NUMBERS, /* floats or integers; the result has the type of the operand */
	IR_UNARY_FLOATS,  /* floats; the result has the type of the operand */
	IR_UNARY_TRUTH,	  /* integers; the result has the type of the operand and is 0 or 1 */
	IR_UNARY_TEST,	  /* floats; the result is 0 or 1, of an integer type */
};

/* Returns true for the gates; false for other functions and IR_UNARY_NONE. */
static inline bool ir_unary_is_gate(int kind)
{
	return kind == IR_SWISH || kind == IR_MISH || kind == IR_GELU_TANH ||
	       kind == IR_HARD_GATE || kind == IR_STEP_GATE;
}

/*
 * Functions of two operands, a and b. Functions from eq on are comparisons (IR_OP_COMPARE); those
 * from bit_and to floored_remainder take integers only. A shift by a negative number of bits, or by
 * at least the width of the type, gives 0, or -1 for a right shift of a negative number. A
 * remainder by 0 is the dividend. `remainder` has the sign of a, `floored_remainder` that of b.
 */
#define IR_BINARY_KINDS(X)                        \
	X(ADD, "add")                             \
	X(SUB, "sub")                             \
	X(MUL, "mul")                             \
	X(DIV, "div")                             \
	X(MAX, "max")                             \
	X(MIN, "min")                             \
	X(POW, "pow")                             \
	X(PRELU, "prelu")                         \
	X(AND, "and")                             \
	X(OR, "or")                               \
	X(XOR, "xor")                             \
	X(BIT_AND, "bit_and")                     \
	X(BIT_OR, "bit_or")                       \
	X(BIT_XOR, "bit_xor")                     \
	X(SHIFT_LEFT, "shift_left")               \
	X(SHIFT_RIGHT, "shift_right")             \
	X(REMAINDER, "remainder")                 \
	X(FLOORED_REMAINDER, "floored_remainder") \
	X(EQ, "eq")                               \
	X(NE, "ne")                               \
	X(GT, "gt")                               \
	X(GE, "ge")                               \
	X(LT, "lt")                               \
	X(LE, "le")
enum ir_binary { IR_BINARY_KINDS(IR_ENUMERATOR) IR_BINARY_COUNT };

/*
 * Functions that reduce an axis to one element. With m the largest element, shifted_log_sum_exp is
 * m + log(sum(exp(x - m))), which is NaN when m is infinite; log_sum_exp gives m then.
 */
#define IR_REDUCE_KINDS(X)                   \
	X(REDUCE_SUM, "sum")                 \
	X(REDUCE_PROD, "prod")               \
	X(REDUCE_MAX, "max")                 \
	X(REDUCE_MIN, "min")                 \
	X(REDUCE_MEAN, "mean")               \
	X(REDUCE_L1, "l1")                   \
	X(REDUCE_L2, "l2")                   \
	X(REDUCE_SUM_SQUARE, "sum_square")   \
	X(REDUCE_LOG_SUM, "log_sum")         \
	X(REDUCE_LOG_SUM_EXP, "log_sum_exp") \
	X(REDUCE_SHIFTED_LOG_SUM_EXP, "shifted_log_sum_exp")
enum ir_reduce { IR_REDUCE_KINDS(IR_ENUMERATOR) IR_REDUCE_COUNT };

/* A unary function with its parameters; also the activation fused into another node. */
struct ir_unary_attrs {
	int kind;	   /* enum ir_unary, or IR_UNARY_NONE */
	float alpha, beta; /* rounded to the operand's type already, but stored as float */
	/* 1: the result is rounded to float16; kind IR_UNARY_NONE then does nothing else. */
	uint32_t half;
	int64_t ilo, ihi;  /* IR_CLAMP: limits for signed integer types */
	uint64_t ulo, uhi; /* IR_CLAMP: limits for unsigned integer types */
};

#define IR_LAYOUTS(X)   \
	X(NCHW, "nchw") \
	X(NHWC, "nhwc")
enum ir_layout { IR_LAYOUTS(IR_ENUMERATOR) };

/* Filter layouts: name, then the axes of O, I, H and W; for transposed convolutions, too. */
#define IR_FILTER_LAYOUTS(X)        \
	X(OIHW, "oihw", 0, 1, 2, 3) \
	X(HWIO, "hwio", 3, 2, 0, 1) \
	X(OHWI, "ohwi", 0, 3, 1, 2) \
	X(IHWO, "ihwo", 3, 0, 1, 2) \
	X(IOHW, "iohw", 1, 0, 2, 3) \
	X(HWOI, "hwoi", 2, 3, 0, 1)
enum ir_filter_layout { IR_FILTER_LAYOUTS(IR_ENUMERATOR) };

#define IR_POOL_KINDS(X)           \
	X(POOL_MAX, "max")         \
	X(POOL_AVERAGE, "average") \
	X(POOL_L2, "l2")
enum ir_pool { IR_POOL_KINDS(IR_ENUMERATOR) };

#define IR_PAD_MODES(X)                 \
	X(PAD_CONSTANT, "constant")     \
	X(PAD_EDGE, "edge")             \
	X(PAD_REFLECTION, "reflection") \
	X(PAD_SYMMETRIC, "symmetric")
enum ir_pad_mode { IR_PAD_MODES(IR_ENUMERATOR) };

#define IR_GATHER_KINDS(X)             \
	X(GATHER_AXIS, "axis")         \
	X(GATHER_ELEMENTS, "elements") \
	X(GATHER_ND, "nd")
enum ir_gather { IR_GATHER_KINDS(IR_ENUMERATOR) };

#define IR_RNN_DIRECTIONS(X)    \
	X(FORWARD, "forward")   \
	X(BACKWARD, "backward") \
	X(BOTH, "both")
enum ir_rnn_direction { IR_RNN_DIRECTIONS(IR_ENUMERATOR) };

struct ir_conv_attrs {
	uint32_t padding[4]; /* beginH, endH, beginW, endW */
	uint32_t strides[2], dilations[2];
	uint32_t groups;
	enum ir_layout layout; /* layout of input and result */
	enum ir_filter_layout filter_layout;
	bool transposed; /* convTranspose2d; axis O of the filter then is for one group */
	struct ir_unary_attrs act;
};

struct ir_matmul_attrs {
	bool a_transpose, b_transpose; /* the last two dims of a, of b are swapped */
	/* result = alpha*a*b + beta*bias; 1 unless gemm or a rule of pass/ has set them */
	float alpha, beta;
	struct ir_unary_attrs act;
};

/* The zero points and limits of IR_OP_QCONV and IR_OP_QMATMUL; ops.def has the formula. */
struct ir_integer_attrs {
	int64_t a_zero, b_zero, zero;
	int64_t lo, hi; /* limits of an 8-bit result; zero, lo and hi are 0 for a float result */
};

/*
 * Attributes of a convolution of integers. `conv` is first, so that attrs.conv is valid, too. Its
 * activation is for a float result; an 8-bit result has none.
 */
struct ir_qconv_attrs {
	struct ir_conv_attrs conv;
	struct ir_integer_attrs integer;
};

/*
 * Attributes of a matrix product of integers. `matmul` is first, so that attrs.matmul is valid,
 * too; its alpha and beta are 1.
 */
struct ir_qmatmul_attrs {
	struct ir_matmul_attrs matmul;
	struct ir_integer_attrs integer;
};

struct ir_pool_attrs {
	enum ir_pool kind;
	uint32_t window[2], padding[4], strides[2], dilations[2];
	enum ir_layout layout;
	/* whether an average is over all taps of a window, with 0 for those in the padding */
	bool counts_padding;
};

/* Attributes of a pool of integers. attrs.pool is valid, too; its kind is IR_POOL_AVERAGE. */
struct ir_qpool_attrs {
	struct ir_pool_attrs pool;
	int64_t a_zero, zero;
};

struct ir_binary_attrs {
	enum ir_binary kind;
	struct ir_unary_attrs act;
};

struct ir_reduce_attrs {
	enum ir_reduce kind;
	/* mask of the reduced axes; 0: the function is applied to each element alone */
	uint32_t axes;
	bool keep_dims;
};

struct ir_slice_attrs {
	uint32_t starts[IR_MAX_RANK];
	uint32_t strides[IR_MAX_RANK]; /* the result's shape has the sizes */
};

struct ir_pad_attrs {
	uint32_t begin[IR_MAX_RANK], end[IR_MAX_RANK];
	enum ir_pad_mode mode;
	uint64_t value; /* bits of a padding element */
};

struct ir_norm_attrs {
	uint32_t axis; /* batchNormalization */
	uint32_t num_axes;
	uint32_t axes[IR_MAX_RANK]; /* layerNormalization, in the order of scale's dims */
	enum ir_layout layout;	    /* instanceNormalization */
	/*
	 * Groups of neighbouring channels that instanceNormalization normalises together; 0: each
	 * channel alone.
	 */
	uint32_t groups;
	float epsilon;
	bool rms; /* layerNormalization: the mean is not subtracted */
};

/* Dimension i of the result is dimension perm[i] of the operand. */
struct ir_transpose_attrs {
	uint32_t perm[IR_MAX_RANK];
};

struct ir_softmax_attrs {
	uint32_t axis;
	bool log;	  /* the result is the logarithm of softmax */
	bool guarded;	  /* an infinite largest element of a row counts as 0 */
	bool nan_to_zero; /* each NaN of the result becomes 0 */
};

struct ir_arg_attrs {
	bool max, last, keep_dims;
	uint32_t axis;
};

struct ir_cumsum_attrs {
	uint32_t axis;
	bool exclusive, reversed;
};

struct ir_triangular_attrs {
	bool upper;
	int64_t diagonal;
};

struct ir_resample_attrs {
	bool linear;
	uint32_t axes[2];
};

struct ir_gather_attrs {
	enum ir_gather kind;
	uint32_t axis;
	/*
	 * scatter: the result is in the memory of operand 0, as part of the update of an input
	 * (ir_output.updates)
	 */
	bool in_place;
};

struct ir_rnn_attrs {
	uint32_t steps, hidden_size;
	bool reset_after, return_sequence, cell;
	bool plain; /* GRU: a network without gates; the new state is the activation of the sums */
	enum ir_rnn_direction direction;
	uint32_t gate_order;	   /* 0: zrn or iofg, 1: rzn or ifgo */
	int activations[3];	   /* enum ir_unary, such as IR_SIGMOID, IR_TANH */
	float alphas[3], betas[3]; /* their parameters: see struct ir_unary_attrs */
	/* The operands of the first two activations are clamped to -clip..clip; 0: no clamp. */
	float clip;
	bool coupled;	    /* LSTM: the forget gate is 1 minus the input gate */
	bool late_peephole; /* LSTM: the output gate's peephole reads the new cell state */
};

union ir_attrs {
	struct ir_conv_attrs conv;
	struct ir_matmul_attrs matmul;
	struct ir_qconv_attrs qconv;
	struct ir_qmatmul_attrs qmatmul;
	struct ir_pool_attrs pool;
	struct ir_qpool_attrs qpool;
	struct ir_unary_attrs unary;
	struct ir_binary_attrs binary;
	struct ir_reduce_attrs reduce;
	struct ir_slice_attrs slice;
	struct ir_pad_attrs pad;
	struct ir_norm_attrs norm;
	uint32_t axis;			 /* concat */
	struct ir_softmax_attrs softmax; /* its axis is valid as attrs.axis, too */
	uint32_t axes;			 /* reverse: mask of axes */
	struct ir_transpose_attrs transpose;
	struct ir_arg_attrs arg;
	struct ir_cumsum_attrs cumsum;
	struct ir_triangular_attrs triangular;
	struct ir_resample_attrs resample;
	struct ir_gather_attrs gather;
	struct ir_rnn_attrs rnn;
};

/* How a constant is computed when its bytes are first needed. */
struct ir_recipe {
	int (*make)(void *userdata, void *data); /* writes all bytes; -1: no memory */
	void (*drop)(void *userdata);		 /* frees the userdata */
};

/* The bytes of a constant, with a reference count; the last reference calls release(). */
struct ir_constant {
	uint32_t refs;
	size_t bytes;
	const void *data; /* to be read by ir_constant_data(); NULL while there is a recipe */
	void (*release)(void *userdata, const void *data);
	void *userdata;
	const struct ir_recipe *recipe; /* computes the bytes; NULL: they exist already */
	uint8_t finite;			/* cache of ir_constant_finite(); 0: not known yet */
	uint8_t few;			/* cache of ir_constant_few(); 0: not known yet */
	/* The application has lent the memory without a callback: the loan ends with the graph. */
	bool lent;
};

enum ir_value_kind { IR_VALUE_INPUT, IR_VALUE_CONSTANT, IR_VALUE_RESULT };

struct ir_value {
	uint32_t id; /* dense, unique in the graph */
	enum ir_value_kind kind;
	struct ir_type type;
	struct ir_node *def; /* IR_VALUE_RESULT: the node that defines it; otherwise NULL */
	uint32_t result_index;
	const char *name;	      /* IR_VALUE_INPUT: its name; otherwise NULL */
	struct ir_constant *constant; /* IR_VALUE_CONSTANT: its bytes; NULL: they were dropped */
};

/* A number among the attributes of a node that is known only at dispatch. */
struct ir_late {
	/*
	 * field: index in ir_attr_fields(), of a field of kind IR_FIELD_U32; element: index in the
	 * field
	 */
	uint16_t field, element;
	uint32_t symbol; /* 1 + index in graph->symbols */
};

struct ir_node {
	uint32_t id; /* dense, unique in the graph */
	enum ir_op op;
	uint32_t num_operands, num_results;
	struct ir_value **operands; /* optional ones may be NULL */
	struct ir_value **results;
	union ir_attrs attrs; /* those that `late` computes are for the largest sizes of names */
	uint32_t num_late;
	struct ir_late *late;
	const char *label;  /* the label of the application; "": it has none */
	const char *source; /* the WebNN operators that it computes: "conv2d", "conv2d+relu" */
};

/* Returns the number of gates of a recurrent network: its weights have a block of rows for each. */
static inline uint32_t ir_rnn_gates(const struct ir_node *node)
{
	return node->op == IR_OP_LSTM ? 4 : node->attrs.rnn.plain ? 1 : 3;
}

/* Returns activation number `which` of a recurrent network. */
static inline struct ir_unary_attrs ir_rnn_activation(const struct ir_node *node, int which)
{
	const struct ir_rnn_attrs *attrs = &node->attrs.rnn;

	return (struct ir_unary_attrs){ .kind = attrs->activations[which],
					.alpha = attrs->alphas[which],
					.beta = attrs->betas[which] };
}

struct ir_output {
	const char *name;
	struct ir_value *value;
	/*
	 * The input that the output updates: both can be in the same memory, as the value is made
	 * of the input by nodes that ir_updated() allows. NULL: it updates none.
	 */
	struct ir_value *updates;
};

/* A number that is given at dispatch, by the shapes of the inputs: from min to max. */
struct ir_name {
	const char *name;
	uint32_t min, max; /* 1 <= min <= max */
};

/* The number floor((multiply * n + add) / divide), where n is the number of a name. */
struct ir_symbol {
	uint32_t name; /* index in graph->names */
	int64_t multiply, add, divide;
};

/*
 * A graph owns its nodes, values and strings, which are in the arena. `nodes` is in topological
 * order. A graph with names is a template: ir_specialise() makes the graphs that are compiled.
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
	uint32_t num_names, cap_names;
	struct ir_name *names;
	uint32_t num_symbols, cap_symbols;
	struct ir_symbol *symbols; /* all different */
};

struct ir_graph *ir_graph_create(void);
void ir_graph_destroy(struct ir_graph *graph); /* takes NULL; drops its references to constants */

/*
 * Functions that add to a graph; they return NULL (ir_add_output(): -1) when out of memory. Strings
 * are copied into the graph.
 */
struct ir_value *ir_add_input(struct ir_graph *graph, const char *name, const struct ir_type *type);
struct ir_value *ir_add_constant(struct ir_graph *graph, const struct ir_type *type,
				 struct ir_constant *constant); /* taken over on success */
/*
 * Adds a copy of an input or constant of another graph; both graphs share the constant. NULL: no
 * memory.
 */
struct ir_value *ir_copy_leaf(struct ir_graph *graph, const struct ir_value *value);
struct ir_node *ir_add_node(struct ir_graph *graph, enum ir_op op, struct ir_value *const *operands,
			    uint32_t num_operands, const struct ir_type *result_types,
			    uint32_t num_results, const union ir_attrs *attrs, const char *label,
			    const char *source);
int ir_add_output(struct ir_graph *graph, const char *name, struct ir_value *value,
		  struct ir_value *updates);

/*
 * Makes room for one more item of an array; the caller raises the count. Returns false when out of
 * memory.
 */
bool ir_grow(void **array, uint32_t count, uint32_t *cap, size_t size);

/* ---- symbols.c: numbers that are known only at dispatch */
/* Adds a name with any range, which ir_verify() checks; returns 0, or -1 when out of memory. */
int ir_add_name(struct ir_graph *graph, const char *name, uint32_t min, uint32_t max);
/* Returns the index of a name; graph->num_names when there is none. */
uint32_t ir_find_name(const struct ir_graph *graph, const char *name);
/*
 * Returns whether an expression can be a symbol: its name exists, it depends on the name, and all
 * its numbers are from 0 to 2^31 - 1.
 */
bool ir_symbol_is_valid(const struct ir_graph *graph, const struct ir_symbol *symbol);
/*
 * Returns 1 + the index of the symbol of a valid expression, which is added when the graph does not
 * have it yet; 0: no memory.
 */
uint32_t ir_add_symbol(struct ir_graph *graph, struct ir_symbol symbol);
/*
 * Returns 1 when the elements of constant `value` are the first ones of constant `of` along each
 * axis, 0 when they are not, -1 when out of memory. Both have the same rank and element type;
 * constants of 4-bit types must be equal as a whole.
 */
int ir_constant_is_block(const struct ir_value *of, const struct ir_value *value);
/* Returns the number that an expression has when its name has the number `n`. */
int64_t ir_symbol_at(const struct ir_symbol *symbol, int64_t n);
/* Writes an expression for messages, such as: (2*rows+1)/3. Returns buffer. */
const char *ir_symbol_text(const struct ir_graph *graph, uint32_t symbol, char *buffer,
			   size_t size);
#define IR_SYMBOL_TEXT_SIZE 160
/* Returns whether a dimension or attribute of the graph has a symbol. */
bool ir_has_symbols(const struct ir_graph *graph);
/* Copies names and symbols to a graph that has none. Returns 0, or -1 when out of memory. */
int ir_copy_symbols(struct ir_graph *to, const struct ir_graph *from);
/* Copies the list of a node's late attributes to a node that has none. Returns 0 or -1. */
int ir_copy_late(struct ir_graph *graph, struct ir_node *node, uint32_t count,
		 const struct ir_late *late);
/* Returns the type that a type becomes when the names have these numbers. */
struct ir_type ir_type_at(const struct ir_graph *graph, const struct ir_type *type,
			  const uint32_t *numbers);
/*
 * ir_specialise - copy a graph with names, with numbers in place of the names
 * @numbers: by name; each is within its range
 *
 * The new graph has no names. It shares the constants, except those that get smaller by the
 * numbers: it has copies of their first elements along each axis. Returns NULL with an error when
 * memory is exhausted, or when the numbers make a node invalid.
 */
struct ir_graph *ir_specialise(const struct ir_graph *graph, const uint32_t *numbers,
			       struct wnn_error *err);

/*
 * Returns, by value id, how often a value is an operand or an output; the caller frees the array by
 * wnn_free(). NULL: no memory.
 */
uint32_t *ir_count_uses(const struct ir_graph *graph);

/* ---- update.c: inputs that are updated in place */
/*
 * Returns the operand in whose memory a node can have its result: operand 0 of a scatter, or of a
 * reshape or identity, which then write nothing. NULL: the node needs other memory for its result.
 */
struct ir_value *ir_updated(const struct ir_node *node);
/* Returns whether a node writes elements in the memory of its operand: a scatter in place. */
static inline bool ir_updates_in_place(const struct ir_node *node)
{
	return node->op == IR_OP_SCATTER && node->attrs.gather.in_place;
}
/*
 * Checks that an output can be an update of an input: it has the input's type, it is made of the
 * input by a scatter at least and by nodes that ir_updated() allows, and nothing else reads the
 * values that are overwritten. Returns 0, or -1 with a TypeError, which begins with @what.
 *
 * @uses: from ir_count_uses(); NULL: readers are not checked
 */
int ir_check_update(const struct ir_value *value, const struct ir_value *input,
		    const uint32_t *uses, const char *what, struct wnn_error *err);
/*
 * Returns, by node, whether the node is between an input and the output that updates it; the caller
 * frees the array by wnn_free(). NULL: no memory.
 */
bool *ir_find_updates(const struct ir_graph *graph);

/* Makes a constant with a copy of these bytes; NULL: no memory. */
struct ir_constant *ir_constant_copy(const void *data, size_t bytes);
/*
 * Makes a constant of memory from wnn_malloc(), which is taken over in any case; NULL: no memory.
 */
struct ir_constant *ir_constant_own(void *data, size_t bytes);
/*
 * Makes a constant of memory that release() gives back at the end; NULL: no memory, and the memory
 * is still the caller's.
 */
struct ir_constant *ir_constant_borrow(const void *data, size_t bytes,
				       void (*release)(void *, const void *), void *userdata);
/**
 * ir_constant_later - make a constant that is computed when it is read for the first time
 * @userdata: passed to the recipe; taken over in any case
 * @dtype: type of the elements
 * @finite: the elements are floats that are known to be finite
 *
 * When a graph is compiled, constants are packed and dropped one after the other, so that such a
 * constant is computed in memory that is still in the cache from the constant before. In a compiled
 * graph no constant is left to compute. Returns NULL when out of memory.
 */
struct ir_constant *ir_constant_later(const struct ir_recipe *recipe, void *userdata, size_t bytes,
				      enum ir_dtype dtype, bool finite);
/*
 * Returns the bytes of a constant, and computes them if there is a recipe; NULL: no memory. Only
 * one thread at a time may call it while there is a recipe.
 */
const void *ir_constant_data(struct ir_constant *constant);
/*
 * Returns the bytes of a constant for its last reader, who then drops the constant. If there is a
 * recipe, computes them into @room, which has as many bytes; NULL: no memory.
 */
const void *ir_constant_data_in(struct ir_constant *constant, void *room);
struct ir_constant *ir_constant_ref(struct ir_constant *constant);
void ir_constant_unref(struct ir_constant *constant);
/*
 * Returns true if all elements are finite, as float16 or float32; reads them only once. Several
 * threads may call it at a time.
 */
bool ir_constant_finite(struct ir_constant *constant, enum ir_dtype dtype);
/* Short floats that hold the numbers of a constant. */
enum ir_few {
	IR_FEW_NONE = 1,
	IR_FEW_E2M1, /* int8: each number is twice one of OCP's E2M1 */
	IR_FEW_E4M3, /* float16: each number is one of OCP's E4M3 without its NaN */
	IR_FEW_E5M2, /* float16: the low byte of each number is 0 */
};

/*
 * Returns which short float holds the numbers of an int8 or float16 constant, whose bytes must
 * exist; reads them only once. Several threads may call it at a time.
 */
enum ir_few ir_constant_few(struct ir_constant *constant, enum ir_dtype dtype);

const char *ir_op_name(enum ir_op op);
const char *ir_unary_name(int kind);
enum ir_unary_class ir_unary_class(int kind); /* not of IR_UNARY_NONE */
const char *ir_binary_name(enum ir_binary kind);
const char *ir_reduce_name(enum ir_reduce kind);
const char *ir_filter_layout_name(enum ir_filter_layout layout); /* "oihw" */
/* Returns the four axes of a filter, in the order O, I, H, W. */
const uint8_t *ir_filter_axes(enum ir_filter_layout layout);

#define IR_NODE_NAME_SIZE 192
/*
 * Writes the name of a node for messages, such as conv2d "stem"; NULL: "the graph". Returns buffer.
 */
const char *ir_node_name(const struct ir_node *node, char *buffer, size_t size);

/* The most elements of a constant that ir_print() prints completely. */
#define IR_PRINT_ELEMENTS 16

/*
 * Returns the text of a graph, one node a line, which the caller frees; NULL: no memory. ir/parse.h
 * describes the form. Larger constants are printed without elements unless all of them are equal.
 */
char *ir_print(const struct ir_graph *graph);
/*
 * Checks the order, ids, numbers of operands, types and attributes of a graph, which every pass
 * must leave valid. Returns 0, or -1 with *err.
 */
int ir_verify(const struct ir_graph *graph, struct wnn_error *err);
/*
 * Checks a compiled graph like ir_verify(); its constants may have been dropped. Returns 0 or -1.
 */
int ir_verify_dropped(const struct ir_graph *graph, struct wnn_error *err);

#endif
