/* SPDX-License-Identifier: MIT */
/*
 * The rules of the operators. Each is a function that checks one call, infers the types of its
 * results and emits IR nodes, in this order; it is called when the operands are known to be
 * there, to belong to the builder, and to have types and ranks that the operator table allows.
 */
#ifndef WNN_GRAPH_RULES_H
#define WNN_GRAPH_RULES_H

#include <inttypes.h>

#include "graph/builder_private.h"
#include "graph/number.h"

/* One call of an operator, for its rule. */
struct wnn_rule {
	struct wnn_builder *builder;
	struct wnn_op_call *call;
	const char *name; /* operator and label for messages, such as: conv2d "stem" */
	size_t output_count;
	struct WNNOperandImpl **outputs; /* operands for the results; output_count of them */
	size_t emitted;			 /* how many of the outputs have a value */
	struct wnn_error *err;
};

typedef int (*wnn_rule_fn)(struct wnn_rule *rule);

/* Returns the IR operator that the rule of an operator emits. */
enum ir_op wnn_op_ir(enum wnn_op op);

/*
 * Makes the operands for the results, and runs the rule, which gives them values. Returns 0 or -1.
 */
int wnn_rule_run(struct wnn_rule *rule, WNNOperand *outputs);

/* --- Functions for rules (rules.c) --- */

/* Sets a TypeError of this call; returns -1. The format continues after `conv2d "stem": `. */
#define rule_error(rule, fmt, ...) \
	wnn_error_set((rule)->err, WNN_TYPE_ERROR, "%s: " fmt, (rule)->name, ##__VA_ARGS__)

#define rule_options(rule, type) ((const type *)(rule)->call->options)

/* Returns operand `i`, NULL when absent; rule_type() returns its type. */
static inline struct ir_value *rule_value(const struct wnn_rule *rule, size_t i)
{
	return rule->call->operands[i] ? rule->call->operands[i]->value : NULL;
}

static inline const struct ir_type *rule_type(const struct wnn_rule *rule, size_t i)
{
	return rule->call->operands[i] ? &rule->call->operands[i]->value->type : NULL;
}

/* Returns the name of operand `i` in the specification. */
const char *rule_operand_name(const struct wnn_rule *rule, size_t i);

/*
 * rule_emit - check the type of a result and record the node that makes it
 * @operands: operands of the node
 * @type: its dimensions may be any 64-bit numbers
 *
 * Returns 0 or -1: with TypeError when the result is too large or no device that may run the node
 * can run it, with NotSupportedError when the back ends lack the operator.
 */
int rule_emit(struct wnn_rule *rule, enum ir_op op, struct ir_value *const *operands,
	      uint32_t num_operands, const struct ir_type *type, const union ir_attrs *attrs);
/* Does what rule_emit() does, for a node with several results. Returns 0 or -1. */
int rule_emit_results(struct wnn_rule *rule, enum ir_op op, struct ir_value *const *operands,
		      uint32_t num_operands, const struct ir_type *types, uint32_t num_results,
		      const union ir_attrs *attrs);
/* Calls rule_emit() with the operands of the call. Returns 0 or -1. */
int rule_emit_call(struct wnn_rule *rule, enum ir_op op, const struct ir_type *type,
		   const union ir_attrs *attrs);
/* Checks the type of a result only. Returns 0 or -1. */
int rule_check_result(struct wnn_rule *rule, const struct ir_type *type);

/* Checks that the call asks for `count` outputs. Returns 0 or -1. */
int rule_output_count(struct wnn_rule *rule, size_t count);

/* Checks that operand `i` has the shape `dims`; an absent operand passes. Returns 0 or -1. */
int rule_shape_is(struct wnn_rule *rule, size_t i, uint32_t rank, const int64_t *dims);

/* Checks that an axis is below the rank; @what names it in the message. Returns 0 or -1. */
int rule_axis(struct wnn_rule *rule, const char *what, uint32_t axis, uint32_t rank);

/*
 * Converts a list of axes without repetitions to a bit mask; an absent list means all axes. Returns
 * 0 or -1.
 */
int rule_axes(struct wnn_rule *rule, WNNUint32Array axes, uint32_t rank, uint32_t *mask);

/*
 * Reads a list of `count` numbers; `otherwise` replaces each number of an absent list. Returns 0 or
 * -1.
 * @zero: whether 0 is allowed
 */
int rule_list(struct wnn_rule *rule, const char *what, WNNUint32Array list, uint32_t count,
	      uint32_t otherwise, bool zero, uint32_t *out);

/*
 * Sets *out to the type of a result when a and b are broadcast to each other; its element type is
 * that of `a`. Returns 0 or -1.
 */
int rule_broadcast(struct wnn_rule *rule, const struct ir_type *a, const char *a_name,
		   const struct ir_type *b, const char *b_name, struct ir_type *out);

/* Whether `from` can be broadcast to `to` without changing `to`. */
bool rule_broadcasts_to(const struct ir_type *from, const struct ir_type *to);

/* A shape as text for messages. */
struct rule_text {
	char s[WNN_SHAPE_TEXT_SIZE];
};

static inline struct rule_text rule_shape_text(const struct ir_type *type)
{
	struct rule_text text;

	wnn_shape_text(type, text.s, sizeof(text.s));
	return text;
}

#define SHAPE(type) (rule_shape_text(type).s)

/* Return floor(a / b) and ceil(a / b) for b > 0. */
static inline int64_t rule_floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

static inline int64_t rule_ceil_div(int64_t a, int64_t b)
{
	return a / b + (a % b > 0);
}

/* Returns (window - 1) * dilation + 1; saturates well below an overflow. */
int64_t rule_effective_size(int64_t window, int64_t dilation);

/* Returns the activation of a node before fusion. */
static inline struct ir_unary_attrs rule_no_activation(void)
{
	return (struct ir_unary_attrs){ .kind = IR_UNARY_NONE };
}

/* --- The rules (rules.def) --- */

#define WNN_RULE(op, function, ir_op) int rule_##function(struct wnn_rule *rule);
#include "graph/rules.def"
#undef WNN_RULE

#endif
