/* SPDX-License-Identifier: MIT */
/*
 * Types and functions that the files of graph-fuzz share, which tests graphs against an oracle.
 *
 * A graph is a list of values - inputs, constants, results - and of operator calls on them. It is
 * drawn from a seed (generate*.c), written as text and read back (text.c), recorded in a builder
 * (record.c), computed in double precision with a bound for every element (oracle*.c), run on a
 * context of the public API (run.c) and compared (compare.c). A graph that fails is made smaller
 * (minimise.c). Operators, their arguments and options are known from the library's own table only.
 */
#ifndef TESTS_GRAPHS_GRAPH_H
#define TESTS_GRAPHS_GRAPH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <webnn/webnn_npu.h>

#include "../random.h"
#include "graph/builder.h"
#include "ir/ir.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#define GRAPH_MAX_VALUES    128
#define GRAPH_MAX_NODES	    48
#define GRAPH_MAX_OPERANDS  10
#define GRAPH_MAX_RESULTS   6
#define GRAPH_MAX_LIST	    8
#define GRAPH_MAX_ARGUMENTS 4
#define GRAPH_MAX_OPTIONS   12

#define GRAPH_ABSENT (-1)

/* An argument or an option; the kind of its row in the table says which member holds it. */
struct graph_attr {
	bool set;
	uint32_t count;		       /* elements of a list */
	uint32_t word[GRAPH_MAX_LIST]; /* u32, i32, bool and enum, and lists of these */
	float real[GRAPH_MAX_LIST];
	double f64;
	WNNNumber number;
};

struct graph_node {
	enum wnn_op op;
	bool equal_split; /* split into equal slices, one for each result */
	uint32_t num_operands, num_results;
	int operands[GRAPH_MAX_OPERANDS]; /* values, or GRAPH_ABSENT */
	int results[GRAPH_MAX_RESULTS];
	struct graph_attr arguments[GRAPH_MAX_ARGUMENTS];
	struct graph_attr options[GRAPH_MAX_OPTIONS];
};

enum graph_kind { GRAPH_INPUT, GRAPH_CONSTANT, GRAPH_RESULT };

enum graph_fill {
	GRAPH_UNIFORM, /* numbers from lo to hi; integers: both included */
	GRAPH_BITS,    /* integers: random bits */
	GRAPH_SPECIAL, /* floats: NaN, infinities, zeros, huge and tiny numbers between others */
	GRAPH_STEPS,   /* floats: multiples of a quarter, so that many are equal or halfway */
	GRAPH_FILL_COUNT
};

struct graph_value {
	enum graph_kind kind;
	WNNOperandDataType type;
	uint32_t rank, dims[IR_MAX_RANK];
	enum graph_fill fill;
	double lo, hi;
	uint64_t seed;
	bool output;
};

struct graph {
	uint32_t num_values, num_nodes;
	struct graph_value values[GRAPH_MAX_VALUES];
	struct graph_node nodes[GRAPH_MAX_NODES];
};

/* Returns the number of elements of a value; graph_bytes() returns their bytes. */
uint64_t graph_elements(const struct graph_value *value);
size_t graph_bytes(const struct graph_value *value);
/* Returns the elements of an input or constant, which the caller frees with free(). */
void *graph_data(const struct graph_value *value);

/* Return the argument or option of that name, which must exist. */
struct graph_attr *graph_argument(struct graph_node *node, const char *name);
struct graph_attr *graph_option(struct graph_node *node, const char *name);
/* Returns the index of the operand whose type and rank the limits and the coverage are about. */
uint32_t graph_main_operand(enum wnn_op op);

/* --- Text (text.c) --------------------------------------------------------------------------- */

void graph_print(const struct graph *graph, FILE *to);
/*
 * Reads what graph_print() wrote and infers the results; returns 0, or -1 with a message that says
 * where the text is wrong.
 */
int graph_parse(struct graph *graph, FILE *from, char *message, size_t size);

/* --- Records (record.c) ---------------------------------------------------------------------- */

/* A call of a node with the memory that it points to. */
struct graph_call {
	struct wnn_op_call call;
	WNNOperand operands[GRAPH_MAX_OPERANDS];
	_Alignas(max_align_t) char options[256];
	WNNStringView label;
};

/*
 * Fills in the call of a node. values[i] is the operand for the graph's value i; @call points into
 * itself, so it must not be copied.
 */
void graph_call_make(struct graph_call *call, const struct graph_node *node,
		     const WNNOperand *values);

/* Returns a builder without a device, which accepts all operators with all types and ranks. */
struct wnn_builder *graph_scratch_builder(void);
/* Adds an input or a constant to the scratch builder; NULL on error. */
WNNOperand graph_scratch_leaf(struct wnn_builder *builder, const struct graph_value *value, int id,
			      const void *data);
/*
 * Records a node, and sets type and shape of its results; returns 0, or -1 when the rules refuse
 * the node.
 */
int graph_scratch_node(struct wnn_builder *builder, struct graph *graph, struct graph_node *node,
		       WNNOperand *values, struct wnn_error *err);
/* Infers types and shapes of all results; returns 0, or -1 when the rules refuse a node. */
int graph_infer(struct graph *graph, struct wnn_error *err);
/*
 * Returns the graph as recorded, before all passes; NULL on error. Outputs are in the order of the
 * values.
 */
struct wnn_recording *graph_recording(const struct graph *graph, struct wnn_error *err);

/* --- Generator (generate*.c) ----------------------------------------------------------------- */

/* The operators and types that a context can run; NULL: all that the rules allow. */
typedef const WNNOpSupportLimits *graph_limits;

/*
 * graph_single - draw a graph with one call of an operator
 * @variant: number of the call among those of this operator; it selects data type and rank of the
 * main operand, so that all combinations occur
 */
void graph_single(struct graph *graph, enum wnn_op op, uint32_t variant, uint64_t seed);
/* Returns the number of combinations of type and rank of the operator's main operand. */
uint32_t graph_variants(enum wnn_op op);
/* Draws a graph of 5 to 15 calls of operators that @limits list. */
void graph_compose(struct graph *graph, uint64_t seed, graph_limits limits);
/* Draws a chain of layers like a quantised network, with 8-bit integers between all layers. */
void graph_quantised(struct graph *graph, uint64_t seed, graph_limits limits);
/*
 * Draws a chain with branches over large images or rows, which runs in blocks when there is little
 * SRAM.
 */
void graph_streamed(struct graph *graph, uint64_t seed, graph_limits limits);

/* --- Names for dimensions (late.c) ----------------------------------------------------------- */

/* All dimensions of this size have one name, whose value may be from min to max. */
struct late {
	uint32_t size, min, max;
};

/*
 * Draws a size that gets a name, and its range, and returns true; returns false when no input has a
 * dimension above 1.
 */
bool late_draw(const struct graph *graph, uint64_t seed, struct late *late);
/* Returns whether a value has a dimension that has the name; @late may be NULL. */
bool late_leaf(const struct late *late, const struct graph_value *value);
/* Replaces those sizes in the arguments of a node that have the name by a number. */
void late_node(const struct late *late, struct graph_node *node, uint32_t number);
/*
 * Copies a graph to @at, in which the sizes that have the name are @size. Returns 0, or -1 when the
 * rules refuse the new graph.
 */
int late_graph(const struct graph *graph, const struct late *late, uint32_t size, struct graph *at);

/* --- Oracle (oracle*.c) ---------------------------------------------------------------------- */

/*
 * The expected content of a tensor. Floats are doubles before they are rounded to the type; other
 * types have their own form. A correct result differs from it by at most `bound`; if that is NULL,
 * by 0 everywhere.
 */
struct truth {
	struct ir_type type;
	int64_t count;
	void *native;  /* rounded to the type */
	double *exact; /* floats only */
	double *bound;
};

struct truths {
	struct wnn_recording *recording;
	uint32_t count;
	struct truth *values; /* by id of the IR value */
};

/*
 * Computes the exact results of all calls of a graph and the bounds of their errors. Returns 0, or
 * -1 with an error if the graph is refused. truths_free() frees the results.
 */
int truths_make(const struct graph *graph, struct truths *truths, struct wnn_error *err);
void truths_free(struct truths *truths);

/* --- Running (run.c) ------------------------------------------------------------------------- */

struct target {
	WNNInstance instance;
	WNNContext context;
	const char *device;
	uint64_t sram;
	uint32_t threads;
	WNNPlacementPolicy policy;
	bool folding;
	bool saved; /* graphs are saved and loaded, and must give the same bits afterwards */
	bool plain; /* all local rules of the compiler are turned off */
	/* the layer and level of the CPU's kernels; NULL: those that the environment asks for */
	const char *layer, *level;
	WNNOpSupportLimits limits;
};

/*
 * Opens a context with the options of the target; sets instance, context and limits. Returns 0, or
 * -1 after printing the error.
 */
int target_open(struct target *target);
void target_close(struct target *target);

enum run_status { RUN_DONE, RUN_REFUSED, RUN_FAILED };

struct run {
	enum run_status status;
	char message[700];		 /* reason, unless the run is done */
	void *outputs[GRAPH_MAX_VALUES]; /* by value; malloc'ed */
	bool exact[GRAPH_MAX_VALUES];	 /* the output's bits are the same for every size of SRAM */
	bool marked;			 /* the placement calls a node inexact that must be exact */
	bool tiled;			 /* a node needed more than one tile */
	uint32_t on_npu, on_cpu, folded;
	uint64_t kernels; /* the digest of the names of the kernels, in the order of the nodes */
};

/*
 * Builds the graph for the target, runs it and fills in @run, which run_free() frees. Opens the
 * target again if the run has failed, as a fault may have made the context unusable.
 */
void run_graph(struct target *target, const struct graph *graph, struct run *run);
/*
 * Builds a graph once with a named dimension. For the sizes at the ends of the range and two
 * between them, compares its outputs with those of graphs that are built for these sizes. The run
 * is refused when the library refuses the graph with the name.
 */
void run_late(struct target *target, const struct graph *graph, const struct late *late,
	      struct run *run);
/*
 * Runs the graph as recorded, node by node, with the reference kernels of the CPU
 * (run_reference.c).
 */
void run_reference(const struct truths *truths, struct run *run);
void run_free(struct run *run);
/* Prints the graph, the bytes of its leaves, and those of the outputs of a run (data.c). */
void graph_print_values(const struct graph *graph, const struct run *run, FILE *to);

/* Count and print the kernels that nodes ran with. */
void run_count_kernel(const char *name, size_t length);
void run_print_kernels(void);

/* --- Comparison (compare.c) ------------------------------------------------------------------ */

struct comparison {
	bool agree;
	uint64_t checked, unbounded; /* elements that were compared; unbounded: those whose bound
				      * allows any value */
	double ulps;		     /* largest error in units of the last place */
	double share;		     /* largest error as a share of its bound */
	int value;		     /* id of the value that disagrees */
	int64_t element;
	char is[40], wanted[40];
	double bound;
};

/*
 * Compares the outputs of a run with the exact results; @out has the worst errors and, if they do
 * not agree, the first element whose error is above its bound.
 */
void compare_outputs(const struct graph *graph, const struct truths *truths, const struct run *run,
		     struct comparison *out);
/* Returns the distance between the numbers of binary16 or binary32 near @x; 1 for integers. */
double unit_in_last_place(enum ir_dtype dtype, double x);

/* --- Digest (digest.c) ----------------------------------------------------------------------- */

/* The digest of all results of a target, and that of the kernels that computed them. */
struct digest {
	uint64_t bits, kernels;
};

/* Returns the digest @sum extended by @size bytes of data. */
uint64_t digest_bytes(uint64_t sum, const void *data, size_t size);
/* Adds the results and kernels of a run. */
void digest_add(struct digest *digest, const struct graph *graph, const struct run *run);
/*
 * Sets @targets to the layers and levels that the library has on this processor, @most at most;
 * returns their number.
 */
uint32_t digest_targets(struct target *targets, uint32_t most);
void digest_print(const struct target *target, const struct digest *digest);

/* --- Coverage (coverage.c) ------------------------------------------------------------------- */

/* Counts the pairs of features of each node of a graph that has run. */
void coverage_add(const struct graph *graph);
/* Prints the table; returns the share of the allowed pairs that have run. */
double coverage_print(graph_limits limits, bool list_unfilled);

/* --- Minimiser (minimise.c) ------------------------------------------------------------------ */

/* Makes the graph smaller while @fails() returns true for it, for at most @seconds seconds. */
void graph_minimise(struct graph *graph, bool (*fails)(const struct graph *graph, void *userdata),
		    void *userdata, unsigned int seconds);

#endif
