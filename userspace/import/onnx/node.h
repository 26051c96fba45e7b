/* SPDX-License-Identifier: MIT */
/*
 * A node of the model while it is translated, and the functions that translators of operators use.
 */
#ifndef ONNX_NODE_H
#define ONNX_NODE_H

#include "model.h"
#include "order.h"
#include "value.h"

struct onnx_node;

#define ONNX_MAX_WORK ((uint64_t)1 << 27) /* elements that one import may compute, over all nodes */

/* An operator: one row of the table. */
struct onnx_op {
	const char *domain; /* "" is ONNX's default domain */
	const char *name;
	int since, until; /* versions of the operator set, both included; until 0: the newest */
	/* Sets the outputs and returns 0, or refuses the node and returns -1. */
	int (*translate)(struct onnx_node *node);
	/*
	 * Computes the outputs when all inputs are constants: returns 0, -1 when it refuses, or 1
	 * when it leaves the node to translate(). May be NULL.
	 */
	int (*fold)(struct onnx_node *node);
	/* tells the operators of one translator apart; only the translator knows its meaning */
	int variant;
	/* text for the documentation: what composes the operator, or what is refused */
	const char *remark;
};

/* Returns the row for a node; NULL: there is none. */
const struct onnx_op *onnx_op_find(const char *domain, const char *name, int64_t version);
const struct onnx_op *onnx_op_table(size_t *count);

struct onnx_scope;

struct onnx_import {
	struct onnx_model *model;
	WNNGraphBuilder builder;
	struct onnx_arena *arena;
	struct onnx_uses uses;
	bool doubles; /* some value is double, and is computed in float32 */
	/* status of the first error that ends the import; a refusal of a node does not end it */
	WNNStatus status;
	size_t refusal_room;
	int depth;	    /* nesting depth of graphs within nodes */
	uint64_t work;	    /* number of elements computed at import so far */
	uint64_t operators; /* number of operators that unrolled loops have added so far */
	/*
	 * work of all attempts that infer.c took back: one for each element, OPERATOR_WORK for each
	 * operator
	 */
	uint64_t tried;
	bool draws_nothing; /* only the shapes of outputs are wanted: nothing is drawn */
	/* probing only: one item for each node, whether it can be translated; else NULL */
	WNNBool *supported;
};

struct onnx_node {
	struct onnx_import *import;
	struct onnx_scope *scope;
	const Onnx__NodeProto *proto;
	const struct onnx_op *op;
	const char *name;
	int64_t version; /* version of the operator set of the node's domain */
	/*
	 * the model's type of the outputs, when WebNN lacks this type and the operands are
	 * carriers; else 0
	 */
	int carried;
	WNNGraphBuilder b;
	WNNOperatorOptions options; /* options with the node's label */
	size_t input_count, output_count;
	struct onnx_value **inputs; /* an item is NULL where the input is absent */
	struct onnx_value **outputs;
	bool wide;     /* the translator sees inputs of float16 as float32 */
	uint64_t read; /* bit i: the translator has read the elements of input i */
	/*
	 * Bit i stands for input i, bit 63 for all inputs from 63 on. Only inputs whose elements
	 * the program has computed have a bit that is set.
	 */
	uint64_t fixed;	  /* the translator sees these inputs as constants */
	uint64_t varying; /* the translator has refused these inputs, since they are no constants */
};

/* Records a refusal of the node; always returns -1. */
int onnx_refuse(struct onnx_node *node, const char *attribute, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Returns the shapes of all inputs as text for a refusal, such as "[2,3], none and [3]". */
const char *onnx_inputs_text(struct onnx_node *node);
/* Refuses a node whose result would have too many elements; always returns -1. */
int onnx_too_big(struct onnx_node *node, const char *attribute, const struct onnx_shape *shape);
/*
 * Refuses a node because an input that must be a constant is none. @what says which input it is.
 * Always returns -1.
 */
int onnx_refuse_variable(struct onnx_node *node, size_t input, const char *what);
/*
 * Refuses a node because something depends on the value of an input; the format's text names that
 * thing. Always returns -1.
 */
int onnx_refuse_choice(struct onnx_node *node, size_t input, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * Adds a notice about a node that is imported nevertheless; @input: the input that is the cause, or
 * NULL.
 */
void onnx_notice(struct onnx_node *node, const char *input, const char *text);
/* Ends the import for lack of memory; always returns -1. */
int onnx_fail(struct onnx_node *node);
void *onnx_node_alloc(struct onnx_node *node, size_t size); /* NULL: the import has ended */

/* Tensors that the program computes first, in known.c. */
/*
 * Notes that the node needs the elements of an input, if nodes of the main graph compute it.
 * Returns false when memory is exhausted.
 */
bool onnx_note_needed(struct onnx_node *node, size_t input);
/* Whether the program has given all outputs of the node that something uses. */
bool onnx_is_known(struct onnx_node *node);
/* Sets the outputs that the program has given. Returns 0; -1: no memory. */
int onnx_put_known(struct onnx_node *node);
/* Marks the results of a node that would be constants if the inputs of the model were. */
void onnx_mark_folding(struct onnx_node *node);

/* Values that the program has computed, in computed.c. */
/*
 * onnx_key_add() adds @size bytes to the model's key. onnx_key_begin() starts a new key with the
 * settings of the model's inputs and the names of its outputs.
 */
void onnx_key_add(struct onnx_model *model, const void *data, size_t size);
void onnx_key_begin(struct onnx_model *model);
/*
 * Makes a constant a computed value and returns it; NULL: no memory. A constant that cannot be an
 * input of the graph, because of its type or because it has no elements, stays what it is. The
 * model's key gets the shape, and the elements of a value that stays a constant.
 */
struct onnx_value *onnx_vary(struct onnx_node *node, struct onnx_value *value);
/*
 * Computes the outputs of a node at import when the elements of all inputs are known and the
 * program has computed some of them: the outputs become computed values, too. Returns 0; 1: the
 * node has to be translated; -1: the import has ended.
 */
int onnx_compute(struct onnx_node *node);
/* Replaces the inputs of node->fixed by constants, and adds them to the key; false: no memory. */
bool onnx_fix_inputs(struct onnx_node *node);
/* Notes that the translator needs the elements of a computed input. */
void onnx_note_varying(struct onnx_node *node, size_t input);
/*
 * Prepares a node that was refused for one more translation with more inputs as constants, and
 * takes back all but the first @refusals refusals. Returns false when no further input can become a
 * constant.
 */
bool onnx_try_fixed(struct onnx_node *node, size_t refusals);
/* Adds a graph input for a computed value, and returns its operand; NULL: refused, or no memory. */
WNNOperand onnx_computed_input(struct onnx_node *node, const struct onnx_value *value);

/* Updates of inputs in place, in update.c. */
/*
 * Notes that @output of the node is its @input with rows written by onnx_write_rows(): if they are
 * an output and an input of the graph, the output updates the input in place.
 */
void onnx_note_update(struct onnx_node *node, size_t output, size_t input);
/*
 * Declares that an output of the graph updates an input in place, if no other node reads the input.
 * A model with functions or with graphs within nodes has no updates. @input: the input that is
 * updated, or NULL. Returns 0, or -1 after a refusal.
 */
int onnx_declare_update(struct onnx_node *node, struct onnx_value *input, WNNOperand output);

/*
 * Attributes. When the attribute is absent, onnx_attr() returns NULL; functions with a @fallback
 * return it when the attribute is absent or of another kind.
 */
const Onnx__AttributeProto *onnx_attr(struct onnx_node *node, const char *name);
int64_t onnx_attr_int(struct onnx_node *node, const char *name, int64_t fallback);
double onnx_attr_float(struct onnx_node *node, const char *name, double fallback);
/*
 * Refuses a node whose attribute has another value than @only, the one that the translator
 * implements; an absent attribute is allowed. Returns 0 or -1.
 */
int onnx_attr_only(struct onnx_node *node, const char *name, int64_t only);
/* Returns a string that ends with NUL. */
const char *onnx_attr_string(struct onnx_node *node, const char *name, const char *fallback);
/*
 * Returns the index of a string among @names, whose items may be NULL; -1: it is none of them, and
 * the node is refused.
 */
int onnx_attr_choice(struct onnx_node *node, const char *name, const char *fallback,
		     const char *const *names, int count);
/*
 * Returns the integers of an attribute and sets *count to their number; NULL and 0 when it is
 * absent.
 */
const int64_t *onnx_attr_ints(struct onnx_node *node, const char *name, size_t *count);

bool onnx_has(struct onnx_node *node, size_t input);
/* Whether an input is a tensor without elements. */
bool onnx_is_empty(struct onnx_node *node, size_t input);
/*
 * Returns the operand of an input; NULL: the input is absent, which refuses the node, or its
 * operand was refused.
 */
WNNOperand onnx_in(struct onnx_node *node, size_t input);
/* Return the shape and the type of an input. An absent input has no dimensions and type 0. */
const struct onnx_shape *onnx_in_shape(struct onnx_node *node, size_t input);
int onnx_in_type(struct onnx_node *node, size_t input);
/*
 * Sets *ints to the integers of a constant input, or to NULL when the input is absent. Returns 0;
 * -1: refused.
 */
int onnx_in_ints(struct onnx_node *node, size_t input, const char *what, const int64_t **ints,
		 size_t *count);
/*
 * Sets *number to the only element of a constant input, and leaves it when the input is absent.
 * Returns 0; -1: refused.
 */
int onnx_in_float(struct onnx_node *node, size_t input, const char *what, double *number);
/* Sets *numbers to those of a constant input, NULL when it is absent. Returns 0; -1: refused. */
int onnx_in_floats(struct onnx_node *node, size_t input, const char *what, const double **numbers,
		   size_t *count);
/*
 * Returns the operand of a value, and makes one for a constant, random or computed value that has
 * none yet; NULL: refused.
 */
WNNOperand onnx_operand(struct onnx_node *node, struct onnx_value *value);

/*
 * Set an output. They return 0; -1: refused, also when the operand is NULL because the builder has
 * refused it.
 */
int onnx_out(struct onnx_node *node, size_t output, WNNOperand operand);
int onnx_out_bool(struct onnx_node *node, size_t output, WNNOperand operand);
int onnx_out_as(struct onnx_node *node, size_t output, WNNOperand operand, int type);
/* Sets an output to a value that exists already, unless the node lacks it; always returns 0. */
int onnx_out_value(struct onnx_node *node, size_t output, struct onnx_value *value);
/*
 * Sets an output to a new constant and returns its memory, which the caller fills; NULL: refused,
 * or no memory.
 */
void *onnx_out_constant(struct onnx_node *node, size_t output, int type,
			const struct onnx_shape *shape);
/* Whether an output has a name, and something uses it. */
bool onnx_wants(struct onnx_node *node, size_t output);
struct onnx_value *onnx_new_value(struct onnx_node *node);
/* Returns a new value for an operand, for items of sequences; NULL: refused. */
struct onnx_value *onnx_value_of(struct onnx_node *node, WNNOperand operand, int type);

/*
 * Sets *out to the axis, counted from 0. Returns 0; -1: the axis is not within the rank, and the
 * node is refused.
 */
int onnx_axis(struct onnx_node *node, const char *attribute, int64_t axis, uint32_t rank,
	      uint32_t *out);

/*
 * Counts elements that are computed at import, so that a small file cannot make the import run
 * without end. Returns 0; -1: refused.
 */
int onnx_work(struct onnx_node *node, uint64_t elements);
/*
 * Counts operators of unrolled loops, so that a small file cannot add them without end. Returns 0;
 * -1: refused.
 */
int onnx_unroll(struct onnx_node *node, uint64_t operators);

/* Gives a name of a scope a value. Returns 0; -1: memory is exhausted, which import->status says. */
int onnx_set_name(struct onnx_import *import, struct onnx_scope *scope, const char *name,
		  struct onnx_value *value);
/* Sets the names of all initialisers of a graph. Returns 0; -1: an error, which import->status has. */
int onnx_set_initialisers(struct onnx_import *import, struct onnx_scope *scope,
			  const Onnx__GraphProto *graph);

/*
 * Translates a graph within a node in a scope of its own, and sets @results, which has room for all
 * outputs of that graph. Returns 0 or -1.
 */
int onnx_run_subgraph(struct onnx_node *node, const Onnx__GraphProto *graph, size_t input_count,
		      struct onnx_value **inputs, struct onnx_value **results);

/*
 * Shorthand for operators of WebNN with the label of the node. If an operand is NULL, the result is
 * NULL and the builder is not called, so that a composition is checked only at its end and the
 * builder's last error is the first one.
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
 * empty.c: translates an operator on tensors without elements. Returns 0; -1: refused; 1: the
 * node's translator has to do it.
 */
int onnx_empty(struct onnx_node *node);
/*
 * infer.c: runs the translator of a node that has inputs without elements. When it refuses them,
 * finds the shapes of the outputs by running it on inputs that have elements. Returns 0; -1:
 * refused; 1: the operator is Reshape or has graphs of its own, and its translator has to do it.
 */
int onnx_infer_empty(struct onnx_node *node);
/* import.c: runs the node's translator. Returns 0; -1: refused. */
int onnx_translate(struct onnx_node *node);
/* Returns a constant without elements; NULL: no memory. */
struct onnx_value *onnx_empty_value(struct onnx_node *node, int type,
				    const struct onnx_shape *shape);
/* Sets an output to a constant without elements. Returns 0 or -1. */
int onnx_out_empty(struct onnx_node *node, size_t output, int type, const struct onnx_shape *shape);

/*
 * wide.c: called before and after the translator of a composition. Inputs of float16 become
 * float32, and outputs float16 again. Both return 0 or -1.
 */
int onnx_wide_begin(struct onnx_node *node);
int onnx_wide_end(struct onnx_node *node);

/*
 * compose.c: functions that return an operand return NULL when an operand is NULL or the builder
 * refuses.
 */
struct onnx_shape x_shape(WNNOperand operand);
WNNOperand x_number(struct onnx_node *node, WNNOperandDataType type, double number);
WNNOperand x_integer(struct onnx_node *node, WNNOperandDataType type, int64_t number);
/* Returns a scalar with the type of @like. */
WNNOperand x_like(struct onnx_node *node, WNNOperand like, double number);
/* Returns a constant; the elements are copied. */
WNNOperand x_constant(struct onnx_node *node, WNNOperandDataType type,
		      const struct onnx_shape *shape, const void *data);
WNNOperand x_constant_ints(struct onnx_node *node, size_t count, const int64_t *ints);
WNNOperand x_reshape(struct onnx_node *node, WNNOperand a, const struct onnx_shape *shape);
WNNOperand x_expand(struct onnx_node *node, WNNOperand a, const struct onnx_shape *shape);
WNNOperand x_transpose(struct onnx_node *node, WNNOperand a, const uint32_t *permutation);
/* Moves dimension `from` to index `to`; the other dimensions keep their order. */
WNNOperand x_move_axis(struct onnx_node *node, WNNOperand a, uint32_t from, uint32_t to);
/*
 * Move the channels of x from the last dimension to dimension 1 (first) or back (last). The rank is
 * 2 or more. They return NULL after a refusal.
 */
WNNOperand x_channels_first(struct onnx_node *node, WNNOperand a);
WNNOperand x_channels_last(struct onnx_node *node, WNNOperand a);
WNNOperand x_slice(struct onnx_node *node, WNNOperand a, const int64_t *starts,
		   const int64_t *sizes, const int64_t *strides);
/* Returns elements from @begin on along one dimension, @size of them before the stride applies. */
WNNOperand x_slice_axis(struct onnx_node *node, WNNOperand a, uint32_t axis, int64_t begin,
			int64_t size, int64_t stride);
/* Returns the slice at one index of a dimension, and drops that dimension. */
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
static inline WNNOperand x_reduce1(struct onnx_node *node, enum x_reduction kind, WNNOperand a,
				   uint32_t axis, bool keep)
{
	return x_reduce(node, kind, a, 1, &axis, keep);
}
/* Returns the largest magnitude along axes, at least FLT_MIN and at most FLT_MAX, to divide by. */
WNNOperand x_largest(struct onnx_node *node, WNNOperand a, uint32_t count, const uint32_t *axes);

#endif
