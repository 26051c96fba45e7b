/* SPDX-License-Identifier: MIT */
/* Functions with which the families of operators draw their calls. */
#ifndef TESTS_GRAPHS_GENERATE_H
#define TESTS_GRAPHS_GENERATE_H

#include "graph.h"

struct generator {
	struct graph *graph;
	struct rng rng;
	struct wnn_builder *scratch;
	WNNOperand values[GRAPH_MAX_VALUES];
	bool compose; /* operands may be existing values */
	/* most dimensions of ranks above 4 are even, so that they can be divided into blocks */
	bool blocks;
	bool averages;		 /* windows compute averages */
	WNNOperandDataType real; /* float type between the integers of a quantised graph */
	bool depthwise;		 /* each convolution has one group for each channel */
	bool same_size;		 /* windows are 3x3 and keep the size of the image */
	bool matrices;		 /* many of the products have operands of rank 2 */
	bool dynamic;		 /* scales and zero points may be inputs */
	uint64_t least, budget;	 /* least elements of the main operand, most elements of any
				  * value */
	uint64_t work;		 /* most multiplications of a node */
	graph_limits limits;
};

/* The node that is being drawn, and its main operand, which exists already. */
struct draw {
	struct generator *g;
	struct graph_node *node;
	const struct graph_value *x;
	int main;
};

/*
 * Sets operands, arguments, options and num_results of the node; returns 0, or -1 when no valid
 * call has this main operand. draw_function() returns the function of an operator.
 */
typedef int (*draw_fn)(struct draw *d);
draw_fn draw_function(enum wnn_op op);

/* A leaf's elements: how they are drawn, and for GRAPH_UNIFORM the range. */
struct fill {
	enum graph_fill kind;
	double lo, hi;
};

/* Adds an input or constant; returns its id, or GRAPH_ABSENT when the graph has no room. */
int generator_leaf(struct generator *g, WNNOperandDataType type, uint32_t rank,
		   const uint32_t *dims, struct fill fill);
/*
 * Returns the id of an operand of exactly this type and shape: now and then an existing value, else
 * a new one. Returns GRAPH_ABSENT when the graph has no room.
 */
int generator_operand(struct generator *g, WNNOperandDataType type, uint32_t rank,
		      const uint32_t *dims, struct fill fill);
/*
 * Appends a call of @op whose main operand is the value @main, and returns true. When no valid call
 * is possible, returns false and leaves the graph as before.
 */
bool generator_call(struct generator *g, enum wnn_op op, int main);
/*
 * generator_node() prepares the next call, with one or two operands and one result. When its
 * options are set, generator_append() adds it to the graph and returns the id of the result, or
 * GRAPH_ABSENT when an operand is absent or the call is refused.
 */
struct graph_node *generator_node(struct generator *g, enum wnn_op op, int a, int b);
int generator_append(struct generator *g, struct graph_node *node);
/*
 * Append a call of one or two operands without options and return the id of its result, or
 * GRAPH_ABSENT as generator_append() does. generator_either() gives the two operands in a random
 * order; generator_reshaped() appends a reshape.
 */
int generator_unary(struct generator *g, enum wnn_op op, int x);
int generator_binary(struct generator *g, enum wnn_op op, int a, int b);
int generator_either(struct generator *g, enum wnn_op op, int a, int b);
int generator_reshaped(struct generator *g, int x, uint32_t rank, const uint32_t *dims);
/*
 * Appends gelu, softmax, a normalisation or branches of a float value, composed of simple
 * operators. Returns the id of the result, or GRAPH_ABSENT when the graph has too little space left.
 */
int generator_parts(struct generator *g, int x);
/*
 * Appends a gate for a float value, composed of simple operators. Returns the id of the result, or
 * GRAPH_ABSENT when the graph has too little space left.
 */
int generator_gate(struct generator *g, int x);
/*
 * Appends a step of a decoder for a float value of rank 2 or more, whose rows belong to new tokens:
 * these rows are concatenated with cached rows from inputs, and products read all rows. Returns the
 * id of the result, or GRAPH_ABSENT when the graph has too little space left.
 */
int generator_step(struct generator *g, int x);
/*
 * Appends one of these to a float value: transposes round other work, slices that are concatenated
 * again, reshapes, or concatenated products with constant matrices. Returns the id of the result,
 * or GRAPH_ABSENT when the graph has too little space left or none of them is possible.
 */
int generator_views(struct generator *g, int x);
/*
 * Appends attention of a float value of rank 3 or more. It has fewer heads of keys and values than
 * of queries, so that several heads share one. Returns the id of the result, or GRAPH_ABSENT when
 * the graph has too little space left.
 */
int generator_heads(struct generator *g, int x);
/* generator_begin() begins an empty graph of several calls, generator_finish() finishes it. */
void generator_begin(struct generator *g, struct graph *graph, uint64_t seed, bool compose);
void generator_finish(struct generator *g);
/* Returns whether an operator can have the value as its main operand, also by g->limits. */
bool generator_fits(const struct generator *g, enum wnn_op op, const struct graph_value *x);
/* Returns the id of a new value, or GRAPH_ABSENT when the graph has no space left. */
int generator_value(struct generator *g);
/* Returns how elements of this type are drawn that suit the operator. */
struct fill generator_fill(struct generator *g, enum wnn_op op, WNNOperandDataType type);
/* Draws dimensions with about @least, which is at least 1, to @most elements. */
void generator_dims(struct generator *g, uint32_t rank, uint64_t least, uint64_t most,
		    uint32_t *dims);

bool type_is_float(WNNOperandDataType type);
/* Returns a random type of the set; WNNOperandDataType_Undefined if the set is empty. */
WNNOperandDataType pick_type(struct rng *rng, WNNOperandDataTypeSet types);

/* Give an attribute a value. */
void set_word(struct graph_attr *attr, uint32_t word);
void set_list(struct graph_attr *attr, uint32_t count, const uint32_t *words);
void set_real(struct graph_attr *attr, double value);
/*
 * Set an option to a random value, an enum to 1 up to @count; with probability 1/4 for enums and
 * booleans, and 1/2 for real numbers, leave the option out.
 */
void maybe_enum(struct draw *d, const char *name, uint32_t count);
void maybe_bool(struct draw *d, const char *name);
void maybe_real(struct draw *d, const char *name, double lo, double hi);

/* Declares the functions of operators.def (generate_*.c). */
#define GRAPH_DRAW(op, function, floats) int draw_##function(struct draw *d);
#define GRAPH_BOUND(op, function)
#include "operators.def"
#undef GRAPH_DRAW
#undef GRAPH_BOUND

#endif
