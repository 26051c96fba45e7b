/* SPDX-License-Identifier: MIT */
/* What the families of operators have to draw their calls with. */
#ifndef TESTS_GRAPHS_GENERATE_H
#define TESTS_GRAPHS_GENERATE_H

#include "graph.h"

struct generator {
	struct graph *graph;
	struct rng rng;
	struct wnn_builder *scratch;
	WNNOperand values[GRAPH_MAX_VALUES];
	bool compose;		 /* operands may be values that are there already */
	bool blocks;		 /* dimensions will be cut into blocks */
	bool averages;		 /* of windows */
	WNNOperandDataType real; /* of what lies between integers */
	bool depthwise;		 /* convolutions have a group for each channel */
	bool same_size;		 /* windows of 3x3 that leave the size of an image as it is */
	bool matrices;		 /* many products of matrices */
	bool dynamic;		 /* scales and zero points may be inputs */
	uint64_t least, budget;	 /* elements that the main operand and any value should have */
	uint64_t work;		 /* multiplications that a node may need */
	graph_limits limits;
};

/* The node being drawn, and its main operand, which is there already. */
struct draw {
	struct generator *g;
	struct graph_node *node;
	const struct graph_value *x;
	int main;
};

/* Sets operands, arguments, options and num_results. -1: nothing fits this main operand. */
typedef int (*draw_fn)(struct draw *d);
draw_fn draw_function(enum wnn_op op);

/* Range of the elements of a leaf; the library's default for operators without special needs. */
struct fill {
	enum graph_fill kind;
	double lo, hi;
};

/* A new input or constant. */
int generator_leaf(struct generator *g, WNNOperandDataType type, uint32_t rank,
		   const uint32_t *dims, struct fill fill);
/* An operand of exactly this type and shape: an existing value now and then, else a new one. */
int generator_operand(struct generator *g, WNNOperandDataType type, uint32_t rank,
		      const uint32_t *dims, struct fill fill);
/* Appends a call with that main operand; false, and the graph as before, when nothing fits. */
bool generator_call(struct generator *g, enum wnn_op op, int main);
/*
 * A node for the next call, with one or two operands and one result; generator_append() puts it into the graph when
 * its options are set, and gives the result, or GRAPH_ABSENT when an operand is that or the call is refused.
 */
struct graph_node *generator_node(struct generator *g, enum wnn_op op, int a, int b);
int generator_append(struct generator *g, struct graph_node *node);
/* Both at once, for calls without options; either: with the operands in either order. */
int generator_unary(struct generator *g, enum wnn_op op, int x);
int generator_binary(struct generator *g, enum wnn_op op, int a, int b);
int generator_either(struct generator *g, enum wnn_op op, int a, int b);
int generator_reshaped(struct generator *g, int x, uint32_t rank, const uint32_t *dims);
/* Appends the parts of gelu or of a normalisation of a float value; GRAPH_ABSENT when there is no room for them. */
int generator_parts(struct generator *g, int x);
/* Appends a gate in parts for a float value; GRAPH_ABSENT when there is no room. */
int generator_gate(struct generator *g, int x);
/*
 * Appends a step of a decoder for a float value of rank 2 or more, whose rows are new words: they stand beside words
 * from outside, and products read all of them. GRAPH_ABSENT when there is no room.
 */
int generator_step(struct generator *g, int x);
/*
 * Appends transposes round other work, parts of a float value that are joined again, reshapes, or products with constant
 * matrices that are joined. GRAPH_ABSENT when there is no room, or nothing fits.
 */
int generator_views(struct generator *g, int x);
/* Appends attention of a float value of rank 3 or more, whose heads share some fewer of keys and values. Likewise. */
int generator_heads(struct generator *g, int x);
/* Begins an empty graph of several calls, and ends it. */
void generator_begin(struct generator *g, struct graph *graph, uint64_t seed, bool compose);
void generator_finish(struct generator *g);
/* Whether the limits allow an operator on a value. */
bool generator_fits(const struct generator *g, enum wnn_op op, const struct graph_value *x);
/* The id of a new value; GRAPH_ABSENT when there is no room. */
int generator_value(struct generator *g);
struct fill generator_fill(struct generator *g, enum wnn_op op, WNNOperandDataType type);
/* About @least to @most elements. */
void generator_dims(struct generator *g, uint32_t rank, uint64_t least, uint64_t most,
		    uint32_t *dims);

bool type_is_float(WNNOperandDataType type);
WNNOperandDataType pick_type(struct rng *rng, WNNOperandDataTypeSet types);

/* Attributes. */
void set_word(struct graph_attr *attr, uint32_t word);
void set_list(struct graph_attr *attr, uint32_t count, const uint32_t *words);
void set_real(struct graph_attr *attr, double value);
/* With even chances: draws an enumeration's or boolean's value. */
void maybe_enum(struct draw *d, const char *name, uint32_t count);
void maybe_bool(struct draw *d, const char *name);
void maybe_real(struct draw *d, const char *name, double lo, double hi);

/* The functions of operators.def (generate_*.c). */
#define GRAPH_DRAW(op, function, floats) int draw_##function(struct draw *d);
#define GRAPH_BOUND(op, function)
#include "operators.def"
#undef GRAPH_DRAW
#undef GRAPH_BOUND

#endif
