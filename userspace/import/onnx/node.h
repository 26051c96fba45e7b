/* SPDX-License-Identifier: MIT */
/* A node of the model on its way into a builder, and what translators of operators are made of. */
#ifndef ONNX_NODE_H
#define ONNX_NODE_H

#include "model.h"
#include "order.h"
#include "value.h"

struct onnx_node;

#define ONNX_MAX_WORK ((uint64_t)1 << 27) /* elements that are computed at import, together */

/* An operator: one row of the table. */
struct onnx_op {
	const char *domain; /* "" is the default one */
	const char *name;
	int since, until; /* operator sets, both included; until 0: the newest */
	/* Sets the outputs, or refuses: returns 0 or -1. */
	int (*translate)(struct onnx_node *node);
	/*
	 * Computes the outputs when all inputs are constants: returns 0, -1 when it refuses, or 1
	 * when it leaves the node to translate(). May be NULL.
	 */
	int (*fold)(struct onnx_node *node);
	int variant;	    /* which of several operators of one translator; its own business */
	const char *remark; /* for the documentation: composed of what, or what is refused */
};

/* The row for a node, NULL if there is none. */
const struct onnx_op *onnx_op_find(const char *domain, const char *name, int64_t version);
const struct onnx_op *onnx_op_table(size_t *count);

struct onnx_scope;

struct onnx_import {
	struct onnx_model *model;
	WNNGraphBuilder builder;
	struct onnx_arena *arena;
	struct onnx_uses uses;
	bool doubles;	  /* something is of double, and computed in float32 */
	WNNStatus status; /* the first error that is not a refusal: it ends the import */
	size_t refusal_room;
	int depth;	    /* of graphs within nodes */
	uint64_t work;	    /* elements folded so far */
	uint64_t operators; /* added to the builder by unrolling */
	WNNBool *supported; /* when it only looks which nodes can be translated: one for each */
};

struct onnx_node {
	struct onnx_import *import;
	struct onnx_scope *scope;
	const Onnx__NodeProto *proto;
	const struct onnx_op *op;
	const char *name;
	int64_t version; /* operator set of its domain */
	int carried; /* type of its outputs that WebNN has not, of which they are carriers; else 0 */
	WNNGraphBuilder b;
	WNNOperatorOptions options; /* with the label */
	size_t input_count, output_count;
	struct onnx_value **inputs; /* NULL: absent */
	struct onnx_value **outputs;
	bool wide; /* inputs of float16 are float32 for the translator */
};

/* Adds to the list of refusals; always returns -1. */
int onnx_refuse(struct onnx_node *node, const char *attribute, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Refuses a node whose result would have too many elements; always returns -1. */
int onnx_too_big(struct onnx_node *node, const char *attribute, const struct onnx_shape *shape);
/* Refuses a node because an input varies that must be a constant; always returns -1. */
int onnx_refuse_variable(struct onnx_node *node, size_t input, const char *what);
/* Refuses a node because something depends on the value of an input; the sentence begins with that thing. */
int onnx_refuse_choice(struct onnx_node *node, size_t input, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * Adds a notice about a node that is imported all the same; @input: the input that is its cause, or
 * NULL.
 */
void onnx_notice(struct onnx_node *node, const char *input, const char *text);
/* Ends the import; always returns -1. */
int onnx_fail(struct onnx_node *node);
void *onnx_node_alloc(struct onnx_node *node, size_t size); /* NULL: the import has ended */

/* Attributes. */
const Onnx__AttributeProto *onnx_attr(struct onnx_node *node, const char *name);
int64_t onnx_attr_int(struct onnx_node *node, const char *name, int64_t fallback);
double onnx_attr_float(struct onnx_node *node, const char *name, double fallback);
/* A string with a NUL behind it that may be compared. */
const char *onnx_attr_string(struct onnx_node *node, const char *name, const char *fallback);
/* NULL and 0 when absent. */
const int64_t *onnx_attr_ints(struct onnx_node *node, const char *name, size_t *count);

/* Inputs. */
bool onnx_has(struct onnx_node *node, size_t input);
WNNOperand onnx_in(struct onnx_node *node, size_t input); /* NULL: refused, or absent */
const struct onnx_shape *onnx_in_shape(struct onnx_node *node, size_t input);
int onnx_in_type(struct onnx_node *node, size_t input);
/* The integers of a constant input, -1 when refused. An absent one has none: *ints is NULL. */
int onnx_in_ints(struct onnx_node *node, size_t input, const char *what, const int64_t **ints,
		 size_t *count);
int onnx_in_float(struct onnx_node *node, size_t input, const char *what, double *number);
/* The numbers of a constant input; as onnx_in_ints(). */
int onnx_in_floats(struct onnx_node *node, size_t input, const char *what, const double **numbers,
		   size_t *count);
/* An operand of any value: constants get theirs. */
WNNOperand onnx_operand(struct onnx_node *node, struct onnx_value *value);

/* Outputs. NULL as operand: the builder has refused, and so does the node. */
int onnx_out(struct onnx_node *node, size_t output, WNNOperand operand);
int onnx_out_bool(struct onnx_node *node, size_t output, WNNOperand operand);
int onnx_out_as(struct onnx_node *node, size_t output, WNNOperand operand, int type);
/* Another name of a value. */
int onnx_out_value(struct onnx_node *node, size_t output, struct onnx_value *value);
/* A constant to be filled; NULL when refused or when there is no memory. */
void *onnx_out_constant(struct onnx_node *node, size_t output, int type,
			const struct onnx_shape *shape);
/* Whether an output has a name that something uses. */
bool onnx_wants(struct onnx_node *node, size_t output);
struct onnx_value *onnx_new_value(struct onnx_node *node);
/* A value of an operand, for sequences. */
struct onnx_value *onnx_value_of(struct onnx_node *node, WNNOperand operand, int type);

/* Makes an axis positive; -1 and refuses when it is not within the rank. */
int onnx_axis(struct onnx_node *node, const char *attribute, int64_t axis, uint32_t rank,
	      uint32_t *out);

/* Counts elements that are computed at import, for the same reason as below. */
int onnx_work(struct onnx_node *node, uint64_t elements);
/* Counts operators of an unrolled loop, so that a small file cannot make them without end. */
int onnx_unroll(struct onnx_node *node, uint64_t operators);

/* A graph within a node, in a scope of its own; results has room for all its outputs. */
int onnx_run_subgraph(struct onnx_node *node, const Onnx__GraphProto *graph, size_t input_count,
		      struct onnx_value **inputs, struct onnx_value **results);

/*
 * Shorthand for operators of WebNN: they take the label of the node, and NULL for an operand gives
 * NULL, so that a composition is checked at its end. The builder is not asked then, whose last error
 * stays the one that was the first.
 */
#define ONNX_UNARY(name, Function)                                                       \
	static inline WNNOperand name(struct onnx_node *node, WNNOperand a)              \
	{                                                                                \
		return a ? wnnGraphBuilder##Function(node->b, a, &node->options) : NULL; \
	}
#define ONNX_BINARY(name, Function)                                                              \
	static inline WNNOperand name(struct onnx_node *node, WNNOperand a, WNNOperand b)        \
	{                                                                                        \
		return a && b ? wnnGraphBuilder##Function(node->b, a, b, &node->options) : NULL; \
	}

ONNX_UNARY(x_abs, Abs)
ONNX_UNARY(x_ceil, Ceil)
ONNX_UNARY(x_cos, Cos)
ONNX_UNARY(x_erf, Erf)
ONNX_UNARY(x_exp, Exp)
ONNX_UNARY(x_floor, Floor)
ONNX_UNARY(x_identity, Identity)
ONNX_UNARY(x_log, Log)
ONNX_UNARY(x_neg, Neg)
ONNX_UNARY(x_not, LogicalNot)
ONNX_UNARY(x_reciprocal, Reciprocal)
ONNX_UNARY(x_round, RoundEven)
ONNX_UNARY(x_sigmoid, Sigmoid)
ONNX_UNARY(x_sign, Sign)
ONNX_UNARY(x_sin, Sin)
ONNX_UNARY(x_softplus, Softplus)
ONNX_UNARY(x_sqrt, Sqrt)
ONNX_UNARY(x_tanh, Tanh)
ONNX_UNARY(x_relu, Relu)
ONNX_BINARY(x_add, Add)
ONNX_BINARY(x_sub, Sub)
ONNX_BINARY(x_mul, Mul)
ONNX_BINARY(x_div, Div)
ONNX_BINARY(x_max, Max)
ONNX_BINARY(x_min, Min)
ONNX_BINARY(x_pow, Pow)
ONNX_BINARY(x_matmul, Matmul)
ONNX_BINARY(x_equal, Equal)
ONNX_BINARY(x_greater, Greater)
ONNX_BINARY(x_less, Lesser)
ONNX_BINARY(x_and, LogicalAnd)
ONNX_BINARY(x_or, LogicalOr)

static inline WNNOperand x_where(struct onnx_node *node, WNNOperand condition, WNNOperand a,
				 WNNOperand b)
{
	return condition && a && b ?
		       wnnGraphBuilderWhere(node->b, condition, a, b, &node->options) :
		       NULL;
}

static inline WNNOperand x_cast(struct onnx_node *node, WNNOperand a, WNNOperandDataType type)
{
	if (!a || wnnOperandGetDataType(a) == type)
		return a;
	return wnnGraphBuilderCast(node->b, a, type, &node->options);
}

/*
 * empty.c: what an operator makes of tensors without elements. 0, -1 when it is refused, 1 when the
 * translator has to know.
 */
int onnx_empty(struct onnx_node *node);
/* A constant without elements. */
struct onnx_value *onnx_empty_value(struct onnx_node *node, int type,
				    const struct onnx_shape *shape);

/*
 * wide.c: around the translator of a composition: its inputs of float16 become float32, its outputs
 * float16 again. 0 or -1.
 */
int onnx_wide_begin(struct onnx_node *node);
int onnx_wide_end(struct onnx_node *node);

/* compose.c */
struct onnx_shape x_shape(WNNOperand operand);
WNNOperand x_number(struct onnx_node *node, WNNOperandDataType type, double number);
WNNOperand x_integer(struct onnx_node *node, WNNOperandDataType type, int64_t number);
/* A scalar of the type of another operand. */
WNNOperand x_like(struct onnx_node *node, WNNOperand like, double number);
/* A constant whose elements are copied. */
WNNOperand x_constant(struct onnx_node *node, WNNOperandDataType type,
		      const struct onnx_shape *shape, const void *data);
WNNOperand x_constant_ints(struct onnx_node *node, size_t count, const int64_t *ints);
WNNOperand x_reshape(struct onnx_node *node, WNNOperand a, const struct onnx_shape *shape);
WNNOperand x_expand(struct onnx_node *node, WNNOperand a, const struct onnx_shape *shape);
WNNOperand x_transpose(struct onnx_node *node, WNNOperand a, const uint32_t *permutation);
/* Puts dimension `from` at `to`; the others keep their order. */
WNNOperand x_move_axis(struct onnx_node *node, WNNOperand a, uint32_t from, uint32_t to);
WNNOperand x_slice(struct onnx_node *node, WNNOperand a, const int64_t *starts,
		   const int64_t *sizes, const int64_t *strides);
/* Elements begin to begin + size of one dimension. */
WNNOperand x_part(struct onnx_node *node, WNNOperand a, uint32_t axis, int64_t begin, int64_t size,
		  int64_t stride);
/* One element of a dimension, which goes. */
WNNOperand x_at(struct onnx_node *node, WNNOperand a, uint32_t axis, int64_t index);
WNNOperand x_unsqueeze(struct onnx_node *node, WNNOperand a, uint32_t axis);
WNNOperand x_concat(struct onnx_node *node, size_t count, const WNNOperand *operands,
		    uint32_t axis);
WNNOperand x_gather(struct onnx_node *node, WNNOperand a, WNNOperand indices, uint32_t axis);
WNNOperand x_reverse(struct onnx_node *node, WNNOperand a, uint32_t axis);
WNNOperand x_clamp(struct onnx_node *node, WNNOperand a, double low, double high);
WNNOperand x_linear(struct onnx_node *node, WNNOperand a, double alpha, double beta);
WNNOperand x_pad(struct onnx_node *node, WNNOperand a, const int64_t *begin, const int64_t *end,
		 double value);
WNNOperand x_softmax(struct onnx_node *node, WNNOperand a, uint32_t axis);

enum x_reduction {
	X_MAX,
	X_MIN,
	X_MEAN,
	X_SUM,
	X_PRODUCT,
	X_L1,
	X_L2,
	X_LOG_SUM,
	X_LOG_SUM_EXP,
	X_SUM_SQUARE
};
WNNOperand x_reduce(struct onnx_node *node, enum x_reduction kind, WNNOperand a, uint32_t count,
		    const uint32_t *axes, bool keep);
/* Dimensions of rank 3 or so become 4-D by 1s at the end, or lose them again. */
static inline WNNOperand x_reduce1(struct onnx_node *node, enum x_reduction kind, WNNOperand a,
				   uint32_t axis, bool keep)
{
	return x_reduce(node, kind, a, 1, &axis, keep);
}

#endif
