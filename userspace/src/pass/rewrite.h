/* SPDX-License-Identifier: MIT */
/*
 * Builds a new graph from an old one, node by node in order, and records the fate of each old node.
 * Inputs and used constants are there from the start, outputs are added at the end. A pass copies,
 * replaces or leaves out nodes.
 */
#ifndef WNN_PASS_REWRITE_H
#define WNN_PASS_REWRITE_H

#include "pass/pass.h"

struct rewrite_fate {
	enum wnn_fate fate;
	uint32_t node; /* id in the new graph, if kept or fused */
};

struct rewrite {
	const struct ir_graph *from;
	struct ir_graph *to;
	/* by old value id: the new value; NULL: not made yet, or removed */
	struct ir_value **value;
	struct rewrite_fate *fate; /* by old node id; UNUSED until it is set */
	const char **rule;	   /* by old node id: the rule that determined its fate, or NULL */
	uint32_t *uses;		   /* by old value id: number of uses by nodes and outputs */
	bool *is_output;	   /* by old value id: whether it is an output */
	struct wnn_error *err;
};

struct pass_context {
	const struct wnn_pass_options *options;
	/* Leave 8-bit constants as integers, so that operators on integers can be found. */
	bool keep_integers;
	struct wnn_error *err;
};

/* A pass: it fills in rewrite->to. Returns 0, or -1 with rw->err. */
typedef int (*pass_fn)(struct rewrite *rw, const struct pass_context *ctx);

int rewrite_begin(struct rewrite *rw, const struct ir_graph *from, struct wnn_error *err);
/* Adds the outputs to the new graph. Returns 0 or -1. */
int rewrite_end(struct rewrite *rw);
void rewrite_destroy(struct rewrite *rw); /* also destroys the new graph, unless it is NULL */

/* Sets the error "out of memory"; returns -1. */
int rewrite_nomem(const struct rewrite *rw);

/* Copies a node to the new graph, with the new values of its operands. Returns 0 or -1. */
int rewrite_copy(struct rewrite *rw, const struct ir_node *node);

/*
 * rewrite_add - add a node to the new graph without setting the fate of old nodes
 * @type: type of its only result
 * @main, @other: nodes that give label and source; @other may be NULL
 *
 * Returns the new node; NULL when out of memory.
 */
struct ir_node *rewrite_add(struct rewrite *rw, enum ir_op op, struct ir_value *const *operands,
			    uint32_t num_operands, const struct ir_type *type,
			    const union ir_attrs *attrs, const struct ir_node *main,
			    const struct ir_node *other);

/*
 * Returns a constant of the new graph with another shape of as many elements, which shares the
 * data; NULL when out of memory.
 */
struct ir_value *rewrite_reshaped(struct rewrite *rw, const struct ir_value *constant,
				  const struct ir_type *type);

/*
 * rewrite_emit - add a node that does the work of old nodes, and set their fates
 * @operands: values of the new graph
 * @main, @other: give label and source, and are reported as kept and as fused; @other may be NULL.
 *	The new node's result replaces that of @other, or of @main without @other
 *
 * Returns the new node; NULL when out of memory.
 */
struct ir_node *rewrite_emit(struct rewrite *rw, enum ir_op op, struct ir_value *const *operands,
			     uint32_t num_operands, const union ir_attrs *attrs,
			     const struct ir_node *main, const struct ir_node *other);

/* Replaces the result of a node by `value`, its new operand; the node is not in the new graph. */
void rewrite_bypass(struct rewrite *rw, const struct ir_node *node, struct ir_value *value,
		    enum wnn_fate fate);

/*
 * Returns the node that makes a value, if the value is its only result, has one use and is not an
 * output; else NULL.
 */
const struct ir_node *rewrite_sole_producer(const struct rewrite *rw, const struct ir_value *value);

/*
 * Sets *number to the number that all elements of a float32 or float16 constant have (StableHLO
 * repeats numbers). Returns false when elements differ, or the value is no such constant.
 */
bool rewrite_number(const struct ir_value *value, double *number);

int pass_simplify(struct rewrite *rw, const struct pass_context *ctx);
int pass_tidy(struct rewrite *rw, const struct pass_context *ctx);
int pass_sink_transposes(struct rewrite *rw, const struct pass_context *ctx);
int pass_absorb(struct rewrite *rw, const struct pass_context *ctx);
int pass_fold(struct rewrite *rw, const struct pass_context *ctx);
/* Whether the limits of pass_fold() allow that a node whose operands are constant is computed. */
bool pass_fold_allows(const struct ir_node *node, const struct wnn_pass_options *options);
int pass_merge(struct rewrite *rw, const struct pass_context *ctx);
int pass_recognise(struct rewrite *rw, const struct pass_context *ctx);
int pass_rotary(struct rewrite *rw, const struct pass_context *ctx);
int pass_fuse_bias(struct rewrite *rw, const struct pass_context *ctx);
int pass_fuse_activation(struct rewrite *rw, const struct pass_context *ctx);
int pass_join_products(struct rewrite *rw, const struct pass_context *ctx);
int pass_sink_dequantize(struct rewrite *rw, const struct pass_context *ctx);
int pass_fuse_integers(struct rewrite *rw, const struct pass_context *ctx);
int pass_fuse_sums(struct rewrite *rw, const struct pass_context *ctx);
int pass_fuse_weights(struct rewrite *rw, const struct pass_context *ctx);
int pass_widen(struct rewrite *rw, const struct pass_context *ctx);
int pass_channels_last(struct rewrite *rw, const struct pass_context *ctx);
int pass_drop_dead(struct rewrite *rw, const struct pass_context *ctx);

#endif
