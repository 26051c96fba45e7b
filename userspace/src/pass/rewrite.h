/* SPDX-License-Identifier: MIT */
/*
 * Making a new graph from an old one, node by node in order, with a record of what became of
 * each. Inputs and constants are there from the start; outputs follow at the end. A pass copies,
 * replaces or leaves out nodes.
 */
#ifndef WNN_PASS_REWRITE_H
#define WNN_PASS_REWRITE_H

#include "pass/pass.h"

/* The fate of an old node. */
struct rewrite_fate {
	enum wnn_fate fate;
	uint32_t node; /* id in the new graph, for KEPT and FUSED */
};

struct rewrite {
	const struct ir_graph *from;
	struct ir_graph *to;
	struct ir_value **value;   /* by old id; NULL: not there yet, or gone */
	struct rewrite_fate *fate; /* by old node id; UNUSED until said otherwise */
	const char **rule; /* by old node id: the local rule that took part in its fate, or NULL */
	uint32_t *uses;	   /* by old value id: uses by nodes and outputs */
	bool *is_output;   /* by old value id */
	struct wnn_error *err;
};

/* The arguments of each pass. */
struct pass_context {
	const struct wnn_pass_options *options;
	/*
	 * Constants of 8 bits are not dequantised yet, so that operators on integers can use them.
	 */
	bool keep_integers;
	struct wnn_error *err;
};

/* A pass: fills rewrite->to. */
typedef int (*pass_fn)(struct rewrite *rw, const struct pass_context *ctx);

int rewrite_begin(struct rewrite *rw, const struct ir_graph *from, struct wnn_error *err);
/* Adds the outputs. */
int rewrite_end(struct rewrite *rw);
void rewrite_destroy(struct rewrite *rw); /* with the new graph, unless it is NULL */

/* Out of memory. */
int rewrite_nomem(const struct rewrite *rw);

/* The node as it is, on the new values of its operands. */
int rewrite_copy(struct rewrite *rw, const struct ir_node *node);

/*
 * rewrite_add - add a node to the new graph, without a fate for old nodes
 * @type: of its only result
 * @main, @other: give label and source; @other may be NULL
 */
struct ir_node *rewrite_add(struct rewrite *rw, enum ir_op op, struct ir_value *const *operands,
			    uint32_t num_operands, const struct ir_type *type,
			    const union ir_attrs *attrs, const struct ir_node *main,
			    const struct ir_node *other);

/*
 * rewrite_emit - a node that does the work of old nodes
 * @like: gives label, unless it has none; its result is the new node's
 * @main, @other: what is said to be kept, and fused; @other may be NULL
 * @operands: new values
 */
struct ir_node *rewrite_emit(struct rewrite *rw, enum ir_op op, struct ir_value *const *operands,
			     uint32_t num_operands, const union ir_attrs *attrs,
			     const struct ir_node *main, const struct ir_node *other);

/* Uses of the result go to the operand instead; the node is gone. */
void rewrite_bypass(struct rewrite *rw, const struct ir_node *node, struct ir_value *value,
		    enum wnn_fate fate);

/* The node that makes an operand, when nobody else uses its only result; else NULL. */
const struct ir_node *rewrite_sole_producer(const struct rewrite *rw, const struct ir_value *value);

/*
 * Sets *number to what all elements of a float32 or float16 constant are (StableHLO repeats
 * numbers); false: they differ, or the value is no such constant.
 */
bool rewrite_number(const struct ir_value *value, double *number);

/* The passes. */
int pass_simplify(struct rewrite *rw, const struct pass_context *ctx);
int pass_tidy(struct rewrite *rw, const struct pass_context *ctx);
int pass_sink_transposes(struct rewrite *rw, const struct pass_context *ctx);
int pass_absorb(struct rewrite *rw, const struct pass_context *ctx);
int pass_fold(struct rewrite *rw, const struct pass_context *ctx);
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
